# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The state input of the node: joint states, checked before they are accepted."""

import numpy as np

from opspace_control.errors import OpspaceError, RosInterfaceError, SafetyError
from opspace_control.model import RobotState
from opspace_control.ros.middleware.joint_messages import JointStateReader
from opspace_control.safety.state_clock import StateClock
from opspace_control.safety.trips import STATE_INVALID


class StateInput:
    """
    Reads and checks joint states.

    Parameters
    ----------
    model : RobotModel
    envelope : Envelope
        Checks them.
    odometry : BaseOdometry, optional
        State of a floating base.

    Attributes
    ----------
    state : RobotState
        The last accepted one.
    known : bool
        Whether a state was accepted.
    last_good : float
        Steady time of its arrival, s; repetitions of a message do not count.
    last_arrival : float
        Steady time of the last arrival, accepted or not, s.
    clock : StateClock
        Of the last arrival.

    """

    def __init__(self, model, envelope, odometry=None):
        self._reader = JointStateReader(model)
        self._odometry = odometry
        self._envelope = envelope
        # Two buffers: a candidate may be refused.
        self.state, self._candidate = (
            RobotState(model, model.neutral(), np.zeros(model.nv)) for _ in range(2))
        self.clock = StateClock()
        self.restart(0.0)

    def restart(self, now):
        """Reset: the state is unknown until the next one arrives."""
        self.known = False
        self.last_good = self.last_arrival = now
        self._elapsed = 0.0
        self.clock.restart(now)
        if self._odometry:
            self._odometry.forget()

    def open(self, data):
        """Return a serialized JointState as an OpenedJointState; None for anything else."""
        try:
            return self._reader.open(data)
        except RosInterfaceError:
            return None

    def expects(self, opened, now):
        """Return whether the odometry for a first joint state may still arrive."""
        return self._odometry is not None and self._odometry.expected(opened.stamp, now)

    def take(self, opened, now):
        """
        Read and check an OpenedJointState that arrived at the steady time ``now``, s.

        Raises
        ------
        SafetyError
            TIME_BACKWARDS, STATE_INVALID, ODOM_TIMEOUT, ODOM_INVALID, POSITION_JUMP: the state is
            refused; VELOCITY_LIMIT: it is accepted.

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
        """Return the robot's time since the last call, s."""
        dt, self._elapsed = self._elapsed, 0.0
        return dt

    def _accept(self, now):
        before, state = self.state, self._candidate
        self.state, self._candidate = state, before
        self.known = True
        if not (self.clock.repeated and np.array_equal(state.q, before.q)
                and np.array_equal(state.v, before.v)):
            self.last_good = now
