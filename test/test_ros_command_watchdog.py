# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The command watchdog between a publisher of commands and a forward controller."""

import array
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from rclpy.qos import QoSProfile
from ros_nodes import joint_state, robot_text
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control import OperationalSpaceController, RobotModel, RobotState

ROBOT = robot_text('planar_3r')
MODEL = RobotModel.from_urdf(ROBOT)
ORDER = ['wrist', 'shoulder', 'elbow']
START = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
VELOCITY = {'shoulder': 0.5, 'elbow': -0.4, 'wrist': 0.3}
PARAMETERS = {'robot_description': ROBOT, 'command_joints': ORDER, 'deadline': 0.1,
              'release_time': 0.3}
INPUT = 'opspace_command_watchdog/commands'


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


@pytest.fixture
def bench(network):
    return Bench(network)


class Bench:
    """A watchdog; the test publishes commands and plays robot and forward controller."""

    def __init__(self, network, **parameters):
        self.network = network
        self.received = []  # (time, efforts), as the forward controller would
        network.node.create_subscription(
            Float64MultiArray, ros_nodes.COMMANDS,
            lambda message: self.received.append((time.monotonic(), message.data.tolist())),
            QoSProfile(depth=1000))
        self.process = network.start('command_watchdog', PARAMETERS | parameters)
        self.commands = network.publisher(Float64MultiArray, INPUT)
        self.states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)

    def command(self, *efforts):
        """Send a command and wait until it has been passed on."""
        self.network.send(self.commands, Float64MultiArray(data=array.array('d', efforts)),
                          lambda: self.received and self.received[-1][1] == list(efforts))

    def state(self):
        """Send the state of a robot that moves."""
        self.states.publish(joint_state(START, [VELOCITY[name] for name in START]))

    def rest(self):
        """Wait until zero is commanded and nothing more; return what was commanded."""
        def quiet():
            count = len(self.received)
            self.network.spin(0.15)
            return len(self.received) == count
        self.network.expect(quiet)
        assert not any(self.received[-1][1])
        return np.array([efforts for _, efforts in self.received])

    def says(self, text):
        self.network.expect(lambda: text in self.process.said())


def damping():
    """Return the damping torque of the moving robot, in the order of the command."""
    state = RobotState(MODEL, [START[name] for name in MODEL.dof_names],
                       [VELOCITY[name] for name in MODEL.dof_names])
    torque = OperationalSpaceController(MODEL).damping_torque(state)
    return torque[[MODEL.dof_index(name) for name in ORDER]]


def test_passes_commands_on_and_adds_nothing(bench):
    for efforts in ([1.0, 2.0, 3.0], [-4.0, 5.0, 6.0]):
        bench.command(*efforts)
    bench.command(0.0, 0.0, 0.0)
    # What is at rest may stay so: a publisher that leaves commands zero last.
    bench.network.spin(0.3)
    assert bench.received[-1][1] == [0.0, 0.0, 0.0]
    assert {tuple(efforts) for _, efforts in bench.received} == {
        (1.0, 2.0, 3.0), (-4.0, 5.0, 6.0), (0.0, 0.0, 0.0)}
    assert 'No command' not in bench.process.said()


def test_damps_then_zeroes_when_commands_stop_and_recovers(bench):
    bench.network.send(bench.states, joint_state(START, list(VELOCITY.values())), lambda: True)
    timer = bench.network.node.create_timer(0.002, bench.state)
    bench.network.spin(0.1)
    bench.command(1.0, 2.0, 3.0)
    last = bench.received[-1][0]
    commands = bench.rest()
    first = next(time for time, efforts in bench.received if time > last)
    own = commands[-sum(time > last for time, _ in bench.received):]
    # All of them take energy out of the robot, less and less.
    np.testing.assert_allclose(own[0], damping(), rtol=0.2)
    velocity = [VELOCITY[name] for name in ORDER]
    power = own @ velocity
    assert (power <= 0.0).all()
    assert (np.diff(power) >= -1e-2 * abs(power[0])).all()
    assert 0.09 < first - last < 0.3
    assert bench.process.said().count('No command for') == 1
    timer.cancel()
    bench.command(7.0, 8.0, 9.0)
    bench.says('Commands are back')


def test_without_a_joint_state_there_is_only_zero(bench):
    bench.command(1.0, 2.0, 3.0)
    commands = bench.rest()
    assert {tuple(row) for row in commands} == {(1.0, 2.0, 3.0), (0.0, 0.0, 0.0)}


def test_what_is_no_command_does_not_count(bench):
    bench.command(1.0, 2.0, 3.0)
    for efforts in ([np.nan, 0.0, 0.0], [1.0, 2.0], [np.inf, 0.0, 0.0]):
        message = Float64MultiArray(data=array.array('d', efforts))
        bench.network.node.create_timer(0.01, lambda message=message: bench.commands.publish(
            message))
    commands = bench.rest()
    assert {tuple(row) for row in commands} == {(1.0, 2.0, 3.0), (0.0, 0.0, 0.0)}
    bench.says('wrist, shoulder, elbow')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_leaves_zero_behind(bench, number):
    bench.command(1.0, 2.0, 3.0)
    assert bench.process.end(number) == 0
    bench.network.spin(0.1)
    assert not any(bench.received[-1][1])


def test_a_release_time_of_zero(network):
    bench = Bench(network, release_time=0.0)
    bench.network.send(bench.states, joint_state(START, list(VELOCITY.values())), lambda: True)
    bench.command(1.0, 2.0, 3.0)
    assert {tuple(row) for row in bench.rest()} == {(1.0, 2.0, 3.0), (0.0, 0.0, 0.0)}
