# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The output of effort commands, bounded by the envelope, and the commands without control law."""

import numpy as np

from opspace_control.control.brake import Brake
from opspace_control.errors import SafetyError
from opspace_control.safety.envelope import LONGEST_STEP


class CommandOutput:
    """
    Sends efforts, bounded by the envelope.

    Parameters
    ----------
    controller : OperationalSpaceController
    envelope : Envelope
    state_input : StateInput
        State of the robot, and the time between commands.
    command : EffortCommand
        The message of the command.
    publish : callable
        Sends it, serialized.

    Attributes
    ----------
    torque : (nv,) array
        Last commanded joint forces, N·m or N; the control law writes the next ones here.

    """

    def __init__(self, controller, envelope, state_input, command, publish):
        self.torque = np.zeros(controller.model.nv)
        self._brake = Brake(controller)
        self._envelope = envelope
        self._state_input = state_input
        self._command = command
        self._publish = publish
        self.restart(0.0)

    def restart(self, now):
        """Start at the steady time ``now``, s, without a previous command."""
        self._brake.forget()
        self._last = now

    def begin(self):
        """Start the rate limit of efforts from gravity torques, an estimate of the present ones."""
        self._state_input.elapsed()
        self._brake.weight(self._state_input.state, self.torque)
        self._envelope.bound(self.torque, 0.0)

    def take_over(self, efforts, now):
        """Continue from efforts of another node, in the order of the command, at ``now``, s."""
        self._state_input.elapsed()
        self._brake.forget()
        self._envelope.forget_efforts()
        self.torque[:] = 0.0
        self.torque[self._command.index] = efforts
        self._envelope.bound(self.torque, 0.0)
        self._last = now

    def send(self, dt, now):
        """
        Send the torque at ``now``, s; ``dt``, s, is the robot's time since the last command.

        If stamps stop for longer than `LONGEST_STEP`, the rate limit uses steady time.

        Raises
        ------
        SafetyError
            EFFORT_NOT_FINITE: nothing is sent.

        """
        self._brake.forget()
        self._send(dt, now)

    def hold(self, now):
        """Hold a robot of known state about its position at the first of these calls."""
        self._brake.carry(self._state_input.state, self.torque)
        self._send_anyway(now)

    def damp_without_state(self, scale, now):
        """Damp a robot by its last known state, with ``scale`` of the damping."""
        scale = scale if self._state_input.known else 0.0
        self._brake.coast(
            self._state_input.state, now - self._state_input.last_good, scale, self.torque)
        self._send_anyway(now)

    def rest(self):
        """Command zero effort."""
        self.torque[:] = 0.0
        self._publish(self._command.write(self.torque))

    def _send(self, dt, now):
        stopped = now > self._state_input.clock.last_new + LONGEST_STEP
        if dt == 0.0 and stopped and self._state_input.last_good == now:
            dt = now - self._last
        self._envelope.bound(self.torque, dt)
        self._publish(self._command.write(self.torque))
        self._last = now

    def _send_anyway(self, now):
        """Send the torque, or zero if it is not finite, within the rate limit of efforts."""
        dt = min(self._state_input.elapsed() or now - self._last, LONGEST_STEP)
        try:
            self._send(dt, now)
        except SafetyError:
            self.torque[:] = 0.0
            self._send(dt, now)
