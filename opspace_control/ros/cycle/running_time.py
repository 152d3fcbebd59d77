# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Elapsed time of a robot, which stops while a simulation pauses."""

import math

from opspace_control.safety.state_clock import LONGEST_LEAP


class RunningTime:
    """
    Elapsed time: simulated if joint states have the stamps of ``/clock``, else steady.

    If only one of ``/clock`` and joint states advances, or ``/clock`` was set, steady time is used.
    So only a pause of the simulation, which stops both, stops this time.

    Parameters
    ----------
    now : float
        Steady time, s; this time begins with it.
    longest_step : float
        Longest steady time between two calls of `step` that counts, s. During the rest the process
        did not run, and could not receive anything.

    Attributes
    ----------
    time : float
        This time at the last `step`, s.

    """

    def __init__(self, now, longest_step=math.inf):
        self.time = self._steady = now
        self._longest_step = longest_step
        self._latest = 0  # ns, of /clock and stamps; 0 or None: not known

    def step(self, now, clock, stamp, tolerance):
        """
        Go on, and return this time, s.

        Parameters
        ----------
        now : float
            Steady time, s.
        clock : int or None
            Time of ``/clock``, ns; None where the node ignores it, 0 before it is known.
        stamp : int
            Of the last joint state, ns; 0 if there is none.
        tolerance : float
            Largest difference between the two in the same time, s.

        """
        elapsed, before = min(now - self._steady, self._longest_step), self._latest
        # Between two messages of a slow /clock the stamps of the states give the time.
        self._steady, self._latest = now, clock and max(clock, stamp)
        if clock and before and abs(clock - stamp) <= 1e9 * tolerance:
            # As with stamps, a leap ahead means that the clock was set, and does not count.
            elapsed = min(max(1e-9 * (self._latest - before), 0.0), max(elapsed, LONGEST_LEAP))
        self.time += elapsed
        return self.time
