# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The trunk as a frame in which feet are seen to move."""

from opspace_control.spatial.rotations import cross_matrix, matrix_from_quaternion


def commanded_acceleration(task, state, twist, acceleration):
    """
    Return the acceleration that the task of a trunk commands, (6,), m/s² and rad/s², world axes.

    ``a + kp e + kd (ẋ_d − ẋ)``, [K87] (4.3), with the error e of the last cycle and ``twist`` and
    ``acceleration`` (6,) of the goal. A task that is not enabled adds nothing.
    """
    error = task.error
    if error is None or not task.enabled:
        return acceleration
    return acceleration + task.kp * error + task.kd * (twist - state.v[:6])


class MovingFrame:
    """The frame of a trunk, of a state and its acceleration (6,), m/s² and rad/s², world axes."""

    def __init__(self, state, acceleration):
        self._place, self._velocity, self._acceleration = (
            state.q[:3], state.v[:3], acceleration[:3])
        self._R = matrix_from_quaternion(state.q[3:7])
        self._turning = cross_matrix(state.v[3:6])
        self._carrying = cross_matrix(acceleration[3:]) + self._turning @ self._turning

    def seen(self, position, velocity, acceleration):
        """
        Return position, velocity and acceleration relative to the frame, (..., 3), in its axes.

        Those of points of the world are given, m, m/s and m/s², world axes. With the arm r from
        the frame's origin, ``v_r = v − v_0 − ω × r`` and
        ``a_r = a − a_0 − α × r − ω × (ω × r) − 2 ω × v_r``.
        """
        arm = position - self._place
        rate = velocity - self._velocity - arm @ self._turning.T
        second = (acceleration - self._acceleration - arm @ self._carrying.T
                  - 2.0 * rate @ self._turning.T)
        return arm @ self._R, rate @ self._R, second @ self._R
