# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Commands of a simulated robot: those of topic-based hardware, and the pace that commands set."""

import time

import numpy as np


class NamedCommands:
    """
    The commands that drives obey, by JointStates of ros2_control's topic-based hardware.

    These carry the last effort and the last position of each of the ``joints``, and not which of
    them a controller commands. A drive obeys the one that has changed last: a controller that gets
    a joint writes other values than the last one left. Where both have changed since the last
    message it is the position: efforts, unlike positions that are held, change again at once.
    ``efforts`` (n,), N·m or N, are zero without a command.
    """

    def __init__(self, joints):
        self._index = {name: i for i, name in enumerate(joints)}
        self._joints = list(joints)
        self.reset()

    def reset(self):
        """Forget all commands."""
        self.efforts = np.zeros(len(self._joints))
        self._positions = np.full(len(self._joints), np.nan)
        self._by_position = np.zeros(len(self._joints), bool)

    @property
    def positions(self):
        """Positions by name, rad or m, of the joints whose drives obey those."""
        return {self._joints[i]: self._positions[i] for i in np.flatnonzero(self._by_position)}

    def take(self, message):
        """Take a JointState: efforts, NaN for none, and positions if each name has one."""
        indices = [self._index.get(name) for name in message.name]
        for i, effort in zip(indices, message.effort, strict=True):
            if i is not None and not np.isnan(effort) and effort != self.efforts[i]:
                self.efforts[i], self._by_position[i] = effort, False
        if len(message.position) != len(indices):
            return
        for i, position in zip(indices, message.position, strict=True):
            if i is not None and np.isfinite(position) and position != self._positions[i]:
                self._positions[i], self._by_position[i] = position, True


_FURTHEST_BEHIND = 0.1  # s, delay beyond which a simulation does not catch up with real time
_RESEND = 0.2  # s, longest usual time of an answer


class RealTime:
    """
    Advance with the steady clock, one time step for each ``timestep``, s, none left out.

    A late timer is caught up with at once, each state published, so that the time of the simulation
    is that on the wall. The ``world`` advances and publishes by ``step()``, and publishes only by
    ``publish()``; ``warn(text)`` is called, rarely, when this machine is too slow.
    """

    def __init__(self, world, timestep, warn):
        self.period = timestep
        self._world, self._warn, self._clock = world, warn, None

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
