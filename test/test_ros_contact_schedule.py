# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A gait of another node: contacts by a schedule, their bounds and all goals on topics."""

import array
from functools import cache

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from geometry_msgs.msg import AccelStamped, PoseStamped, TwistStamped, Vector3, Vector3Stamped
from legged_nodes import Legged, given
from ros_nodes import CONTROLLER
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from opspace_control import RobotState
from opspace_control.cli.robots import demo_robot
from opspace_control.locomotion import Locomotion
from opspace_control.locomotion.trunk import VELOCITY
from opspace_control.ros.middleware.conversions import fill_message, time_message
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.robot import make_controller
from opspace_control.ros.topics.contact_markers import CONES

PERIOD, AHEAD = 0.004, 0.002  # s, of the planner, and from a message to the change it tells of
ROBOT = demo_robot('go2')


class Planner:
    """A gait that only sends messages: a `Locomotion` of a controller that is never asked."""

    def __init__(self, robot):
        values = given('go2', 'opspace_controller')
        values = {row.name: row.default for row in table_of(values)} | values
        self._robot, network = robot, robot.network
        self._controller, _ = make_controller(ROBOT.path().read_text(), values, floating_base=True)
        self.locomotion = Locomotion(self._controller, ROBOT.feet, ROBOT.start)
        self._state = RobotState(self._controller.model, self._controller.model.neutral(),
                                 np.zeros(self._controller.model.nv))
        self._schedule = network.publisher(JointTrajectory, f'{CONTROLLER}/contact_schedule')
        self._publisher = cache(network.publisher)
        self._engaged = [1.0] * 4

    def run(self, seconds):
        for _ in range(round(seconds / PERIOD)):
            physics = self._robot.physics
            self._state.update(np.r_[physics.base_pose, physics.positions],
                               np.r_[physics.base_twist, physics.velocities])
            self.locomotion.update(self._state, PERIOD)
            self._send_schedule()
            for task in self._controller.tasks.values():
                if task.enabled:
                    self._send_goal(task)
            self._robot.run(PERIOD)

    def _send_schedule(self):
        engaged = self.locomotion.on_ground.astype(float).tolist()
        if engaged != self._engaged:
            self._engaged = engaged
            self._schedule.publish(schedule(self._robot.time + AHEAD, ROBOT.feet, engaged))

    def _send_goal(self, task):
        record, topic = task._record, f'{CONTROLLER}/{task.name}'
        pose = PoseStamped()
        fill_message(pose.pose, task.target)
        if task.name == VELOCITY:  # a gait controls no place of the trunk, and need not tell any
            pose.pose.position.x = pose.pose.position.y = 0.0
        self._publisher(PoseStamped, f'{topic}/target_pose').publish(pose)
        for kind, name, part in ((TwistStamped, 'twist', 'target_twist'),
                                 (AccelStamped, 'accel', 'target_acceleration')):
            message = kind()
            fill_message(getattr(message, name), record[part])
            self._publisher(kind, f'{topic}/target_{name}').publish(message)


def schedule(time, contacts, *rows):
    """Return the schedule of contacts from a time on, s, rows 0.1 s apart."""
    message = JointTrajectory(joint_names=list(contacts), points=[
        JointTrajectoryPoint(positions=array.array('d', row), time_from_start=time_message(
            round(1e8 * k), kind=type(JointTrajectoryPoint().time_from_start)))
        for k, row in enumerate(rows)])
    message.header.stamp = time_message(round(1e9 * time))
    return message


@pytest.fixture(scope='module')
def robot():
    with ros_nodes.network() as network:
        robot = Legged(network, 'go2', {'publish_rate': 500.0})
        robot.run(0.2)  # by its own gait, which controls the place of a robot that stands
        assert robot.change(legs__gait='external') == ''
        yield robot


def test_another_gait_trots_the_robot(robot):
    planner, states = Planner(robot), robot.network.listen(
        JointState, f'{CONTROLLER}/contact_state')
    planner.run(0.05)
    planner.locomotion.gait = 'trot'
    planner.locomotion.command(0.3)
    planner.run(1.2)
    assert robot.tilt < 0.1 and robot.position[2] == pytest.approx(0.34, abs=0.02)
    assert robot.velocity[0] == pytest.approx(0.3, abs=0.15)
    # Diagonal feet were engaged in turn; the load was that of the robot.
    engaged = {tuple(message.position) for message in states}
    assert {(1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 1.0, 0.0)} <= engaged
    loads = [sum(message.effort) for message in states[-200:]]
    assert np.mean(loads) == pytest.approx(16.1 * 9.81, rel=0.15)
    planner.locomotion.gait = 'stand'
    planner.run(0.5)
    assert robot.tilt < 0.1


