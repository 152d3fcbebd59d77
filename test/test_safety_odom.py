# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry of a floating base that stops, lies or jumps, while its arms are under control."""

import array
import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from rclpy.task import Future
from ros_nodes import COMMANDS, LATCHED
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.model import KinematicTree
from opspace_control.ros.conversions import fill_pose, fill_twist
from opspace_control.simulation import SimulatedRobot
from opspace_control.spatial.rotations import matrix_from_quaternion

ROBOT = ros_nodes.robot_text('free_flyer_3d')
TREE = KinematicTree.from_urdf(ROBOT)
START = {f'{side}_{joint}': value for side in 'lr' for joint, value in (
    ('shoulder_pitch', -0.4), ('elbow', -1.5))}
RATE, STEP = 20.0, 0.001  # 1/s, s
PARAMETERS = {
    'robot_description': ROBOT, 'floating_base': True, 'gravity_compensation': False,
    'tasks': ['left', 'right'], 'left.frame': 'l_hand', 'right.frame': 'r_hand',
    'limits.effort_rate': RATE, 'safety.ramp_time': 0.1, 'safety.release_time': 0.5,
    'safety.state_timeout': 0.0,  # in lock-step the robot waits for the controller
}


class FreeFlyer:
    """A weightless robot in lock-step: a step for each command, and odometry before each state."""

    def __init__(self, network):
        self.network = network
        self.physics = SimulatedRobot(ROBOT, floating_base=True, gravity=np.zeros(3))
        self.physics.reset(START, base_twist=[0.02, 0.01, -0.01, 0.03, 0.02, -0.02])
        self.commands = []
        self._answer = Future()
        network.node.create_subscription(
            Float64MultiArray, COMMANDS, self._on_command, QoSProfile(depth=1000))
        self.process = network.start('controller', PARAMETERS)
        self.states = network.publisher(JointState, 'joint_states', LATCHED)
        self.odom = network.publisher(Odometry, 'odom', LATCHED)

    def run(self, seconds, odometry=lambda message, k: message):
        """Go on for some time; what is sent instead of each odometry may be None: nothing."""
        for k in range(round(seconds / STEP)):
            odom = odometry(self.odometry(), k)
            self._answer = Future()
            for _ in range(100):
                if odom is not None:
                    self.odom.publish(odom)
                self.states.publish(self.state())
                if self.network.wait(self._answer, 0.2):
                    break
            else:
                self.network.fail()
            self.physics.set_effort(self.commands[-1])
            self.physics.step()

    def state(self):
        return self._stamped(JointState(
            name=list(self.physics.joint_names), position=array.array('d', self.physics.positions),
            velocity=array.array('d', self.physics.velocities)))

    def odometry(self):
        message = self._stamped(Odometry(child_frame_id='base_link'))
        message.header.frame_id = 'odom'
        pose = self.physics.base_pose
        fill_pose(message.pose.pose, pose)
        R = matrix_from_quaternion(pose[3:])
        fill_twist(message.twist.twist, (self.physics.base_twist.reshape(2, 3) @ R).reshape(6))
        return message

    def hand(self, side='l'):
        return self.physics.frame_pose(f'{side}_hand')

    def send_goal(self, offset):
        """Send the left hand elsewhere, (3,) m, in the world; return when the goal is known."""
        goal = self.hand()
        goal[:3] += offset
        message = PoseStamped()
        message.header.frame_id = 'odom'
        fill_pose(message.pose, goal)
        publisher = self.network.publisher(
            PoseStamped, f'{ros_nodes.CONTROLLER}/left/target_pose')
        start = self.hand()
        for _ in range(50):
            publisher.publish(message)
            self.run(0.02)
            if np.linalg.norm(self.hand()[:3] - start[:3]) > 2e-4:
                return goal
        self.network.fail()

    def said(self, text):
        return text in self.process.said()

    def check(self):
        """Every command is finite, within the limits, and as near to the last as it must be."""
        efforts = np.array(self.commands)
        limits = TREE.effort_limits
        assert np.isfinite(efforts).all()
        assert (abs(efforts) <= limits * (1.0 + 1e-12)).all()
        assert (abs(np.diff(efforts, axis=0)) <= RATE * 0.01 * limits * (1.0 + 1e-9)).all()

    def _stamped(self, message):
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(round(1e9 * (1.0 + self.physics.time)), 1_000_000_000)
        return message

    def _on_command(self, message):
        self.commands.append(np.array(message.data))
        if not self._answer.done():
            self._answer.set_result(None)


