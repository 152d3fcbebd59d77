# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states that stop or cannot be believed: what the robot does, what is said, what then."""

import array
import math
import os
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from controller_bench import MODEL
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from ros_nodes import CONTROLLER, DAMAGED
from rosgraph_msgs.msg import Clock
from safety_bench import RAMP, RELEASE, STEP, robot_under_control
from sensor_msgs.msg import JointState

from opspace_control.ros.middleware.conversions import pose_from_message

JOINT = 'l_elbow'
AHEAD = (0.08, 0.0, 0.05)  # m
TIMEOUT = 0.25  # s


@pytest.fixture
def parameters():
    return {}


@pytest.fixture
def robot(parameters):
    with robot_under_control(parameters) as robot:
        yield robot


def comes_to_rest(robot):
    """Whether both hands come to rest, to within a millimetre, however far they had fallen."""
    for _ in range(20):
        before = robot.hands()
        robot.lock_step(0.3)
        if abs(robot.hands() - before).max() < 0.001:
            return True
    return False


def count(robot, text):
    return robot.process.said().count(text)


class TestStateStops:

    @pytest.mark.parametrize('parameters', [{'safety.release_time': 10.0}])
    def test_for_50_ms(self, robot):
        """The robot is damped; it goes on to its goal."""
        goal = robot.send_goal('left', AHEAD)
        robot.change(**{'safety.state_timeout': 0.04})
        robot.lock_step(STEP)
        robot.live(0.05)
        robot.log('state_timeout: No new joint state')
        assert 'control resumes with its goals' in robot.recover()
        robot.change(**{'safety.state_timeout': 0.0})  # states of a busy machine would stop again
        robot.arrive('left', goal)
        assert robot.fastest < 0.5
        assert 'present pose' not in robot.process.said()

    @pytest.mark.parametrize('parameters', [{'safety.state_timeout': TIMEOUT}])
    def test_for_1_s(self, robot):
        """The robot is damped, then released; when states are back it is held where it is."""
        robot.send_goal('left', AHEAD)
        robot.live(1.0)
        robot.live_until(lambda: robot.resting, None)
        assert count(robot, 'state_timeout: No new joint state') == 1
        assert 'damped, then released' in robot.process.said()
        assert 'with the present pose as goal' in robot.recover()
        assert comes_to_rest(robot)

    @pytest.mark.parametrize('parameters', [{'safety.state_timeout': TIMEOUT}])
    def test_for_ever(self, robot):
        """No effort is commanded, and nothing more is said; the node can still be ended."""
        robot.send_goal('left', AHEAD)
        robot.live_until(lambda: robot.resting, None)
        lines = robot.process.said()
        robot.live(1.0)
        assert robot.resting
        assert robot.process.said() == lines
        assert robot.process.end(signal.SIGINT) == 0

    @pytest.mark.parametrize('parameters', [{'safety.state_timeout': TIMEOUT}])
    def test_but_is_sent_again_and_again(self, robot):
        """A frozen publisher is as good as none."""
        message = robot.state()
        robot.live_until(lambda: robot.resting, lambda _: message)
        assert count(robot, 'state_timeout') == 1
        assert 'The same one arrives again: has a simulation paused?' in robot.process.said()
        robot.recover()
        assert comes_to_rest(robot)


def with_entry(field, value):
    def change(message):
        getattr(message, field)[list(message.name).index(JOINT)] = value
        return message
    return change


def without_joint(message):
    keep = [i for i, name in enumerate(message.name) if name != JOINT]
    return JointState(header=message.header, name=[message.name[i] for i in keep],
                      position=array.array('d', [message.position[i] for i in keep]),
                      velocity=array.array('d', [message.velocity[i] for i in keep]))


def too_short(field):
    def change(message):
        setattr(message, field, getattr(message, field)[:-1])
        return message
    return change


def empty(message):
    return JointState(header=message.header)


