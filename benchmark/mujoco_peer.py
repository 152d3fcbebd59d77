# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's C functions as the engine of the law in NumPy."""

from xml.etree import ElementTree

import mujoco
import numpy as np

_NEEDLESS = ('visual', 'collision', 'transmission', 'gazebo')
# MuJoCo 3.3 renamed it.
_make_mass_matrix = getattr(mujoco, 'mj_makeM', None) or mujoco.mj_crb


class MujocoEngine:
    """
    What the law needs of a robot, by the fewest and fastest calls of MuJoCo's Python module.

    Links without a joint are fused into the bodies that carry them, and the mass matrix stays in
    MuJoCo's sparse factors. MuJoCo has the angular part first: arrays of 6-vectors are turned
    round by a view, which costs nothing.

    Parameters
    ----------
    urdf_text : str
    frames : sequence of str
        m links.

    """

    def __init__(self, urdf_text, frames):
        self.model = _compile(urdf_text, frames)
        self._data = mujoco.MjData(self.model)
        self._sites = [self.model.site(f'point {e}').id for e in range(len(frames))]
        m, n = len(frames), self.model.nv
        self._errors = np.empty((m, 2, 3))
        self._velocities, self._accelerations = np.empty((2, m, 6))
        self._jacobian, self._response = np.empty((2, 6 * m, n))
        self._blocks = [(self._jacobian[6 * e:6 * e + 3], self._jacobian[6 * e + 3:6 * e + 6])
                        for e in range(m)]
        self._torque = np.empty(n)
        self._gravity = np.array([[0.0, 0.0, 0.0], self.model.opt.gravity])[::-1]
        self._quaternion, self._difference = np.empty((2, 4))
        # Views of MuJoCo's own memory.
        self._q, self._v, self._a = self._data.qpos, self._data.qvel, self._data.qacc
        self._positions = [self._data.site_xpos[i] for i in self._sites]
        self._rotations = [self._data.site_xmat[i] for i in self._sites]
        self.joint_names = tuple(self.model.joint(i).name for i in range(self.model.njnt))

    def set_targets(self, poses):
        """Set the goal of each frame, (4, 4)."""
        self._targets = []
        for pose in poses:
            quaternion = np.empty(4)
            mujoco.mju_mat2Quat(quaternion, pose[:3, :3].ravel())
            self._targets.append((quaternion, pose[:3, 3].copy()))

    def update(self, q, v, acceleration):
        """Go to a state, with these joint accelerations."""
        model, data = self.model, self._data
        self._q[:], self._v[:], self._a[:] = q, v, acceleration
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        _make_mass_matrix(model, data)
        mujoco.mj_factorM(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, self._torque)
        mujoco.mj_rnePostConstraint(model, data)

    def pose_errors(self):
        """Return target minus pose, (m, 2, 3): m, and rotation vectors in rad."""
        quaternion, difference = self._quaternion, self._difference
        for error, p, R, (goal_quaternion, goal) in zip(
                self._errors, self._positions, self._rotations, self._targets, strict=True):
            np.subtract(goal, p, out=error[0])
            mujoco.mju_mat2Quat(quaternion, R)
            mujoco.mju_negQuat(quaternion, quaternion)
            mujoco.mju_mulQuat(difference, goal_quaternion, quaternion)
            mujoco.mju_quat2Vel(error[1], difference, 1.0)
        return self._errors

    def velocities(self):
        """Return the frames' velocities, (m, 2, 3)."""
        for velocity, site in zip(self._velocities, self._sites, strict=True):
            mujoco.mj_objectVelocity(
                self.model, self._data, mujoco.mjtObj.mjOBJ_SITE, site, velocity, 0)
        return self._velocities.reshape(-1, 2, 3)[:, ::-1]

    def accelerations(self):
        """Return the frames' classical accelerations, (m, 2, 3)."""
        for acceleration, site in zip(self._accelerations, self._sites, strict=True):
            mujoco.mj_objectAcceleration(
                self.model, self._data, mujoco.mjtObj.mjOBJ_SITE, site, acceleration, 0)
        # Like an accelerometer it feels gravity.
        return self._accelerations.reshape(-1, 2, 3)[:, ::-1] + self._gravity

    def jacobian_and_response(self):
        """Return J (6m, n) and A⁻¹ Jᵀ (n, 6m)."""
        for (linear, angular), site in zip(self._blocks, self._sites, strict=True):
            mujoco.mj_jacSite(self.model, self._data, linear, angular, site)
        mujoco.mj_solveM(self.model, self._data, self._response, self._jacobian)
        return self._jacobian, self._response.T

    def torque(self):
        """Return the joint forces of the accelerations given, (n,)."""
        return self._torque


def _compile(urdf_text, frames):
    """Return the leanest MjModel of a URDF with the site 'point e' at the e-th of these links."""
    robot = ElementTree.fromstring(urdf_text)
    for parent in (robot, *robot.iter('link')):
        for element in [child for child in parent if child.tag in _NEEDLESS]:
            parent.remove(element)
    robot.append(ElementTree.fromstring('<mujoco><compiler fusestatic="true"/></mujoco>'))
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding='unicode'))
    for e, frame in enumerate(frames):
        spec.body(frame).add_site(name=f'point {e}')
    return spec.compile()
