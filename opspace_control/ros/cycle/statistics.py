# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics of the control cycle: periods, missed cycles, limits and singularities."""

import array

import numpy as np

_CAPACITY = 10_000  # number of recorded cycles: those of a second at the highest update_rate
_LONGEST_DELAY = 1.0  # s; a greater one is the difference of two clocks


class CycleStatistics:
    """Statistics of the cycles of a controller since the last `take`."""

    def __init__(self):
        self._periods = array.array('d', bytes(8 * _CAPACITY))
        self._steps = array.array('d', bytes(8 * _CAPACITY))
        self._delays = array.array('d', bytes(8 * _CAPACITY))
        self.restart()

    def restart(self):
        """Reset: the next cycle is the first."""
        self._last = self._last_stamp = None
        self.start_over()

    def start_over(self):
        """Reset the counts, but not the time of the last cycle."""
        self._count = self._cut = self._singular = self._unsolved = self._skipped = 0
        self._least = np.inf

    def count(self, now, stamp, delay, limited, unsolved, levels_skipped, attained,
              least_eigenvalue):
        """
        Count a cycle at the steady time ``now``, s, for a joint state of a stamp, ns.

        It ended after a ``delay``, ns, from the stamp on. The other numbers are those of `CYCLE`.
        """
        if self._last is not None and self._count < _CAPACITY:
            self._periods[self._count] = now - self._last
            self._steps[self._count] = stamp - self._last_stamp
            self._delays[self._count] = delay
            self._count += 1
        self._last, self._last_stamp = now, stamp
        self._cut += limited > 0
        self._unsolved += unsolved > 0
        self._skipped += levels_skipped > 0
        self._least = min(self._least, least_eigenvalue)
        self._singular += not attained

    def age(self, now):
        """Return the time since the last cycle, s, inf before the first."""
        return np.inf if self._last is None else now - self._last

    def take(self):
        """
        Return the statistics since the last call, a dict, and start over.

        It has ``cycles``, ``limited`` (cycles with an effort at its limit), ``singular`` (cycles in
        which tasks did not get all of their accelerations), ``unsolved`` (cycles whose problem of
        limits was not solved), ``levels_skipped`` (cycles in which it was solved without some
        levels of tasks) and ``least_eigenvalue`` of the scaled Λ⁻¹ (inf without tasks or cycles).
        With cycles also the periods ``min``, ``mean``, ``max`` and ``p99`` in s, and ``missed``:
        joint states without a cycle, by their time stamps; with repeated stamps a lower bound;
        ``hold``, for which an effort acts: the median of the steps between stamps, s, the mean
        period without any; and ``delay``, the median time from a stamp to the end of its cycle, s,
        None where stamps are not of this machine's clock.
        """
        facts = {'cycles': self._count, 'limited': self._cut, 'singular': self._singular,
                 'unsolved': self._unsolved, 'levels_skipped': self._skipped,
                 'least_eigenvalue': self._least}
        if self._count:
            periods = np.frombuffer(self._periods)[:self._count]
            steps = np.frombuffer(self._steps)[:self._count]
            facts |= {'min': periods.min(), 'mean': periods.mean(), 'max': periods.max(),
                      'p99': np.percentile(periods, 99.0), 'missed': _missing_states(steps)}
            advancing, delay = steps[steps > 0.0], np.median(
                np.frombuffer(self._delays)[:self._count]) * 1e-9
            facts['hold'] = 1e-9 * np.median(advancing) if advancing.size else facts['mean']
            facts['delay'] = delay if 0.0 <= delay < _LONGEST_DELAY else None
        self.start_over()
        return facts


def _missing_states(steps):
    """
    Return a lower bound of the number of states missing between stamps ``steps`` ns apart.

    The period is the median of the steps that advance. With a late clock a state repeats the stamp
    of the one before, and the next step is longer, but no state is missing. A stamp may so be
    behind by as many periods as stamps repeat in a row; steps that catch up do not count.
    """
    advancing = steps[steps > 0.0]
    if not advancing.size:
        return 0
    latest = np.diff(np.flatnonzero(np.r_[1.0, steps, 1.0])).max() - 1
    missing, behind = 0, latest
    periods = np.round(steps / np.median(advancing))
    for step in periods[periods != 1.0]:
        behind += 1 - step
        missing += max(-behind, 0)
        behind = min(max(behind, 0), latest)
    return int(missing)