# What makes a state useless, and what is said of it.
USELESS = ((with_entry('position', math.nan), JOINT), (with_entry('position', math.inf), JOINT),
           (with_entry('velocity', math.nan), JOINT), (without_joint, f"lacks '{JOINT}'"),
           (too_short('position'), 'positions'), (too_short('velocity'), 'velocities'),
           (empty, 'lacks'))


class TestStateCannotBeUsed:

    def test_at_all(self, robot):
        """
        For a moment: damped, and on to the goal. For longer: released, then held.

        What a message is refused for is one fault; it lasts for a number and for an absent joint.
        """
        for k, (change, complaint) in enumerate(USELESS):
            goal = robot.send_goal('left', np.multiply((-1.0) ** k, AHEAD))
            before = len(robot.process.said())
            robot.lock_step(5 * STEP, change)
            assert count(robot, 'state_invalid: ') == k + 1, complaint
            assert complaint in robot.process.said()[before:]
            assert 'control resumes with its goals' in robot.recover()
            robot.arrive('left', goal)
        assert robot.fastest < 0.5
        for k, change in enumerate((USELESS[0][0], without_joint), len(USELESS)):
            robot.live_until(lambda: robot.resting, change)
            assert count(robot, 'state_invalid: ') == k + 1
            assert 'with the present pose as goal' in robot.recover()
            assert comes_to_rest(robot)

    def test_what_is_no_message_is_as_good_as_none(self, robot):
        """Damaged on the way, or of another type: unnoticed among good ones, also at the end."""
        goal = robot.send_goal('left', AHEAD)
        lines = robot.process.said()
        robot.lock_step(0.2, lambda message: (robot.states.publish(DAMAGED), message)[1])
        robot.live(0.2, lambda _: DAMAGED)
        robot.lock_step(0.8)
        robot.arrive('left', goal)
        assert robot.process.said() == lines
        first = len(robot.commands)
        os.kill(robot.process.pid, signal.SIGINT)
        robot.live_until(lambda: robot.process.exit_code() is not None, lambda _: DAMAGED)
        assert robot.process.exit_code() == 0
        sizes = [abs(efforts).max() for efforts in np.array(robot.commands[first:])]
        assert sizes[-1] == 0.0 and np.count_nonzero(sizes) > 5  # it has not been dropped

    def test_any_order_can(self, robot):
        """A permutation, another one each time, changes nothing and is not spoken of."""
        rng = np.random.default_rng(0)

        def shuffle(message):
            order = rng.permutation(len(message.name))
            return JointState(header=message.header, name=[message.name[i] for i in order],
                              position=array.array('d', np.array(message.position)[order]),
                              velocity=array.array('d', np.array(message.velocity)[order]))

        goal = robot.send_goal('left', AHEAD)
        lines = robot.process.said()
        robot.lock_step(1.0, shuffle)
        robot.arrive('left', goal)
        assert robot.process.said() == lines


