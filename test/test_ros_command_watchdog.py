# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The command watchdog between a publisher of commands and a forward controller."""

import array
import math
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from ros_nodes import joint_state, robot_text
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray, String

from opspace_control import OperationalSpaceController, RobotModel, RobotState
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.safety.envelope import LONGEST_STEP

ROBOT = robot_text('planar_3r')
MODEL = RobotModel.from_urdf(ROBOT)
ORDER = ['wrist', 'shoulder', 'elbow']
START = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
VELOCITY = {'shoulder': 0.5, 'elbow': -0.4, 'wrist': 0.3}
PARAMETERS = {'robot_description': ROBOT, 'command_joints': ORDER, 'deadline': 0.1,
              'hold_time': 0.0, 'release_time': 0.3, 'effort_rate': 1e6}
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
        self.positions = START
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
        self.states.publish(joint_state(self.positions, [VELOCITY[name] for name in START]))

    def rest(self):
        """Wait until zero is commanded and nothing more; return what was commanded."""
        def quiet():
            count = len(self.received)
            self.network.spin(0.15)
            return len(self.received) == count and not any(self.received[-1][1])
        self.network.expect(quiet)
        return np.array([efforts for _, efforts in self.received])

    def set(self, name, value):
        """Change a parameter."""
        result, = self.network.call(
            SetParameters, '/opspace_command_watchdog/set_parameters',
            parameters=[Parameter(name, value=value).to_parameter_msg()]).results
        assert result.successful, result.reason

    def says(self, text):
        self.network.expect(lambda: text in self.process.said())


INDEX = [MODEL.dof_index(name) for name in ORDER]
MOVING = RobotState(MODEL, [START[name] for name in MODEL.dof_names],
                    [VELOCITY[name] for name in MODEL.dof_names])


def damping(**status):
    """Return the damping torque of the moving robot, in the order of the command."""
    controller = OperationalSpaceController(MODEL)
    controller.set_status(**status)
    return controller.damping_torque(MOVING)[INDEX]


def weight():
    """Return what holds the robot, in the order of the command."""
    return MODEL.gravity(MOVING)[INDEX]


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


def test_listens_before_it_knows_the_robot_and_tells_when_it_passes_commands_on(network):
    process = network.start('command_watchdog', PARAMETERS | {'robot_description': ''})
    network.expect(lambda: network.node.count_subscribers(INPUT))
    told = network.listen(Bool, 'opspace_command_watchdog/ready', ros_nodes.LATCHED)
    network.expect(lambda: told)
    network.publisher(String, 'robot_description', ros_nodes.LATCHED).publish(String(data=ROBOT))
    network.expect(lambda: f'from /{INPUT}' in process.said(), ros_nodes.COMPILING)
    network.spin(0.1)
    assert [each.data for each in told] == [False]  # there is no forward controller yet
    network.commands()
    network.expect(lambda: len(told) > 1)
    assert told[-1].data


@pytest.fixture
def moving(bench):
    """A robot that moves and is seen, under a command."""
    return seen(bench)


def seen(bench):
    """Let the robot be seen, time and again, under a command; return the bench."""
    bench.network.send(bench.states, joint_state(START, list(VELOCITY.values())), lambda: True)
    bench.timer = bench.network.node.create_timer(0.002, bench.state)
    bench.command(4.0, 5.0, 6.0)  # the first may be late
    bench.command(1.0, 2.0, 3.0)
    return bench


def test_damps_then_zeroes_when_commands_stop_and_recovers(moving):
    commands = moving.rest()
    # The command may have been sent, and passed on, more than once.
    theirs = [tuple(efforts) == (1.0, 2.0, 3.0) for _, efforts in moving.received]
    count = theirs.index(False, theirs.index(True))
    own = commands[count:]
    # All of them take energy out of the robot, less and less.
    strength = own[0] / damping()  # less than 1 if the machine stalls while it fades
    assert 0.1 < strength[0] <= 1.0 + 1e-9
    np.testing.assert_allclose(strength, strength[0], rtol=1e-6)
    velocity = [VELOCITY[name] for name in ORDER]
    power = own @ velocity
    assert (power <= 0.0).all()
    # A state that is late on a busy machine lets a single one be smaller.
    largest = [abs(part).max() for part in np.array_split(power, 5)]
    assert (np.diff(largest) <= 0.0).all()
    assert moving.process.said().count('No command for') == 1
    assert 'damped, then released' in moving.process.said()
    moving.timer.cancel()
    moving.command(7.0, 8.0, 9.0)
    moving.says('Commands are back')


