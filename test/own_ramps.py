# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Ramps that a test advances itself, by the functions that the servo has compiled."""

import numpy as np

from opspace_control.safety import ramps


class Ramps(ramps.Ramps):
    """The ramps of a controller, without a servo."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._state = self.data.state.view(np.recarray)

    def start_from_zero(self):
        """Start the ramps that begin at zero; set all other numbers to their targets."""
        ramps.start_from_zero(ramps.RampData(self._state, tuple(
            memory._replace(ramps=memory.ramps.view(np.recarray))
            for memory in self.data.memories)))

    def advance(self, dt):
        """Advance all ramps by ``dt``, s; those that are at their targets take no time."""
        if not self.data.state['moving'][0]:
            return
        parts = []
        for memory in self._memories:
            now = memory.numbers[memory.ramps['place']]
            some = (now != memory.ramps['wanted']) | (now != memory.ramps['last'])
            if some.any():
                parts.append((memory, some, _Some(memory.ramps[some])))
        ramps.advance_ramps(ramps.RampData(self._state, tuple(
            memory._replace(ramps=part) for memory, _, part in parts)), dt)
        for memory, some, part in parts:
            memory.ramps[some] = part.records()


class _Some:
    """Some ramps as what a function reads and writes in a tenth of a record array's time."""

    def __init__(self, records):
        self.size, self._rows = len(records), [_Row(*row) for row in records.tolist()]

    def __getitem__(self, k):
        return self._rows[k]

    def records(self):
        """Return them as RAMP (k,)."""
        return np.array([tuple(getattr(row, name) for name in ramps.RAMP.names)
                         for row in self._rows], ramps.RAMP)


class _Row:
    """One of RAMP."""

    __slots__ = ramps.RAMP.names

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)
