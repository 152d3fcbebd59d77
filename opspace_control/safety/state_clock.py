# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The time between two states, and the age of the newest one."""

import numpy as np

from opspace_control.compiled import called

# Largest step of stamps beyond steady time, s: a simulation faster than real time has such steps.
# A larger one means that the clock was set.
LONGEST_LEAP = 0.1  # s

# The robot's time by the stamps of its states, or by a steady clock without stamps. The age of a
# state is in steady time, because a simulation may be slow or stop.
CLOCK = np.dtype([
    ('stamp', np.int64),          # of the last state, ns; 0: it had none
    ('before', np.int64),         # of the state before it
    ('last_change', np.float64),  # steady time at which the stamp last changed, s
    ('repeated', np.bool_),       # whether the stamp was that of the state before
    ('first', np.bool_),          # whether the next state is the first
], align=True)

BACKWARDS = -1.0


@called
def step_clock(clock, stamp, now):
    """
    Return the time since the last state, s; a leap ahead does not count.

    ``stamp``, ns, is that of the state, 0 for none, ``now`` steady time, s. No time passes to a
    state with the stamp of the last one: it is the same message again, or the clock of the stamps
    is late or has stopped. `BACKWARDS` is returned once, for an earlier stamp: the next step starts
    at this one.
    """
    before, last, first = clock.stamp, clock.last_change, clock.first
    clock.stamp, clock.before, clock.first = stamp, before, False
    clock.repeated = stamp == before and before != 0
    if not clock.repeated:
        clock.last_change = now
    if first or clock.repeated:
        return 0.0
    if stamp < before:
        return BACKWARDS
    if stamp == 0:
        return now - last
    if before == 0:
        return 0.0
    return min(1e-9 * (stamp - before), max(now - last, LONGEST_LEAP))