@pytest.mark.parametrize(('compensation', 'carried'), [(True, 1.0), (False, 0.0)])
def test_carries_the_robot_as_long_as_it_is_seen(network, compensation, carried):
    expected = damping() + carried * weight()
    bench = seen(Bench(network, hold_time=1000.0, gravity_compensation=compensation))
    assert abs(weight()).max() > 5.0
    network.expect(lambda: np.allclose(bench.received[-1][1], expected, atol=1e-9))
    bench.says('held in position')
    network.spin(1.0)
    np.testing.assert_allclose(bench.received[-1][1], expected, atol=1e-9)
    bench.timer.cancel()
    bench.rest()
    bench.says('released')


def test_holds_with_the_part_of_the_efforts_that_is_used(network):
    """A robot that is tried out with little effort is held with as little."""
    limits = MODEL.effort_limits[INDEX]
    scale = 0.5 * float((abs(weight()) / limits).max())
    bench = seen(Bench(network, hold_time=1000.0, effort_scale=scale))
    bench.says('held in position')
    network.expect(lambda: (abs(np.array(bench.received[-1][1])) / limits).max()
                   == pytest.approx(scale))
    own = np.array([efforts for _, efforts in bench.received
                    if tuple(efforts) not in {(4.0, 5.0, 6.0), (1.0, 2.0, 3.0)}])
    assert (abs(own) <= scale * limits * (1.0 + 1e-9)).all()


def test_holds_the_robot_about_where_it_was_when_the_last_command_was_missed(network):
    """Each time anew: another controller may have moved it in between."""
    moved = {name: START[name] + 0.05 for name in START}
    there = RobotState(MODEL, [moved[name] for name in MODEL.dof_names], MOVING.v)
    away = RobotState(MODEL, there.q, there.q - MOVING.q)
    controller = OperationalSpaceController(MODEL)
    begun = (controller.damping_torque(there) + MODEL.gravity(there))[INDEX]
    held = begun + 2.5 * controller.damping_torque(away)[INDEX]  # k / d = 2.5 1/s
    assert abs(held - begun).max() > 0.1
    before = damping() + weight()
    bench = seen(Bench(network, hold_time=1000.0))
    network.expect(lambda: np.allclose(bench.received[-1][1], before, atol=1e-9))
    bench.positions = moved
    network.expect(lambda: np.allclose(bench.received[-1][1], held, atol=1e-9))
    bench.command(1.0, 2.0, 3.0)
    network.expect(lambda: np.allclose(bench.received[-1][1], begun, atol=1e-9))


def test_carries_the_robot_for_so_long(network):
    """For half a second; a machine that stalls may take longer, and is given another chance."""
    expected = damping() + weight()  # which takes longer than the deadline on a busy machine
    bench = seen(Bench(network, hold_time=0.5))

    def carried():
        del bench.received[:]
        bench.command(1.0, 2.0, 3.0)
        bench.rest()
        times = [time for time, efforts in bench.received
                 if np.allclose(efforts, expected, atol=1e-9)]
        return times[-1] - times[0] if times else 0.0

    seconds = [carried()]
    while len(seconds) < 20 and not 0.45 < seconds[-1] < 0.55:
        seconds.append(carried())
    assert 0.45 < seconds[-1] < 0.55
    said = bench.process.said()
    assert 'held in position; after 0.5 s it is released' in said
    released = said.index('is released now, after hold_time')
    assert released < said.rindex('zero effort is commanded')


def test_goes_on_carrying_when_states_come_back_in_time(network):
    expected = damping() + weight()
    bench = seen(Bench(network, hold_time=1000.0, release_time=2.0))
    for _ in range(3):
        network.expect(lambda: np.allclose(bench.received[-1][1], expected, atol=1e-9))
        bench.timer.cancel()
        network.expect(lambda: abs(np.array(bench.received[-1][1])).max() < 0.5 * weight().max())
        bench.timer.reset()
    assert 'zero effort' not in bench.process.said()


