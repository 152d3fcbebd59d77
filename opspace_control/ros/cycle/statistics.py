# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How regularly the control cycle runs and what it runs into: cheap to count, summed up rarely."""

import array

import numpy as np

# Cycles that are remembered one by one: those of a second at the highest update_rate.
_CAPACITY = 10_000


class CycleStatistics:
    """
    What happened since it was last asked.

    Parameters
    ----------
    controller : OperationalSpaceController
        Says what each cycle found.

    """

    def __init__(self, controller):
        self._controller = controller
        self._periods = array.array('d', bytes(8 * _CAPACITY))
        self._steps = array.array('d', bytes(8 * _CAPACITY))
        self.restart()

    def restart(self):
        """Forget everything: the next cycle is the first."""
        self._last = self._last_stamp = None
        self.start_over()

    def start_over(self):
        """Forget what was counted, but not when the last cycle was."""
        self._count = self._cut = self._released = 0
        self._least = np.inf

    def count(self, now, stamp):
        """
        Take note of a cycle that has just been run.

        Parameters
        ----------
        now : float
            Steady time, s.
        stamp : int
            Of the joint state, ns.

        """
        if self._last is not None and self._count < _CAPACITY:
            self._periods[self._count] = now - self._last
            self._steps[self._count] = stamp - self._last_stamp
            self._count += 1
        self._last, self._last_stamp = now, stamp
        if self._controller.limited_joints:
            self._cut += 1
        least = self._controller.least_eigenvalue
        self._least = min(self._least, least)
        if least == 0.0:
            self._released += 1

    def age(self, now):
        """Return the time since the last cycle in s, inf before the first."""
        return np.inf if self._last is None else now - self._last

    def take(self):
        """
        Return a dict of what happened since the last call, and start over.

        Returns
        -------
        dict
            ``cycles``, ``limited`` (cycles in which a joint's effort was cut), ``released`` (cycles
            that handed singular directions to the posture) and ``least_eigenvalue`` of the scaled
            Λ⁻¹ (inf without tasks or cycles). If cycles were counted, also the periods ``min``,
            ``mean``, ``max`` and ``p99`` in s, and ``missed``: joint states of which no cycle was
            made, as their time stamps tell; where these repeat, as many as are certain.

        """
        facts = {'cycles': self._count, 'limited': self._cut, 'released': self._released,
                 'least_eigenvalue': self._least}
        if self._count:
            periods = np.frombuffer(self._periods)[:self._count]
            steps = np.frombuffer(self._steps)[:self._count]
            facts |= {'min': periods.min(), 'mean': periods.mean(), 'max': periods.max(),
                      'p99': np.percentile(periods, 99.0), 'missed': _missed(steps)}
        self.start_over()
        return facts


def _missed(steps):
    """
    Return how many states at least are missing between stamps ``steps`` ns apart.

    Most of those that advance are one period apart. Where a clock is late, a state has the stamp of
    the one before, and the next step is longer by what was missing: no state is. So a stamp may be
    behind its state by as many periods as stamps repeat in a row, as the first one may be, and what
    it catches up with does not count.
    """
    advancing = steps[steps > 0.0]
    if not advancing.size:
        return 0
    latest = np.diff(np.flatnonzero(np.r_[1.0, steps, 1.0])).max() - 1
    missed, behind = 0, latest
    periods = np.round(steps / np.median(advancing))
    for step in periods[periods != 1.0]:
        behind += 1 - step
        missed += max(-behind, 0)
        behind = min(max(behind, 0), latest)
    return int(missed)
