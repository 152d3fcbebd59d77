# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Collisions by the observer of external efforts: told within 20 ms, and what the robot does."""

import contextlib

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import mujoco
import ros_nodes
from controller_bench import MODEL, START, robot_state
from ros_lockstep import LockStepRobot
from std_srvs.srv import Trigger

TASKS = {'tasks': ['left', 'right'], 'left.frame': 'l_hand', 'right.frame': 'r_hand'}
THRESHOLD = 2.0  # N·m


@contextlib.contextmanager
def resting(**parameters):
    """Yield a robot that rests, and a function that pushes its left hand down, N."""
    with ros_nodes.network() as network:
        robot = LockStepRobot(network, 'dual_arm', {
            **TASKS, 'observer.threshold': THRESHOLD, 'left.kp': 400.0, **parameters}, START)
        robot.run(0.5)
        physics = robot.physics
        hand = mujoco.mj_name2id(physics.model, mujoco.mjtObj.mjOBJ_BODY, 'l_hand')

        def push(force):
            physics.data.xfrc_applied[hand, 2] = -force
        yield robot, push
        robot.check()


def push_of(times):
    """Return the force, N, that is so many thresholds at the joint that it turns most."""
    return times * THRESHOLD / abs(MODEL.jacobian(robot_state(START), 'l_hand')[2]).max()


def test_it_is_told_within_20_ms():
    """A push of twice the threshold; one of half of it is not told."""
    with resting() as (robot, push):
        push(push_of(0.5))
        robot.run(0.3)
        assert not robot.said('beyond its threshold')
        push(0.0)
        robot.run(0.5)
        push(push_of(2.0))
        robot.run(0.02)
        robot.network.expect(lambda: robot.said('beyond its threshold'))
        push(0.0)
        robot.run(0.3)
        assert not robot.said('collision_')


@pytest.mark.parametrize('reaction', ['stop', 'comply'])
def test_it_stops_or_complies_until_it_is_acknowledged(reaction):
    with resting(**{'observer.reaction': reaction}) as (robot, push):
        start = robot.physics.frame_pose('l_hand')
        push(push_of(3.0))
        robot.run(0.02)
        robot.network.expect(lambda: robot.said(f'collision_{reaction}: '))
        robot.run(0.6)
        pushed = robot.off('l_hand', start)
        push(0.0)
        robot.run(2.5)
        left = robot.off('l_hand', start)
        assert not robot.said('control resumes')
        assert abs(robot.physics.velocities).max() < 0.02
        if reaction == 'stop':
            assert left < 0.1 * pushed
        else:
            assert left > 0.9 * pushed and pushed > 0.1
        assert robot.network.call(Trigger, f'{ros_nodes.CONTROLLER}/hold').success
        robot.run(0.3)
        assert robot.said('control resumes')
        assert robot.off('l_hand', start) == pytest.approx(left, abs=0.01)