class TestTime:

    def test_goes_back_once(self, robot):
        """An old message: damped for some cycles, and on to the goal."""
        goal = robot.send_goal('left', AHEAD)

        def yesterday(message):
            message.header.stamp.sec -= 1
            return message

        robot.lock_step(STEP, yesterday)
        assert 'control resumes with its goals' in robot.recover()
        assert count(robot, 'time_backwards: The time of the joint states went back') == 1
        robot.arrive('left', goal)
        assert robot.fastest < 0.5

    def test_goes_to_and_fro(self, robot):
        """Two publishers with different clocks: released until one of them gives up."""
        turns = iter(range(10**9))

        def other_clock(message):
            message.header.stamp.sec += 100 * (next(turns) % 2)
            return message

        robot.live_until(lambda: robot.resting, other_clock)
        assert count(robot, 'time_backwards') == 1
        assert 'with the present pose as goal' in robot.recover()
        assert comes_to_rest(robot)

    def test_leaps_ahead(self, robot):
        """Clocks that are set: no reason to stop, and none to hurry."""
        goal = robot.send_goal('left', AHEAD)
        lines, first = robot.process.said(), len(robot.commands)

        def tomorrow(message):
            message.header.stamp.sec += 86400
            return message

        robot.lock_step(0.1)
        robot.lock_step(1.0, tomorrow)
        assert np.linalg.norm(robot.hand('left')[:3] - goal) < 0.01
        robot.check(first)
        assert robot.process.said() == lines

    def test_of_a_simulation_pauses(self):
        """Neither states nor /clock go on: nothing is missed, however long that takes."""
        with robot_under_control({
                'use_sim_time': True, 'safety.state_timeout': TIMEOUT}, hold=False) as robot:
            clock = robot.network.publisher(Clock, '/clock')

            def tick(message):
                clock.publish(Clock(clock=message.header.stamp))
                return message

            # A busy machine pauses at any time: /clock is that of all states.
            robot.lock_step(RAMP + 0.05, tick)
            goal = robot.send_goal('left', AHEAD, tick)
            commands, lines = len(robot.commands), robot.process.said()
            told = robot.network.listen(DiagnosticArray, '/diagnostics')
            robot.network.expect(lambda: any(
                'The simulation pauses.' in status.message
                for message in told for status in message.status))
            assert len(robot.commands) == commands
            robot.lock_step(1.0, tick)
            robot.arrive('left', goal, tick)
            assert robot.process.said() == lines
            # Of a simulation that goes on without a state it is a fault.
            seconds = robot.physics.time

            def go_on():
                message = robot.state()
                late = round(1e9 * (1.0 + seconds + time.monotonic() - begin))
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(
                    late, 1_000_000_000)
                tick(message)
                return robot.resting

            begin = time.monotonic()
            robot.live_until(go_on, None)
            assert count(robot, 'state_timeout: No new joint state') == 1
            robot.recover()
            assert comes_to_rest(robot)

    @pytest.mark.parametrize('parameters', [{'safety.state_timeout': TIMEOUT}])
    def test_of_the_stamps_stops(self, robot):
        """States go on, and tell where the robot is: it has gravity compensation."""
        goal = robot.send_goal('left', AHEAD)
        stamp = robot.state().header.stamp

        def stopped(message):
            message.header.stamp = stamp
            return message

        robot.live(0.5, stopped)
        robot.log('time_stopped: Joint states arrive, their stamps do not advance: is /clock')
        robot.live(2.0 * RELEASE, stopped)
        before = robot.hands()
        robot.live(1.0, stopped)
        assert abs(robot.hands() - before).max() < 0.001
        assert not robot.resting
        assert count(robot, 'time_stopped: ') == 1 and 'state_timeout' not in robot.process.said()
        assert 'control resumes with its goals' in robot.recover()
        robot.arrive('left', goal)


def jumped(message):
    message.position[list(message.name).index(JOINT)] += 1.0
    return message


class TestPositionJumps:

    def test_for_a_moment(self, robot):
        """Damped without the reading, and on to the goal when it is what it was."""
        goal = robot.send_goal('left', AHEAD)
        robot.lock_step(3 * STEP, jumped)
        assert count(robot, f"position_jump: '{JOINT}' jumped to") == 1
        assert 'control resumes with its goals' in robot.recover()
        robot.arrive('left', goal)
        assert robot.fastest < 0.5

    def test_hidden_in_a_leap_of_time(self, robot):
        """Clocks that are set at that moment do not make it believable."""
        goal = robot.send_goal('left', AHEAD)

        def tomorrow(message):
            message.header.stamp.sec += 86400
            return message

        robot.lock_step(3 * STEP, lambda message: jumped(tomorrow(message)))
        assert count(robot, f"position_jump: '{JOINT}' jumped to") == 1
        assert 'control resumes with its goals' in robot.recover(tomorrow)
        robot.lock_step(1.0, tomorrow)
        assert np.linalg.norm(robot.hand('left')[:3] - goal) < 0.01
        assert robot.fastest < 0.5

    def test_for_good(self, robot):
        """Released; controlled again only when somebody says that the new reading is right."""
        robot.live_until(lambda: robot.resting, jumped)
        robot.live(3.0 * RELEASE, jumped)
        assert robot.resting
        assert count(robot, 'control resumes') == 0
        robot.hold()
        assert 'with the present pose as goal' in robot.recover(jumped)
        robot.lock_step(0.1, jumped)
        assert not robot.resting

    def test_and_returns_too_late(self, robot):
        """Nor is a reading believed by itself that was wrong until the robot was released."""
        robot.live_until(lambda: robot.resting, jumped)
        robot.live(0.1, lambda message: message)
        assert count(robot, 'control resumes') == 0
        robot.hold()
        robot.recover()
        assert comes_to_rest(robot)


