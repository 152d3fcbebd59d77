# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How a robot is left: at rest, without effort, and for as short a time in nobody's hands."""

import contextlib
import time

import numpy as np

from opspace_control.errors import SafetyError

# Between two commands.
_PERIOD = 0.002  # s
# A state of this age still tells where the robot is.
_SEEN = 0.05  # s
# A robot that is slower than this stands still.
_STILL = 0.02  # rad/s or m/s


class Release:
    """
    The way from control to zero effort; it takes over when control has ended.

    Parameters
    ----------
    intake : StateIntake
        Knows the state of the robot.
    output : CommandOutput
        Takes the motion out of it.
    supervisor : Supervisor
        Knows whether it is seen, and how damping fades.
    look : callable
        Takes the newest joint state at a steady time, s, if there is a new one.

    """

    def __init__(self, intake, output, supervisor, look):
        self._intake = intake
        self._output = output
        self._supervisor = supervisor
        self._look = look
        self._start = time.perf_counter()

    def settle(self):
        """Take the motion out of the robot, and carry it while it is seen; to be called often."""
        now = self._see()
        if self._is_seen(now):
            self._output.carry(now)
        else:
            self._output.coast(self._supervisor.fading(now - self._start), now)

    def stop(self):
        """Carry the robot until it stands still, for the release time at most; return the time."""
        start = now = time.perf_counter()
        while (self._is_seen(now) and not self._stands_still()
               and self._supervisor.fading(now - start)):
            self.settle()
            now = self._pause()
        return now

    def let_go(self, heir, rest_time):
        """
        Damp the robot, fading to zero effort within the release time, then command zero.

        Parameters
        ----------
        heir : bool
            Whether somebody is about to take the robot over: then it is carried until it stands
            still, for the release time at most, and let go at once, so that it hardly sinks.
        rest_time : float
            For how long zero is commanded, s: until whatever passes the commands on has made it its
            last.

        """
        start = now = time.perf_counter()
        try:
            if heir:
                now = self.stop()
                start = -np.inf
            left = 1.0
            while self._intake.known and (left > 0.0 or self._output.torque.any()):
                now = self._see()
                left = self._supervisor.fading(now - start)
                self._output.coast(left, now)
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
        with contextlib.suppress(SafetyError):  # the last good state will do
            self._look(now)
        return now

    def _is_seen(self, now):
        return (self._intake.known and not self._supervisor.blind
                and now - self._intake.last_good < _SEEN)

    def _stands_still(self):
        return abs(self._intake.state.v).max() < _STILL

    def _pause(self):
        time.sleep(_PERIOD)
        return time.perf_counter()
