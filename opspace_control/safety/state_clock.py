# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The time between two states, and the age of the newest one."""

from opspace_control.errors import SafetyError
from opspace_control.safety.supervisor import TIME_BACKWARDS

# Largest step of stamps beyond steady time, s: a simulation faster than real time has such steps.
# A larger one means that the clock was set.
LONGEST_LEAP = 0.1  # s


class StateClock:
    """
    The robot's time by the stamps of its states, or by a steady clock without stamps.

    The age of a state is in steady time, because a simulation may be slow or stop. No time passes
    to a state with the stamp of the last one: it is the same message again, or the clock of the
    stamps is late or has stopped.

    ``stamp``, ns, is that of the last state, 0 if it had none; ``repeated`` is whether it was that
    of the state before, and ``last_new`` is the steady time at which the stamp last changed, s.
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
        """Return the robot's time at the last state, ns: its stamp, or steady time."""
        return self.stamp or round(1e9 * self.last_new)

    def step(self, stamp, now):
        """
        Return the time since the last state, s; a leap ahead does not count.

        ``stamp``, ns, is that of the state, 0 for none, ``now`` steady time, s. A SafetyError
        TIME_BACKWARDS is raised once: the next step starts at this stamp.
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
