# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Time that stands still while a simulation pauses, and goes on whatever else happens to /clock."""

import itertools

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from opspace_control.ros.commands.lost_commands import RunningTime
from opspace_control.safety.state_clock import LONGEST_LEAP

SECOND = 1_000_000_000
TOLERANCE = 0.2  # s


@pytest.fixture
def time():
    """A time that has gone by /clock so far."""
    time = RunningTime(10.0)
    time.step(10.0, SECOND, SECOND, TOLERANCE)
    return time


@pytest.mark.parametrize(('clock', 'stamp'), [(None, SECOND), (None, 0), (0, 0), (0, SECOND)])
def test_without_a_clock_it_is_steady_time(clock, stamp):
    time = RunningTime(10.0)
    assert time.step(10.5, clock, stamp, TOLERANCE) == 10.5
    assert time.step(12.0, clock, stamp, TOLERANCE) == 12.0


@pytest.mark.parametrize('pace', [0.0, 0.1, 1.0, 2.0])
def test_it_goes_as_the_simulation_does(time, pace):
    for k in range(1, 101):
        clock = SECOND + round(pace * k * 0.01 * SECOND)
        time.step(10.0 + 0.01 * k, clock, clock - 1_000_000, TOLERANCE)
    assert time.time == pytest.approx(10.0 + pace)


@pytest.mark.parametrize('tolerance', [TOLERANCE, 0.05])
@pytest.mark.parametrize('period', [0.05, 0.1])  # s
def test_a_coarse_clock_loses_nothing_and_does_not_leap(time, period, tolerance):
    """A leap of the deadline would be the loss of a command that is never late."""
    times = [time.time]
    for k in range(1, 1001):
        clock = SECOND + round(0.001 * k // period * period * SECOND)
        times.append(time.step(10.0 + 0.001 * k, clock, SECOND + k * 1_000_000, tolerance))
    assert time.time == pytest.approx(11.0)
    assert max(after - before for before, after in itertools.pairwise(times)) < 0.002


@pytest.mark.parametrize('stamp', [0, 3 * SECOND, 1_790_000_000 * SECOND])
def test_a_clock_that_is_not_that_of_the_states_stops_nothing(time, stamp):
    assert time.step(15.0, SECOND, stamp, TOLERANCE) == 15.0


def test_a_clock_that_goes_on_without_states_stops_nothing(time):
    assert time.step(15.0, 6 * SECOND, SECOND, TOLERANCE) == 15.0


def test_the_first_time_of_a_clock_is_no_leap():
    time = RunningTime(10.0)
    assert time.step(10.5, 100 * SECOND, 100 * SECOND, TOLERANCE) == 10.5
    assert time.step(11.5, 100 * SECOND, 100 * SECOND, TOLERANCE) == 10.5


def test_it_never_goes_back_and_does_not_leap(time):
    assert time.step(10.01, SECOND // 2, SECOND // 2, TOLERANCE) == 10.0
    assert time.step(10.02, 90 * SECOND, 90 * SECOND, TOLERANCE) == pytest.approx(
        10.0 + LONGEST_LEAP)


@pytest.mark.parametrize('clock', [None, 2 * SECOND])
def test_time_in_which_the_process_did_not_run_does_not_count(clock):
    time = RunningTime(10.0, longest_step=0.02)
    time.step(10.0, clock and SECOND, SECOND, TOLERANCE)
    assert time.step(10.01, clock and SECOND + 10_000_000, SECOND + 10_000_000,
                     TOLERANCE) == pytest.approx(10.01)
    assert time.step(11.0, clock, 2 * SECOND, TOLERANCE) == pytest.approx(
        10.01 + (LONGEST_LEAP if clock else 0.02))
