# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The output of effort commands, bounded by the envelope, and the commands without control law."""

import contextlib
import time

import numpy as np

from opspace_control.control.brake import Brake
from opspace_control.errors import SafetyError
from opspace_control.safety.envelope import LONGEST_STEP
from opspace_control.safety.servo import SERVO


class CommandOutput:
    """
    Sends efforts, bounded by an Envelope, as an EffortCommand, serialized, to ``publish``.

    The StateInput has the state of the robot, and the time between commands. ``torque``, (nv,), N·m
    or N, are the last commanded joint forces; the control law writes the next ones there.
    ``numbers``, one of SERVO, has the time of the last command.
    """

    def __init__(self, controller, envelope, state_input, command, publish):
        self.torque = np.zeros(controller.model.nv)
        self.brake = Brake(controller)
        self.numbers = np.zeros(1, SERVO)
        self._envelope, self._state_input = envelope, state_input
        self._command, self._publish = command, publish
        self.manner, self.lies_down = self.brake.manner, self.brake.lies_down
        self.restart(0.0)

    def restart(self, now):
        """Start at the steady time ``now``, s, without a previous command."""
        self.brake.forget()
        self.numbers['last_sent'] = now

    def take_over(self, efforts, now):
        """Continue from efforts of another node, in the order of the command, at ``now``, s."""
        self._state_input.elapsed()
        self.brake.forget()
        self._envelope.restart()
        self.torque[:] = 0.0
        self.torque[self._command.index] = efforts
        self._envelope.bound(self.torque, 0.0)
        self.numbers['last_sent'] = now

    def hold(self, now, *, gives_way=False):
        """
        Hold a robot of known state about its position at the first of these calls.

        If it ``gives_way``, its motion is damped, and its weight carried.
        """
        self.brake.carry(self._state_input.state, self.torque, gives_way=gives_way)
        self._send_anyway(now)

    def damp_without_state(self, scale, now):
        """Damp a robot by its last known state, with ``scale`` of the damping."""
        scale = scale if self._state_input.known else 0.0
        self.brake.damp(
            self._state_input.state, now - self._state_input.last_seen, scale, self.torque)
        self._send_anyway(now)

    def rest(self):
        """Command zero effort."""
        self.torque[:] = 0.0
        self.publish()

    def publish(self):
        """Send the torque as it is."""
        self._publish(self._command.write(self.torque))

    def _send(self, dt, now):
        """
        Send the torque; ``dt``, s, is the robot's time since the last command.

        If stamps stop for longer than `LONGEST_STEP`, the rate limit uses steady time. A torque
        that is not finite is not sent: SafetyError EFFORT_NOT_FINITE.
        """
        stopped = now > self._state_input.last_new + LONGEST_STEP
        if dt == 0.0 and stopped and self._state_input.last_good == now:
            dt = now - self.numbers['last_sent'].item()
        self._envelope.bound(self.torque, dt)
        self.publish()
        self.numbers['last_sent'] = now

    def _send_anyway(self, now):
        """Send the torque, or zero if it is not finite, within the rate limit of efforts."""
        elapsed = self._state_input.elapsed() or now - self.numbers['last_sent'].item()
        dt = min(elapsed, LONGEST_STEP)
        try:
            self._send(dt, now)
        except SafetyError:
            self.torque[:] = 0.0
            self._send(dt, now)


_PERIOD = 0.002  # s, between two commands of a release
_SEEN = 0.05     # s, age up to which a state is used
_STILL = 0.02    # rad/s or m/s, speed of a robot at rest


class Release:
    """
    Commands the robot from the end of control to zero effort.

    The Supervisor knows whether the state is known, and the ramp of damping; ``look`` reads the
    newest joint state at a steady time, s, if there is a new one.
    """

    def __init__(self, state_input, output, supervisor, look):
        self._state_input, self._output = state_input, output
        self._supervisor, self._look = supervisor, look
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
        while (self._is_seen(now) and abs(self._state_input.state.v).max() >= _STILL
               and self._supervisor.fading(now - start)):
            self.settle()
            now = self._pause()
        return now

    def fade_out(self, taken_over, rest_time):
        """
        Damp the robot, fading to zero effort within the release time, then command zero.

        If another controller has ``taken_over`` the joints, the robot is held in position instead
        until it rests, for the release time at most, and zero follows at once, so that it hardly
        sinks. Zero is commanded for ``rest_time``, s: long enough for a node that relays the
        commands.
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

    def _see(self):
        now = time.perf_counter()
        with contextlib.suppress(SafetyError):  # the last good state is used
            self._look(now)
        return now

    def _is_seen(self, now):
        return (self._state_input.known and not self._supervisor.blind
                and now - self._state_input.last_good < _SEEN)

    def _pause(self):
        time.sleep(_PERIOD)
        return time.perf_counter()
