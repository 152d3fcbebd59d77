# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of the robot: joint states, each of them judged before it is believed."""

import numpy as np

from opspace_control.control.state_clock import StateClock
from opspace_control.control.trips import STATE_INVALID
from opspace_control.errors import OpspaceError, SafetyError
from opspace_control.model import RobotState
from opspace_control.ros.conversions import JointStateReader, nanoseconds


class StateIntake:
    """
    Takes joint states, or says why one is not to be gone by.

    Parameters
    ----------
    model : RobotModel
    envelope : Envelope
        Judges them.

    Attributes
    ----------
    state : RobotState
        The last one that was believed.
    known : bool
        Whether there was one.
    last_good : float
        Steady time at which it came, s.
    clock : StateClock
        Of the last one that came.

    """

    def __init__(self, model, envelope):
        self._reader = JointStateReader(model)
        self._envelope = envelope
        # In turns: what is read may turn out not to be true.
        self.state, self._candidate = (
            RobotState(model, model.neutral(), np.zeros(model.nv)) for _ in range(2))
        self.clock = StateClock()
        self.restart(0.0)

    def restart(self, now):
        """Know nothing until the next state."""
        self.known = False
        self.last_good = now
        self._unspent = 0.0
        self.clock.restart(now)

    def take(self, message, now):
        """
        Take a JointState that came at the steady time ``now``, s.

        Raises
        ------
        SafetyError
            TIME_BACKWARDS, STATE_INVALID, POSITION_JUMP: it is not believed; VELOCITY_LIMIT: it is.

        """
        dt = self.clock.step(nanoseconds(message.header.stamp), now)
        self._unspent += dt
        self._envelope.elapse(dt)
        try:
            self._candidate.update(*self._reader.read(message))
        except OpspaceError as error:
            raise SafetyError(STATE_INVALID, str(error)) from error
        try:
            self._envelope.accept(self._candidate)
        except SafetyError as error:
            if not error.trip.blind:
                self._believe(now)
            raise
        self._believe(now)

    def spend(self):
        """Return the robot's time since this was asked last, s."""
        dt, self._unspent = self._unspent, 0.0
        return dt

    def _believe(self, now):
        self.state, self._candidate = self._candidate, self.state
        self.known, self.last_good = True, now