def test_goes_on_holding_after_it_did_not_run(network):
    """It stops during a release; the time in which it receives no joint state does not count."""
    bench = seen(Bench(network, hold_time=1000.0, release_time=1.0))
    expected = damping() + weight()
    network.expect(lambda: np.allclose(bench.received[-1][1], expected, atol=1e-9))
    bench.timer.cancel()
    network.expect(lambda: abs(np.array(bench.received[-1][1])).max() < 0.5 * weight().max())
    bench.process.send_signal(signal.SIGSTOP)
    network.spin(1.5)
    bench.timer.reset()
    network.spin(0.1)
    bench.process.send_signal(signal.SIGCONT)
    network.expect(lambda: np.allclose(bench.received[-1][1], expected, atol=1e-9))
    assert 'zero effort' not in bench.process.said()


def test_its_own_efforts_change_no_faster_than_they_may(network):
    bench = seen(Bench(network, hold_time=0.2, effort_rate=20.0))
    limits = MODEL.effort_limits[INDEX]
    steps = abs(np.diff(bench.rest(), axis=0)[1:]) / limits
    assert steps.max() <= 20.0 * LONGEST_STEP * (1.0 + 1e-9)
    assert steps.max() > 0.0


def test_a_dead_drive_gets_no_effort(network):
    """Others are damped by the inertia that they feel; it may fail, and be repaired, at work."""
    bench = seen(Bench(network, hold_time=1000.0, passive_joints=['wrist']))
    others = [0.0, *(damping(passive_joints=['wrist']) + weight())[1:]]
    network.expect(lambda: np.allclose(bench.received[-1][1], others, atol=1e-9))
    bench.set('passive_joints', [''])
    all_of_them = damping() + weight()
    network.expect(lambda: np.allclose(bench.received[-1][1], all_of_them, atol=1e-9))
    bench.set('locked_joints', ['wrist'])
    network.expect(lambda: np.allclose(bench.received[-1][1], others, atol=1e-9))


def test_a_floating_base_is_carried_as_it_lies_and_released_without_odometry(network):
    text = robot_text('free_flyer_3d')
    model = RobotModel.from_urdf(text, floating_base=True)
    joints = list(model.joint_names)
    q = model.neutral()
    q[3:7] = math.sin(0.4), 0.0, 0.0, math.cos(0.4)  # it lies on its side
    names = [model.dof_names[k] for k in range(6, model.nv)]
    positions = dict.fromkeys(names, 0.0) | {'l_elbow': -1.5, 'r_shoulder_pitch': -0.7}
    q[7:] = list(positions.values())
    expected = model.gravity(RobotState(model, q, np.zeros(model.nv)))[
        [model.dof_index(name) for name in joints]]
    assert abs(expected).max() > 5.0
    received = network.listen(Float64MultiArray, ros_nodes.COMMANDS, QoSProfile(depth=1000))
    process = network.start('command_watchdog', {
        'robot_description': text, 'floating_base': True, 'command_joints': joints,
        'hold_time': 1000.0, 'deadline': 0.2, 'effort_rate': 1e6})
    commands = network.publisher(Float64MultiArray, INPUT)
    states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
    odom = network.publisher(Odometry, 'odom', ros_nodes.LATCHED)
    odometry = Odometry(child_frame_id='base_link')
    odometry.header.frame_id = 'odom'
    fill_message(odometry.pose.pose, q[:7])

    def see():
        odom.publish(odometry)
        states.publish(joint_state(positions))
    timer = network.node.create_timer(0.002, see)
    network.send(commands, Float64MultiArray(data=array.array('d', [1.0] * len(joints))),
                 lambda: received)
    network.expect(lambda: np.allclose(received[-1].data, expected, atol=1e-9))
    timer.cancel()
    timer = network.node.create_timer(0.002, lambda: states.publish(joint_state(positions)))
    network.expect(lambda: 'zero effort is commanded' in process.said())
    assert not any(received[-1].data)


