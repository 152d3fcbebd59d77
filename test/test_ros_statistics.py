# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What is counted of the control cycle; needs no ROS."""

import numpy as np
import pytest

from opspace_control.ros.cycle.statistics import CycleStatistics

MILLISECOND = 1_000_000  # ns


@pytest.fixture
def statistics():
    return CycleStatistics()


def count(statistics, now, stamp, delay=0, limited=0, unsolved=0, levels_skipped=0, least=0.5):
    statistics.count(now, stamp, delay, limited, unsolved, levels_skipped, least > 0.0, least)


def run(statistics, periods, steps=None):
    """Count a first cycle and one after each of these periods, s; steps of the stamps in ms."""
    now, stamp = 100.0, 7 * MILLISECOND
    count(statistics, now, stamp)
    for period, step in zip(periods, steps or [1] * len(periods), strict=True):
        now, stamp = now + period, stamp + step * MILLISECOND
        count(statistics, now, stamp)
    return now


def test_periods(statistics):
    periods = np.random.default_rng(0).uniform(0.0005, 0.0015, 500)
    run(statistics, periods)
    facts = statistics.take()
    assert facts['cycles'] == 500
    for name, expected in (('min', periods.min()), ('mean', periods.mean()),
                           ('max', periods.max()), ('p99', np.percentile(periods, 99))):
        assert facts[name] == pytest.approx(expected, rel=1e-6)


def test_starts_over_but_knows_the_last_cycle(statistics):
    now = run(statistics, [0.001] * 5)
    statistics.take()
    assert statistics.take() == {
        'cycles': 0, 'limited': 0, 'singular': 0, 'unsolved': 0, 'levels_skipped': 0,
        'least_eigenvalue': np.inf}
    assert statistics.age(now + 2.0) == pytest.approx(2.0)
    count(statistics, now + 0.25, 0)
    assert statistics.take()['max'] == pytest.approx(0.25)


def test_the_delay_if_it_is_of_this_clock(statistics):
    """And for how long an effort acts: the median of the steps between stamps."""
    for k in range(9):
        count(statistics, 0.1 * k, 2 * k * MILLISECOND, (20 + k) * MILLISECOND)
    facts = statistics.take()
    assert facts['hold'] == pytest.approx(2e-3)
    assert facts['delay'] == pytest.approx(24.5e-3)  # of all but the first
    for ahead in (-3600, 3600):  # s
        statistics.restart()
        for k in range(3):
            count(statistics, 0.1 * k, k, 1000 * ahead * MILLISECOND)
        assert statistics.take()['delay'] is None
    statistics.restart()
    for k in range(3):
        count(statistics, 0.1 * k, 0)
    assert statistics.take()['hold'] == pytest.approx(0.1)  # no stamps: the mean period


def test_missed_states_are_told_by_stamps_not_by_delays(statistics):
    run(statistics, [0.001] * 10 + [0.02] + [0.0001] * 10, [1] * 21)
    assert statistics.take()['missed'] == 0
    run(statistics, [0.001] * 6, [1, 1, 4, 1, 2, 1])
    statistics.take()
    statistics.restart()
    run(statistics, [0.001] * 6, [1, 1, 4, 1, 2, 1])
    assert statistics.take()['missed'] == 3 + 1


@pytest.mark.parametrize(('steps', 'missed'), [
    ([1, 0, 2, 1, 1, 0, 2, 1] * 20, 0),          # a clock that is now and then late by a state
    ([0, 1, 2, 1, 1] * 20, 0),                   # and catches up later
    ([0, 1.25, 1.25, 1.25, 1.25] * 20, 0),       # a clock coarser than the loop
    ([2, 1, 0, 1, 2, 1, 0] * 20, 0),             # and was late before that
    ([1, 0, 2, 1, 3, 1, 0, 2, 1] * 20, 40),      # late, and two states are lost each time
    ([1, 1, 1, 0, 3, 1] * 20, 20)])              # one is lost while the clock is late
def test_a_late_clock_loses_no_state(statistics, steps, missed):
    run(statistics, [0.001] * len(steps), steps)
    assert statistics.take()['missed'] == missed


def test_stamps_that_stand_still_or_go_back_miss_nothing(statistics):
    run(statistics, [0.001] * 5, [0, 0, 0, 0, 0])
    assert statistics.take()['missed'] == 0
    statistics.restart()
    run(statistics, [0.001] * 5, [1, 1, -100, 1, 1])
    assert statistics.take()['missed'] == 0


def test_what_cycles_found(statistics):
    for limited, unsolved, least in (
            (0, 0, 0.5), (2, 1, 0.3), (1, 0, 0.0), (0, 2, 0.4), (3, 1, 0.4)):
        count(statistics, 0.0, 0, 0, limited, unsolved, limited // 2, least)
    facts = statistics.take()
    assert (facts['limited'], facts['singular'], facts['least_eigenvalue']) == (3, 1, 0.0)
    assert (facts['unsolved'], facts['levels_skipped']) == (3, 2)


def test_restart_forgets(statistics):
    run(statistics, [0.001] * 5)
    statistics.restart()
    assert statistics.age(200.0) == np.inf
    assert statistics.take()['cycles'] == 0


def test_more_cycles_than_can_be_remembered(statistics):
    run(statistics, [0.001] * 10_010)
    assert statistics.take()['cycles'] == 10_000
