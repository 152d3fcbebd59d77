# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The clock of a gait."""

import numpy as np

# Strides in which one gait changes to another.
_TRANSITION = 2.0


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
        Whether one gait is changing to another.

    """

    def __init__(self, gait, time_scale):
        self._scale = time_scale
        self.phase, self.running = 0.0, False
        self._take(gait)

    def _take(self, gait):
        self.gait, self._left = gait, 0.0
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

    def start(self):
        """Run from the middle of the first leg's stance, where the trunk is at rest vertically."""
        self._take(self.gait)
        self.phase, self.running = (0.5 * self.duty - self.offsets[0]) % 1.0, True

    def stop(self):
        """Stand."""
        self._take(self.gait)
        self.running = False

    def change(self, gait):
        """Change to another gait, within two strides if the clock runs."""
        if self.running:
            self.gait, self._left = gait, 1.0
        else:
            self._take(gait)

    def advance(self, dt):
        """Advance by dt, s, if running."""
        if not self.running:
            return
        self.phase = (self.phase + dt / self.period) % 1.0
        if not self.changing:
            return
        step = dt / (_TRANSITION * self.period)
        if step >= self._left:
            self._take(self.gait)
            return
        share = step / self._left
        turns = np.array(self.gait.offsets) - self.offsets
        self.offsets = (self.offsets + share * (turns - np.round(turns))) % 1.0
        self.duty += share * (self.gait.duty - self.duty)
        self.tilting += share * (self.gait.tilting - self.tilting)
        self.period += share * (self.gait.period * self._scale - self.period)
        self._left -= step
