# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
No torque jumps, whatever begins, ends or changes.

Between two cycles dt apart no joint's effort changes by more than ``limits.effort_rate`` times its
limit times dt: at 1 kHz and 20/s by 2 % of the limit, 1.6 N·m at a shoulder of 80 N·m.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from controller_bench import MODEL
from ros_nodes import CONTROLLER
from safety_bench import LIMITS, ORDER, RAMP, RATE, STEP, robot_under_control
from std_srvs.srv import SetBool

from opspace_control import RobotState

AHEAD = (0.1, 0.0, 0.1)  # m


@pytest.fixture(scope='module')
def moved():
    """A robot that every test sends somewhere."""
    with robot_under_control() as robot:
        home = robot.hand('left')
        yield robot, home[:3]


@pytest.fixture
def robot(moved):
    """The same robot, holding still where it was at first."""
    robot, home = moved
    robot.hold()
    robot.lock_step(RAMP)
    if np.linalg.norm(robot.hand('left')[:3] - home) > 1e-3:
        robot.arrive('left', robot.send_goal('left', home - robot.hand('left')[:3]))
        robot.hold()
        robot.lock_step(0.5)
    return robot


class Steps:
    """What commands differ by while a test does something to the robot."""

    def __init__(self, robot):
        self._robot = robot

    def __enter__(self):
        self._first = len(self._robot.commands) - 1
        return self

    def __exit__(self, *exception):
        if exception[0] is None:
            self._robot.check(self._first, STEP)

    def largest(self):
        """Return the largest step so far as part of what is allowed."""
        efforts = np.array(self._robot.commands[self._first:])
        return (abs(np.diff(efforts, axis=0)) / LIMITS).max() / (RATE * STEP)


def weight(robot):
    """Return what the joints of the robot hold at rest, in the order of the command."""
    names = list(robot.physics.joint_names)
    q = [robot.physics.positions[names.index(name)] for name in MODEL.dof_names]
    gravity = MODEL.gravity(RobotState(MODEL, q, np.zeros(MODEL.nv)))
    return np.array([gravity[MODEL.dof_index(name)] for name in ORDER])


def test_at_activation_from_what_the_joints_hold():
    """The first command is the weight of the robot, also of one in motion, and it goes on there."""
    with robot_under_control(hold=False) as robot:
        moving = dict.fromkeys(MODEL.dof_names, 0.3)
        robot.physics.reset(dict(zip(
            robot.physics.joint_names, robot.physics.positions, strict=True)), moving)
        expected = weight(robot)
        robot.lock_step(2.0 * RAMP)
        np.testing.assert_allclose(robot.commands[0], expected, atol=1e-9)
        robot.check(0, STEP)


def test_at_activation_nothing_sinks():
    """A robot that was held is held: neither friction nor a brake does it, only the efforts."""
    with robot_under_control(hold=False) as robot:
        before = robot.hands()
        for _ in range(50):
            robot.lock_step(0.01)
            np.testing.assert_allclose(robot.hands(), before, atol=1e-5)
        assert abs(weight(robot)).max() > 5.0


def test_at_a_new_goal(robot):
    with Steps(robot) as steps:
        robot.send_goal('left', AHEAD)
        robot.lock_step(0.5)
        assert steps.largest() > 0.1


def test_at_a_new_goal_without_restraint(robot):
    """Where only the rate limit is left, it limits."""
    usual = {'left.max_linear_velocity': 0.5, 'left.kp': 100.0, 'limits.velocity_scale': 1.0,
             'limits.keep': True}
    robot.change(**{'left.max_linear_velocity': 1e3, 'left.kp': 1000.0,
                    'limits.velocity_scale': 1e6, 'limits.keep': False})
    robot.lock_step(2.0 * RAMP)
    with Steps(robot) as steps:
        robot.send_goal('left', AHEAD)
        robot.lock_step(0.1)
        assert steps.largest() == pytest.approx(1.0)
    robot.lock_step(1.0)
    robot.change(**usual)
    robot.lock_step(2.0 * RAMP)


def test_at_a_switch_of_tasks_off_and_on(robot):
    """While it is on its way: off, on half-way out of it, off and on again."""
    with Steps(robot):
        robot.send_goal('left', AHEAD)
        for on, seconds in ((False, RAMP / 2), (True, RAMP / 2), (False, 0.3), (True, 0.3)):
            assert robot.network.call(SetBool, f'{CONTROLLER}/left/enable', data=on).success
            robot.lock_step(seconds)


@pytest.mark.parametrize('gains', [
    {'left.kp': 1000.0}, {'left.kp': 0.0, 'left.kd': 50.0}, {'posture.kp': 400.0}])
def test_at_a_change_of_gains(robot, gains):
    with Steps(robot):
        robot.send_goal('left', AHEAD)
        for changed in (gains, {'left.kp': 100.0, 'left.kd': -1.0, 'posture.kp': 25.0}):
            robot.change(**changed)
            robot.lock_step(0.3)


def test_at_hold(robot):
    with Steps(robot):
        robot.send_goal('left', AHEAD)
        robot.hold()
        robot.lock_step(0.3)


def test_at_trip_and_recovery(robot):
    """Of a robot that is seen; as long as it is not, commands also come between states."""
    def too_fast(message):
        message.velocity[0] = 10.0
        return message

    robot.send_goal('left', AHEAD)
    with Steps(robot):
        robot.lock_step(STEP, too_fast)
        robot.log('velocity_limit: ')
        robot.lock_step(0.1)
        robot.hold()
        robot.recover()
        robot.lock_step(0.5)


def test_at_recovery_from_blindness(robot):
    """However much later it is seen again, an effort changes by no more than in 10 ms at a time."""
    def without_positions(message):
        message.position = message.position[:0]
        return message

    robot.send_goal('left', AHEAD)
    first = len(robot.commands)
    robot.lock_step(0.05, without_positions)
    robot.recover()
    robot.lock_step(0.1)
    robot.check(first)


def test_within_a_part_of_the_limits():
    """Too little to carry the arms: they sink, but no effort is beyond what may be used."""
    with robot_under_control({'limits.effort_scale': 0.02}) as robot:
        robot.lock_step(0.5)
        used = (abs(np.array(robot.commands)) / LIMITS).max()
        assert used == pytest.approx(0.02)
