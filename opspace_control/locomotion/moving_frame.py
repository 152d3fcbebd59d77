# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The trunk as a frame in which feet are seen to move."""

import numpy as np

from opspace_control.spatial.rotations import matrix_from_quaternion


class MovingFrame:
    """
    The frame of a trunk.

    Parameters
    ----------
    state : RobotState
        Of a model with a floating base.
    acceleration : (6,) array
        Of the trunk, m/s² and rad/s², world axes.

    """

    def __init__(self, state, acceleration):
        self._place, self._velocity, self._acceleration = (
            state.q[:3], state.v[:3], acceleration[:3])
        self._R = matrix_from_quaternion(state.q[3:7])
        self._turning = _skew(state.v[3:6])
        self._carrying = _skew(acceleration[3:]) + self._turning @ self._turning

    def seen(self, position, velocity, acceleration):
        """
        Return position, velocity and acceleration, (3,) each, relative to the frame, in its axes.

        Those of a point of the world are given, m, m/s and m/s², world axes. With the arm r from
        the frame's origin, ``v_r = v − v_0 − ω × r`` and
        ``a_r = a − a_0 − α × r − ω × (ω × r) − 2 ω × v_r``.
        """
        arm = position - self._place
        rate = velocity - self._velocity - self._turning @ arm
        second = (acceleration - self._acceleration - self._carrying @ arm
                  - 2.0 * self._turning @ rate)
        return arm @ self._R, rate @ self._R, second @ self._R


def _skew(vector):
    """Return the matrix of the cross product with a vector (3,) from the left."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