def test_too_fast(robot):
    """Held in position where it is, for as long as nobody calls ~/hold."""
    robot.send_goal('left', AHEAD)
    robot.lock_step(0.1)
    before, speed = robot.physics.positions, abs(robot.physics.velocities).max()
    limit = MODEL.velocity_limits[MODEL.dof_index(JOINT)]
    robot.lock_step(STEP, with_entry('velocity', 1.1 * limit))
    assert count(robot, f"velocity_limit: '{JOINT}' moves at") == 1
    assert 'held in position' in robot.process.said()
    assert comes_to_rest(robot)
    assert abs(robot.physics.positions - before).max() < 0.02 * speed  # 0.1 s by damping alone
    assert count(robot, 'control resumes') == 0
    robot.hold()
    assert 'control resumes' in robot.recover()
    assert comes_to_rest(robot)


@pytest.mark.parametrize('parameters', [{
    'passive_joints': ['r_wrist_roll'], 'right.frame': 'r_wrist_pitch_link',
    'limits.passive_velocity_scale': 2.0}])
def test_passive_joint_swings(robot):
    """Nothing drives it: the limit of a drive means nothing to it, and its own trip says so."""
    limit = MODEL.velocity_limits[MODEL.dof_index('r_wrist_roll')]

    def swinging(factor):
        def change(message):
            message.velocity[list(message.name).index('r_wrist_roll')] = factor * limit
            return message
        return change

    lines = robot.process.said()
    robot.lock_step(3 * STEP, swinging(1.9))
    assert robot.process.said() == lines
    robot.lock_step(STEP, swinging(2.1))
    assert count(robot, "passive_velocity: Passive joint 'r_wrist_roll' swings at 14.70") == 1
    assert 'nothing drives it' in robot.process.said()
    assert 'held in position' in robot.process.said()
    robot.hold()
    assert 'control resumes' in robot.recover()


def test_feedback_goes_on(robot):
    """While the robot is carried its tasks tell where they are, and cycles are counted."""
    poses = robot.network.listen(PoseStamped, f'{CONTROLLER}/left/current_pose')
    diagnostics = robot.network.listen(DiagnosticArray, '/diagnostics')
    robot.send_goal('left', AHEAD)
    robot.lock_step(STEP, with_entry('velocity', 8.0))
    robot.live(0.3, lambda message: message)
    del poses[:], diagnostics[:]
    robot.live_until(lambda: len(poses) > 5 and len(diagnostics) > 1)
    there = robot.hand('left')[:3]
    told = pose_from_message(poses[-1].pose)[:3]
    np.testing.assert_allclose(told, there, atol=1e-3)
    status = diagnostics[-1].status[0]
    values = {value.key: value.value for value in status.values}
    assert status.message.startswith('velocity_limit')
    assert float(values['rate [Hz]']) > 10.0
    assert float(values['state age [s]']) < 0.5


@pytest.mark.parametrize('parameters', [{'safety.state_timeout': TIMEOUT}])
def test_first_state_is_bad(parameters):
    """No effort is commanded before anything is known of the robot."""
    with robot_under_control(parameters, hold=False) as robot:
        robot.live_until(lambda: robot.commands, empty)
        assert robot.resting
        robot.recover()
        assert comes_to_rest(robot)
