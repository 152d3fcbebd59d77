# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot model: a kinematic tree with its dynamics."""

import numpy as np

from opspace_control.dynamics import kinematics, mass_matrix
from opspace_control.dynamics.data import make_points, nan_filled
from opspace_control.dynamics.hybrid_dynamics import hybrid_motion
from opspace_control.dynamics.preparation import (
    GRAVITY,
    check_state,
    joint_vector,
    names,
    placed,
    prepared,
)
from opspace_control.model import KinematicTree, RobotState
from opspace_control.model.nodes import ACTIVE, LOCKED, PASSIVE


class RobotModel(KinematicTree):
    """
    A robot read from a URDF, and the terms of its equations of motion, [CK00] (1).

    ``A v̇ + b + g = τ``. Joint vectors are in the order of ``dof_names``; a floating base comes
    first, its velocity ``[v; ω]`` that of the root link's origin in world axes. Joint damping and
    friction of the URDF are data (``damping``, ``friction``), not part of these terms. Returned
    arrays are new.

    All functions take a RobotState and raise a StateError if it was made for another model.
    ``frames`` may be one name or a sequence of names.
    """

    def forward_kinematics(self, state, frames=None):
        """
        Return the poses of frames in the world (fixed base: in the root link's frame).

        Parameters
        ----------
        state : RobotState
            Made for this model.
        frames : sequence of str, optional
            All of ``frame_names`` if not given.

        Returns
        -------
        dict of str to (4, 4) array
            Homogeneous transforms, m.

        Raises
        ------
        ModelError
            For an unknown frame.

        """
        frames = self.frame_names if frames is None else names(frames)
        points = placed(self, state, frames)[2]
        poses = np.zeros((len(frames), 4, 4))
        poses[:, :3, :3] = points['R']
        poses[:, :3, 3] = points['p'] + self.origin(state)
        poses[:, 3, 3] = 1.0
        return dict(zip(frames, poses, strict=True))

    def jacobian(self, state, frames):
        """
        Return the stacked basic Jacobian J, [CK00] (4), (24)-(25).

        Parameters
        ----------
        state : RobotState
            Made for this model.
        frames : sequence of str
            m frame names.

        Returns
        -------
        (6m, nv) array
            Per frame three linear rows (m/s) and three angular ones (rad/s), world axes.

        Raises
        ------
        ModelError
            For an unknown frame.

        """
        nodes, states, points, supports = placed(self, state, frames)
        jacobian = nan_filled((6 * len(points), self.nv))
        kinematics.fill_jacobian(nodes, states, points, supports, jacobian)
        return jacobian

    def bias_acceleration(self, state, frames):
        """
        Return J̇ v, the frames' accelerations when no joint accelerates, [CK00] (26)-(28).

        Parameters
        ----------
        state : RobotState
            Made for this model.
        frames : sequence of str
            m frame names.

        Returns
        -------
        (6m,) array
            Classical accelerations ``[a; α]``, m/s² and rad/s², world axes.

        Raises
        ------
        ModelError
            For an unknown frame.

        """
        nodes, states = prepared(self, state)
        points, _ = make_points(self, names(frames))
        kinematics.move(nodes, state.q, state.v, np.zeros(self.nv), states, points)
        return points['a'].reshape(-1).copy()

    def mass_matrix(self, state):
        """
        Return the joint-space inertia matrix A of [CK00] (1), by composite rigid bodies.

        Parameters
        ----------
        state : RobotState
            Made for this model.

        Returns
        -------
        (nv, nv) array
            Symmetric, positive definite; kg m², kg m or kg by the kinds of the two joints.

        """
        nodes, states = prepared(self, state)
        A = nan_filled((self.nv, self.nv))
        mass_matrix.mass_matrix(nodes, state.q, states, A)
        return A

    def bias_force(self, state):
        """
        Return b, the Coriolis and centrifugal joint forces of [CK00] (1), without gravity.

        Parameters
        ----------
        state : RobotState
            Made for this model.

        Returns
        -------
        (nv,) array
            N m or N.

        """
        return _newton_euler(self, state, np.zeros(self.nv), np.zeros(3))

    def gravity(self, state):
        """
        Return g, the joint forces that hold the robot against gravity, [CK00] (1).

        Parameters
        ----------
        state : RobotState
            Made for this model.

        Returns
        -------
        (nv,) array
            N m or N, for 9.81 m/s² along -z of the world.

        """
        check_state(self, state)
        still = RobotState(self, state.q, np.zeros(self.nv))
        return _newton_euler(self, still, np.zeros(self.nv), GRAVITY)

    def inverse_dynamics(self, state, acceleration):
        """
        Return the joint forces of a motion, ``τ = A v̇ + b + g``, [CK00] (11) and Table 2.

        Parameters
        ----------
        state : RobotState
            Made for this model.
        acceleration : (nv,) array
            v̇, rad/s² or m/s².

        Returns
        -------
        (nv,) array
            τ, N m or N; at locked joints the torque of the brake.

        Raises
        ------
        StateError
            If ``acceleration`` is not nv finite numbers.

        """
        acceleration = joint_vector(self, acceleration, 'acceleration')
        return _newton_euler(self, state, acceleration, GRAVITY)

    def forward_dynamics(self, state, torque):
        """
        Return the accelerations of joint forces, ``v̇ = A⁻¹ (τ − b − g)``, by articulated bodies.

        Parameters
        ----------
        state : RobotState
            Made for this model.
        torque : (nv,) array
            τ, N m or N; those of locked joints are ignored.

        Returns
        -------
        (nv,) array
            v̇, rad/s² or m/s²; zero at locked joints.

        Raises
        ------
        StateError
            If ``torque`` is not nv finite numbers.

        """
        torque = joint_vector(self, torque, 'torque')
        nodes, _ = prepared(self, state)
        nodes['status'][nodes['status'] != LOCKED] = PASSIVE
        return hybrid_motion(self, nodes, state, np.zeros(self.nv), torque).acceleration

    def origin(self, state):
        """Return the root link's origin in the world, (3,) m: zero for a fixed base."""
        check_state(self, state)
        return state.q[:3].copy() if self.floating_base else np.zeros(3)


def _newton_euler(model, state, a, gravity):
    nodes, _ = prepared(model, state)
    nodes['status'] = ACTIVE
    return hybrid_motion(model, nodes, state, a, np.zeros(model.nv), gravity=gravity).torque
