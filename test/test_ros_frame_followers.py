# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes that follow frames of TF: where they are, how fast, and what becomes of lost ones."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('trimesh', reason='trimesh is not installed')

from controller_bench import MODEL, moved, robot_state
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from test_ros_collision_objects import DOWN, Scene, X, at
from test_ros_distances import described, network  # noqa: F401
from test_ros_frames import TF, Tree, pose, tf_message, transforms  # noqa: F401

from opspace_control import RobotState, Shape
from opspace_control.ros.middleware.conversions import matrix_from_pose
from opspace_control.ros.topics.frame_followers import Follower, FrameFollowers
from opspace_control.ros.topics.frames import Frames

BALL = {'shapes': ['ball'], 'ball.kind': 'sphere', 'ball.size': [0.05], 'ball.frame': 'ball'}
TIMEOUT = 0.5  # s


class Followed:
    """A point in the frame `ball`, by transforms that are known for sure."""

    def __init__(self, offset=(0.0, 0.0, 0.0), **parents):
        v = np.random.default_rng(3).uniform(-1.0, 1.0, MODEL.nv)
        state = RobotState(MODEL, robot_state(moved()).q, v)
        self.tree, self.cycle = Tree(**parents), SimpleNamespace(known=True, state=state)
        self.followers = FrameFollowers(Frames(MODEL, self.cycle, self.tree))
        self.followers['ball'] = Follower(Shape('ball', None, 'sphere', [0.1], offset), 'ball')

    def look(self, now, **steps):
        """Return the `Look` after steps (parent, pose, stamp in s) have come, at a time, s."""
        for frame, (parent, transform, stamp) in steps.items():
            self.tree.parents[frame] = parent, transform
            self.tree.stamps[frame] = round(1e9 * stamp)
        return self.followers.look(round(1e9 * now), TIMEOUT)

    def place(self, now, **steps):
        """Return the position (3,), the twist (6,) and the link of the new place."""
        place = self.look(now, **steps).places['ball']
        return np.array(place.shape.position), place.twist, place.shape.link


