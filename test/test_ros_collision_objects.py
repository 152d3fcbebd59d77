# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What stands or moves around a robot: shapes by parameters, and markers on a topic."""

import re
import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('trimesh', reason='trimesh is not installed')

import numpy as np
import ros_nodes
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from ros_lockstep import LockStepRobot
from std_srvs.srv import SetBool
from test_ros_distances import ARMS, HANDS, described, network  # noqa: F401
from test_ros_frames import TF, TF_STATIC, pose, tf_message, transforms  # noqa: F401
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control import CollisionModel, RosInterfaceError, Shape
from opspace_control.collision import Kind
from opspace_control.ros.middleware.conversions import (
    fill_message,
    point_message,
    time_message,
)
from opspace_control.ros.topics.collision_markers import SHAPES
from opspace_control.ros.topics.marker_shapes import shape_of_marker
from opspace_control.ros.topics.refusals import Refusals

X, DOWN = np.eye(3)[0], -np.eye(3)[2]


def at(position):
    """Return a pose without rotation, (4, 4)."""
    transform = np.eye(4)
    transform[:3, 3] = position
    return transform


class Scene:
    """A dual arm beside shapes, and the distances as they are."""

    def __init__(self, network, described, **parameters):  # noqa: F811
        path, shapes = described
        self.shapes = shapes
        self.robot = LockStepRobot(
            network, 'dual_arm', {**HANDS, 'collision.file': str(path), **parameters}, ARMS)
        self.robot.run(0.1)
        self.objects = network.publisher(
            MarkerArray, f'{ros_nodes.CONTROLLER}/collision_objects')
        self.network = network

    def hand(self):
        """Return the place of the left hand, (3,), m."""
        return self.robot.physics.frame_pose('l_hand')[:3]

    def nearest(self, *shapes):
        """Return the least distance of these shapes from all others, m."""
        model = self.shapes.with_shapes(shapes)
        physics, q = self.robot.physics, model.robot.neutral()
        for name, position in zip(physics.joint_names, physics.positions, strict=True):
            q[model.robot.q_index[model.robot.dof_index(name)]] = position
        names = {shape.name for shape in shapes}
        return min(pair.distance for pair in CollisionModel(
            model.robot, model.shapes, model.pairs).distances(q)
            if not names.isdisjoint((pair.first, pair.second)))

    def set(self, **values):
        """Set parameters of the controller at once; return why not, or ''."""
        message = [Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
                   for name, value in values.items()]
        return self.network.call(
            SetParametersAtomically, f'{ros_nodes.CONTROLLER}/set_parameters_atomically',
            parameters=message).result.reason

    def tell_frames(self, message):
        """Publish static frames of TF."""
        frames = self.network.publisher(type(message), '/tf_static', TF_STATIC)
        self.robot.run(0.2)
        frames.publish(message)

    def send_until_known(self, *markers):
        """Send markers for a second: they are refused until their frame is known."""
        for _ in range(20):
            self.send(*markers)
            self.robot.run(0.05)

    def marker(self, place, scale=(0.1, 0.1, 0.1), kind=Marker.SPHERE, number=0, **fields):
        """Return a marker in the base frame with the stamp of the present state."""
        marker = Marker(ns='thing', id=number, type=kind, **fields)
        marker.header.stamp = self.stamp()
        marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = map(float, place)
        marker.scale.x, marker.scale.y, marker.scale.z = scale
        return marker

    def stamp(self, late=0.0):
        """Return the stamp of the present state, or one that is ``late``, s."""
        return time_message(round(1e9 * (1.0 + self.robot.physics.time - late)))

    def send(self, *markers):
        self.objects.publish(MarkerArray(markers=markers))

    def said(self, text):
        """Go on until the node has said something."""
        for _ in range(100):
            if self.robot.said(text):
                return True
            self.robot.run(0.02)
            self.network.spin(0.01)  # time for what the node does by its steady clock
        return False