@pytest.fixture
def robot():
    with ros_nodes.network() as network:
        robot = FreeFlyer(network)
        robot.run(0.2)
        yield robot
        robot.check()


class TestOdometryStops:

    def test_for_a_moment(self, robot):
        """Up to the timeout the base is carried on; nothing is noticed."""
        goal = robot.send_goal([0.05, 0.0, 0.05])
        for _ in range(20):
            robot.run(0.09, lambda message, k: None if k % 90 else message)
        robot.run(0.5)
        assert np.linalg.norm(robot.hand()[:3] - goal[:3]) < 5e-3
        assert not robot.said('odom_')

    def test_for_good_and_comes_again(self, robot):
        goal = robot.send_goal([0.05, 0.0, 0.05])
        robot.run(0.3, lambda message, k: None)
        assert robot.said('odom_timeout: The odometry is 0.101 s behind')
        robot.run(0.05)
        robot.network.expect(lambda: robot.said('odom_timeout is over: control goes on'))
        robot.run(2.0)
        if robot.said('control goes on with its goals'):
            assert np.linalg.norm(robot.hand()[:3] - goal[:3]) < 5e-3

    def test_and_the_robot_rests(self, robot):
        robot.run(0.15, lambda message, k: None)
        end = len(robot.commands)
        robot.network.spin(0.7)  # released meanwhile
        robot.run(0.05, lambda message, k: None)
        assert not np.array(robot.commands[-20:]).any()
        assert len(robot.commands) > end


def spoil(message, k):
    message.pose.pose.position.x = math.nan
    return message


def unturned(message, k):
    message.pose.pose.orientation.w = 0.0
    return message


def elsewhere(message, k):
    message.header.frame_id = 'map'
    return message


def another_robots(message, k):
    message.child_frame_id = 'chassis'
    return message


@pytest.mark.parametrize(('change', 'reason'), [
    (spoil, 'not finite'), (unturned, 'quaternion'), (elsewhere, "'map'"),
    (another_robots, "'chassis'")])
def test_odometry_cannot_be_used(robot, change, reason):
    robot.run(0.05, change)
    assert robot.said('odom_invalid: ')
    assert robot.said(reason)
    robot.run(0.05)
    robot.network.expect(lambda: robot.said('odom_invalid is over'))


def shifted(message, k):
    message.pose.pose.position.z += 0.5
    return message


def turned(message, k):
    fill_pose(message.pose.pose, np.array([0.0, 0.0, 0.0, 0.0, 0.0, math.sin(0.2), math.cos(0.2)]))
    return message


@pytest.mark.parametrize(('change', 'reason'), [
    (shifted, "'base/z' jumped"), (turned, "The orientation of 'base' jumped")])
def test_base_jumps(robot, change, reason):
    robot.run(0.03, change)
    assert robot.said('position_jump: ')
    assert robot.said(reason)
    robot.run(0.05)
    robot.network.expect(lambda: robot.said('position_jump is over'))


class TestOdometryIsNotThereAtFirst:

    @pytest.fixture
    def waiting(self):
        with ros_nodes.network() as network:
            robot = FreeFlyer(network)
            for _ in range(20):
                robot.states.publish(robot.state())
                network.spin(0.01)
            assert not robot.commands
            yield robot

    def test_and_comes(self, waiting):
        waiting.run(0.3)
        waiting.check()
        assert not waiting.said('odom_timeout')
        assert not waiting.said('ERROR')

    def test_and_never_comes(self, waiting):
        waiting.network.send(waiting.states, waiting.state(),
                             lambda: waiting.said('odom_timeout: No odometry has come yet.'))
        waiting.network.spin(0.2)
        assert not np.array(waiting.commands or [[0.0]]).any()
        waiting.run(0.3)
        waiting.network.expect(lambda: waiting.said('odom_timeout is over'))
