# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The clock of a gait."""

import numpy as np

# Strides in which one gait changes to another.
_TRANSITION = 2.0
# Greatest change of an offset that is made gradually. On the way of a greater one there are times
# in which the feet of one side are on the ground alone.
_GRADUAL = 0.25


class GaitClock:
    """
    Phases of the legs, by time alone.

    Parameters
    ----------
    gait : Gait
        The first one; the clock stands.
    time_scale : float
        ``√(h/g)``, s, the unit of `Gait.period`.

    Attributes
    ----------
    gait : Gait
        The present one, or the one that the clock changes to.
    period : float
        Of a stride, s.
    duty, tilting : float
        As of a `Gait`; like the offsets they change gradually with the gait.
    offsets : (n,) array
    phase : float
        From 0 to 1.
    running : bool
        Whether the phase advances.
    changing : bool
        Whether one gait is gradually changing to another.
    gathering : bool
        Whether feet that land are to stay on the ground, until `gathered`.

    """

    def __init__(self, gait, time_scale):
        self._scale = time_scale
        self.phase, self.running = 0.0, False
        self._apply(gait)

    def _apply(self, gait):
        self.gait, self._left, self.gathering, self._next = gait, 0.0, False, None
        self.offsets, self.duty = np.array(gait.offsets, float), gait.duty
        self.period, self.tilting = gait.period * self._scale, gait.tilting

    changing = property(lambda self: self._left > 0.0)
    stance_time = property(
        lambda self: self.duty * self.period, doc='Time of a foot on the ground, s.')
    swing_time = property(
        lambda self: (1.0 - self.duty) * self.period, doc='Time of a foot in the air, s.')

    @property
    def steps(self):
        """Steps in a stride: groups of legs that are put down together, at most 2."""
        return min(len(set(self.gait.offsets)), 2)

    def phases(self):
        """Return the phases of the legs, (n,), from 0 to 1."""
        return (self.phase + self.offsets) % 1.0

    @property
    def wanted(self):
        """The gait that runs or is waited for; None for standing."""
        return (self._next if self.gathering else self.gait) if self.running else None

    def start(self, gait):
        """Run from the middle of the first leg's stance, where the trunk is at rest vertically."""
        self._apply(gait)
        self.phase, self.running = (0.5 * self.duty - self.offsets[0]) % 1.0, True

    def stand(self):
        """Stop at once."""
        self._apply(self.gait)
        self.running = False

    def stop(self):
        """Stand as soon as all feet are `gathered`."""
        self.gathering, self._next = self.running, None

    def change(self, gait):
        """
        Change to another gait while the clock runs, within two strides.

        Offsets that change little do so gradually; else the gait starts when feet are `gathered`.
        """
        if abs(self._turns(gait)).max() <= _GRADUAL:
            self.gait, self._left, self.gathering, self._next = gait, 1.0, False, None
        else:
            self.gathering, self._next = True, gait

    def gathered(self):
        """Start the gait that is waited for, or stand: all feet are on the ground."""
        if self._next is None:
            self.stand()
        else:
            self.start(self._next)

    def _turns(self, gait):
        """Return by how much the offsets are to change, (n,), to either side."""
        turns = np.array(gait.offsets) - self.offsets
        return turns - np.round(turns)

    def advance(self, dt):
        """Advance by dt, s, if running."""
        if not self.running:
            return
        self.phase = (self.phase + dt / self.period) % 1.0
        if not self.changing:
            return
        step = dt / (_TRANSITION * self.period)
        if step >= self._left:
            self._apply(self.gait)
            return
        progress = step / self._left
        self.offsets = (self.offsets + progress * self._turns(self.gait)) % 1.0
        self.duty += progress * (self.gait.duty - self.duty)
        self.tilting += progress * (self.gait.tilting - self.tilting)
        self.period += progress * (self.gait.period * self._scale - self.period)
        self._left -= step