@pytest.fixture
def scene(network, described):  # noqa: F811
    return Scene(network, described)


class Teller:
    """Tells the node where a ball is, with the stamp of the present state."""

    def __init__(self, scene, kind):
        self.scene, self.kind, self.markers = scene, kind, 0
        self.told = scene.network.publisher(kind, '/tf', TF)

    def marker(self, place):
        self.scene.send(self.scene.marker(place))

    def frame(self, place):
        message = transforms(self.kind, ball=('base_link', at(place)))
        message.transforms[0].header.stamp = self.scene.stamp()
        self.told.publish(message)

    def locked_marker(self, place):
        """Send some markers until the frame is known, which the ball then follows."""
        self.frame(place)
        if self.markers < 5:
            marker = self.scene.marker(np.zeros(3), frame_locked=True)
            marker.header.frame_id = 'ball'
            self.scene.send(marker)
            self.markers += 1

    parameter = frame


@pytest.mark.parametrize(('source', 'name'), [
    ('marker', 'thing/0'), ('locked_marker', 'thing/0'), ('parameter', 'ball')])
def test_a_ball_that_flies_at_the_hand_is_avoided_until_it_is_gone(
        tf_message, network, described, source, name):  # noqa: F811
    scene = Scene(network, described, **({
        'shapes': ['ball'], 'ball.kind': 'sphere', 'ball.size': [0.05], 'ball.frame': 'ball'}
        if source == 'parameter' else {}))
    tell = getattr(Teller(scene, tf_message), source)
    home, speed = scene.hand(), 0.3
    scene.robot.run(0.5)
    start, least = scene.robot.physics.time, 1.0
    while (elapsed := scene.robot.physics.time - start) < 1.0:  # a message each 20 ms
        place = home + (0.45 - speed * elapsed) * X
        tell(place)
        least = min(least, scene.nearest(Shape('ball', None, 'sphere', [0.05], place)))
        scene.robot.run(0.02)
        scene.network.spin(0.015)  # time for what the node does by its steady clock
    # Messages cease: it goes on for half a second, then it is taken to stay where it is.
    heard = scene.network.listen(DiagnosticArray, '/diagnostics')
    assert scene.said(f"No marker of '{name}'")
    assert scene.robot.physics.time - start == pytest.approx(1.5, abs=0.05)
    ball = Shape('ball', None, 'sphere', [0.05], place - 0.5 * speed * X)
    for _ in range(40):
        scene.robot.run(0.05)
        least = min(least, scene.nearest(ball))
    assert least > 0.005
    assert np.linalg.norm(scene.hand() - home) > 0.04
    assert scene.robot.process.said().count(f"No marker of '{name}'") == 1
    scene.network.expect(lambda: any(
        value.key == 'collision objects without messages' and value.value == f"'{name}'"
        for message in heard for status in message.status for value in status.values))
    if source == 'parameter':
        assert scene.robot.process.said().count('Shapes are not there yet: ') == 1
        assert scene.set(ball__kind='none') == ''
    else:
        scene.send(Marker(action=Marker.DELETEALL))
    scene.robot.run(2.0)
    assert np.linalg.norm(scene.hand() - home) < 2e-3
    scene.robot.check()


