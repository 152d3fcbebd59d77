# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Frames that goals are given in: links of the robot, and what TF knows."""

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import interface_package
import ros_nodes
from controller_bench import (
    MODEL,
    PARAMETERS,
    START,
    Bench,
    moved,
    pose_message,
    reference,
    robot_state,
    torque,
)
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from ros_nodes import CONTROLLER, joint_state

from opspace_control import OpspaceError, RobotModel, RobotState
from opspace_control.ros.middleware.conversions import matrix_from_pose
from opspace_control.ros.middleware.endpoints import TF, TF_STATIC
from opspace_control.ros.topics.frames import Frames, Step
from opspace_control.spatial.rotations import quaternion_from_matrix

GOAL = (0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0)


def pose(seed):
    """Return a random transform (4, 4)."""
    rng = np.random.default_rng(seed)
    quaternion = rng.normal(size=4)
    return matrix_from_pose(np.array([*rng.normal(size=3),
                                      *quaternion / np.linalg.norm(quaternion)]))


class Tree:
    """Transforms that are known for sure."""

    available = True

    def __init__(self, **parents):
        self.parents, self.stamps = parents, {}

    def step(self, frame, oldest):
        above = self.parents.get(frame)
        return above and Step(frame, *above, self.stamps.get(frame, 0))


@pytest.fixture
def cycle():
    return SimpleNamespace(known=True, state=robot_state(moved()))


def link(name):
    return MODEL.forward_kinematics(robot_state(moved()), [name])[name]


class TestFrames:

    def test_base(self, cycle):
        frames = Frames(MODEL, cycle, Tree())
        for name in ('', 'base_link', '/base_link'):
            np.testing.assert_array_equal(frames.in_base(name), np.eye(4))

    def test_links_are_where_the_robots_own_kinematics_say(self, cycle):
        frames = Frames(MODEL, cycle, Tree(l_hand=('base_link', pose(0))))
        np.testing.assert_allclose(frames.in_base('l_hand'), link('l_hand'))
        np.testing.assert_allclose(frames.in_base('/l_hand'), link('l_hand'))

    def test_carried_by_a_link(self, cycle):
        frames = Frames(MODEL, cycle, Tree(lens=('camera', pose(1)), camera=('l_hand', pose(2)),
                                           l_hand=('elsewhere', pose(3))))
        np.testing.assert_allclose(frames.in_base('lens'), link('l_hand') @ pose(2) @ pose(1))

    def test_above_the_robot(self, cycle):
        frames = Frames(MODEL, cycle, Tree(base_link=('odom', pose(1)), odom=('map', pose(2))))
        np.testing.assert_allclose(frames.in_base('map') @ pose(2) @ pose(1), np.eye(4),
                                   atol=1e-12)

    def test_on_something_common(self, cycle):
        frames = Frames(MODEL, cycle, Tree(
            base_link=('floor', pose(1)), floor=('world', pose(2)), table=('floor', pose(3)),
            cup=('table', pose(4))))
        np.testing.assert_allclose(pose(1) @ frames.in_base('cup'), pose(3) @ pose(4), atol=1e-12)

    def test_links_with_a_prefix(self, cycle):
        frames = Frames(MODEL, cycle, Tree(camera=('a/l_hand', pose(1))), prefix='a/')
        assert frames.base == 'a/base_link'
        assert frames.named('l_hand') == 'a/l_hand'
        for name in ('a/l_hand', 'l_hand'):
            np.testing.assert_allclose(frames.in_base(name), link('l_hand'))
        np.testing.assert_allclose(frames.in_base('camera'), link('l_hand') @ pose(1))

    @pytest.mark.parametrize(('parents', 'frame', 'complaint'), [
        ({}, 'kitchen', "no frame 'kitchen'"),
        ({}, 'l_hnad', "'l_hand'"),
        ({'cup': ('table', pose(1))}, 'cup', "topmost ancestor in TF is 'table'"),
        ({'a': ('b', pose(1)), 'b': ('a', pose(2))}, 'a', 'not connected'),
    ])
    def test_unknown_ones_are_refused(self, cycle, parents, frame, complaint):
        with pytest.raises(OpspaceError, match=complaint):
            Frames(MODEL, cycle, Tree(**parents)).in_base(frame)

    def test_says_when_tf_is_not_there(self, cycle):
        transforms = Tree()
        transforms.available = False
        with pytest.raises(OpspaceError, match='tf2_msgs, which is not installed'):
            Frames(MODEL, cycle, transforms).in_base('kitchen')

    def test_links_need_a_state(self, cycle):
        cycle.known = False
        frames = Frames(MODEL, cycle, Tree(camera=('l_hand', pose(1))))
        for name in ('l_hand', 'camera'):
            with pytest.raises(OpspaceError, match='first joint state'):
                frames.in_base(name)


