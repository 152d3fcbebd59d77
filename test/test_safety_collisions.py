# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Collisions by the observer of external efforts: when they are told, what the robot does."""

import contextlib
import math

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import mujoco
import numpy as np
import ros_nodes
from controller_bench import MODEL, START, robot_state
from ros_lockstep import STEP, LockStepRobot
from std_srvs.srv import Trigger

from opspace_control.simulation import Reality

TASKS = {'tasks': ['left', 'right'], 'left.frame': 'l_hand', 'right.frame': 'r_hand'}
THRESHOLD = 2.0  # N·m
RATE = 50.0      # 1/s, of the observer by default
# Of an arm of these sizes, and thresholds as `opspace identify` writes them: twice the friction,
# and more for noise, of which the heavy torso has most.
REALITY = Reality(velocity_noise=0.01, coulomb_ratio=0.03)
FRICTION = REALITY.coulomb_ratio * MODEL.effort_limits  # N·m
THRESHOLDS = 2.0 * FRICTION + np.where(MODEL.effort_limits > 100.0, 12.0, 1.5)


@contextlib.contextmanager
def resting(parameters, **options):
    """Yield a robot that rests, and a function that pushes its left hand down, N."""
    with ros_nodes.network() as network:
        robot = LockStepRobot(network, 'dual_arm', {
            **TASKS, 'left.kp': 400.0, **parameters}, START, **options)
        robot.run(0.5)
        physics = robot.physics
        hand = mujoco.mj_name2id(physics.model, mujoco.mjtObj.mjOBJ_BODY, 'l_hand')

        def push(force):
            physics.data.xfrc_applied[hand, 2] = -force
        yield robot, push
        robot.check()


def push_of(times, thresholds=THRESHOLD, friction=0.0):
    """
    Return the least force, N, that is at a joint so many thresholds more than its friction.

    At rest friction may have the direction of the force; then it takes the opposite one.
    """
    arm = np.fmax(abs(MODEL.jacobian(robot_state(START), 'l_hand')[2]), 1e-6)
    return np.min((times * thresholds + friction) / arm)


@pytest.mark.parametrize('times', [1.2, 1.5, 2.0])
def test_when_it_is_told(times):
    """
    After ln(x / (x - 1)) / K, of x thresholds, with friction and noise; 20 ms for x = 2.

    A push of half of the threshold is not told, nor is rest.
    """
    with resting({f'observer.joints.{joint}.threshold': threshold for joint, threshold in zip(
            MODEL.dof_names, THRESHOLDS.tolist(), strict=True)}, reality=REALITY) as (robot, push):
        push(push_of(0.5, THRESHOLDS))
        robot.run(0.3)
        assert not robot.said('beyond its threshold')
        push(0.0)
        robot.run(0.5)
        push(push_of(times, THRESHOLDS, FRICTION))
        robot.run(math.log(times / (times - 1.0)) / RATE + 2.0 * STEP)
        robot.network.expect(lambda: robot.said('beyond its threshold'))
        push(0.0)
        robot.run(0.3)
        assert not robot.said('collision_')


@pytest.mark.parametrize('reaction', ['stop', 'comply'])
def test_it_stops_or_complies_until_it_is_acknowledged(reaction):
    with resting({'observer.threshold': THRESHOLD,
                  'observer.reaction': reaction}) as (robot, push):
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