def test_a_marker_that_cannot_be_used_is_named_and_the_others_count(scene):
    home = scene.hand()
    post = Shape('post', None, 'cylinder', [0.05, 1.0], home + 0.25 * X)
    elliptic = scene.marker(home, (0.1, 0.2, 0.1), number=1)
    arrow = scene.marker(home, kind=Marker.TEXT_VIEW_FACING, number=2)
    flat = scene.marker(home, (0.1, 0.1, 0.0), Marker.CUBE, number=3)
    lost = scene.marker(home, number=4)
    lost.header.frame_id = 'nowhere'
    scene.send(elliptic, arrow, scene.marker(post.position, (0.1, 0.1, 1.0), Marker.CYLINDER),
               flat, lost)
    for text in ("'thing/1': The sphere is an ellipsoid", "'thing/2': A marker of type 9",
                 "'thing/3': The scale is 0.1 × 0.1 × 0 m", "'nowhere'"):
        assert scene.said(text), text
    # The post is there: the hand stops before it.
    scene.robot.send_goal('left', 'l_hand', [0.3, 0.0, 0.0])
    for _ in range(40):
        scene.robot.run(0.05)
        assert scene.nearest(post) > 0.008  # of a margin of 10 mm
    assert scene.nearest(post) < 0.012
    scene.send(scene.marker(home, number=0, action=Marker.DELETE))
    scene.robot.run(2.0)
    assert scene.nearest(post) < 0.0
    scene.robot.check()


def test_refusals_of_many_are_logged_one_after_the_other_and_again_later():
    refusals, reasons = Refusals(), {f'thing/{k}': 'It is wrong.' for k in range(25)}
    said = [refusals.newest(reasons, now) for now in (0.0, 0.1, 0.2, 0.3)]
    assert [text.count('It is wrong.') for text in said] == [10, 10, 5, 0]
    assert said[2].startswith("'thing/20': It is wrong. 'thing/21'")
    other = {'thing/3': 'It is far.'}
    assert [refusals.newest(other, now) for now in (0.9, 1.1, 5.0)] == [
        '', "'thing/3': It is far.", '']
    assert refusals.newest(reasons, 10.05).count('It is wrong.') == 10


def test_each_marker_that_is_refused_is_logged_once_for_each_reason(scene):
    """The first refusal kept all others of the next second out of the log, other markers' too."""
    home = scene.hand()

    def refused(number):
        return scene.robot.process.said().count(f"'thing/{number}': ")

    scene.send(scene.marker(home, kind=Marker.POINTS, number=1))
    assert scene.said("'thing/1': A marker of type 8")
    for _ in range(20):
        scene.send(scene.marker(home, kind=Marker.POINTS, number=1),
                   scene.marker(home, kind=Marker.POINTS, number=2))
        scene.robot.run(0.01)
    assert scene.said("'thing/2': A marker of type 8")
    assert (refused(1), refused(2)) == (1, 1)
    time.sleep(1.0)  # one marker is not logged more often
    scene.send(scene.marker(home, (0.1, 0.2, 0.1), number=1))
    assert scene.said("'thing/1': The sphere is an ellipsoid")
    scene.robot.check()


