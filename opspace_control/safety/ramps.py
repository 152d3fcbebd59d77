# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Ramps of gains and activations, so that changes do not step the torque."""

import contextlib

import numpy as np

from opspace_control.compiled import kernel


@kernel
def approach(numbers, wanted, rates, last, dt):
    """
    Move 2-D ``numbers`` towards their targets for ``dt`` s; return whether all arrived.

    A number that is not the ``last`` one any more was set without a ramp, and stays.
    """
    there = True
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            if numbers[i, j] != last[i, j]:
                wanted[i, j] = numbers[i, j]
            elif numbers[i, j] != wanted[i, j]:  # both may be infinite
                step, left = rates[i, j] * dt, wanted[i, j] - numbers[i, j]
                if abs(left) <= step * (1.0 + 1e-9):
                    numbers[i, j] = wanted[i, j]
                else:
                    numbers[i, j] += step if left > 0.0 else -step
                    there = False
            last[i, j] = numbers[i, j]
    return there


class Ramps:
    """
    Ramps of a controller's numbers from their present to their target values.

    ``arrays`` of one or two dimensions, by name, are those of ``controller.gradual``; ``time``, s,
    is the duration of a ramp. A number that is set outside of `smoothly` has its value at once, and
    a ramp of it ends.
    """

    def __init__(self, arrays, time=0.5):
        self.time = time
        arrays = {name: array for name, array in arrays.items() if array.size}
        self._names = tuple(arrays)
        self._arrays = [array if array.ndim == 2 else array[:, None] for array in arrays.values()]
        self._wanted = [array.copy() for array in self._arrays]
        self._last = [array.copy() for array in self._arrays]
        self._rates = [np.zeros(array.shape) for array in self._arrays]
        self._steps = [approach.bind(*step, 0.0) for step in zip(
            self._arrays, self._wanted, self._rates, self._last, strict=True)]
        self._moving = False

    @contextlib.contextmanager
    def smoothly(self):
        """Ramp all changes that the body of the ``with`` statement makes."""
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
            self._see()

    def start_from_zero(self, *names):
        """Start ramps of the named arrays from zero; set all others to their targets."""
        self._finish()
        self._moving = self.time > 0.0
        for name, array, rate in zip(self._names, self._arrays, self._rates, strict=True):
            if self._moving and name in names:
                rate[:] = abs(array) / self.time
                array[:] = 0.0
        self._see()

    def advance(self, dt):
        """Advance all ramps by ``dt``, s; costs nothing without a ramp."""
        if self._moving:
            there = [step(dt) for step in self._steps]
            self._moving = not all(there)

    def _finish(self):
        """Set all numbers to their targets; those that were set without a ramp are there."""
        for array, wanted, last in zip(self._arrays, self._wanted, self._last, strict=True):
            array[:] = wanted[:] = np.where(array == last, wanted, array)

    def _see(self):
        for array, last in zip(self._arrays, self._last, strict=True):
            last[:] = array
