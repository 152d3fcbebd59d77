# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pace of a simulated robot: real time, or one step for each command."""

import time

# Delay beyond which a simulation does not catch up with real time.
_FURTHEST_BEHIND = 0.1  # s
# Longest usual time of an answer.
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
        """Make the steps that are due; publish the present state while the robot is stopped."""
        now = time.perf_counter()
        if self._world.stopped or self._clock is None:
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
        """Do nothing: real time does not depend on commands."""


class LockStep:
    """
    Advance one time step for each command: the results do not depend on the machine's speed.

    A state without an answer is sent again, since either message may be lost or the controller
    not there yet. On a slow machine both copies are answered, and the late answer must not become
    a second step: as many commands are ignored as extra copies were sent. If a copy was lost, one
    command too many is ignored; then the next state is sent again, too, and the count restarts.
    """

    period = _RESEND / 4

    def __init__(self, world):
        self._world = world
        self._copies = 0   # of the present state, sent
        self._late = 0     # answers to earlier states that may still come
        self._ignored = False  # whether a command was ignored since the present state was sent
        self._last_sent = -_RESEND

    def on_timer(self):
        """Send the state again without an answer in time."""
        if time.perf_counter() - self._last_sent < _RESEND:
            return
        if self._ignored:
            self._copies = self._late = 0
        self._send(self._world.publish)

    def on_command(self):
        """Advance, unless this is a second answer to a state."""
        if self._late:
            self._late -= 1
            self._ignored = True
            return
        self._late = max(self._copies - 1, 0)
        self._copies = 0
        self._advance()

    def _advance(self):
        self._send(self._world.step)

    def _send(self, send):
        self._copies += 1
        self._ignored = False
        self._last_sent = time.perf_counter()
        send()


class Patient(LockStep):
    """
    Advance with the steady clock, but never without a command for the present state.

    This is real time while the controller is in time. On a busy machine the simulation is slower
    than real time, with the same motion of the robot.
    """

    def __init__(self, world, timestep):
        super().__init__(world)
        self.period = timestep
        self._due = 0.0
        self._answered = False

    def on_timer(self):
        """Make a step that was answered early."""
        if self._world.stopped:
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
        # Catch up with one late step at most.
        self._due = max(self._due, time.perf_counter() - self.period) + self.period
        self._send(self._world.step)