@pytest.fixture(scope='module')
def tf_message(request):
    """Return the message type of TF, for this process and those it starts."""
    try:
        prefix = interface_package.prefix(
            Path(request.config.cache.mkdir('interfaces')), 'tf2_msgs')
    except interface_package.NotHereError as error:
        pytest.skip(str(error))
    interface_package.use(prefix)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in interface_package.environment(prefix, os.environ).items():
            patch.setenv(name, value)
        from tf2_msgs.msg import TFMessage
        yield TFMessage


@pytest.fixture(scope='module')
def running(tf_message):
    with Bench.around(PARAMETERS | {
            'left.max_linear_velocity': 2.0, 'goals.transform_timeout': 1.0, 'publish_rate': 1000.0,
            'broadcast_targets': True}) as bench:
        bench.tf = bench.network.publisher(tf_message, '/tf', TF)
        bench.tf_static = bench.network.publisher(tf_message, '/tf_static', TF_STATIC)
        yield bench


@pytest.fixture
def node(running):
    running.command(joint_state(START))
    return running


def transforms(kind, **parents):
    """Return a TFMessage of child -> (parent, transform)."""
    message = kind()
    for child, (parent, transform) in parents.items():
        stamped = TransformStamped(child_frame_id=child)
        stamped.header.frame_id = parent
        p, o = stamped.transform.translation, stamped.transform.rotation
        p.x, p.y, p.z = transform[:3, 3]
        o.x, o.y, o.z, o.w = quaternion_from_matrix(transform[:3, :3])
        message.transforms.append(stamped)
    return message


def near(seed):
    """Return a transform nearby, for goals within reach."""
    transform = pose(seed)
    transform[:3, 3] *= 0.1
    return transform


@pytest.mark.parametrize('broadcast', [True, False])
def test_the_simulator_tells_where_a_floating_base_is(tf_message, broadcast):
    with ros_nodes.network() as network:
        told = network.listen(tf_message, '/tf', TF)
        odometry = network.listen(Odometry, 'odom', QoSProfile(depth=1000))
        network.start('simulator', {
            'robot_description': ros_nodes.robot_text('free_flyer_3d'), 'floating_base': True,
            'wait_for_command': False, 'gravity': [0.0, 0.0, 0.0], 'odom_frame': 'map',
            'initial_base_pose': [1.0, 2.0, 3.0, 0.6, 0.0, 0.0, 0.8], 'broadcast_base': broadcast,
            'initial_base_twist': [0.1, 0.0, 0.0, 0.0, 0.0, 0.2]})
        if not broadcast:
            network.expect(lambda: odometry)
            assert not network.node.count_publishers('/tf')
            return

        def same_time():
            stamps = {(each.header.stamp.sec, each.header.stamp.nanosec): each
                      for each in odometry[-200:]}
            return [(message.transforms[0], odom) for message in told[-200:]
                    if message.transforms[0].transform.translation.x > 1.0  # it has moved
                    and (odom := stamps.get((message.transforms[0].header.stamp.sec,
                                            message.transforms[0].header.stamp.nanosec)))]
        network.expect(same_time)
        transform, odom = same_time()[0]
        assert (transform.header.frame_id, transform.child_frame_id) == ('map', 'base_link')
        assert transform.transform.rotation == odom.pose.pose.orientation
        moved, p = transform.transform.translation, odom.pose.pose.position
        assert (moved.x, moved.y, moved.z) == (p.x, p.y, p.z)


