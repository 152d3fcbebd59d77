# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Time between states: by stamps, by steady time without them, and never backwards."""

import numpy as np
import pytest
import robots

from opspace_control import RobotModel, SafetyError
from opspace_control.safety.accepted_state import AcceptedState
from opspace_control.safety.state_clock import LONGEST_LEAP
from opspace_control.safety.supervisor import TIME_BACKWARDS

SECOND = 1_000_000_000


class Clock(AcceptedState):
    """States of a robot at rest, by their stamps."""

    def __init__(self):
        super().__init__(RobotModel.from_urdf(robots.chain('revolute')))

    def step(self, stamp, now):
        """Return the time since the last state, s."""
        self.note(stamp, np.zeros(1), np.zeros(1))
        self.judge(now)
        return self.elapsed()

    @property
    def repeated(self):
        return self._clock['repeated']


@pytest.fixture
def clock():
    clock = Clock()
    clock.restart(10.0)
    return clock


def test_stamps_tell_the_time_however_late_they_come(clock):
    assert clock.step(5 * SECOND, 11.0) == 0.0
    assert clock.step(5 * SECOND + 1_000_000, 17.0) == pytest.approx(0.001)
    assert clock.last_change == 17.0
    assert clock.stamp == 5 * SECOND + 1_000_000


def test_large_stamps_lose_nothing(clock):
    start = 1_790_000_000 * SECOND
    clock.step(start, 11.0)
    assert clock.step(start + 1_000_000, 11.0) == 0.001


def test_without_stamps_the_steady_clock_does(clock):
    assert clock.step(0, 11.0) == 0.0
    assert clock.step(0, 11.25) == 0.25
    assert clock.last_change == 11.25
    assert not clock.repeated


def test_a_stamp_after_none_starts_anew(clock):
    clock.step(0, 11.0)
    assert clock.step(SECOND, 11.5) == 0.0
    assert clock.step(2 * SECOND, 12.5) == 1.0


def test_stamps_that_leap_ahead_are_not_time_that_has_passed(clock):
    """What is steady is the limit, but for simulations that run ahead of it in small steps."""
    clock.step(SECOND, 11.0)
    assert clock.step(86400 * SECOND, 11.001) == LONGEST_LEAP
    assert clock.step(86401 * SECOND, 11.5) == pytest.approx(0.499)
    assert clock.step(86401 * SECOND + SECOND // 20, 11.501) == pytest.approx(0.05)


def test_the_same_stamp_is_the_same_state(clock):
    clock.step(SECOND, 11.0)
    assert clock.step(SECOND, 12.0) == 0.0
    assert clock.repeated
    assert clock.last_change == 11.0
    assert clock.step(SECOND + 1, 13.0) == pytest.approx(1e-9)
    assert not clock.repeated


@pytest.mark.parametrize('stamp', [SECOND - 1, 0])
def test_back_is_told_once_and_time_goes_on_from_there(clock, stamp):
    clock.step(SECOND, 11.0)
    with pytest.raises(SafetyError, match='went back') as error:
        clock.step(stamp, 11.1)
    assert error.value.trip is TIME_BACKWARDS
    assert clock.step(stamp, 11.2) == (pytest.approx(0.1) if stamp == 0 else 0.0)


def test_restart_forgets(clock):
    clock.step(SECOND, 11.0)
    clock.restart(12.0)
    assert clock.stamp == 0
    assert clock.step(3, 13.0) == 0.0
