# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The output of effort commands, and the commands without control law."""

import contextlib
import time

import numpy as np

from opspace_control.errors import SafetyError
from opspace_control.safety.servo_data import DAMP, GRAVITY_HOLD


class CommandOutput:
    """
    Sends the efforts of a Servo as an EffortCommand, serialized, to ``publish``.

    ``torque``, (nv,), N·m or N, are the last commanded joint forces; the Supervisor has the ramp of
    damping.
    """

    def __init__(self, servo, command, publish):
        self.torque, self.supervisor, self._servo = servo.tau, servo.supervisor, servo
        self._command, self._publish = command, publish

    def continue_from(self, efforts, now):
        """Continue from efforts of another node, in the order of the command, at ``now``, s."""
        tau = np.zeros(self.torque.size)
        tau[self._command.index] = efforts
        self._servo.continue_from(tau, now)

    def hold(self, now):
        """Hold a robot of known state about its position at the first of these calls."""
        self._servo.step(GRAVITY_HOLD, now)
        self.publish()

    def damp_without_state(self, scale, now):
        """Damp a robot by its last known state, with ``scale`` of the damping."""
        self._servo.step(DAMP, now, scale)
        self.publish()

    def rest(self):
        """Command zero effort."""
        self.torque[:] = 0.0
        self.publish()

    def publish(self):
        """Send the torque as it is."""
        self._publish(self._command.write(self.torque))


PERIOD = 0.002   # s, between two commands of a release
_SEEN = 0.05     # s, age up to which a state is used
STILL = 0.02     # rad/s or m/s, speed of a robot at rest


class Release:
    """
    Commands the robot from the end of control to zero effort.

    ``look`` reads the newest joint state at a steady time, s, if there is a new one;
    ``has_subscriber`` returns whether a node takes the commands.
    """

    def __init__(self, state_input, output, look, has_subscriber):
        self._state_input, self._output, self._supervisor = state_input, output, output.supervisor
        self._look, self._has_subscriber = look, has_subscriber
        self.rest = output.rest  # commands zero effort
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
        while (self._is_seen(now) and abs(self._state_input.state.v).max() >= STILL
               and self._supervisor.fading(now - start)):
            self.settle()
            now = self._pause()
        return now

    def fade_out(self, joints_commanded, rest_time):
        """
        Damp the robot, fading to zero effort within the release time, then command zero.

        If another controller commands the joints, ``joints_commanded``, the robot is held in
        position instead until it rests, for the release time at most, and zero follows at once, so
        that it hardly sinks. Zero is commanded for ``rest_time``, s: long enough for a node that
        relays the commands. Without a subscriber there is no robot to release, and it returns at
        once.
        """
        start = now = time.perf_counter()
        try:
            if joints_commanded:
                now = self.stop()
                start = -np.inf
            left = 1.0
            while (self._state_input.known and (left > 0.0 or self._output.torque.any())
                   and self._has_subscriber()):
                now = self._see()
                left = self._supervisor.fading(now - start)
                self._output.damp_without_state(left, now)
                now = self._pause()
        finally:
            end = now + rest_time
            while now < end and self._has_subscriber():
                self.rest()
                now = self._pause()

    def _see(self):
        now = time.perf_counter()
        with contextlib.suppress(SafetyError):  # the last good state is used
            self._look(now)
        return now

    def _is_seen(self, now):
        return (self._state_input.known and not self._supervisor.blind
                and now - self._state_input.last_accepted < _SEEN)

    def _pause(self):
        time.sleep(PERIOD)
        return time.perf_counter()
