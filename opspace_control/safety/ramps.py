# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Gains and tasks that change gradually: nothing that is set may make the torque jump."""

import contextlib

import numpy as np

from opspace_control.compiled import entry_point, kernel


@kernel
def approach(numbers, wanted, rates, dt):
    """Move 2-D ``numbers`` towards what is wanted, for ``dt`` s; return whether all are there."""
    there = True
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            step = rates[i, j] * dt
            if numbers[i, j] == wanted[i, j]:  # both may be infinite
                continue
            left = wanted[i, j] - numbers[i, j]
            if abs(left) <= step * (1.0 + 1e-9):
                numbers[i, j] = wanted[i, j]
            else:
                numbers[i, j] += step if left > 0.0 else -step
                there = False
    return there


class Ramps:
    """
    Numbers of a controller on their way from what they are to what they have been set to.

    Parameters
    ----------
    arrays : dict of str to float array
        The numbers themselves, of one or two dimensions, as in ``controller.gradual``.
    time : float
        How long a change takes, s.

    """

    def __init__(self, arrays, time=0.5):
        self.time = time
        arrays = {name: array for name, array in arrays.items() if array.size}
        self._names = tuple(arrays)
        self._arrays = [array if array.ndim == 2 else array[:, None] for array in arrays.values()]
        self._wanted = [array.copy() for array in self._arrays]
        self._rates = [np.zeros(array.shape) for array in self._arrays]
        self._steps = [(entry_point(approach, *step, 0.0), *step) for step in zip(
            self._arrays, self._wanted, self._rates, strict=True)]
        self._moving = False

    @contextlib.contextmanager
    def smoothly(self):
        """Let whatever the body of the ``with`` statement sets be reached in ``time``."""
        now = [array.copy() for array in self._arrays]
        self._finish()
        try:
            yield
        finally:
            self._moving = self.time > 0.0
            for array, value, wanted, rate in zip(
                    self._arrays, now, self._wanted, self._rates, strict=True):
                changed = array != wanted
                if changed.any():
                    wanted[:] = array
                    if self._moving:
                        rate[changed] = abs(wanted[changed] - value[changed]) / self.time
                if self._moving:
                    array[:] = value

    def start_from_zero(self, *names):
        """Begin with the arrays of these names at zero, and the others where they should be."""
        self._finish()
        self._moving = self.time > 0.0
        for name, array, rate in zip(self._names, self._arrays, self._rates, strict=True):
            if self._moving and name in names:
                rate[:] = abs(array) / self.time
                array[:] = 0.0

    def advance(self, dt):
        """Go on by ``dt`` s; costs nothing when nothing is on its way."""
        if self._moving:
            there = [move(array, wanted, rate, dt) for move, array, wanted, rate in self._steps]
            self._moving = not all(there)

    def _finish(self):
        for array, wanted in zip(self._arrays, self._wanted, strict=True):
            array[:] = wanted
