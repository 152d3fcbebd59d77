# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Gains and tasks that change gradually: nothing that is set may make the torque jump."""

import contextlib

import numpy as np


class Ramps:
    """
    Numbers of a controller on their way from what they are to what they have been set to.

    Parameters
    ----------
    arrays : sequence of float arrays
        Views of the numbers themselves.
    time : float
        How long a change takes, s.

    """

    def __init__(self, arrays, time=0.5):
        self.time = time
        self._arrays = tuple(arrays)
        self._wanted = [array.copy() for array in self._arrays]
        self._rates = [np.zeros(array.shape) for array in self._arrays]
        self._moving = False

    @contextlib.contextmanager
    def smoothly(self):
        """Let whatever the body of the ``with`` statement sets be reached in ``time``."""
        now = [array.copy() for array in self._arrays]
        self._finish()
        try:
            yield
        finally:
            for array, value, wanted, rate in zip(
                    self._arrays, now, self._wanted, self._rates, strict=True):
                changed = array != wanted
                wanted[:] = array
                if self.time > 0.0:
                    rate[changed] = abs(wanted - value)[changed] / self.time
                    array[:] = value
            self._moving = self.time > 0.0

    def start_from_zero(self):
        """Begin with all numbers at zero: of the torque, gravity alone is left."""
        self._moving = self.time > 0.0
        if not self._moving:
            self._finish()
            return
        for array, wanted, rate in zip(self._arrays, self._wanted, self._rates, strict=True):
            rate[...] = abs(wanted) / self.time
            array[...] = 0.0

    def advance(self, dt):
        """Go on by ``dt`` s; costs nothing when nothing is on its way."""
        if not self._moving:
            return
        self._moving = False
        for array, wanted, rate in zip(self._arrays, self._wanted, self._rates, strict=True):
            array[...] += np.clip(wanted - array, -rate * dt, rate * dt)
            near = abs(wanted - array) <= 1e-9 * rate
            array[near] = wanted[near]
            self._moving = self._moving or not near.all()

    def _finish(self):
        for array, wanted in zip(self._arrays, self._wanted, strict=True):
            array[:] = wanted