def test_hold_leaves_the_contacts_to_the_other_gait(robot):
    """Feet that swing do not become engaged in the air."""
    planner = Planner(robot)
    planner.run(0.05)
    planner.locomotion.gait = 'trot'
    planner.locomotion.command(0.3)
    planner.run(0.4)
    robot.hold()
    planner.run(0.5)
    assert robot.tilt < 0.1 and robot.position[2] == pytest.approx(0.34, abs=0.02)
    planner.locomotion.gait = 'stand'
    planner.run(0.5)


FOOT = f'{CONTROLLER}/FL_foot'


def send(robot, kind, topic, *messages):
    """Send messages of a contact, one after the other, and go on."""
    publisher = robot.network.publisher(kind, f'{FOOT}/{topic}')
    robot.network.expect(publisher.get_subscription_count)
    for message in messages:
        publisher.publish(message)
        robot.network.spin(0.05)
        robot.run(0.1)


def normal(*vector, frame=''):
    message = Vector3Stamped(vector=Vector3(**dict(zip('xyz', vector, strict=True))))
    message.header.frame_id = frame
    return message


def bounds(*numbers):
    return Float64MultiArray(data=numbers)


def test_bounds_of_a_contact_come_on_topics(robot):
    """A foot bears no more than it is allowed; its cone has the friction and the normal told."""
    states = robot.network.listen(JointState, f'{CONTROLLER}/contact_state')
    shown = robot.network.listen(MarkerArray, f'{CONTROLLER}/markers')
    robot.run(0.2)
    assert states[-1].effort[0] > 30.0
    send(robot, Float64MultiArray, 'bounds', bounds(0.4, 5.0, 20.0))
    send(robot, Vector3Stamped, 'normal', normal(2.0, 0.0, 0.2, frame='FL_foot'),
         normal(0.0, 0.2, 2.0))
    loads = [list(message.effort) for message in states[-20:]]
    assert np.max(loads, axis=0)[0] < 20.0 + 1e-6 < np.min(loads, axis=0)[1]
    assert np.sum(loads, axis=1).mean() == pytest.approx(16.1 * 9.81, rel=0.05)
    cone = next(one for one in shown[-1].markers if one.ns == CONES and one.id == 0)
    points = np.array([[point.x, point.y, point.z] for point in cone.points])
    rays = (points - points[0])[1:24:2]
    axis = rays.mean(axis=0) / np.linalg.norm(rays.mean(axis=0))
    np.testing.assert_allclose(axis, np.array([0.0, 0.1, 1.0]) / np.hypot(0.1, 1.0), atol=1e-6)
    along = rays @ axis
    np.testing.assert_allclose(
        np.linalg.norm(rays - along[:, None] * axis, axis=1), 0.4 * along, rtol=1e-6)
    send(robot, Float64MultiArray, 'bounds', bounds(0.7, 0.0, 0.0))
    send(robot, Vector3Stamped, 'normal', normal(0.0, 0.0, 1.0))
    assert states[-1].effort[0] > 30.0 and robot.tilt < 0.05


@pytest.mark.parametrize(('kind', 'topic', 'message', 'match'), [
    (Float64MultiArray, 'bounds', bounds(0.4, 5.0), '[0.4, 5.0] cannot be used'),
    (Float64MultiArray, 'bounds', bounds(-1.0), 'friction = -1'),
    (Float64MultiArray, 'bounds', bounds(0.5, 9.0, 3.0), 'the greatest above it'),
    (Vector3Stamped, 'normal', normal(0.0, 0.0, 0.0), 'not all zero'),
    (Vector3Stamped, 'normal', normal(0.0, 0.0, 1.0, frame='hoof'), "no frame 'hoof'")])
def test_bounds_that_cannot_be_used_are_refused(robot, kind, topic, message, match):
    """A reason is told once a second."""
    for _ in range(20):
        if robot.said(match):
            break
        send(robot, kind, topic, message)
    assert robot.said(match)


def test_schedules_that_cannot_be_used_are_refused(robot):
    publisher = robot.network.publisher(JointTrajectory, f'{CONTROLLER}/contact_schedule')
    for message, match in (
            (schedule(robot.time, ['hoof'], [1.0]), "no contact 'hoof'"),
            (schedule(robot.time, ['FL_foot'], [0.5]), 'not a 1 or 0'),
            (schedule(robot.time - 5.0, ['FL_foot'], [1.0], [0.0]), 'The trajectory ended')):
        robot.run(0.002)
        for _ in range(100):
            publisher.publish(message)
            robot.network.spin(0.05)
            if robot.said(match):
                break
        assert robot.said(match)
