# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which refusals of named things, such as markers, are to be logged."""

import math

# What is refused again and again is logged so often, s: for the same reason, for another one.
_AGAIN, _CHANGED = 10.0, 1.0
_MOST = 10  # names in a message of the log


class Refusals:
    """The reasons why things were refused, by their names, without those just logged."""

    def __init__(self):
        self._logged = {}  # reason, and steady time of its message, s, by name

    def newest(self, reasons, now):
        """
        Return what is to be logged of the ``reasons``, a dict by name, as text, at a steady time.

        Of many the first ten; the others when they are refused again.
        """
        self._logged = {name: last for name, last in self._logged.items() if now < last[1] + _AGAIN}
        new = {}
        for name, reason in reasons.items():
            before, when = self._logged.get(name, ('', -math.inf))
            if len(new) < _MOST and reason != before and now >= when + _CHANGED:
                new[name] = reason, now
        self._logged |= new
        return ' '.join(f"'{name}': {reason}" for name, (reason, _) in new.items())
