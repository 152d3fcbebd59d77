# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The release of a robot: from control to rest and zero effort."""

import contextlib
import time

import numpy as np

from opspace_control.errors import SafetyError

# Between two commands.
_PERIOD = 0.002  # s
# Age up to which a state is used.
_SEEN = 0.05  # s
# Speed of a robot at rest.
_STILL = 0.02  # rad/s or m/s


class Release:
    """
    Commands the robot from the end of control to zero effort.

    Parameters
    ----------
    state_input : StateInput
        State of the robot.
    output : CommandOutput
        Damps it.
    supervisor : Supervisor
        Whether the state is known, and the ramp of damping.
    look : callable
        Reads the newest joint state at a steady time, s, if there is a new one.

    """

    def __init__(self, state_input, output, supervisor, look):
        self._state_input = state_input
        self._output = output
        self._supervisor = supervisor
        self._look = look
        self._start = time.perf_counter()

    def settle(self):
        """Hold the robot in position if its state is known, else damp it; to be called often."""
        now = self._see()
        if self._is_seen(now):
            self._output.hold(now)
        else:
            self._output.damp_without_state(self._supervisor.fading(now - self._start), now)

    def stop(self):
        """Hold the robot until it rests, for the release time at most; return the time."""
        start = now = time.perf_counter()
        while (self._is_seen(now) and not self._is_at_rest()
               and self._supervisor.fading(now - start)):
            self.settle()
            now = self._pause()
        return now

    def fade_out(self, taken_over, rest_time):
        """
        Damp the robot, fading to zero effort within the release time, then command zero.

        Parameters
        ----------
        taken_over : bool
            Whether another controller takes the joints: then the robot is held in
            position until it rests, for the release time at most, and zero follows at once, so
            that it hardly sinks.
        rest_time : float
            Time in which zero is commanded, s: long enough for a node that relays the commands.

        """
        start = now = time.perf_counter()
        try:
            if taken_over:
                now = self.stop()
                start = -np.inf
            left = 1.0
            while self._state_input.known and (left > 0.0 or self._output.torque.any()):
                now = self._see()
                left = self._supervisor.fading(now - start)
                self._output.damp_without_state(left, now)
                now = self._pause()
        finally:
            end = now + rest_time
            while now < end:
                self.rest()
                now = self._pause()

    def rest(self):
        """Command zero effort."""
        self._output.rest()

    def _see(self):
        now = time.perf_counter()
        with contextlib.suppress(SafetyError):  # the last good state is used
            self._look(now)
        return now

    def _is_seen(self, now):
        return (self._state_input.known and not self._supervisor.blind
                and now - self._state_input.last_good < _SEEN)

    def _is_at_rest(self):
        return abs(self._state_input.state.v).max() < _STILL

    def _pause(self):
        time.sleep(_PERIOD)
        return time.perf_counter()
