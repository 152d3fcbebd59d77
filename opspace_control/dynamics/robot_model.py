# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot model: a kinematic tree with its dynamics."""

import numpy as np

from opspace_control.dynamics import articulated_body, kinematics, preparation
from opspace_control.dynamics.data import nan_filled
from opspace_control.dynamics.hybrid_dynamics import hybrid_motion
from opspace_control.model import KinematicTree, RobotState
from opspace_control.model.nodes import ACTIVE, LOCKED, PASSIVE


class RobotModel(KinematicTree):
    """
    A robot read from a URDF, and the terms of its equations of motion, [CK00] (1).

    ``A v̇ + b + g = τ``. Joint vectors are in the order of ``dof_names``; a floating base comes
    first, its velocity ``[v; ω]`` that of the root link's origin in world axes. Joint damping and
    friction of the URDF are data (``damping``, ``friction``), not part of these terms. Returned
    arrays are new.

    All functions take a RobotState and raise a StateError if it was made for another model, or if a
    joint vector is not nv finite numbers. ``frames`` may be one name or a sequence of m names; an
    unknown name raises a ModelError.
    """

    def forward_kinematics(self, state, frames=None):
        """
        Return the poses of frames in the world (fixed base: in the root link's frame), by name.

        Homogeneous transforms (4, 4), m; of all of ``frame_names`` if ``frames`` is not given.
        """
        frames = self.frame_names if frames is None else preparation.names(frames)
        points = preparation.moved(self, state, frames)[2]
        poses = np.zeros((len(frames), 4, 4))
        poses[:, :3, :3] = points['R']
        poses[:, :3, 3] = points['p'] + self.origin(state)
        poses[:, 3, 3] = 1.0
        return dict(zip(frames, poses, strict=True))

    def jacobian(self, state, frames):
        """
        Return the stacked basic Jacobian J (6m, nv), [CK00] (4), (24)-(25).

        Per frame three linear rows (m/s) and three angular ones (rad/s), world axes.
        """
        nodes, states, points, supports = preparation.moved(self, state, frames)
        jacobian = nan_filled((6 * len(points), self.nv))
        kinematics.fill_jacobian(nodes, states, points, supports, jacobian)
        return jacobian

    def bias_acceleration(self, state, frames):
        """
        Return J̇ v (6m,), the frames' accelerations when no joint accelerates, [CK00] (26)-(28).

        Classical accelerations ``[a; α]``, m/s² and rad/s², world axes.
        """
        return preparation.moved(self, state, frames)[2]['a'].reshape(-1).copy()

    def mass_matrix(self, state, nodes=None):
        """
        Return the joint-space inertia matrix A (nv, nv) of [CK00] (1), by composite rigid bodies.

        Symmetric, positive definite; kg m², kg m or kg by the kinds of the two joints. ``nodes``
        are those of a controller, with its payloads; the robot's own if not given.
        """
        own, states = preparation.prepared(self, state)
        nodes = own if nodes is None else nodes
        A = nan_filled((self.nv, self.nv))
        articulated_body.mass_matrix(nodes, state.q, states, A)
        return A

    def bias_force(self, state):
        """Return b (nv,), the Coriolis and centrifugal joint forces of [CK00] (1), N m or N."""
        return _newton_euler(self, state, np.zeros(self.nv), np.zeros(3))

    def gravity(self, state):
        """Return g (nv,), the gravity torques of [CK00] (1), N m or N, for 9.81 m/s² along -z."""
        preparation.check_state(self, state)
        still = RobotState(self, state.q, np.zeros(self.nv))
        return _newton_euler(self, still, np.zeros(self.nv), preparation.GRAVITY)

    def inverse_dynamics(self, state, acceleration):
        """
        Return the joint forces (nv,) of a motion, ``τ = A v̇ + b + g``, [CK00] (11) and Table 2.

        ``acceleration`` (nv,) is v̇, rad/s² or m/s²; τ is in N m or N, at locked joints of the
        brake.
        """
        acceleration = preparation.joint_vector(self, acceleration, 'acceleration')
        return _newton_euler(self, state, acceleration, preparation.GRAVITY)

    def forward_dynamics(self, state, torque):
        """
        Return the accelerations ``v̇ = A⁻¹ (τ − b − g)`` (nv,), rad/s² or m/s².

        By articulated bodies. ``torque`` (nv,) is τ, N m or N; that of locked joints is ignored,
        and v̇ is zero there.
        """
        torque = preparation.joint_vector(self, torque, 'torque')
        nodes, _ = preparation.prepared(self, state)
        nodes['status'][nodes['status'] != LOCKED] = PASSIVE
        return hybrid_motion(self, nodes, state, np.zeros(self.nv), torque).acceleration

    def origin(self, state):
        """Return the root link's origin in the world, (3,) m: zero for a fixed base."""
        preparation.check_state(self, state)
        return state.q[:3].copy() if self.floating_base else np.zeros(3)


def _newton_euler(model, state, a, gravity):
    nodes, _ = preparation.prepared(model, state)
    nodes['status'] = ACTIVE
    return hybrid_motion(model, nodes, state, a, np.zeros(model.nv), gravity=gravity).torque
