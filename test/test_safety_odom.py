# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry of a floating base that stops, lies or jumps, while its arms are under control."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from ros_lockstep import STEP, LockStepRobot

from opspace_control.ros.middleware.conversions import fill_message

START = {f'{side}_{joint}': value for side in 'lr' for joint, value in (
    ('shoulder_pitch', -0.4), ('elbow', -1.5))}
PARAMETERS = {
    'floating_base': True, 'gravity_compensation': False, 'tasks': ['left', 'right'],
    'left.frame': 'l_hand', 'right.frame': 'r_hand'}


def free_flyer(network):
    """Return a weightless robot that drifts, and its controller."""
    return LockStepRobot(
        network, 'free_flyer_3d', PARAMETERS, START, [0.02, 0.01, -0.01, 0.03, 0.02, -0.02],
        floating_base=True, gravity=np.zeros(3))


@pytest.fixture
def robot():
    with ros_nodes.network() as network:
        robot = free_flyer(network)
        robot.run(0.2)
        yield robot
        robot.check()


class TestOdometryStops:

    def test_for_a_moment(self, robot):
        """Up to the timeout the base is carried on; nothing is noticed."""
        goal = robot.send_goal('left', 'l_hand', [0.05, 0.0, 0.05])
        for _ in range(20):
            robot.run(0.09, lambda message, k: None if k % 90 else message)
        robot.run(0.5)
        assert robot.off('l_hand', goal) < 5e-3
        assert not robot.said('odom_')

    def test_for_good_and_comes_again(self, robot):
        goal = robot.send_goal('left', 'l_hand', [0.05, 0.0, 0.05])
        robot.run(0.3, lambda message, k: None)
        assert robot.said(f'odom_timeout: The odometry is {0.1 + STEP:.3f} s behind')
        robot.run(0.05)
        robot.network.expect(lambda: robot.said('odom_timeout is over: control resumes'))
        robot.run(2.0)
        if robot.said('control resumes with its goals'):
            assert robot.off('l_hand', goal) < 5e-3

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


def recovers(robot):
    """Go on until the trip is over: odometry may come later than its joint state for some time."""
    for _ in range(50):
        robot.run(0.05)
        if robot.said('odom_invalid is over'):
            return
    robot.network.fail()


@pytest.mark.parametrize(('change', 'reason'), [
    (spoil, 'not finite'), (unturned, 'quaternion'), (elsewhere, "'map'"),
    (another_robots, "'chassis'")])
def test_odometry_cannot_be_used(robot, change, reason):
    robot.run(0.05, change)
    assert robot.said('odom_invalid: ')
    assert robot.said(reason)
    recovers(robot)


def test_odometry_and_joint_states_cannot_be_used_at_once(robot, monkeypatch):
    """What was known of the joints is damped; the node goes on."""
    state = robot.state

    def broken():
        message = state()
        message.position[0] = math.nan
        return message
    with monkeypatch.context() as patch:
        patch.setattr(robot, 'state', broken)
        robot.run(0.05, spoil)
    assert robot.said('odom_invalid: ')
    recovers(robot)


def shifted(message, k):
    message.pose.pose.position.z += 0.5
    return message


def turned(message, k):
    fill_message(message.pose.pose,
                 np.array([0.0, 0.0, 0.0, 0.0, 0.0, math.sin(0.2), math.cos(0.2)]))
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
            robot = free_flyer(network)
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
