# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio as the engine of the law in NumPy."""

import numpy as np
import pinocchio


class PinocchioEngine:
    """
    What the law needs of a robot, by the fewest and fastest calls of Pinocchio's Python module.

    Parameters
    ----------
    urdf_text : str
    frames : sequence of str
        m links.

    """

    def __init__(self, urdf_text, frames):
        self.model = pinocchio.buildModelFromXML(urdf_text)
        self._data = self.model.createData()
        self._frames = [self.model.getFrameId(name) for name in frames]
        m, n = len(frames), self.model.nv
        self._errors = np.empty((m, 2, 3))
        self._velocities = np.empty((m, 6))
        self._accelerations = np.empty((m, 6))
        self._jacobian = np.empty((6 * m, n))
        self._blocks = [self._jacobian[6 * e:6 * e + 6] for e in range(m)]
        self.joint_names = tuple(self.model.names)[1:]

    def set_targets(self, poses):
        """Set the goal of each frame, (4, 4)."""
        self._targets = [(pose[:3, :3].copy(), pose[:3, 3].copy()) for pose in poses]

    def update(self, q, v, acceleration):
        """Go to a state, with these joint accelerations."""
        model, data = self.model, self._data
        self._torque = pinocchio.rnea(model, data, q, v, acceleration)
        self._inverse_mass_matrix = pinocchio.computeMinverse(model, data, q)
        pinocchio.forwardKinematics(model, data, q, v, acceleration)
        pinocchio.computeJointJacobians(model, data)
        for frame in self._frames:
            pinocchio.updateFramePlacement(model, data, frame)

    def pose_errors(self):
        """Return target minus pose, (m, 2, 3): m, and rotation vectors in rad."""
        placements = self._data.oMf
        for error, frame, (R, p) in zip(self._errors, self._frames, self._targets, strict=True):
            placement = placements[frame]
            error[0] = p - placement.translation
            error[1] = pinocchio.log3(R @ placement.rotation.T)
        return self._errors

    def velocities(self):
        """Return the frames' velocities, (m, 2, 3)."""
        for e, frame in enumerate(self._frames):
            self._velocities[e] = pinocchio.getFrameVelocity(
                self.model, self._data, frame, pinocchio.LOCAL_WORLD_ALIGNED).vector
        return self._velocities.reshape(-1, 2, 3)

    def accelerations(self):
        """Return the frames' classical accelerations, (m, 2, 3)."""
        for e, frame in enumerate(self._frames):
            self._accelerations[e] = pinocchio.getFrameClassicalAcceleration(
                self.model, self._data, frame, pinocchio.LOCAL_WORLD_ALIGNED).vector
        return self._accelerations.reshape(-1, 2, 3)

    def jacobian_and_response(self):
        """Return J (6m, n) and A⁻¹ Jᵀ (n, 6m)."""
        for block, frame in zip(self._blocks, self._frames, strict=True):
            block[:] = pinocchio.getFrameJacobian(
                self.model, self._data, frame, pinocchio.LOCAL_WORLD_ALIGNED)
        return self._jacobian, self._inverse_mass_matrix @ self._jacobian.T

    def torque(self):
        """Return the joint forces of the accelerations given, (n,)."""
        return self._torque
