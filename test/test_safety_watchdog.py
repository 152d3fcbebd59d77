# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A controller or its watchdog is killed outright: what it can no longer do, the other one does."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from controller_bench import PARAMETERS, Bench, moved, reference, torque
from controller_bench import START as CROUCHED
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_nodes import joint_state
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from test_ros_command_watchdog import Bench as WatchdogBench
from test_ros_command_watchdog import seen
from test_ros_controller_manager import (
    ALONE,
    OURS,
    broadcaster,
    effort_controller,
    gravity,
    new_bench,
    position_controller,
)

from opspace_control import RobotModel

ROBOT = ros_nodes.robot_text('planar_3r')
START = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
INPUT = 'opspace_command_watchdog/commands'
DEADLINE = 0.1  # s
MODEL = RobotModel.from_urdf(ROBOT)


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


class Moving:
    """A simulated robot that its controller moves, with a watchdog in front of it."""

    def __init__(self, network, state_timeout=0.05, pace='real_time', **of_watchdog):
        self.network = network
        self.states, self.commands = network.states(), network.commands()
        network.start('simulator', {
            'robot_description': ROBOT, 'pace': pace, 'timestep': 0.002} | {
            f'initial_positions.{name}': value for name, value in START.items()})
        self.watchdog = network.start('command_watchdog', {
            'robot_description': ROBOT, 'deadline': DEADLINE, 'hold_time': 1000.0, **of_watchdog})
        self.controller = network.start('controller', {
            'robot_description': ROBOT, 'command_topic': INPUT, 'posture.kp': 4.0,
            'safety.state_timeout': state_timeout})
        self.given = network.listen(Float64MultiArray, INPUT, ros_nodes.NEWEST)
        posture = network.publisher(JointState, 'opspace_controller/target_joint')
        for goal in (0.0, START['shoulder']) * 60:  # a busy machine may look when it has arrived
            posture.publish(JointState(name=['shoulder'], position=[goal]))
            if network.until(self.moves, 1.0):
                return
        network.fail()

    def moves(self):
        return self.commands and self.states and self.speed() > 0.2

    def speed(self):
        return abs(np.array(self.states[-1].velocity)).max()

    def time(self):
        stamp = self.states[-1].header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    def alarms(self):
        return self.watchdog.said().count('No command for')

    def freeze(self):
        """Let the robot move by `step_until` alone, be there commands or not."""
        self.network.call(SetBool, f'{ros_nodes.SIMULATOR}/pause', data=True)
        self._stepper = self.network.node.create_client(Trigger, f'{ros_nodes.SIMULATOR}/step')
        self.network.expect(self._stepper.service_is_ready)

    def step_until(self, condition, wait=1.0):
        """
        Let it make a step for each command until a condition holds; without one after so many s.

        The states flow, and no time passes while a busy machine keeps a process waiting.
        """
        def stepped():
            count = len(self.commands)
            self.network.wait(self._stepper.call_async(Trigger.Request()), 1.0)
            self.network.until(lambda: len(self.commands) > count, wait)
            return condition()
        self.network.expect(stepped)

    def stays(self):
        """Return whether it has not moved by 0.01 rad half a second later."""
        before, then = np.array(self.states[-1].position), self.time()
        self.step_until(lambda: self.time() > then + 0.5)
        return abs(np.array(self.states[-1].position) - before).max() < 0.01

    def kill(self, process):
        os.kill(process.pid, signal.SIGKILL)
        self.network.expect(lambda: process.exit_code() is not None)
        # Let the last commands in.
        self.network.spin(0.5 * DEADLINE)
        del self.given[:], self.commands[:], self.states[:]

    def rests(self):
        """Wait until zero is commanded, and then nothing more."""
        def quiet():
            count = len(self.commands)
            self.network.spin(0.2)
            return len(self.commands) == count and not any(self.commands[-1].data)
        self.network.expect(quiet)


def test_controller_is_killed(network):
    """Its robot is stopped and carried where it is, and released when it has been told so."""
    # A process that is killed may keep the states from coming for a second.
    robot = Moving(network, state_timeout=0.0, pace='lock_step', deadline=0.5, release_time=10.0)
    robot.freeze()
    before = robot.alarms()  # a busy machine may have kept the commands from coming
    robot.kill(robot.controller)
    robot.step_until(lambda: robot.commands and robot.alarms() > before, 0.2)
    there = robot.states[-1].position
    del robot.given[:]  # a busy machine may have delivered the last ones late
    robot.step_until(lambda: robot.speed() < 0.01)
    # It returns to there, and again where states were missing for a while.
    assert any(robot.stays() for _ in range(10))
    np.testing.assert_allclose(robot.states[-1].position, there, atol=0.2)
    # Without commands it would fall, and be at 4 rad/s after half a second.
    assert np.max(np.abs([state.velocity for state in robot.states])) < 1.0
    network.call(SetParameters, '/opspace_command_watchdog/set_parameters', parameters=[
        Parameter('release_time', value=0.3).to_parameter_msg(),
        Parameter('hold_time', value=0.0).to_parameter_msg()])
    robot.rests()
    efforts = np.array([command.data for command in robot.commands])
    assert not robot.given
    assert (np.abs(efforts) < MODEL.effort_limits).all()
    assert robot.alarms() == before + 1


