# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Delay margins: what is predicted is what controllers with delayed states do."""

import math
from collections import deque

import numpy as np
import pytest
from ideal_robot import IdealRobot
from robots import robot_file

from opspace_control import (
    ControlError,
    DisturbanceObserver,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    longest_period,
    loop_margin,
    loop_margins,
)
from opspace_control.control.diagnosis.margins import loop_time, too_slow

PANDA = RobotModel.from_urdf_file(
    robot_file('panda.urdf'), locked_joints=['panda_finger_joint1'])
TCP = 'panda_hand_tcp'
HOME = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.78, 0.0])
DT = 1e-3


@pytest.mark.parametrize(('kp', 'kd', 'rate'), [
    (100.0, 20.0, 0.0), (100.0, 20.0, 20.0), (400.0, 20.0, 80.0), (0.0, 100.0, 0.0)])
def test_the_margin_is_where_the_loop_has_the_gain_one(kp, kd, rate):
    margin = loop_margin(kp, kd, rate)
    s = 1j * margin.crossover
    loop = ((kd + rate) * s * s + (kp + rate * kd) * s + rate * kp) / s ** 3
    assert abs(loop) == pytest.approx(1.0)
    # At the delay margin the loop is -1: s is a pole of the closed loop.
    assert loop * np.exp(-margin.delay * s) == pytest.approx(-1.0)
    assert margin.phase == pytest.approx(margin.delay * margin.crossover)


def test_known_margins():
    assert loop_margin(0.0, 50.0).delay == pytest.approx(math.pi / 100.0)  # an integrator
    assert loop_margin(100.0, 0.0).delay == pytest.approx(0.0)             # undamped
    assert loop_margin(0.0, 0.0).delay == math.inf
    for name in ('kp', 'kd', 'rate'):
        with pytest.raises(ControlError, match=f'loop: {name} = -1.0 is not allowed'):
            loop_margin(**{'kp': 1.0, 'kd': 1.0, name: -1.0})


def swing(rate, periods, hold=1):
    """
    Return how much a disturbed Panda moves, rad/s, before and at the end of 1.5 s, delayed.

    Every so many of the periods of integration there is a state.
    """
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], PostureTask(target=HOME))
    if rate:
        controller.disturbance = DisturbanceObserver(rate, max_force=np.inf, max_moment=np.inf)
    seen = RobotState(PANDA, HOME, np.zeros(PANDA.nv))
    v = np.where(PANDA.locked, 0.0, 1e-3 * np.random.default_rng(0).normal(size=PANDA.nv))
    state = RobotState(PANDA, HOME, v)
    late = deque([(HOME, 0.0 * v)] * periods)
    speeds, ideal = [], IdealRobot(PANDA)
    for k in range(1500):
        late.append((state.q.copy(), state.v.copy()))
        now = late.popleft()
        if k % hold == 0:
            seen.update(*now)
            tau = controller.compute_torque(seen, dt=hold * DT)
        state = ideal.after(state, tau, DT)
        speeds.append(abs(state.v).max())
    return max(speeds[400:700]), max(speeds[-300:])


@pytest.mark.parametrize('rate', [0.0, 20.0])
def test_an_arm_is_unstable_beyond_its_margin_and_stable_within_it(rate):
    margin = loop_margin(100.0, 20.0, rate).delay - loop_time(DT)
    before, after = swing(rate, round(0.9 * margin / DT))
    assert after < 0.7 * before
    before, after = swing(rate, round(1.1 * margin / DT))
    assert after > 1.5 * before


@pytest.mark.parametrize(('kp', 'rate'), [(100.0, 0.0), (100.0, 20.0), (400.0, 80.0)])
def test_short_periods_are_a_delay(kp, rate):
    """States that are late by very many periods: of them the delay margin has a part each."""
    margin = loop_margin(kp, 20.0, rate).delay
    period = longest_period(kp, 20.0, rate, 60.0)
    assert 60.5 * period == pytest.approx(margin, rel=0.02)
    assert longest_period(kp, 20.0, rate, 2.0) < longest_period(kp, 20.0, rate, 1.5)


def test_known_periods():
    """A kept effort proportional to the velocity turns it around from ``kd h = 2`` on."""
    assert longest_period(0.0, 50.0, late=0.0) == pytest.approx(2.0 / 50.0, rel=1e-5)
    assert longest_period(0.0, 50.0, late=1.0) == pytest.approx(1.0 / 50.0, rel=1e-5)
    assert longest_period(0.0, 0.0) == math.inf
    with pytest.raises(ControlError, match='loop: late = -1'):
        longest_period(1.0, 1.0, late=-1.0)


@pytest.mark.parametrize('rate', [20.0, 80.0])
def test_an_arm_is_stable_up_to_its_longest_period(rate):
    """The continuous loop, with ``T = 1.5 h``, would have periods down to two thirds of it."""
    longest = longest_period(100.0, 20.0, rate) / DT
    for hold, grows in ((math.floor(0.95 * longest), False), (math.ceil(1.05 * longest), True)):
        before, after = swing(rate, hold, hold)
        assert (after > before) == grows


def test_the_loops_of_a_controller():
    """Tasks with the observer's rate if it compensates for them, posture, limits of joints."""
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP, kp=[100.0] * 3 + [400.0] * 3, name='hand')], PostureTask(kp=25.0))
    assert loop_margins(controller) == [
        loop_margin(400.0, 40.0, name='task hand'), loop_margin(25.0, 10.0, name='posture')]
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP, name='hand')], limits=JointLimits(PANDA, approach_rate=10.0))
    controller.disturbance = DisturbanceObserver(20.0, max_force=0.0, max_moment=1.0)
    assert loop_margins(controller)[0] == loop_margin(100.0, 20.0, 20.0, 'task hand')
    limits = loop_margins(controller)[-1]
    assert limits == loop_margin(1000.0, 110.0, name='limits of joints')
    controller.disturbance.set(max_moment=0.0)
    assert loop_margins(controller)[0] == loop_margin(100.0, 20.0, 0.0, 'task hand')
    assert too_slow(loop_margins(controller), 0.4 * limits.delay) is None
    assert too_slow(loop_margins(controller), 0.6 * limits.delay) == limits
    controller.tasks['hand'].enabled = False
    assert 'task hand' not in [margin.name for margin in loop_margins(controller)]
