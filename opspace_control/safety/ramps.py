# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Ramps of gains and activations, so that changes do not step the torque."""

import contextlib
import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import called, kernel

# One number that may be on its way.
RAMP = np.dtype([
    ('place', np.int64),      # of the number in its memory
    ('from_zero', np.bool_),  # whether it is zero when control begins
    ('wanted', np.float64),   # where it goes
    ('rate', np.float64),     # by how much it changes in a second
    ('last', np.float64),     # what it was after the last step
], align=True)

RAMPING = np.dtype([
    ('time', np.float64),     # duration of a ramp, s
    ('moving', np.bool_),     # whether any number is on its way
], align=True)


class RampedMemory(NamedTuple):
    """Numbers that lie in one array of records, and their ramps."""

    numbers: np.ndarray  # all of that memory, as float
    ramps: np.ndarray    # (k,) of RAMP


class RampData(NamedTuple):
    """What ramps read and write."""

    state: np.ndarray    # RAMPING, one
    memories: tuple      # `_MEMORIES` of RampedMemory, so that kernels compile once


# Of tasks, joint tasks, posture, constraints, grasps, grips, passive joints, bodies, limits, the
# cycle, the disturbance observer and drive friction.
_MEMORIES = 12


@called
def finish(numbers, ramps):
    """Set numbers to their targets; those that were set without a ramp are there."""
    for k in range(ramps.size):
        ramp = ramps[k]
        if numbers[ramp.place] != ramp.last:
            ramp.wanted = numbers[ramp.place]
        numbers[ramp.place] = ramp.last = ramp.wanted


@called
def approach(numbers, ramps, dt):
    """
    Move numbers towards their targets for ``dt`` s; return whether all arrived.

    A number that is not the last one any more was set without a ramp, and stays. From or to
    infinity there is no way: it changes at once.
    """
    there = True
    for k in range(ramps.size):
        ramp, now = ramps[k], numbers[ramps[k].place]
        if now != ramp.last:
            ramp.wanted = now
        elif now != ramp.wanted:  # both may be infinite
            left = ramp.wanted - now
            # The rate of an infinite change is infinite: without time, NaN.
            if math.isinf(left) or abs(left) <= ramp.rate * dt * (1.0 + 1e-9):
                now = ramp.wanted
            else:
                now += math.copysign(ramp.rate * dt, left)
                there = False
        numbers[ramp.place] = ramp.last = now
    return there


@called
def advance_ramps(data, dt):
    """Advance all ramps by ``dt``, s."""
    if data.state[0].moving:
        there = True
        for memory in data.memories:
            arrived = approach(memory.numbers, memory.ramps, dt)
            there = there and arrived
        data.state[0].moving = not there


@kernel
def finish_ramps(data):
    """Set all numbers to their targets."""
    for memory in data.memories:
        finish(memory.numbers, memory.ramps)


@called
def start_at_zero(memory, time):
    """Set all numbers to their targets, then start those ramps that begin at zero."""
    finish(memory.numbers, memory.ramps)
    if time > 0.0:
        for k in range(memory.ramps.size):
            ramp = memory.ramps[k]
            if ramp.from_zero:
                ramp.rate = abs(ramp.wanted) / time
                memory.numbers[ramp.place] = ramp.last = 0.0


@called
def start_from_zero(data):
    """Start all ramps from zero; set all other numbers to their targets."""
    data.state[0].moving = data.state[0].time > 0.0
    for memory in data.memories:
        start_at_zero(memory, data.state[0].time)


class Ramps:
    """
    Ramps of a controller's numbers from their present to their target values.

    ``arrays`` by name are those of ``controller.gradual``; ``time``, s, is the duration of a ramp.
    Those named ``from_zero`` ramp up when control begins. A number that is set outside of
    `smoothly` has its value at once, and a ramp of it ends. ``data`` is what compiled code has.
    """

    def __init__(self, arrays, time=0.5, from_zero=()):
        memories = {}  # by the array that has the memory
        for name, array in arrays.items():
            if array.size:
                memory = _memory_of(array)
                memories.setdefault(id(memory), (memory, []))[1].append(
                    _ramps_of(array, memory, name in from_zero))
        self._memories = [RampedMemory(
            memory.reshape(-1).view(np.uint8).view(np.float64),
            np.concatenate(ramps)) for memory, ramps in memories.values()]
        state, unused = np.zeros(1, RAMPING), RampedMemory(np.empty(0), np.empty(0, RAMP))
        self.data = RampData(state, (
            *self._memories, *[unused] * (_MEMORIES - len(self._memories))))
        self.time = time
        self._finish = finish_ramps.partial(self.data)
        for numbers, ramps in self._memories:
            ramps['wanted'] = ramps['last'] = numbers[ramps['place']]

    @property
    def time(self):
        """Duration of a ramp, s."""
        return self.data.state['time'].item()

    @time.setter
    def time(self, value):
        self.data.state['time'] = value

    @contextlib.contextmanager
    def smoothly(self):
        """Ramp all changes that the body of the ``with`` statement makes."""
        now = [numbers[ramps['place']] for numbers, ramps in self._memories]
        self._finish()
        try:
            yield
        finally:
            moving = self.data.state['moving'][0] = self.time > 0.0
            for (numbers, ramps), before in zip(self._memories, now, strict=True):
                place = ramps['place']
                given = numbers[place]
                changed = given != ramps['wanted']
                ramps['wanted'] = given
                if moving:
                    # A number that is there already needs no rate: from infinity it is NaN.
                    changed &= given != before
                    ramps['rate'][changed] = abs(given[changed] - before[changed]) / self.time
                    numbers[place] = before
                ramps['last'] = numbers[place]


def _memory_of(array):
    """Return the array that has the memory of an array."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _ramps_of(array, memory, from_zero):
    """Return the ramps of all numbers of an array that lies in a memory, RAMP."""
    ramps = np.zeros(array.size, RAMP)
    offsets = np.full(array.shape, array.ctypes.data - memory.ctypes.data)
    for axis, stride in enumerate(array.strides):
        steps = stride * np.arange(array.shape[axis])
        offsets += steps.reshape(-1, *[1] * (array.ndim - axis - 1))
    ramps['place'], ramps['from_zero'] = offsets.reshape(-1) // 8, from_zero
    return ramps