def test_controller_is_killed_under_a_controller_manager(messages):
    """It is carried until the position controller has the joints again, and never released."""
    with new_bench(messages) as bench:
        network = bench.network
        manager = bench.manage(broadcaster(), position_controller(), effort_controller())
        watchdog = network.start('command_watchdog', {
            'robot_description': ROBOT, 'controller_manager': 'controller_manager',
            'deadline': 5.0 * DEADLINE, 'hold_time': 0.5})  # its states are of a thread of the test
        bench.log_of(watchdog, f'from /{INPUT}')
        bench.start(command_topic=INPUT)
        bench.log_active()
        assert manager.active == OURS
        os.kill(bench.process.pid, signal.SIGKILL)
        network.expect(lambda: manager.active == ALONE)
        ours = manager['effort_controller']
        carried = [command for time, command in ours.received
                   if time > ours.deactivated - 0.2]
        np.testing.assert_allclose(carried, np.tile(gravity(), (len(carried), 1)), atol=1e-6)
        network.expect(lambda: "'position_controller' has the joints" in watchdog.said())
        assert 'released' not in watchdog.said()


def test_takes_over_within_its_deadline(network):
    """A machine that stalls is given another chance, and another."""
    bench = seen(WatchdogBench(network))

    def waited():
        bench.command(4.0, 5.0, 6.0)
        bench.command(1.0, 2.0, 3.0)
        network.expect(lambda: bench.received[-1][1] != [1.0, 2.0, 3.0])
        theirs = max(time for time, efforts in bench.received if efforts == [1.0, 2.0, 3.0])
        return next(time for time, _ in bench.received if time > theirs) - theirs

    times = [waited()]
    while len(times) < 20 and times[-1] > DEADLINE + 0.05:
        times.append(waited())
    assert min(times) > 0.9 * DEADLINE
    assert times[-1] < DEADLINE + 0.05


def test_watchdog_is_killed(network):
    """The controller notices, goes past it, damps the robot, releases it and is inactive."""
    robot = Moving(network)
    robot.kill(robot.watchdog)
    network.expect(lambda: f'Commands to /{INPUT} no longer arrive at' in robot.controller.said())
    network.expect(lambda: robot.commands)
    robot.rests()
    efforts = np.array([command.data for command in robot.commands])
    assert len(efforts) > 10
    assert (np.abs(efforts) < MODEL.effort_limits).all()
    network.expect(lambda: network.call(
        GetState, f'{ros_nodes.CONTROLLER}/get_state').current_state.id
        == State.PRIMARY_STATE_INACTIVE)


def test_watchdog_starts_late(network):
    """It listens, but passes nothing on yet: goals stay where the robot is."""
    network.start('command_watchdog', {'deadline': DEADLINE})  # which does not know the robot yet
    network.expect(lambda: network.node.count_publishers('opspace_command_watchdog/ready'))
    heard = network.listen(Float64MultiArray, ros_nodes.COMMANDS, ros_nodes.NEWEST)
    network.start('controller', PARAMETERS | {'command_topic': INPUT})
    states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
    for positions in (CROUCHED, moved()):
        for _ in range(50):
            states.publish(joint_state(positions))
            network.spin(0.02)
    assert not heard
    network.publisher(String, 'robot_description', ros_nodes.LATCHED).publish(
        String(data=PARAMETERS['robot_description']))
    network.send(states, joint_state(moved()), lambda: heard)
    expected = torque(reference(), moved())
    network.send(states, joint_state(moved()),
                 lambda: np.allclose(heard[-1].data, expected, atol=1e-9))


def test_nobody_listens_any_more(network):
    """Commands that nobody obeys are no control: the controller ends it, and says so."""
    bench = Bench(network)
    bench.start(PARAMETERS)
    bench.command(joint_state(CROUCHED))
    network.spin(0.2)  # it looks for listeners every 10 ms
    network.node.destroy_subscription(bench.subscription)
    network.send(
        bench.states, joint_state(CROUCHED),
        lambda: '/effort_controller/commands has lost its subscriber' in bench.process.said())
    network.expect(lambda: bench.lifecycle_state() == State.PRIMARY_STATE_INACTIVE)


def test_somebody_listens_late(network):
    """The robot has been moved since: it is held where it is then."""
    heard = []
    controller = network.start('controller', PARAMETERS)
    states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
    for positions in (CROUCHED, moved()):
        for _ in range(20):
            states.publish(joint_state(positions))
            network.spin(0.02)
    network.node.create_subscription(
        Float64MultiArray, ros_nodes.COMMANDS, heard.append, ros_nodes.NEWEST)
    network.send(states, joint_state(moved()), lambda: heard)
    expected = torque(reference(), moved())
    np.testing.assert_allclose(heard[-1].data, expected, atol=1e-9)
    assert controller.exit_code() is None
