# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A controller that is killed outright: what it can no longer do, the command watchdog does."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control import RobotModel

ROBOT = ros_nodes.robot_text('planar_3r')
START = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
INPUT = 'opspace_command_watchdog/commands'
DEADLINE = 0.1  # s
RELEASE_TIME = 0.3  # s
MODEL = RobotModel.from_urdf(ROBOT)


def test_controller_is_killed():
    with ros_nodes.network() as network:
        states = network.states()
        network.start('simulator', {'robot_description': ROBOT} | {
            f'initial_positions.{name}': value for name, value in START.items()})
        watchdog = network.start('command_watchdog', {
            'robot_description': ROBOT, 'deadline': DEADLINE,
            'release_time': RELEASE_TIME})
        controller = network.start('controller', {
            'robot_description': ROBOT, 'command_topic': INPUT, 'posture.kp': 4.0})
        given = network.listen(Float64MultiArray, INPUT, ros_nodes.NEWEST)
        commands = network.commands()
        posture = network.publisher(JointState, 'opspace_controller/target_joint')
        network.send(posture, JointState(name=['shoulder'], position=[0.0]),
                     lambda: commands and states and states[-1].velocity[0] < -0.2)
        os.kill(controller.pid, signal.SIGKILL)
        network.expect(lambda: controller.exit_code() is not None)
        # Let the last commands in.
        network.spin(0.5 * DEADLINE)
        del given[:], commands[:]
        network.expect(lambda: commands and 'No command for' in watchdog.said())
        del states[:]

        def at_rest():
            count = len(commands)
            network.spin(0.2)
            return len(commands) == count
        network.expect(at_rest)
        efforts = np.array([command.data for command in commands])
        assert not given
        assert not efforts[-1].any()
        # It does not hold the robot: it takes the motion out of it, which then sinks and falls.
        assert (np.abs(efforts) < 0.5 * MODEL.effort_limits).all()
        damped = states[:int(1e3 * RELEASE_TIME)]
        assert (np.abs([state.velocity for state in damped]) < MODEL.velocity_limits).all()
        assert watchdog.said().count('No command for') == 1