def test_what_moves_nothing_is_refused_and_named(scene):
    """A sphere of 1e200 m moved the robot; a thousand markers stopped the cycle for 0.6 s."""
    place = scene.hand() + 3.0 * X
    start = scene.robot.physics.positions.copy()

    def count():
        heard = scene.network.listen(DiagnosticArray, '/diagnostics')
        scene.network.expect(lambda: heard)
        return next(value.value for status in heard[-1].status for value in status.values
                    if value.key == 'collision objects')

    scene.send(scene.marker(place, 3 * [1e200], number=1), scene.marker(1e300 * X, number=2),
               scene.marker(place, 3 * [np.nan], number=3),
               scene.marker(place, 3 * [-1.0], number=4), scene.marker(np.nan * X, number=5),
               scene.marker(place, action=7, number=6))
    for text in ("'thing/1': shape 'thing/1': size = ", "'thing/2': shape 'thing/2': position = ",
                 "'thing/3': The scale is nan", "'thing/4': The scale is -1 × -1 × -1 m. Give",
                 "'thing/5': The pose is not finite", "'thing/6': There is no action 7."):
        assert scene.said(text), text
    scene.send(*(scene.marker(place, number=number) for number in range(101)))
    assert scene.said("'thing/100': There are 100 objects")
    assert count() == '100'
    scene.send(*(scene.marker(place, number=number) for number in range(1000)))
    assert scene.said('A message on ~/collision_objects is refused: it has ')
    # A namespace is deleted, and all of them; the last marker of a name counts.
    other = scene.marker(place)
    other.ns = 'thing/other'
    scene.send(other, scene.marker(place, action=Marker.DELETEALL))
    scene.robot.run(0.1)
    assert count() == '1'
    scene.send(scene.marker(place), scene.marker(place + X), scene.marker(place, number=1),
               scene.marker(place, number=1, action=Marker.DELETE))
    scene.robot.run(0.1)
    assert count() == '2'
    late = scene.marker(place)
    scene.send(late, Marker(action=Marker.DELETEALL))
    scene.robot.run(0.1)
    assert count() == '0'
    # A stamp that is older than the last one is told, until the object is deleted.
    scene.send(scene.marker(place))
    scene.robot.run(0.1)
    scene.send(late)
    assert scene.said("'thing/0': Its stamp is older")
    scene.send(scene.marker(place, action=Marker.DELETE))
    scene.send(late)
    scene.robot.run(0.1)
    assert count() == '1'
    assert scene.robot.process.said().count('Its stamp is older') == 1
    assert abs(scene.robot.physics.positions - start).max() < 1e-9
    assert 'collision.influence = 0.3 m is not beyond collision.margin = 0.4 m' in scene.set(
        collision__margin=0.4)
    scene.robot.check()


def test_shapes_by_parameters_and_what_may_touch(network, described):  # noqa: F811
    scene = Scene(network, described, shapes=['table', 'cargo'], **{
        'table.kind': 'none', 'cargo.kind': 'none', 'cargo.frame': 'l_hand',
        'left.may_touch': ['thing/7']})
    place = scene.hand() + 0.25 * DOWN
    table = Shape('table', None, 'box', [0.3, 0.3, 0.04], place + 0.02 * DOWN)

    def height():
        return (scene.hand() - place)[2]

    assert scene.set(table__kind='sphere').startswith("shape 'table': size = ")
    assert 'table.pose' in scene.set(table__kind='box', table__pose=[0.0] * 7)
    assert "'tabel'" in scene.set(right__may_touch=['tabel'])
    assert scene.set(
        table__kind='box', table__size=list(table.size), cargo__kind='sphere', cargo__size=[0.1],
        table__pose=[*table.position, 0.0, 0.0, 0.0, 1.0]) == ''
    scene.robot.send_goal('left', 'l_hand', 0.25 * DOWN)
    scene.robot.run(2.0)
    assert height() == pytest.approx(0.11, abs=1e-3)
    assert scene.set(cargo__may_touch=['table']) == ''
    scene.robot.run(2.0)
    assert 0.0095 < scene.nearest(table) < 0.011  # of all links
    assert scene.set(left__may_touch=['table'], left__kp=90.0) == ''
    scene.robot.run(1.5)
    assert height() == pytest.approx(0.0, abs=2e-3)
    scene.robot.check()


