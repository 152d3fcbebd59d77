# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which parameters are read, so that changes of the others need not be applied."""

from collections.abc import Mapping


class Recorded(Mapping):
    """
    A mapping of parameters that notes the names that are read from it.

    What reads them depends on these alone, for whatever decides to read another one is read, too.
    """

    def __init__(self, parameters):
        self._parameters, self._read = parameters, set()

    def concern(self, names):
        """Return whether one of these names has been read, or none at all yet."""
        return not self._read or not self._read.isdisjoint(names)

    def __getitem__(self, name):
        self._read.add(name)
        return self._parameters[name]

    def __iter__(self):
        return iter(self._parameters)

    def __len__(self):
        return len(self._parameters)
