# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Processes that end, in the right way or the wrong one."""

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from safety_bench import PARAMETERS, START, check_commands, robot_under_control
from timing import wait_until

AHEAD = (0.1, 0.0, 0.1)  # m
TIMEOUT = 0.25  # s
SOON = 5.0  # s


@pytest.fixture
def robot():
    with robot_under_control() as robot:
        yield robot


# The controller node, but for a fault in its first cycle after a signal.
FAULTY = """
import signal
import sys
from opspace_control.control.controller import OperationalSpaceController
from opspace_control.ros.controller import main

def faulty(*arguments, **options):
    raise RuntimeError('A bug.')

def on_signal(*_):
    OperationalSpaceController.compute_torque = faulty

signal.signal(signal.SIGUSR1, on_signal)
sys.exit(main(sys.argv[2:]))
"""


class Faulty(ros_nodes.Node):
    program = ('-c', FAULTY)


def moving(robot):
    """Let a hand move; return from which command on."""
    robot.send_goal('left', AHEAD)
    robot.lock_step(0.1)
    return len(robot.commands)


class TestControllerEnds:

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
    def test_by_a_signal(self, robot, number):
        """Damped, then released, in that order and without a jump; a clean exit."""
        first = moving(robot)
        robot.process.send_signal(number)
        robot.live_until(lambda: robot.process.exit_code() is not None)
        assert robot.process.exit_code() == 0
        robot.network.expect(lambda: robot.resting)
        assert len(robot.commands) - first > 10
        robot.log('released')

    def test_by_a_signal_when_the_robot_has_gone(self):
        """It takes no time to release a robot that does not take the commands any more."""
        for _ in range(3):  # a machine that stalls gets another chance
            with robot_under_control({'safety.release_time': 2.0 * SOON}) as robot:
                robot.network.ignore()
                robot.process.send_signal(signal.SIGINT)
                if wait_until(lambda robot=robot: robot.process.exit_code() is not None, SOON):
                    assert robot.process.exit_code() == 0
                    robot.log('released')
                    return
        pytest.fail('It does not end before its release time is over.')

    def test_by_an_exception_in_the_cycle(self):
        """The same, told by a traceback and an exit code."""
        with robot_under_control(hold=False, kind=Faulty) as robot:
            robot.lock_step(0.4)
            robot.process.send_signal(signal.SIGUSR1)
            robot.live_until(lambda: robot.process.exit_code() is not None)
            assert robot.process.exit_code() == 1
            robot.network.expect(lambda: robot.resting)
            assert 'A bug.' in robot.process.said()


def test_simulator_is_killed_and_started_anew():
    """Damped, then released; then held where the robot is found, in its new time."""
    lock_step = {'robot_description': PARAMETERS['robot_description'], 'pace': 'lock_step',
                 'timestep': 0.002,
                 **{f'initial_positions.{joint}': value for joint, value in START.items()}}
    with ros_nodes.network() as network:
        commands, states = network.commands(), network.states()
        controller = network.start('controller', PARAMETERS | {'safety.state_timeout': TIMEOUT})

        def missed():
            """Return how often the controller has missed its robot."""
            return controller.said().count('state_timeout: No new joint state')

        def start(seconds):
            """Start a simulator and let it get that far."""
            del states[:]
            simulator = network.start('simulator', lock_step)
            network.expect(lambda: states and after(states[-1], seconds), ros_nodes.COMPILING)
            return simulator

        simulator = start(0.3)
        for _ in range(3):
            told, before = len(controller.said()), missed()
            simulator.end(signal.SIGKILL)
            network.expect(lambda before=before: missed() > before)
            network.expect(lambda: commands and not any(commands[-1].data))
            before = missed()
            simulator = start(1.5)
            assert 'control resumes with the present pose as goal' in controller.said()[told:]
            check_commands([command.data for command in commands])
            if missed() == before:
                break  # a machine that stalls, and has it released once more, gets another chance
        else:
            pytest.fail(controller.said())
        assert any(commands[-1].data)
        np.testing.assert_allclose(states[-1].position, states[-100].position, atol=1e-3)


def after(state, seconds):
    """Whether a state is later in its simulation than so many seconds."""
    return state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec > seconds
