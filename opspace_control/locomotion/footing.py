# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which feet are on the ground: what the schedule says, and how the feet move."""

import numpy as np

# Part of its velocity at which a foot that goes down is told from one at rest: the middle.
_MOVES = 0.5
# Clearances of swinging feet above the ground from which on there is none: a step up as high as
# feet swing, on a plane that lies as much too low after a step down. Where a drive dies in a trot,
# a joint of another leg passes 1.3 of its velocity limit in 4 of 240 cases; above the plane alone
# in 3 with 1.5 and with 2, in 4 with 4, in 14 without this and the bounds of speed.
_ABOVE = 2.0


def off_ground(heights, velocities, descent, clearance):
    """
    Return which feet cannot be on the ground, (n,) of bool: they move, or are above it.

    A load on a foot in the air accelerates its leg. A foot moves that goes down faster than half of
    the ``descent``, or in any direction faster than that. Where all feet are above the plane, as
    where an estimate of the base's height has drifted, the ground is at the lowest one.

    Parameters
    ----------
    heights : (n,) array
        Of the feet above the plane of the ground, m.
    velocities : (n, 3) array
        Of the feet, m/s, world axes.
    descent : (3,) array
        Velocity of feet that seek the ground, m/s.
    clearance : float
        Height of swinging feet above the ground, m.

    """
    down, fastest = velocities @ descent, descent @ descent
    speeds = np.einsum('ij,ij->i', velocities, velocities)
    above = heights - max(heights.min(), 0.0)
    return (down > _MOVES * fastest) | (speeds > fastest) | (above > _ABOVE * clearance)


class Footing:
    """
    Feet on the ground, feet that swing, and feet that go down to ground lower than expected.

    There is no sensor of contact: see `off_ground`. A foot that is neither ``on_ground`` nor
    ``swinging``, (n,) of bool, goes down; ``lift_off`` (n, 3), m, world axes, is where feet began
    to swing.
    """

    def __init__(self, n):
        self.on_ground, self.swinging, self._early = np.zeros((3, n), bool)
        self.lift_off, self._begin = np.zeros((n, 3)), np.zeros(n)

    def scheduled(self, clock, stretched, off):
        """
        Return which feet are to be on the ground, (n,) of bool.

        A leg that is ``stretched`` in the second half of its stance cannot follow the ground, and
        would turn the trunk: its foot lifts early. A foot that is ``off`` it gets no load.
        """
        phases = clock.phases()
        in_stance = phases < clock.duty
        self._early = in_stance & (
            self._early | (self.on_ground & stretched & (phases > 0.5 * clock.duty)))
        self._swing = ~in_stance | self._early
        return in_stance & ~self._early & ~off

    def put(self, on_ground, clock, feet):
        """Put feet on the ground, (n,) of bool; all are at ``feet``, (n, 3), m, world axes."""
        swinging = self._swing & ~on_ground
        lifted = swinging & ~self.swinging
        self.lift_off[lifted] = feet[lifted]
        self._begin[lifted] = _part_of_swing(clock)[lifted]
        self.on_ground, self.swinging = on_ground, swinging

    def swing_progress(self, feet, clock):
        """
        Return the part of their swings that feet have done, and of the usual time that they take.

        Both are (k,), as are the indices ``feet``. A swing that begins late, as from standing,
        takes less than 1; one that begins early, more.
        """
        whole = 1.0 - self._begin[feet]
        part = (_part_of_swing(clock)[feet] - self._begin[feet]) / whole
        return np.minimum(np.maximum(part, 0.0), 1.0), whole


def _part_of_swing(clock):
    """Return the part of the usual time of a swing that is over, (n,); before it, below 0."""
    return (clock.phases() - clock.duty) / (1.0 - clock.duty)