def test_shapes_of_a_payload_are_there_while_it_has_mass(network, described):  # noqa: F811
    """A payload that the hand carries down ends above the table by its own shapes."""
    scene = Scene(network, described, shapes=['table', 'can', 'lid'], payloads=['cargo'], **{
        'table.kind': 'none', 'cargo.frame': 'l_hand', 'cargo.mass': 0.5,
        'cargo.shapes': ['can', 'lid'], 'can.kind': 'sphere', 'can.size': [0.1],
        'lid.kind': 'none', 'cargo.may_touch': ['l_wrist_pitch_link']})
    place = scene.hand() + 0.25 * DOWN
    table = Shape('table', None, 'box', [0.3, 0.3, 0.04], place + 0.02 * DOWN)

    def height():
        return (scene.hand() - place)[2]

    for values, says in [
            ({'cargo__shapes': ['cna']}, "cargo.shapes: 'cna' is not among shapes. Did you mean "),
            ({'cargo__shapes': ['can', 'can']}, "cargo.shapes: 'can' is given twice"),
            ({'can__frame': 'r_hand'}, "The shape 'can' is on the link 'r_hand', and its object "),
            ({'lid__kind': 'half_space'}, "The shape 'lid' is a half-space"),
            ({'can__kind': 'box'}, "shape 'can': size = "),
            ({'cargo__may_touch': ['tabel']}, 'may_touch: there is neither a shape nor a link')]:
        assert scene.set(**values).startswith(says)
    assert scene.set(table__kind='box', table__size=list(table.size), table__pose=[
        *table.position, 0.0, 0.0, 0.0, 1.0]) == ''
    scene.robot.send_goal('left', 'l_hand', 0.25 * DOWN)
    scene.robot.run(2.0)
    assert height() == pytest.approx(0.11, abs=1e-3)
    assert scene.set(cargo__mass=0.0) == ''
    scene.robot.run(2.0)
    assert height() < 0.08
    assert 0.0095 < scene.nearest(table) < 0.011  # of all links, without the payload
    scene.robot.check()


def test_shapes_of_a_grasped_object_are_there_while_it_is_grasped(network, described):  # noqa: F811
    """What two hands carry down ends above the table by its own shape, not by theirs."""
    scene = Scene(network, described, shapes=['table', 'crate'], grasps=['carry'], **{
        'table.kind': 'none', 'carry.effectors': ['l_hand', 'r_hand'],
        'carry.shapes': ['crate'], 'crate.size': [0.2, 0.4, 0.3],
        'crate.pose': [0.0, 0.0, -0.1, 0.0, 0.0, 0.0, 1.0]})
    physics = scene.robot.physics
    place = 0.5 * (scene.hand() + physics.frame_pose('r_hand')[:3]) + 0.35 * DOWN
    table = Shape('table', None, 'box', [0.3, 0.8, 0.04], place + 0.02 * DOWN)
    told = network.listen(MarkerArray, f'{ros_nodes.CONTROLLER}/markers')

    def is_shown():
        """Return whether the newest collision shapes that are shown have the crate."""
        network.spin(0.2)  # what was sent before
        del told[:]
        scene.robot.run(1.2)
        network.spin(0.2)
        shown = [marker for message in told for marker in message.markers
                 if marker.ns == SHAPES and marker.action == Marker.ADD]
        return any(marker.header.frame_id == 'l_hand' and marker.type == Marker.CUBE
                   and marker.scale.y == 0.4 for marker in shown)

    def height():
        return min((physics.frame_pose(hand)[:3] - place)[2] for hand in ('l_hand', 'r_hand'))

    def engage(on):
        return network.call(SetBool, f'{ros_nodes.CONTROLLER}/carry/engage', data=on)

    for values, says in [
            ({'carry__shapes': ['crtae']}, "carry.shapes: 'crtae' is not among shapes. Did you "),
            ({'crate__frame': 'l_hand'}, "The shape 'crate' is on the link 'l_hand', and its "),
            ({'crate__kind': 'half_space'}, "The shape 'crate' is a half-space"),
            ({'carry__may_touch': ['tabel']}, 'may_touch: there is neither a shape nor a link')]:
        assert scene.set(**values).startswith(says)
    assert scene.set(table__kind='box', table__size=list(table.size), table__pose=[
        *table.position, 0.0, 0.0, 0.0, 1.0]) == ''
    assert not is_shown()
    assert engage(True).success
    assert is_shown()
    goal = PoseStamped()
    fill_message(goal.pose, np.array([*place, 0.0, 0.0, 0.0, 1.0]))
    network.publisher(PoseStamped, f'{ros_nodes.CONTROLLER}/carry/target_pose').publish(goal)
    scene.robot.run(2.5)
    assert height() == pytest.approx(0.26, abs=5e-3)  # 0.25 below the hands, and the margin
    assert scene.set(crate__size=[0.2, 0.4, 0.2]) == ''
    scene.robot.run(2.0)
    assert height() == pytest.approx(0.21, abs=5e-3)
    assert scene.set(table__may_touch=['crate']) == ''
    scene.robot.run(2.0)
    assert height() < 0.15
    assert scene.nearest(table) > 0.0095  # of all links
    assert engage(False).success
    scene.robot.run(0.5)  # until the ramp is over
    assert not is_shown()
    assert scene.set(table__may_touch=['']) == ''
    low = height()
    scene.robot.run(1.0)
    assert height() == pytest.approx(low, abs=1e-3)  # the crate is not there, and moves nothing
    assert not scene.robot.said('Nearer than half')
    scene.robot.check()


