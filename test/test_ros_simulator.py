# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The simulator node, in a process of its own, spoken to over DDS."""

import array
import math
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import robots
import ros_nodes
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from opspace_control.simulation import SimulatedRobot

ROBOT = robots.chain('revolute', 'continuous', 'prismatic')
JOINTS = ('j1', 'j2', 'j3')


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


def effort(*values):
    return Float64MultiArray(data=array.array('d', values))


def stamp(message):
    time = message.header.stamp
    return time.sec + 1e-9 * time.nanosec


class TestRealTime:

    @pytest.fixture
    def states(self, network):
        states = network.states()
        network.start('simulator', {'robot_description': ROBOT,
                                    'initial_positions.j1': 0.5, 'initial_positions.j3': 0.25})
        network.expect(lambda: states)
        return states

    def test_holds_still_at_time_zero_until_the_first_command(self, network, states):
        network.spin(0.2)
        assert len(states) > 100
        assert {stamp(state) for state in states} == {0.0}
        assert list(states[-1].name) == list(JOINTS)
        assert {tuple(state.position) for state in states} == {(0.5, 0.0, 0.25)}
        assert {tuple(state.velocity) for state in states} == {(0.0, 0.0, 0.0)}

    def test_keeps_the_time_of_the_wall_and_leaves_no_step_out(self, network, states):
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.send(commands, effort(0.0, 0.0, 0.0), lambda: stamp(states[-1]) > 0.0)

        def second():
            """Return how far the robot's time is from the wall's after a second, and its times."""
            start, first = time.perf_counter(), stamp(states[-1])
            del states[:]
            network.spin(1.0)
            elapsed = time.perf_counter() - start
            times = np.array([stamp(state) for state in states])
            # What the test itself lost on a busy machine may be missing, the steps may not.
            milliseconds = 1e3 * times
            np.testing.assert_allclose(milliseconds, np.round(milliseconds), atol=1e-5)
            return abs(times[-1] - first - elapsed), len(times) / (1000 * elapsed)

        # A machine that stalls is given another second, and another.
        assert any(late < 0.05 and seen > 0.8 for late, seen in (second() for _ in range(10)))

    def test_applies_the_last_command_for_ever(self, network, states):
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.send(commands, effort(0.0, 0.0, 3.0), lambda: stamp(states[-1]) > 0.1)
        assert list(states[-1].effort) == [0.0, 0.0, 3.0]

    @pytest.mark.parametrize(('bad', 'said'), [
        ((1.0, 2.0), '2 came, 0 of them not finite'),
        ((1.0, 2.0, math.nan), '3 came, 1 of them not finite')])
    def test_ignores_a_bad_command(self, network, states, bad, said):
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.send(commands, effort(*bad),
                     lambda: 'A command is ignored: 3 finite efforts are needed, in the order '
                     f'j1, j2, j3; {said}, from /test.' in network.processes['simulator'].said())
        assert stamp(states[-1]) == 0.0
        network.send(commands, effort(0.0, 0.0, 0.0), lambda: stamp(states[-1]) > 0.0)

    def test_clock_is_that_of_the_states(self, network, states):
        clock = network.listen(Clock, '/clock')
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.send(commands, effort(0.0, 0.0, 0.0), lambda: len(clock) > 10)
        times = [message.clock.sec + 1e-9 * message.clock.nanosec for message in clock]
        network.expect(lambda: stamp(states[-1]) >= times[-1])
        assert all(np.diff(times) > 0.0)
        assert {round(time, 6) for time in times} <= {round(stamp(state), 6) for state in states}

    def test_services_reset_pause_and_step(self, network, states):
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.send(commands, effort(0.0, 0.0, 3.0), lambda: stamp(states[-1]) > 0.1)
        assert not network.call(Trigger, f'{ros_nodes.SIMULATOR}/step').success
        assert network.call(SetBool, f'{ros_nodes.SIMULATOR}/pause', data=True).success
        network.spin(0.1)
        paused = stamp(states[-1])
        network.spin(0.1)
        assert stamp(states[-1]) == paused
        assert network.call(Trigger, f'{ros_nodes.SIMULATOR}/step').success
        network.expect(lambda: stamp(states[-1]) == pytest.approx(paused + 0.001))
        assert network.call(Trigger, f'{ros_nodes.SIMULATOR}/reset').success
        network.expect(lambda: stamp(states[-1]) == 0.0)
        assert tuple(states[-1].position) == (0.5, 0.0, 0.25)
        assert network.call(SetBool, f'{ros_nodes.SIMULATOR}/pause', data=False).success
        network.expect(lambda: stamp(states[-1]) > 0.0)

    def test_publishes_the_description_to_late_comers(self, network, states):
        heard = network.listen(String, 'robot_description', ros_nodes.LATCHED)
        network.expect(lambda: heard)
        assert heard[0].data == ROBOT

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
    def test_leaves_on_a_signal(self, network, states, number):
        assert network.processes['simulator'].end(number) == 0


