# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Motors that fail and brakes that come on at 1 kHz, mid-motion, while the node is running."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from diagnostic_msgs.msg import DiagnosticArray
from ros_lockstep import RATE, STEP, LockStepRobot

ARM = {'tasks': ['hand'], 'hand.axes': 'x y z', 'hand.max_linear_velocity': 0.4}
BENT = {'joint_1': 0.2, 'joint_2': 0.9, 'joint_3': 0.5, 'joint_4': 1.3, 'joint_5': 0.6,
        'joint_6': -0.4, 'joint_7': 0.4}
WAY = [0.03, -0.20, 0.17]  # m
HINGED = {'tasks': ['hand'], 'hand.axes': 'x y', 'hand.max_linear_velocity': 0.25}
FOLDED = {'shoulder': -0.5, 'hinge': 0.5, 'elbow': 1.0, 'wrist': -1.5}


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


@pytest.fixture
def arm(network):
    robot = LockStepRobot(network, 'arm_7r', ARM, BENT, joint_friction=False)
    robot.run(0.3)
    yield robot
    robot.check()


@pytest.fixture
def hinged(network):
    robot = LockStepRobot(network, 'planar_4r', HINGED, FOLDED, joint_friction=False)
    robot.physics.set_status(passive=['hinge'])
    robot.run(0.2)
    yield robot
    robot.check()


def steps(robot, since):
    """Return the largest change of a command from one on, of the efforts' limits."""
    efforts = np.array(robot.commands[since:]) / robot._limits
    return abs(np.diff(efforts, axis=0)).max()


class TestMotorFails:

    def test_and_the_goal_is_reached_by_what_is_left(self, arm):
        goal = arm.send_goal('hand', 'hand', WAY)
        arm.run(0.3)
        assert arm.off('hand', goal) > 0.02  # on its way
        failed = len(arm.commands)
        arm.physics.set_status(passive=['joint_3'])
        assert arm.change(passive_joints=['joint_3']).successful
        arm.run(6.0)
        assert arm.off('hand', goal) < 1e-3
        assert abs(arm.physics.velocities).max() < 0.05
        # No jump, whatever the law now wants, and no effort at all for the dead drive.
        assert steps(arm, failed - 1) <= RATE * STEP * (1.0 + 1e-9)
        dead = arm.order.index('joint_3')
        later = np.array(arm.commands[failed + 60:])
        assert not later[:, dead].any()
        assert arm.said('Passive: joint_3; locked: none.')

    def test_and_is_repaired(self, arm):
        arm.physics.set_status(passive=['joint_3'])
        assert arm.change(passive_joints=['joint_3']).successful
        arm.run(1.0)
        arm.physics.set_status(passive=[])
        # As `ros2 param set` has to say it, which knows no empty list.
        assert arm.change(passive_joints=['']).successful
        back = len(arm.commands)
        arm.run(1.0)
        dead = arm.order.index('joint_3')
        assert np.array(arm.commands[back:])[:, dead].any()
        assert steps(arm, back - 1) <= RATE * STEP * (1.0 + 1e-9)

    @pytest.mark.parametrize(('lists', 'reason'), [
        ({'passive_joints': ['joint_8']}, "'joint_7'"),
        ({'locked_joints': ['joint_3', 'hand']}, "'hand'")])
    def test_under_a_wrong_name_is_refused(self, arm, lists, reason):
        result = arm.change(**lists)
        assert not result.successful
        assert reason in result.reason
        arm.run(0.05)
        assert arm.commands[-1].any()


def test_a_brake_comes_on_and_the_others_go_on(arm):
    goal = arm.send_goal('hand', 'hand', WAY)
    arm.run(0.3)
    assert arm.off('hand', goal) > 0.02
    on = len(arm.commands)
    arm.physics.set_status(locked=['joint_3'])
    assert arm.change(locked_joints=['joint_3']).successful
    arm.run(3.0)
    assert arm.off('hand', goal) < 2e-3
    assert steps(arm, on - 1) <= RATE * STEP * (1.0 + 1e-9)
    assert not np.array(arm.commands[on + 60:])[:, arm.order.index('joint_3')].any()


def test_a_joint_that_hardware_only_sees_is_passive(hinged):
    """Nobody has said so but the URDF; the hand reaches its goal over it."""
    assert hinged.order == ['shoulder', 'elbow', 'wrist']
    assert hinged.said('passive: hinge;')
    goal = hinged.send_goal('hand', 'hand', [-0.15, 0.27, 0.0])
    hinged.run(4.0)
    assert hinged.off('hand', goal) < 1e-3


def test_directions_that_are_lost_are_named_and_the_robot_rests(network, hinged):
    heard = network.listen(DiagnosticArray, '/diagnostics')
    hinged.send_goal('hand', 'hand', [-0.15, 0.27, 0.0])
    hinged.run(0.3)
    hinged.physics.set_status(passive=['hinge'], locked=['shoulder', 'wrist'])
    assert hinged.change(locked_joints=['shoulder', 'wrist']).successful
    hinged.run(8.0)
    assert abs(hinged.physics.velocities).max() < 0.01

    def told():
        for message in heard[-1:]:
            status = message.status[0]
            values = {item.key: item.value for item in status.values}
            if values['locked joints'] == 'shoulder, wrist':
                return status.message, values
        return None

    # Diagnostics are sent by the clock on the wall: keep the cycle going until they are.
    for _ in range(100):
        hinged.run(0.05)
        if told():
            break
    summary, values = told()
    assert values['passive joints'] == 'hinge'
    lost = values['singular or nearly singular directions']
    assert 'hand x' in lost
    assert 'hand y' in lost
    assert f'Directions of the tasks are singular: {lost}.' in summary
