# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals and parameters that make no sense, or come too often."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from controller_bench import pose_message
from geometry_msgs.msg import AccelStamped, PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_nodes import CONTROLLER, joint_state
from safety_bench import STEP, robot_under_control
from sensor_msgs.msg import JointState

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
INSIDE = (0.45, 0.3, 1.1)
IN_FLIGHT = 5  # requests; a service keeps no more than ten


@pytest.fixture(scope='module')
def held():
    """A robot that holds still; every test leaves it so."""
    with robot_under_control() as robot:
        yield robot


@pytest.fixture
def robot(held):
    speeds = held.physics.velocities
    held.hold()
    held.lock_step(1.5 if abs(speeds).max() > 1e-5 else 0.05)
    return held


@pytest.fixture(scope='module')
def goals(held):
    return held.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')


def is_refused(robot, publisher, message, complaint):
    """Send a goal until it is refused, and many times more: the robot must not care."""
    before, commands = robot.hands(), len(robot.commands)
    told = len(robot.process.said())
    for _ in range(1000):  # a complaint a second
        publisher.publish(message)
        robot.lock_step(0.01)
        if complaint in robot.process.said()[told:]:
            break
    else:
        robot.network.fail()
    for _ in range(100):
        publisher.publish(message)
        robot.lock_step(0.002)
    np.testing.assert_allclose(robot.hands(), before, atol=1e-6)
    # Once a second, and the machine may take some.
    refusals = robot.process.said()[told:].count('A goal is refused')
    assert refusals < 0.1 * (len(robot.commands) - commands)


class TestGoalIsRefused:

    @pytest.mark.parametrize(('message', 'complaint'), [
        pytest.param(pose_message((40.0, 0.3, 1.1, *UPRIGHT)), 'gets no further than', id='far'),
        pytest.param(pose_message((*INSIDE, 0.0, 0.0, 0.0, 0.0)), 'zero quaternion',
                     id='zero-quaternion'),
        pytest.param(pose_message((*INSIDE[:2], math.nan, *UPRIGHT)), 'finite', id='nan'),
        pytest.param(pose_message((*INSIDE[:2], math.inf, *UPRIGHT)), 'finite', id='infinite'),
        pytest.param(pose_message((*INSIDE, *UPRIGHT), 'kitchen'), 'kitchen', id='unknown-frame'),
    ])
    def test_and_the_old_one_stays(self, robot, goals, message, complaint):
        is_refused(robot, goals, message, complaint)

    def test_outside_of_the_workspace(self, robot, goals):
        robot.change(**{'limits.workspace_upper': [0.6, 1.0, 1.05]})
        robot.lock_step(0.01)
        is_refused(robot, goals, pose_message((*INSIDE, *UPRIGHT)), 'outside of the workspace')
        robot.lock_step(0.01)
        robot.change(**{'limits.workspace_upper': [math.inf] * 3})

    def test_that_would_overflow(self, robot):
        """As a feed-forward it gave efforts that are no numbers."""
        publisher = robot.network.publisher(AccelStamped, f'{CONTROLLER}/left/target_accel')
        message = AccelStamped()
        message.accel.linear.x = 1e308
        is_refused(robot, publisher, message, 'below 1e+30')

    @pytest.mark.parametrize(('positions', 'complaint'), [
        ({'torso_yaw': 100.0}, 'beyond its limits'), ({'torso_yaw': math.nan}, 'torso_yaw'),
        ({'torso_yav': 0.1}, 'torso_yaw')])
    def test_of_the_posture(self, robot, positions, complaint):
        publisher = robot.network.publisher(JointState, f'{CONTROLLER}/target_joint')
        is_refused(robot, publisher, joint_state(positions), complaint)


def test_goals_from_two_publishers_at_1_khz(robot, goals):
    """Each cycle to and fro: bounded like any other goal, and the last one counts."""
    other = robot.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
    here = robot.hand('left')
    there = here + np.array([0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
    first = len(robot.commands)
    for _ in range(1000):
        goals.publish(pose_message(here))
        other.publish(pose_message(there))
        robot.lock_step(STEP)
    robot.check(first, STEP)
    assert np.linalg.norm(robot.hand('left') - here) < 0.2
    assert robot.fastest < 1.0
    assert 'The robot is' not in robot.process.said()
    for _ in range(20):
        other.publish(pose_message(there))
    robot.arrive('left', there[:3])


def test_storm_of_parameters(robot):
    """Hundreds of changes, good and bad, are taken or refused; the robot holds still."""
    client = robot.network.node.create_client(SetParameters, f'{CONTROLLER}/set_parameters')
    robot.network.expect(client.service_is_ready)
    rng = np.random.default_rng(0)
    before, first = robot.hands(), len(robot.commands)
    calls = []
    for k in range(300):
        kp = -1.0 if k % 3 == 0 else math.nan if k % 3 == 1 else float(rng.uniform(0.0, 1000.0))
        calls.append((kp, client.call_async(SetParameters.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg()
            for name, value in (('left.kp', kp), ('posture.kp', float(rng.uniform(0.0, 100.0))),
                                ('limits.effort_rate', 20.0))]))))
        for _ in range(1000):
            robot.lock_step(STEP)
            if sum(not call.done() for _, call in calls) < IN_FLIGHT:
                break
    robot.network.expect(lambda: all(call.done() for _, call in calls))
    for kp, call in calls:
        assert call.result().results[0].successful == (kp >= 0.0)
    robot.lock_step(0.3)
    robot.check(first, STEP)
    np.testing.assert_allclose(robot.hands(), before, atol=1e-6)
    robot.change(**{'left.kp': 100.0, 'posture.kp': 25.0})