def test_description_may_come_by_topic(network):
    states = network.states()
    network.start('simulator')
    network.publisher(String, 'robot_description', ros_nodes.LATCHED).publish(String(data=ROBOT))
    network.expect(lambda: states)
    assert list(states[-1].name) == list(JOINTS)


class TestCommandsByName:
    """As a JointState, from topic-based hardware."""

    @pytest.fixture
    def states(self, network):
        states = network.states()
        network.start('simulator', {'robot_description': ROBOT, 'command_type': 'JointState',
                                    'command_topic': 'robot_joint_commands'})
        network.expect(lambda: states)
        return states

    @pytest.fixture
    def commands(self, network, states):
        return network.publisher(JointState, 'robot_joint_commands')

    def test_any_order_others_ignored_and_the_rest_kept(self, network, states, commands):
        network.send(commands, JointState(name=['hand', 'j3', 'j1'], effort=[9.0, 3.0, 1.0]),
                     lambda: list(states[-1].effort) == [1.0, 0.0, 3.0])
        network.send(commands, JointState(name=['j2'], effort=[2.0]),
                     lambda: list(states[-1].effort) == [1.0, 2.0, 3.0])

    def test_zeros_do_not_end_the_waiting(self, network, states, commands):
        """ros2_control sends them from its start, long before a controller commands."""
        for _ in range(20):
            commands.publish(JointState(name=list(JOINTS), effort=[0.0, 0.0, 0.0]))
            network.spin(0.01)
        assert stamp(states[-1]) == 0.0
        network.send(commands, JointState(name=list(JOINTS), effort=[0.0, 0.0, 1.0]),
                     lambda: stamp(states[-1]) > 0.0)

    def test_nan_is_the_command_of_nobody(self, network, states, commands):
        network.expect(commands.get_subscription_count)
        for _ in range(20):
            commands.publish(JointState(name=list(JOINTS), effort=[math.nan] * 3))
            network.spin(0.01)
        assert stamp(states[-1]) == 0.0
        network.send(commands, JointState(name=list(JOINTS), effort=[math.nan, 2.0, math.nan]),
                     lambda: list(states[-1].effort) == [0.0, 2.0, 0.0])
        assert 'ignored' not in network.processes['simulator'].said()

    def test_of_positions_and_efforts_those_that_changed_last_are_obeyed(
            self, network, states, commands):
        """The hardware tells the last of both, whichever of them a controller has."""
        def send(positions, efforts, done):
            network.send(commands, JointState(name=list(JOINTS), position=positions,
                                              effort=efforts), done)

        def at(position):
            return lambda: states[-1].position[0] == pytest.approx(position, abs=1e-3)
        network.expect(commands.get_subscription_count)
        for _ in range(20):
            commands.publish(JointState(name=list(JOINTS), position=[0.0] * 3,
                                        effort=[math.nan] * 3))
            network.spin(0.01)
        assert stamp(states[-1]) == 0.0
        send([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], lambda: list(states[-1].effort) == [1.0, 2.0, 3.0])
        # A position controller gets the joints; the efforts are left behind.
        send([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], at(0.1))
        reached = stamp(states[-1])
        network.expect(lambda: stamp(states[-1]) > reached + 1.0)
        assert states[-1].position == pytest.approx([0.1, 0.2, 0.3], abs=1e-3)
        send([0.15, 0.2, 0.3], [1.0, 2.0, 3.0], at(0.15))
        # An effort controller gets the last of them.
        send([0.15, 0.2, 0.3], [1.0, 2.0, 4.0], lambda: states[-1].effort[2] == 4.0)
        network.expect(lambda: states[-1].position[2] > 0.5)
        assert states[-1].position[:2] == pytest.approx([0.15, 0.2], abs=0.02)

    def test_efforts_that_belong_to_no_name_are_told(self, network, states, commands):
        process = network.processes['simulator']
        network.send(commands, JointState(name=list(JOINTS), effort=[1.0]),
                     lambda: '3 joints and 1 efforts came, 0 of them infinite, from /test.' in (
                         process.said()))
        assert stamp(states[-1]) == 0.0


def test_uncommanded_joints_are_held(network):
    states = network.states()
    network.start('simulator', {'robot_description': ROBOT, 'command_joints': ['j3'],
                                'initial_positions.j1': 0.5})
    commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
    network.send(commands, effort(1.0), lambda: states and stamp(states[-1]) > 0.1)
    assert states[-1].position[0] == 0.5
    assert states[-1].position[1] == 0.0
    assert states[-1].position[2] != 0.0


