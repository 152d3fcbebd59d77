# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The peer for the other modes: passive joints and a closed chain, in dense NumPy over Pinocchio.

As an expert writes it down from the equations of motion; nothing is computed twice.
"""

import numpy as np
import pinocchio


class DenseController:
    """
    Posture, pose tasks and a common grasp of a robot that may float without a drive of its base.

    Pose tasks without a velocity limit, [K87] (4.3); passive base [JR94] (6.8); the grasp closes a
    loop of six rows between two frames, [RKR95] 3.2. Singular postures are not taken care of.

    Parameters
    ----------
    urdf_text : str
    tasks : dict of str to (4, 4) array
        Frames and their goals.
    loop : pair of str, or None
        Frames that are held to each other.
    floating : bool
        Whether the base floats; it has no drive then.
    kp, kd, posture_kp, posture_kd : float
        1/s² and 1/s.

    Attributes
    ----------
    posture : (n,) array
        Goal of the joints with a drive, in Pinocchio's order; zero at first.

    """

    def __init__(self, urdf_text, tasks, *, loop, floating, kp, kd, posture_kp, posture_kd):
        base = (pinocchio.JointModelFreeFlyer(),) if floating else ()
        self.model = pinocchio.buildModelFromXML(urdf_text, *base)
        self._data = self.model.createData()
        self._passive = 6 if floating else 0
        self._frames = [self.model.getFrameId(name) for name in tasks]
        self._goals = [(goal[:3, :3].copy(), goal[:3, 3].copy()) for goal in tasks.values()]
        self._loop = [self.model.getFrameId(name) for name in loop or ()]
        self._kp, self._kd = kp, kd
        self._posture_kp, self._posture_kd = posture_kp, posture_kd
        self.posture = np.zeros(self.model.nv - self._passive)
        self._zero = np.zeros(self.model.nv)

    def compute_torque(self, q, v):
        """Return the forces of the joints with a drive, N·m or N."""
        model, data, p = self.model, self._data, self._passive
        inverse = pinocchio.computeMinverse(model, data, q)
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        A = pinocchio.crba(model, data, q)
        A = np.triu(A) + np.triu(A, 1).T
        bias = pinocchio.nonLinearEffects(model, data, q, v)
        pinocchio.forwardKinematics(model, data, q, v, self._zero)
        pinocchio.computeJointJacobians(model, data)
        pinocchio.updateFramePlacements(model, data)
        a = np.zeros(model.nv)
        a[p:] = self._posture_kp * (self.posture - q[-(model.nv - p):]) - self._posture_kd * v[p:]
        if p:
            a[:p] = np.linalg.solve(A[:p, :p], -bias[:p] - A[:p, p:] @ a[p:])
        J, demand = self._tasks(a)
        X = inverse @ J.T
        L = J @ X
        if self._loop:
            C, h = self._closure()
            Y = inverse @ C.T
            share = np.linalg.solve(C @ Y, C @ X)   # L_cc⁻¹ L_ct
            L -= (X.T @ C.T) @ share
            demand += share.T @ (C @ a + h)
        motors = J[:, p:]
        if p:
            give = np.linalg.solve(A[:p, :p], np.hstack([J[:, :p].T, A[:p, p:]]))
            L -= J[:, :p] @ give[:, :len(J)]
            motors = motors - J[:, :p] @ give[:, len(J):]
        f = np.linalg.solve(L, demand)
        return (A @ a + bias)[p:] + motors.T @ f

    def _tasks(self, a):
        """Return J and ``a* − J̇ v − J a`` of the pose tasks."""
        model, data, axes = self.model, self._data, pinocchio.LOCAL_WORLD_ALIGNED
        rows, demands = [], []
        for frame, (R, p) in zip(self._frames, self._goals, strict=True):
            placement = data.oMf[frame]
            J = pinocchio.getFrameJacobian(model, data, frame, axes)
            velocity = pinocchio.getFrameVelocity(model, data, frame, axes).vector
            drift = pinocchio.getFrameClassicalAcceleration(model, data, frame, axes).vector
            error = np.r_[p - placement.translation,
                          pinocchio.log3(R @ placement.rotation.T)]
            rows.append(J)
            demands.append(self._kp * error - self._kd * velocity - drift - J @ a)
        return np.vstack(rows), np.concatenate(demands)

    def _closure(self):
        """Return J_c and J̇_c v of the loop, both links seen at the first frame's origin."""
        model, data, axes = self.model, self._data, pinocchio.LOCAL_WORLD_ALIGNED
        (J1, h1, _), (J2, h2, w) = (
            (pinocchio.getFrameJacobian(model, data, frame, axes),
             pinocchio.getFrameClassicalAcceleration(model, data, frame, axes).vector,
             pinocchio.getFrameVelocity(model, data, frame, axes).angular)
            for frame in self._loop)
        r = data.oMf[self._loop[0]].translation - data.oMf[self._loop[1]].translation
        cross = pinocchio.skew(r)
        J, h = J1 - J2, h1 - h2
        J[:3] += cross @ J2[3:]
        h[:3] += cross @ h2[3:] - np.cross(w, np.cross(w, r))
        return J, h
