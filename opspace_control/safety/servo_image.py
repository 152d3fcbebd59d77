# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The memory of a controller and its servo beside the same memory in a block elsewhere."""

import ctypes

import numpy as np

from opspace_control import library
from opspace_control.control.limits.distances import active_pairs
from opspace_control.control.saved import HEADER, make_block

_WORD = 8  # bytes: numbers are changed as a whole


class ServoImage:
    """
    Finds what has changed in a Servo and its controller since they were equal to a block.

    Scratch of a cycle is not looked at. Numbers that belong together, such as those of a
    trajectory, or shapes and their pairs, are changed together.
    """

    def __init__(self, servo):
        self._controller = servo.controller
        self._arguments = servo.controller._arguments
        self.block, memory = make_block(servo.controller, servo)
        self._data = servo.data  # their memory is needed
        scratch = {array.ctypes.data for array in _arrays((self._arguments.storage.scratch,))}
        self._parts = [(begin, end - begin, offset) for begin, end, offset in memory.parts
                       if begin not in scratch]
        sizes = [-(-size // _WORD) * _WORD for _, size, _ in self._parts]
        self._starts = np.cumsum([0, *sizes])
        self._views = [np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(begin))
                       for begin, size, _ in self._parts]
        self._own = _padded(self._views)
        self._now, self._seen, self._same = np.zeros((3, self._starts[-1]), np.uint8)
        self._offsets = np.concatenate([
            offset + np.arange(0, size, _WORD)
            for (_, _, offset), size in zip(self._parts, sizes, strict=True)])
        self._groups = [(self._words(*cause), self._words(*group))
                        for cause, group in _groups(servo)]
        self._remote = None

    def fits(self, block):
        """Return whether a block (size,) of bytes has the same layout."""
        header = self.block[:HEADER.itemsize].view(HEADER)[0]
        end = int(header['arrays'])
        return (len(block) == len(self.block)
                and np.array_equal(block[:HEADER.itemsize], self.block[:HEADER.itemsize])
                and np.array_equal(block[header['spans']:end], self.block[header['spans']:end]))

    def is_current(self):
        """Return whether the controller still has the arrays that it had at the beginning."""
        return self._controller._arguments is self._arguments

    def attach(self, block):
        """Compare with a block (size,) of bytes from now on, which `fits`."""
        self._remote = _padded([block[offset:offset + size] for _, size, offset in self._parts])

    def look(self):
        """Copy the numbers of the block."""
        np.concatenate(self._remote, out=self._seen)

    def note(self):
        """Compare with the numbers that were last copied from the block."""
        self._same[:] = self._seen

    def adopt(self):
        """Take the numbers that were last copied from the block."""
        self._write(self._seen, self._same)
        self._same[:] = self._seen

    def restore(self):
        """Take back what has changed here since the last `changes`."""
        self._write(self._now, np.concatenate(self._own))

    def changes(self):
        """Return pairs of an offset in the block and the bytes that have changed here since."""
        np.concatenate(self._own, out=self._now)
        changed = self._now.view(np.uint64) != self._same.view(np.uint64)
        if not changed.any():
            return []
        for cause, group in self._groups:
            if changed[cause].any():
                changed[group] = True
        words = np.flatnonzero(changed)
        first = np.r_[0, np.flatnonzero(np.diff(self._offsets[words]) != _WORD) + 1]
        return [(int(self._offsets[run[0]]),
                 self._now[_WORD * run[0]:_WORD * (run[-1] + 1)].tobytes())
                for run in np.split(words, first[1:])]

    def note_sent(self):
        """Expect the last `changes` in the block from now on."""
        self._same[:] = self._now

    def copy_baseline(self, other):
        """Compare with what another image of the same layout compared with."""
        self._same[:] = other._same

    def _write(self, wanted, present):
        """Write those parts that differ."""
        differs = wanted.view(np.uint64) != present.view(np.uint64)
        if not differs.any():
            return
        starts = self._starts[:-1]
        for k in np.flatnonzero(np.logical_or.reduceat(differs, starts // _WORD)):
            own = self._views[k]
            own[:] = wanted[starts[k]:starts[k] + own.size]

    def _words(self, addresses, sizes):
        """Return the indices of the words at these addresses of so many bytes."""
        begins = np.array([begin for begin, _, _ in self._parts])
        order = np.argsort(begins)
        part = order[np.searchsorted(begins[order], addresses, side='right') - 1]
        place = (self._starts[part] + addresses - begins[part]) // _WORD
        return np.concatenate([np.arange(at, at + size // _WORD)
                               for at, size in zip(place, sizes, strict=True)])


def _padded(views):
    """Return views of bytes, each filled up to whole words by another one."""
    return [part for view in views for part in (view, np.zeros(-view.size % _WORD, np.uint8))]


def _arrays(arguments):
    found = []
    library.describe(arguments, found)
    return [array for _, array in found]


def _groups(servo):
    """
    Yield addresses and sizes of numbers, and of those that change with them.

    A trajectory's, all ramps, and, when shapes come or go, all that is known of shapes.
    """
    arguments = servo.controller._arguments
    tasks, collision = arguments.demand.tasks, arguments.robot.collision
    size = tasks.dtype['trajectory'].itemsize
    for k in range(tasks.size):
        group = np.array([tasks[k:k + 1]['trajectory'].ctypes.data]), [size]
        yield group, group
    if collision is not None:
        memory = arguments.storage.memory
        yield _places([collision.counts]), _places([
            collision.counts, collision.shapes, collision.bodies, collision.waits,
            collision.body_pairs, collision.pairs, collision.count, memory.near_pairs,
            active_pairs(memory, arguments.limits.numbers)])
    data, addresses, sizes = servo.ramps.data, [], []
    for array in (data.state, *(memory.ramps for memory in data.memories if memory.ramps.size)):
        addresses.append(array.ctypes.data)
        sizes.append(array.nbytes)
    for memory in data.memories:
        addresses += [memory.numbers.ctypes.data + _WORD * int(place)
                      for place in memory.ramps['place']]
        sizes += [_WORD] * memory.ramps.size
    group = np.array(addresses), sizes
    yield group, group


def _places(arrays):
    """Return the addresses and sizes of arrays that are not empty."""
    arrays = [array for array in arrays if array.size]
    return np.array([array.ctypes.data for array in arrays]), [array.nbytes for array in arrays]