@pytest.mark.parametrize(('parameters', 'complaint'), [
    ({'robot_description': '<robot'}, 'XML'),
    ({'robot_description': ROBOT, 'pace': 'fast'}, 'real_time, lock_step'),
    ({'robot_description': ROBOT, 'timestep': -1.0}, 'timestep'),
    ({'robot_description': ROBOT, 'initial_positions.j9': 1.0}, 'initial_positions.j9'),
    ({'robot_description': ROBOT, 'initial_positions.j1': math.nan}, 'j1'),
    ({'robot_description': ROBOT, 'command_joints': ['j1', 'j1']}, 'j1'),
])
def test_refuses_bad_parameters_with_the_reason(network, parameters, complaint):
    process = network.start('simulator', parameters)
    network.expect(lambda: process.exit_code() is not None)
    assert process.exit_code() == 1
    assert complaint in process.said()
    assert 'Traceback' not in process.said()


LOCK_STEP = {'robot_description': ROBOT, 'pace': 'lock_step', 'initial_positions.j1': 0.5}


class TestLockStep:

    def test_gives_the_numbers_of_the_robot_itself(self, network):
        """Answer each new state once: the motion is that of a simulation without ROS."""
        robot = SimulatedRobot(ROBOT)
        robot.reset({'j1': 0.5})
        rng = np.random.default_rng(1)
        efforts = rng.uniform(-1.0, 1.0, (200, 3))
        expected = []
        for row in efforts:
            robot.set_effort(row)
            robot.step()
            expected.append(robot.positions)

        motion = {}

        def answer(state):
            k = round(1e3 * stamp(state))
            motion[k] = list(state.position)
            if k < len(efforts):
                commands.publish(effort(*efforts[k]))

        network.start('simulator', LOCK_STEP)
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.node.create_subscription(JointState, 'joint_states', answer, 1000)
        network.expect(lambda: len(efforts) in motion, 30.0)
        assert list(motion) == list(range(len(efforts) + 1))
        np.testing.assert_array_equal(list(motion.values())[1:], expected)

    def test_waits_for_a_late_controller_without_moving(self, network):
        states = network.states()
        network.start('simulator', LOCK_STEP)
        network.expect(lambda: len(states) > 3)
        assert {stamp(state) for state in states} == {0.0}

    def test_survives_a_lost_answer(self, network):
        """Every tenth state goes unanswered at first: it is sent again, and no step is doubled."""
        network.start('simulator', LOCK_STEP)
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        seen, ignored = [], set()

        def answer(state):
            k = round(1e3 * stamp(state))
            seen.append(k)
            if k % 10 == 5 and k not in ignored:
                ignored.add(k)
            else:
                commands.publish(effort(0.0, 0.0, 0.0))

        network.node.create_subscription(JointState, 'joint_states', answer, 1000)
        network.expect(lambda: seen and seen[-1] >= 30, 20.0)
        steps = np.diff(seen)
        assert set(steps) <= {0, 1}
        assert ignored >= {5, 15, 25}

    def test_an_answer_to_each_copy_is_one_step(self, network):
        """Two copies of a state, each answered, late: only the first answer is a step."""
        network.start('simulator', LOCK_STEP)
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        states = network.states()
        network.expect(lambda: len(states) >= 3)
        count = len(states)
        for _ in range(count):
            commands.publish(effort(0.0, 0.0, 0.0))
            network.spin(0.005)
        network.spin(0.02)
        assert round(1e3 * stamp(states[-1])) <= 2


class TestPatient:

    PATIENT = LOCK_STEP | {'pace': 'patient'}

    def follow(self, network, lag):
        """Answer each state after a lag, s; return the states and the time they took."""
        states = network.states()
        network.start('simulator', self.PATIENT)
        commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.expect(lambda: states)
        answered, begun = 0, None
        while not (states and stamp(states[-1]) >= 0.3):
            network.expect(lambda: len(states) > answered)  # noqa: B023
            answered = len(states)
            if begun is None and stamp(states[-1]) > 0.0:
                begun = time.perf_counter()
            network.spin(lag)
            commands.publish(effort(0.0, 0.0, 0.0))
        return states, time.perf_counter() - begun

    def test_is_not_faster_than_the_wall_clock(self, network):
        states, elapsed = self.follow(network, 0.0)
        assert elapsed >= 0.29
        moved = [stamp(state) for state in states if stamp(state) > 0.0]
        assert set(np.round(1e3 * np.diff(moved)).astype(int)) <= {0, 1}

    def test_waits_for_a_late_command(self, network):
        _, elapsed = self.follow(network, 0.005)
        assert elapsed >= 300 * 0.005
