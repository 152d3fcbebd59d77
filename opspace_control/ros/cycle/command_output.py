# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The one way out for efforts, and what is sent when there is no control law to obey."""

import numpy as np

from opspace_control.control.brake import Brake
from opspace_control.errors import SafetyError
from opspace_control.safety.envelope import LONGEST_STEP


class CommandOutput:
    """
    Sends efforts; whatever their reason, the envelope bounds them last.

    Parameters
    ----------
    controller : OperationalSpaceController
        Whose robot it is.
    envelope : Envelope
    intake : StateIntake
        Knows the state of the robot, and how much time its commands are apart.
    command : EffortCommand
        The message of the command.
    publish : callable
        Sends it, serialized.

    Attributes
    ----------
    torque : (nv,) array
        Joint forces commanded last, N·m or N; a law writes the next ones here.

    """

    def __init__(self, controller, envelope, intake, command, publish):
        self.torque = np.zeros(controller.model.nv)
        self._brake = Brake(controller)
        self._envelope = envelope
        self._intake = intake
        self._command = command
        self._publish = publish
        self.restart(0.0)

    def restart(self, now):
        """Begin anew at the steady time ``now``, s: nothing has been commanded."""
        self._brake.forget()
        self._last = now

    def begin(self):
        """Let efforts start from what the joints hold as far as can be known: their weight."""
        self._intake.elapsed()
        self._brake.weight(self._intake.state, self.torque)
        self._envelope.bound(self.torque, 0.0)

    def take_over(self, efforts, now):
        """Go on from efforts, in the order of the command, that somebody sent at ``now``, s."""
        self._intake.elapsed()
        self._brake.forget()
        self._envelope.forget_efforts()
        self.torque[:] = 0.0
        self.torque[self._command.index] = efforts
        self._envelope.bound(self.torque, 0.0)
        self._last = now

    def send(self, dt, now):
        """
        Send the torque of a cycle that is ``dt`` s of the robot after the last, at ``now``, s.

        Where stamps stand still for longer than `LONGEST_STEP`, efforts change by steady time.

        Raises
        ------
        SafetyError
            EFFORT_NOT_FINITE: nothing is sent.

        """
        self._brake.forget()
        self._send(dt, now)

    def carry(self, now):
        """Hold a robot whose state is known about where it was at the first of these calls."""
        self._brake.carry(self._intake.state, self.torque)
        self._send_anyway(now)

    def coast(self, scale, now):
        """Take the motion out of a robot that is not seen, with ``scale`` of the damping."""
        scale = scale if self._intake.known else 0.0
        self._brake.coast(
            self._intake.state, now - self._intake.last_good, scale, self.torque)
        self._send_anyway(now)

    def rest(self):
        """Command zero effort."""
        self.torque[:] = 0.0
        self._publish(self._command.write(self.torque))

    def _send(self, dt, now):
        if dt == 0.0 and self._intake.last_good == now > self._intake.clock.last_new + LONGEST_STEP:
            dt = now - self._last
        self._envelope.bound(self.torque, dt)
        self._publish(self._command.write(self.torque))
        self._last = now

    def _send_anyway(self, now):
        """Send the torque, or none if it is not finite, as the time since the last one allows."""
        dt = min(self._intake.elapsed() or now - self._last, LONGEST_STEP)
        try:
            self._send(dt, now)
        except SafetyError:
            self.torque[:] = 0.0
            self._send(dt, now)