def test_pairs_that_are_too_near_are_named(network, described):  # noqa: F811
    """They move the robot, and nothing said so."""
    scene = Scene(network, described, shapes=['table'], **{'table.kind': 'none'})
    palm = scene.hand()
    assert scene.set(table__frame='nowhere', table__kind='sphere', table__size=[0.1]).startswith(
        "table.frame: There is no frame 'nowhere': it is not a link of the robot, and TF has not ")
    assert scene.set(table__may_touch=['r_plam'], table__kind='box').startswith(
        "may_touch: there is neither a shape nor a link 'r_plam'. Did you mean 'r_palm'")
    assert scene.set(table__kind='sphere', table__size=[0.1], table__pose=[
        *(palm + 0.05 * X).tolist(), 0.0, 0.0, 0.0, 1.0]) == ''
    scene.robot.run(0.02)
    scene.network.spin(0.5)
    near = 'Nearer than half of collision.margin: '
    assert re.search(near + r"'(l_\w+' and 'table|table' and 'l_\w+)' \(-\d+ mm\)",
                     scene.robot.process.said())
    scene.robot.run(3.0)
    assert scene.robot.process.said().count(near) == 1
    scene.robot.check()


def test_an_object_that_is_locked_to_a_hand_moves_with_it(scene):
    home = scene.hand()
    table = scene.marker(home + 0.3 * DOWN, (0.3, 0.3, 0.1), Marker.CUBE, number=1)
    cargo = scene.marker(np.zeros(3), (0.2, 0.2, 0.2), frame_locked=True)
    cargo.header.frame_id = 'l_hand'
    scene.send(table, cargo)
    scene.robot.send_goal('left', 'l_hand', 0.2 * DOWN)
    scene.robot.run(2.0)
    assert (scene.hand() - home)[2] == pytest.approx(-0.14, abs=1e-3)
    scene.robot.check()


def test_an_object_that_is_locked_to_a_frame_of_tf_moves_with_its_link(
        tf_message, network, described):  # noqa: F811
    """It stayed in the world where the frame was when the marker came."""
    scene = Scene(network, described)
    home, grip = scene.hand(), pose(2)
    grip[:3, 3] *= 0.05
    scene.tell_frames(transforms(tf_message, grip=('l_hand', grip)))
    table = scene.marker(home + 0.3 * DOWN, (0.3, 0.3, 0.1), Marker.CUBE, number=1)
    cargo = scene.marker(np.linalg.inv(grip)[:3, 3], (0.2, 0.2, 0.2), frame_locked=True)
    cargo.header.frame_id = 'grip'
    scene.send_until_known(table, cargo)
    scene.robot.send_goal('left', 'l_hand', 0.2 * DOWN)
    scene.robot.run(2.0)
    assert (scene.hand() - home)[2] == pytest.approx(-0.14, abs=1e-3)
    scene.robot.check()