class TestNamedEfforts:
    """Commands as JointState: efforts by name, in any order."""

    @pytest.fixture
    def named(self, network):
        heard = network.listen(JointState, ros_nodes.COMMANDS, QoSProfile(depth=1000))
        network.start('command_watchdog', PARAMETERS | {'command_type': 'JointState'})
        return heard, network.publisher(JointState, INPUT)

    @staticmethod
    def message(**efforts):
        return JointState(name=list(efforts), effort=array.array('d', efforts.values()))

    def test_are_passed_on_and_stopped(self, network, named):
        heard, commands = named
        command = self.message(shoulder=2.0, elbow=3.0, wrist=1.0)
        network.send(commands, command, lambda: heard)
        assert heard[0] == command
        network.expect(lambda: not any(heard[-1].effort))
        assert heard[-1].name == ORDER

    @pytest.mark.parametrize('efforts', [
        {'shoulder': 2.0, 'elbow': 3.0}, {'shoulder': 2.0, 'elbow': 3.0, 'wrist': np.nan},
        {'shoulder': 2.0, 'elbow': 3.0, 'waist': 1.0}])
    def test_that_are_not_one_for_each_joint_are_not(self, network, named, efforts):
        heard, commands = named
        network.send(commands, self.message(**efforts), lambda: 'A command is ignored' in (
            network.processes['command_watchdog'].said()))
        assert not heard


class Simulated(Bench):
    """The same in a simulation, which goes on as fast as the test does."""

    def __init__(self, network, **parameters):
        super().__init__(network, use_sim_time=True, **parameters)
        self.clock = network.publisher(Clock, '/clock')
        self.seconds, self._expected = 1.0, damping() + weight()
        self.timer = network.node.create_timer(0.002, self.step)
        network.expect(self.clock.get_subscription_count)

    def step(self):
        self.seconds += 0.002
        state = joint_state(START, [VELOCITY[name] for name in START])
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(
            round(1e9 * self.seconds), 1_000_000_000)
        if self.clock:
            self.clock.publish(Clock(clock=state.header.stamp))
        self.states.publish(state)

    def alarms(self):
        return self.process.said().count('No command for')

    def carried(self):
        """Wait until the robot is carried."""
        self.network.expect(lambda: np.allclose(
            self.received[-1][1], self._expected, atol=1e-9))


def test_no_command_is_missed_while_a_simulation_pauses(network):
    bench = Simulated(network, hold_time=1.0)
    bench.command(4.0, 5.0, 6.0)
    bench.carried()
    # It is not carried for too long, nor unseen.
    bench.timer.cancel()
    network.spin(2.0)
    bench.carried()
    assert 'released' not in bench.process.said().replace('it is released', '')
    bench.timer.reset()
    bench.command(1.0, 2.0, 3.0)
    bench.timer.cancel()
    network.spin(5.0 * PARAMETERS['deadline'])
    assert bench.received[-1][1] == [1.0, 2.0, 3.0]
    assert bench.alarms() == 1
    bench.timer.reset()
    network.expect(lambda: bench.alarms() == 2)
    network.expect(lambda: 'is released now, after hold_time' in bench.process.said())


def test_a_clock_that_stops_alone_does_not_stop_it(network):
    bench = Simulated(network, hold_time=1000.0)
    bench.command(4.0, 5.0, 6.0)
    bench.carried()
    bench.command(1.0, 2.0, 3.0)
    bench.clock = None
    network.expect(lambda: bench.alarms() == 2)
    bench.carried()


def test_a_simulation_that_pauses_does_not_keep_it_from_ending(network):
    bench = Simulated(network, hold_time=1000.0)
    bench.command(1.0, 2.0, 3.0)
    bench.carried()
    bench.timer.cancel()
    assert bench.process.end(signal.SIGINT) == 0
    network.expect(lambda: not any(bench.received[-1][1]))


def test_without_a_joint_state_there_is_only_zero(bench):
    bench.command(1.0, 2.0, 3.0)
    commands = bench.rest()
    assert {tuple(row) for row in commands} == {(1.0, 2.0, 3.0), (0.0, 0.0, 0.0)}


def test_what_is_no_command_does_not_count(bench):
    bench.command(1.0, 2.0, 3.0)
    bench.network.node.create_timer(0.01, lambda: bench.states.publish(ros_nodes.DAMAGED))
    for message in (ros_nodes.DAMAGED, *(
            Float64MultiArray(data=array.array('d', efforts))
            for efforts in ([np.nan, 0.0, 0.0], [1.0, 2.0], [np.inf, 0.0, 0.0]))):
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
