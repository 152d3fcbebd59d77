# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Ramps that a test advances itself, by the functions that the servo has compiled."""

import numpy as np

from opspace_control.safety import ramps


class Ramps(ramps.Ramps):
    """The ramps of a controller, without a servo."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._records = ramps.RampData(self.data.state.view(np.recarray), tuple(
            ramps.RampedMemory(memory.numbers, memory.ramps.view(np.recarray))
            for memory in self.data.memories))

    def start_from_zero(self):
        """Start the ramps that begin at zero; set all other numbers to their targets."""
        ramps.start_from_zero(self._records)

    def advance(self, dt):
        """Advance all ramps by ``dt``, s."""
        ramps.advance_ramps(self._records, dt)
