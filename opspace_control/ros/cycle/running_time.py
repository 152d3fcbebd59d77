# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Time in which a robot moves: it stands still while a simulation pauses."""

from opspace_control.safety.state_clock import LONGEST_LEAP


class RunningTime:
    """
    Elapsed time, simulated where joint states bear the stamps of ``/clock``, else steady.

    A ``/clock`` that has stopped or was set while joint states go on, or that goes on without them,
    is not that of the robot: then steady time counts. So nothing but a pause of the simulation,
    in which both stand, stops this time.

    Parameters
    ----------
    now : float
        Steady time, s; this time begins with it.

    Attributes
    ----------
    time : float
        This time at the last `step`, s.

    """

    def __init__(self, now):
        self.time = self._steady = now
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
        elapsed, before = now - self._steady, self._latest
        # A /clock of few messages would leap: between two of them it is the states that tell time.
        self._steady, self._latest = now, clock and max(clock, stamp)
        if clock and before and abs(clock - stamp) <= 1e9 * tolerance:
            # As with stamps, a leap ahead is a clock that has been set, and does not count.
            elapsed = min(max(1e-9 * (self._latest - before), 0.0), max(elapsed, LONGEST_LEAP))
        self.time += elapsed
        return self.time
