# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""When a simulated robot advances: with the clock on the wall, or with the commands it gets."""

import time

# A simulation this far behind the wall clock gives up catching up.
_FURTHEST_BEHIND = 0.1  # s
# An answer takes less, on all but the busiest machine.
_RESEND = 0.2  # s


class RealTime:
    """
    Advance with the steady clock, one time step for each, none left out.

    A late timer is caught up with at once, each state published, so that the time of the
    simulation is that on the wall.

    Parameters
    ----------
    world : object
        ``step()`` advances and publishes; ``publish()`` publishes only.
    timestep : float
        s.
    warn : callable
        Told, rarely, that this machine is too slow.

    """

    def __init__(self, world, timestep, warn):
        self.period = timestep
        self._world = world
        self._warn = warn
        self._clock = None

    def on_timer(self):
        """Make the steps that are due; publish the unmoved state while the robot waits."""
        now = time.perf_counter()
        if self._world.held or self._clock is None:
            self._clock = now
            self._world.publish()
            return
        if now - self._clock > _FURTHEST_BEHIND:
            self._warn(f'This machine is too slow: {now - self._clock:.2f} s are left out.')
            self._clock = now - self.period
        while self._clock + self.period <= now:
            self._clock += self.period
            self._world.step()

    def on_command(self):
        """Take notice of a command: real time goes on by itself."""


class LockStep:
    """
    Advance one time step for each command: the same numbers on a slow machine as on a fast one.

    A state without an answer is sent again, since either message may be lost or the controller
    not there yet. On a slow machine both copies are answered, and the late answer must not become
    a second step: as many commands are let pass as copies were sent too many. If that was too
    cautious, because a copy had really been lost, the next state waits for an answer in vain and
    is sent again too; then the count starts anew.
    """

    period = _RESEND / 4

    def __init__(self, world):
        self._world = world
        self._copies = 0   # of the present state, sent
        self._late = 0     # answers to earlier states that may still come
        self._let_pass = False  # an answer since the present state was sent
        self._last_sent = -_RESEND

    def on_timer(self):
        """Send the state again when no answer has come for a while."""
        if time.perf_counter() - self._last_sent < _RESEND:
            return
        if self._let_pass:
            self._copies = self._late = 0
        self._send(self._world.publish)

    def on_command(self):
        """Advance, unless this answers a state that has been answered already."""
        if self._late:
            self._late -= 1
            self._let_pass = True
            return
        self._late = max(self._copies - 1, 0)
        self._copies = 0
        self._advance()

    def _advance(self):
        self._send(self._world.step)

    def _send(self, send):
        self._copies += 1
        self._let_pass = False
        self._last_sent = time.perf_counter()
        send()


class Patient(LockStep):
    """
    Advance with the steady clock, but never without a command for the present state.

    As long as the controller keeps up this is real time. When the machine is busy with something
    else, time stretches, and the robot moves as if nothing had happened.
    """

    def __init__(self, world, timestep):
        super().__init__(world)
        self.period = timestep
        self._due = 0.0
        self._answered = False

    def on_timer(self):
        """Make the step that has waited for its time."""
        if self._world.held:
            self._world.publish()
        elif not self._answered:
            super().on_timer()
        elif time.perf_counter() >= self._due:
            self._step_now()

    def _advance(self):
        if time.perf_counter() < self._due:
            self._answered = True
        else:
            self._step_now()

    def _step_now(self):
        self._answered = False
        # One step that came late is caught up with, no more.
        self._due = max(self._due, time.perf_counter() - self.period) + self.period
        self._send(self._world.step)