class TestFloatingBase:
    """What tasks call the base frame is the world's then: it is called as odometry calls it."""

    @pytest.fixture
    def floating(self):
        model = RobotModel.from_urdf(ros_nodes.robot_text('dual_arm'), floating_base=True)
        rng = np.random.default_rng(3)
        base = pose(4)
        q = np.concatenate([base[:3, 3], quaternion_from_matrix(base[:3, :3]),
                            rng.uniform(-1.0, 1.0, model.nv - 6)])
        return model, SimpleNamespace(known=True, state=RobotState(model, q, np.zeros(model.nv)))

    def test_the_world_stays_and_links_move(self, floating):
        model, cycle = floating
        frames = Frames(model, cycle, Tree(), world='map')
        assert frames.base == 'map'
        for name in ('', 'map', '/map'):
            np.testing.assert_array_equal(frames.in_base(name), np.eye(4))
        poses = model.forward_kinematics(cycle.state)
        for link in ('base_link', 'l_hand'):
            np.testing.assert_allclose(frames.in_base(link), poses[link])
        with pytest.raises(OpspaceError, match='odom'):
            frames.in_base('odom')

    def test_what_stands_in_the_world_or_on_the_robot(self, floating):
        model, cycle = floating
        tree = Tree(table=('odom', pose(0)), odom=('map', pose(1)), shelf=('map', pose(2)),
                    camera=('base_link', pose(3)))
        frames = Frames(model, cycle, tree)
        np.testing.assert_allclose(frames.in_base('table'), pose(0))
        np.testing.assert_allclose(frames.in_base('shelf'), np.linalg.inv(pose(1)) @ pose(2))
        base = model.forward_kinematics(cycle.state, ['base_link'])['base_link']
        np.testing.assert_allclose(frames.in_base('camera'), base @ pose(3))


class TestThroughTf:

    def expect(self, node, frame, base_from_frame, meanwhile=lambda: None):
        """Send a goal in a frame until the torque is that of the goal in the base frame."""
        controller = reference(max_linear_velocity=2.0)
        torque(controller, START)
        controller.tasks['left'].set_target(base_from_frame @ matrix_from_pose(np.array(GOAL)))
        expected = torque(controller, START)
        goals = node.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')

        def arrived():
            meanwhile()
            return np.allclose(node.command(joint_state(START)), expected, rtol=1e-6, atol=1e-6)
        node.network.send(goals, pose_message(GOAL, frame), arrived)
        node.network.node.destroy_publisher(goals)

    def test_a_frame_that_stays(self, node, tf_message):
        node.tf_static.publish(transforms(tf_message, camera=('base_link', near(1))))
        self.expect(node, 'camera', near(1))
        self.expect(node, '/camera', near(1))

    def test_a_frame_that_moves(self, node, tf_message):
        hand = MODEL.forward_kinematics(robot_state(START), ['r_hand'])['r_hand']
        for seed in (2, 3):
            message = transforms(tf_message, lens=('head', near(seed)), head=('r_hand', near(4)))
            self.expect(node, 'lens', hand @ near(4) @ near(seed),
                        partial(node.tf.publish, message))

    def test_a_frame_that_the_robot_stands_in(self, node, tf_message):
        message = transforms(tf_message, base_link=('odom', near(5)))
        self.expect(node, 'odom', np.linalg.inv(near(5)), partial(node.tf.publish, message))

    def test_an_old_one_is_refused(self, node, tf_message):
        assert node.change(goals__transform_timeout=0.1).successful
        node.tf.publish(transforms(tf_message, ball=('base_link', near(6))))
        node.network.spin(0.3)
        before = node.command(joint_state(START))
        goals = node.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
        node.network.send(goals, pose_message(GOAL, 'ball'), lambda: (
            "no frame 'ball'" in node.process.said()))
        np.testing.assert_allclose(node.command(joint_state(START)), before)
        assert node.change(goals__transform_timeout=1.0).successful

    def test_what_is_no_transform_is_ignored(self, node, tf_message):
        broken = near(7)
        broken[0, 3] = np.nan
        node.tf_static.publish(transforms(tf_message, shelf=('base_link', broken)))
        goals = node.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
        node.network.send(goals, pose_message(GOAL, 'shelf'), lambda: (
            "no frame 'shelf'" in node.process.said()))

    def test_goals_are_broadcast(self, node, tf_message):
        heard = node.network.listen(tf_message, '/tf', TF)
        goals = node.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
        message = joint_state(START)

        def told():
            node.command(message)
            found = [stamped for tf in heard for stamped in tf.transforms
                     if stamped.child_frame_id == 'left_target']
            return found and found[-1].transform.translation.x == pytest.approx(0.1) and found
        node.network.send(goals, pose_message(GOAL), told)
        stamped = told()[-1]
        assert stamped.header.frame_id == 'base_link'
        assert stamped.transform.translation.z == pytest.approx(0.3)
        assert stamped.transform.rotation.w == pytest.approx(1.0)
        assert {stamped.child_frame_id for tf in heard for stamped in tf.transforms} >= {
            'left_target', 'right_target'}
