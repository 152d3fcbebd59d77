# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The control law [CK00] (11)-(13) as printed, with dense matrices from Pinocchio.

Nothing here comes from opspace_control but names and the conventions of q and v. Robots of
revolute, continuous and prismatic joints, fixed or floating; no mimic joints.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

pin = pytest.importorskip('pinocchio')

ALL_AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')
GRAVITY = 9.81


@dataclass
class Goal:
    """What a pose task is asked to do; gains (6,)."""

    frame: str
    pose: pin.SE3
    kp: np.ndarray
    kd: np.ndarray
    axes: tuple = ALL_AXES
    twist: np.ndarray = field(default_factory=lambda: np.zeros(6))
    acceleration: np.ndarray = field(default_factory=lambda: np.zeros(6))
    max_linear_velocity: float = np.inf
    max_angular_velocity: float = np.inf

    def demand(self, pose, twist):
        """Return a* (6,) by [K87] (4.3), with V_max (4.4)-(4.5) over the controlled axes."""
        error = np.r_[self.pose.translation - pose.translation,
                      pin.log3(self.pose.rotation @ pose.rotation.T)]
        pull = self.kp * error
        controlled = np.isin(ALL_AXES, self.axes)
        for part, limit in ((slice(0, 3), self.max_linear_velocity),
                            (slice(3, 6), self.max_angular_velocity)):
            if np.isfinite(limit):
                towards = (pull[part] / self.kd[part])[controlled[part]]
                pull[part] *= min(1.0, limit / max(np.linalg.norm(towards), 1e-300))
        return self.acceleration + pull + self.kd * (self.twist - twist)


class DenseRobot:
    """The terms of a robot's equations of motion in the coordinates of its RobotModel."""

    def __init__(self, path, model):
        base = (pin.JointModelFreeFlyer(),) if model.floating_base else ()
        self.model = pin.buildModelFromUrdf(str(path), *base)
        self.model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
        self.data = self.model.createData()
        self.locked = model.locked
        self.base = 6 * model.floating_base
        self._joints = [
            (joint.idx_q, joint.nq, joint.idx_v, model.q_index[dof], dof)
            for name, joint in zip(self.model.names, self.model.joints, strict=True)
            if name in model.dof_names for dof in [model.dof_index(name)]]

    def at(self, q, v):
        """Take a state, in our layout; afterwards the terms below are those of this state."""
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        self.T = np.zeros((self.model.nv, self.model.nv))
        drift = np.zeros(self.model.nv)  # Ṫ v
        if self.base:
            self.q[:7] = q[:7]
            R = pin.Quaternion(*q[[6, 3, 4, 5]]).matrix()
            self.T[:3, :3] = self.T[3:6, 3:6] = R.T
            drift[:3] = -np.cross(R.T @ v[3:6], R.T @ v[:3])
        for in_q, nq, in_v, q_index, dof in self._joints:
            x = q[q_index]
            self.q[in_q:in_q + nq] = x if nq == 1 else (np.cos(x), np.sin(x))
            self.T[in_v, dof] = 1.0
        self.v[:] = self.T @ v
        A = pin.crba(self.model, self.data, self.q)
        A = np.triu(A) + np.triu(A, 1).T
        forces = pin.nonLinearEffects(self.model, self.data, self.q, self.v)
        self.A = self.T.T @ A @ self.T
        self.bias = self.T.T @ (forces + A @ drift)  # b + g
        self.g = self.T.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q)
        pin.forwardKinematics(self.model, self.data, self.q, self.v, drift)
        pin.computeJointJacobians(self.model, self.data)
        pin.updateFramePlacements(self.model, self.data)
        return self

    def frame(self, name):
        """Return pose, J (6, nv) and J̇ v (6,) of a frame, world axes."""
        frame = self.model.getFrameId(name)
        world = pin.LOCAL_WORLD_ALIGNED
        J = pin.getFrameJacobian(self.model, self.data, frame, world) @ self.T
        bias = pin.getFrameClassicalAcceleration(self.model, self.data, frame, world).vector
        return self.data.oMf[frame].copy(), J, bias

    def torque(self, goals, posture_acceleration, gravity=True):
        """
        Return τ of (11)-(13), zero at locked joints.

        ``goals`` is a list of Goal, ``posture_acceleration`` (nv,) is q̈_null.
        """
        v = np.linalg.solve(self.T, self.v)
        free = ~self.locked
        q_null = np.where(free, posture_acceleration, 0.0)
        tau = self.A @ q_null + self.bias - (0.0 if gravity else self.g)
        rows, demands = [], []
        for goal in goals:
            pose, J, bias = self.frame(goal.frame)
            on = np.isin(ALL_AXES, goal.axes)
            rows.append(J[on])
            demands.append((goal.demand(pose, J @ v) - J @ q_null - bias)[on])
        if rows:
            J = np.vstack(rows)
            response = np.linalg.solve(self.A[np.ix_(free, free)], J[:, free].T)
            tau += J.T @ np.linalg.solve(J[:, free] @ response, np.concatenate(demands))
        tau[self.locked] = 0.0
        return tau
