# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of the robot: joint states, each of them judged before it is believed."""

import numpy as np

from opspace_control.errors import OpspaceError, RosInterfaceError, SafetyError
from opspace_control.model import RobotState
from opspace_control.ros.middleware.joint_states import JointStateReader
from opspace_control.safety.state_clock import StateClock
from opspace_control.safety.trips import STATE_INVALID


class StateIntake:
    """
    Takes joint states, or says why one is not to be gone by.

    Parameters
    ----------
    model : RobotModel
    envelope : Envelope
        Judges them.
    odometry : BaseOdometry, optional
        Knows where a floating base is.

    Attributes
    ----------
    state : RobotState
        The last one that was believed.
    known : bool
        Whether there was one.
    last_good : float
        Steady time at which it came, s; a message that only repeats the last one does not count.
    last_arrival : float
        Steady time at which any state came, s.
    clock : StateClock
        Of the last one that came.

    """

    def __init__(self, model, envelope, odometry=None):
        self._reader = JointStateReader(model)
        self._odometry = odometry
        self._envelope = envelope
        # In turns: what is read may turn out not to be true.
        self.state, self._candidate = (
            RobotState(model, model.neutral(), np.zeros(model.nv)) for _ in range(2))
        self.clock = StateClock()
        self.restart(0.0)

    def restart(self, now):
        """Know nothing until the next state."""
        self.known = False
        self.last_good = self.last_arrival = now
        self._elapsed = 0.0
        self.clock.restart(now)
        if self._odometry:
            self._odometry.forget()

    def open(self, data):
        """Return a serialized JointState as an OpenedJointState; None if it is none."""
        try:
            return self._reader.open(data)
        except RosInterfaceError:
            return None

    def expects(self, opened, now):
        """Return whether the rest of what a first joint state needs may still be on its way."""
        return self._odometry is not None and self._odometry.expected(opened.stamp, now)

    def take(self, opened, now):
        """
        Take an OpenedJointState that came at the steady time ``now``, s.

        Raises
        ------
        SafetyError
            TIME_BACKWARDS, STATE_INVALID, ODOM_TIMEOUT, ODOM_INVALID, POSITION_JUMP: it is not
            believed; VELOCITY_LIMIT: it is.

        """
        self.last_arrival = now
        dt = self.clock.step(opened.stamp, now)
        self._elapsed += dt
        self._envelope.elapse(dt)
        try:
            q, v = self._reader.read(opened)
            if self._odometry:
                q, v = self._odometry.complete(q, v, opened.stamp, now)
            self._candidate.update(q, v)
        except SafetyError:
            raise
        except OpspaceError as error:
            raise SafetyError(STATE_INVALID, str(error)) from error
        try:
            self._envelope.accept(self._candidate)
        except SafetyError as error:
            if not error.trip.blind:
                self._accept(now)
            raise
        self._accept(now)

    def elapsed(self):
        """Return the robot's time since this was asked last, s."""
        dt, self._elapsed = self._elapsed, 0.0
        return dt

    def _accept(self, now):
        before, state = self.state, self._candidate
        self.state, self._candidate = state, before
        self.known = True
        if not (self.clock.repeated and np.array_equal(state.q, before.q)
                and np.array_equal(state.v, before.v)):
            self.last_good = now