@pytest.mark.parametrize('kind', ['sphere', 'capsule', 'half_space'])
def test_the_frame_of_an_object_is_one_of_tf(tf_message, network, described, kind):  # noqa: F811
    scene = Scene(network, described)
    home, camera = scene.hand(), pose(1)
    camera[:3, 3] *= 0.1
    scene.tell_frames(transforms(tf_message, camera=('base_link', camera)))
    place = home + 0.3 * X

    def seen(position):
        """Return a point in the frame of the camera, (3,), m."""
        return np.linalg.inv(camera)[:3] @ [*position, 1.0]

    if kind == 'sphere':
        thing = Shape('thing', None, kind, [0.1], place)
        marker = scene.marker(seen(place), 3 * [0.2])
    elif kind == 'capsule':  # along y
        thing = Shape('thing', None, kind, [0.1, 0.4], place, [[1, 0, 0], [0, 0, 1], [0, -1, 0]])
        marker = scene.marker(np.zeros(3), [0.2, 0.0, 0.0], Marker.LINE_STRIP, points=[
            point_message(seen(place + along * np.eye(3)[1])) for along in (-0.2, 0.2)])
    else:  # a wall 0.2 m ahead of the hand
        thing = Shape('thing', None, kind, [], home + 0.2 * X, [[0, 0, -1], [0, 1, 0], [1, 0, 0]])
        marker = scene.marker(np.zeros(3), [0.02, 0.04, 0.0], Marker.ARROW, points=[
            point_message(seen(home + ahead * X)) for ahead in (0.2, 0.1)])
    marker.header.frame_id = 'camera'
    scene.send_until_known(marker)
    scene.robot.send_goal('left', 'l_hand', [0.3, 0.0, 0.0])
    for _ in range(40):
        scene.robot.run(0.05)
        assert scene.nearest(thing) > 0.008  # of a margin of 10 mm
    assert scene.nearest(thing) < 0.012
    scene.robot.check()


@pytest.mark.parametrize(('fields', 'complaint'), [
    ({'type': Marker.LINE_LIST}, 'The marker has 0 points. Give two; of several lines'),
    ({'type': Marker.ARROW, 'points': [(0, 0, 0)] * 3}, 'The marker has 3 points. Give two'),
    ({'type': Marker.LINE_STRIP, 'points': [(1, 2, 3)] * 2}, 'are 0 m apart. Give two that differ'),
    ({'type': Marker.ARROW, 'points': [(0, 0, 0), (0, 0, np.inf)]}, 'are inf m apart'),
    ({'type': Marker.LINE_STRIP, 'points': [(0, 0, 0), (0, 0, 1)], 'width': 0.0},
     'The scale is 0 m. Give the width of the line'),
])
def test_lines_and_arrows_without_a_shape_are_refused(fields, complaint):
    marker = Marker(type=fields['type'],
                    points=[point_message(point) for point in fields.get('points', ())])
    marker.scale.x = fields.get('width', 0.1)
    with pytest.raises(RosInterfaceError, match=complaint):
        shape_of_marker(marker)


def test_an_arrow_without_points_is_along_its_x_axis():
    marker = Marker(type=Marker.ARROW)
    fill_message(marker.pose, np.array([1.0, 2.0, 3.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]))
    kind, size, pose = shape_of_marker(marker)
    assert (kind, size) == (Kind.HALF_SPACE, ())
    np.testing.assert_allclose(pose[:3, 2:], [[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]], atol=1e-12)


def test_a_line_that_points_down_is_a_capsule():
    marker = Marker(type=Marker.LINE_STRIP, points=[
        point_message(point) for point in ((0.0, 0.0, 3.0), (0.0, 0.0, 1.0))])
    marker.scale.x, marker.pose.position.x = 0.2, 1.0
    kind, size, pose = shape_of_marker(marker)
    assert (kind, size) == (Kind.CAPSULE, (0.1, 2.0))
    np.testing.assert_allclose(pose[:3, 2:], [[0.0, 1.0], [0.0, 0.0], [-1.0, 2.0]], atol=1e-12)
    assert np.linalg.det(pose) == pytest.approx(1.0)
