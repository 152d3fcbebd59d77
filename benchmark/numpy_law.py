# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The peer: the whole control law of this package as an expert writes it in NumPy.

A library in C or C++ provides kinematics and dynamics, NumPy the law. Nothing is allocated that can
be kept, and nothing is computed twice.
"""

import numpy as np


class NumpyController:
    """
    Posture, pose tasks with V_max and effort limits, [K87] (4.3)-(4.5) and [CK00] (11)-(13).

    Singular postures are not taken care of, which spares this law what ours spends on them.

    Parameters
    ----------
    engine : PinocchioEngine or MujocoEngine
    kp, kd : float
        Of every axis of every task, 1/s² and 1/s.
    max_linear_velocity, max_angular_velocity : float
        m/s and rad/s.
    posture_kp, posture_kd : float
        Of every joint, 1/s² and 1/s.
    posture, effort_limits : (n,) arrays
        In the engine's order.

    """

    def __init__(self, engine, *, kp, kd, max_linear_velocity, max_angular_velocity,
                 posture_kp, posture_kd, posture, effort_limits):
        self._engine = engine
        self._kd, self._approach = kd, kp / kd
        self._max_velocity = np.array([max_linear_velocity, max_angular_velocity])
        self._posture_kp, self._posture_kd = posture_kp, posture_kd
        self._posture = posture
        self._most, self._least = effort_limits, -effort_limits

    def compute_torque(self, q, v):
        """Return the joint forces (n,), N·m or N."""
        engine = self._engine
        # Posture, and the motion of the points that it leads to; (m, 2, 3): linear, angular.
        a_null = self._posture_kp * (self._posture - q) - self._posture_kd * v
        engine.update(q, v, a_null)
        # Tasks.
        goal_velocity = self._approach * engine.pose_errors()
        speed = np.sqrt((goal_velocity * goal_velocity).sum(axis=2))
        goal_velocity *= (self._max_velocity / np.maximum(speed, self._max_velocity))[:, :, None]
        demand = self._kd * (goal_velocity - engine.velocities())
        demand -= engine.accelerations()
        # Forces.
        jacobian, response = engine.jacobian_and_response()
        force = np.linalg.solve(jacobian @ response, demand.reshape(-1))
        tau = force @ jacobian
        tau += engine.torque()
        # Limits.
        np.minimum(tau, self._most, out=tau)
        return np.maximum(tau, self._least, out=tau)
