# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How much time lies between two states, and how old the newest one is."""

from opspace_control.errors import SafetyError
from opspace_control.safety.trips import TIME_BACKWARDS

# Stamps may run ahead of steady time by so much from one state to the next: a simulation that is
# faster than real time takes such steps. More is a clock that has been set.
LONGEST_LEAP = 0.1  # s


class StateClock:
    """
    The robot's time as the stamps of its states tell it; without stamps, that of a steady clock.

    A simulation may be slow, and its clock may stop; how long a robot has been unseen is a matter
    of steady time alone. No time passes to a state with the stamp of the last one: it is the same
    message again, or the clock that gives the stamps is late or stands still.

    Attributes
    ----------
    stamp : int
        Of the last state, ns; 0 if it had none.
    repeated : bool
        Whether the last state had the stamp of the one before.
    last_new : float
        Steady time at which the stamp last changed, s.

    """

    def __init__(self):
        self.restart(0.0)

    def restart(self, now):
        """Forget the last state; the next one is the first."""
        self.stamp = 0
        self.last_new = now
        self.repeated = False
        self._first = True

    @property
    def time(self):
        """Return the robot's time at the last state, ns, by whatever clock it is told."""
        return self.stamp or round(1e9 * self.last_new)

    def step(self, stamp, now):
        """
        Return how much later than the last state this one is, in s; a leap ahead does not count.

        Parameters
        ----------
        stamp : int
            Of the state, ns, 0 for none.
        now : float
            Steady time, s.

        Raises
        ------
        SafetyError
            TIME_BACKWARDS; time goes on from here.

        """
        before, self.stamp = self.stamp, stamp
        last, first = self.last_new, self._first
        self._first = False
        self.repeated = stamp == before != 0
        if not self.repeated:
            self.last_new = now
        if first or self.repeated:
            return 0.0
        if stamp < before:
            raise SafetyError(TIME_BACKWARDS, 'The time of the joint states went back by '
                              f'{1e-9 * (before - stamp):.3f} s.', value=stamp)
        if stamp == 0:
            return now - last
        return min(1e-9 * (stamp - before), max(now - last, LONGEST_LEAP)) if before else 0.0