class TestFrameFollowers:

    def test_a_chain_of_two_transforms_with_rates_of_their_own(self):
        """A map at 50 Hz that stays, an object at 10 Hz in it that moves at 0.3 m/s."""
        followed = Followed(base_link=('map', at([1.0, 0.0, 0.0])))
        for k in range(1, 50):
            now = 0.02 * k
            steps = {'base_link': ('map', at([1.0, 0.0, 0.0]), now)}
            if k % 5 == 0:
                steps['ball'] = ('map', at([2.0 + 0.3 * now, 0.0, 0.0]), now)
            if k < 5:
                continue
            position, twist, link = followed.place(now, **steps)
            assert link is None
            if k >= 10:
                np.testing.assert_allclose(twist, [0.3, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-9)
            if k >= 10:
                np.testing.assert_allclose(position, [1.0 + 0.3 * now, 0.0, 0.0], atol=1e-9)

    def test_rotating_frames_move_what_is_beside_their_origins(self):
        """Held against differences of poses, with a base that moves as well."""
        def steps(now):
            turned = [matrix_from_pose(np.array([0.1 * now, 0.2, 0.3, *np.sin(angle / 2.0) * axis,
                                                 np.cos(angle / 2.0)]))
                      for angle, axis in ((0.4 * now, X), (-0.7 * now, np.eye(3)[2]))]
            return {'base_link': ('map', turned[0], now), 'ball': ('map', turned[1], now)}

        followed, offset = Followed((0.5, -0.2, 0.1)), [0.5, -0.2, 0.1, 1.0]
        followed.look(1.0, **steps(1.0))
        position, twist, _ = followed.place(1.001, **steps(1.001))

        def truth(now):
            (_, base, _), (_, ball, _) = steps(now).values()
            return (np.linalg.solve(base, ball) @ offset)[:3]

        np.testing.assert_allclose(position, truth(1.001), atol=1e-12)
        np.testing.assert_allclose(
            twist[:3], (truth(1.0011) - truth(1.0009)) / 2e-4, atol=1e-3)

    def test_what_a_camera_on_a_link_sees_stands_in_the_world(self):
        followed = Followed(lens=('l_hand', pose(4)))
        hand = MODEL.forward_kinematics(followed.cycle.state, ['l_hand'])['l_hand']
        seen = np.linalg.solve(hand @ pose(4), at([0.5, 0.1, 0.2]))
        # Where the link moves by its velocity for a millisecond, the tag moves the other way.
        before = RobotState(MODEL, MODEL.integrate(
            followed.cycle.state.q, -followed.cycle.state.v, 1e-3), np.zeros(MODEL.nv))
        then = MODEL.forward_kinematics(before, ['l_hand'])['l_hand']
        followed.look(0.999, ball=('lens', np.linalg.solve(
            then @ pose(4), at([0.5, 0.1, 0.2])), 0.999))
        position, twist, link = followed.place(1.0, ball=('lens', seen, 1.0))
        assert link is None
        np.testing.assert_allclose(position, [0.5, 0.1, 0.2], atol=1e-12)
        velocity = MODEL.jacobian(followed.cycle.state, ['l_hand']) @ followed.cycle.state.v
        assert np.linalg.norm(velocity[:3]) > 0.1
        assert np.linalg.norm(twist[:3]) < 0.02 * np.linalg.norm(velocity[:3])

    def test_what_stays_on_a_link_is_on_it(self):
        followed = Followed((0.1, 0.2, 0.3), lens=('l_hand', pose(4)), ball=('lens', pose(5)))
        position, twist, link = followed.place(1.0)
        assert (link, twist) == ('l_hand', None)
        np.testing.assert_allclose(position, (pose(4) @ pose(5) @ [0.1, 0.2, 0.3, 1.0])[:3])
        assert not followed.look(2.0).places
        assert not followed.look(9.0).silent

    def test_a_clock_that_is_set_back_gives_no_velocity(self):
        followed = Followed()
        for now in (5.0, 5.1):
            followed.look(now, ball=('base_link', at([now, 0.0, 0.0]), now))
        position, twist, _ = followed.place(5.2, ball=('base_link', at([1.0, 0.0, 0.0]), 1.0))
        np.testing.assert_array_equal([*position, *twist], [1.0, *np.zeros(8)])
        _, twist, _ = followed.place(5.3, ball=('base_link', at([1.05, 0.0, 0.0]), 1.1))
        np.testing.assert_allclose(twist, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-9)

    def test_transforms_out_of_order_count_for_nothing(self):
        followed = Followed()
        for now in (5.0, 5.1):
            followed.look(now, ball=('base_link', at([now, 0.0, 0.0]), now))
        assert not followed.look(5.15, ball=('base_link', at([7.0, 0.0, 0.0]), 5.05)).places
        _, twist, _ = followed.place(5.2, ball=('base_link', at([5.2, 0.0, 0.0]), 5.2))
        np.testing.assert_allclose(twist[0], 1.0)

    def test_transforms_that_cease_are_told_also_at_rest(self):
        followed = Followed()
        step = ('base_link', at([1.0, 0.0, 0.0]), 1.0)
        assert not followed.look(1.0, ball=step).silent
        assert not followed.look(1.4, ball=step).silent
        assert followed.look(1.6, ball=step).silent == {'ball'}
        del followed.tree.parents['ball']
        look = followed.look(2.6)
        assert (look.silent, list(look.refusals)) == ({'ball'}, ['ball'])
        found = followed.look(3.0, ball=('base_link', at([1.0, 0.0, 0.0]), 3.0))
        assert list(found.places) == ['ball']
        assert not found.silent

    def test_what_cannot_be_a_shape_there_is_refused_by_name(self):
        look = Followed().look(1.0, ball=('base_link', at([2e6, 0.0, 0.0]), 1.0))
        assert look.refusals['ball'].startswith("shape 'ball': position")


class Told:
    """A node with a dual arm, and transforms on /tf."""

    def __init__(self, network, described, tf_message, **parameters):  # noqa: F811
        self.scene, self.kind = Scene(network, described, **parameters), tf_message
        self.publisher = network.publisher(tf_message, '/tf', TF)
        self.scene.robot.run(0.3)

    def tell(self, late=0.0, **parents):
        """Publish transforms with the stamp of the present state, or one that is ``late``, s."""
        message = transforms(self.kind, **parents)
        for each in message.transforms:
            each.header.stamp = self.scene.stamp(late)
        self.publisher.publish(message)

    def diagnostics(self):
        """Return the newest status of the diagnostics."""
        network = self.scene.network  # noqa: F811
        heard = network.listen(DiagnosticArray, '/diagnostics')
        network.expect(lambda: heard)
        return heard[-1].status[0]


def value_of(status, key):
    return next(each.value for each in status.values if each.key == key)


def test_a_transform_far_away_is_refused_and_the_node_goes_on(
        tf_message, network, described):  # noqa: F811
    """An exception in the timer ended the node."""
    told = Told(network, described, tf_message, **BALL)
    for _ in range(20):
        told.tell(ball=('base_link', at([2e6, 0.0, 0.0])))
        told.scene.robot.run(0.02)
    assert told.scene.said("Shapes are not there yet: 'ball': ")
    status = told.diagnostics()
    assert status.level == DiagnosticStatus.WARN
    assert "Shapes are not there, their frames are unknown: 'ball'." in status.message
    assert value_of(status, 'shapes without a frame') == "'ball'"
    told.scene.robot.check()


def test_what_a_camera_on_the_hand_sees_is_no_part_of_the_hand(
        tf_message, network, described):  # noqa: F811
    """A table that stands 27 cm below the hand: the hand went 75 mm into it."""
    told = Told(network, described, tf_message, **{
        'shapes': ['tag'], 'tag.size': [0.3, 0.3, 0.04], 'tag.frame': 'tag'})
    scene = told.scene
    table = Shape('table', None, 'box', [0.3, 0.3, 0.04], scene.hand() + 0.27 * DOWN)

    def run(cycles):
        least = 1.0
        for _ in range(cycles):
            hand = matrix_from_pose(np.array(scene.robot.physics.frame_pose('l_hand')))
            told.tell(tag=('l_hand', np.linalg.solve(hand, at(table.position))))
            scene.robot.run(0.02)
            least = min(least, scene.nearest(table))
        return least

    run(20)
    scene.robot.send_goal('left', 'l_hand', 0.3 * DOWN)
    assert run(100) > 0.008  # of a margin of 10 mm
    assert scene.nearest(table) < 0.012
    # Transforms cease: it stays where it is, and the node says so.
    assert scene.said("No marker of 'tag' on ")
    assert value_of(told.diagnostics(), 'collision objects without messages') == "'tag'"
    assert scene.nearest(table) > 0.008
    scene.robot.check()


def test_a_marker_that_is_sent_again_does_not_change_the_velocity_of_its_frame(
        tf_message, network, described):  # noqa: F811
    """With transforms that are 0.1 s late a ball seemed to fly at 9.6 m/s, and the hand dodged."""
    told = Told(network, described, tf_message)
    scene, home = told.scene, told.scene.hand()
    start, farthest = scene.robot.physics.time, 0.0
    for k in range(100):
        seen = scene.robot.physics.time - 0.1 - start
        told.tell(0.1, ball=('base_link', at(home + (1.3 - 0.3 * seen) * X)))
        if k % 25 == 3:
            marker = scene.marker(np.zeros(3), frame_locked=True)
            marker.header.frame_id = 'ball'
            scene.send(marker)
        scene.robot.run(0.02)
        farthest = max(farthest, np.linalg.norm(scene.hand() - home))
    assert value_of(told.diagnostics(), 'collision objects') == '1'
    assert farthest < 1e-4
    scene.robot.check()
