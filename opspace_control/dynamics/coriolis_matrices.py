# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Coriolis and centrifugal terms as matrices of the configuration alone, [K87] (4.8)-(4.12)."""

from dataclasses import dataclass

import numpy as np

from opspace_control.dynamics.operational_space import operational_space
from opspace_control.dynamics.preparation import check_state, names
from opspace_control.errors import ModelError
from opspace_control.model import RobotState


@dataclass(frozen=True, eq=False)
class CoriolisMatrices:
    """
    The matrices that multiply products of joint velocities, [K87] (4.8)-(4.12), at one q.

    Columns belong to ``[q̇q̇] = [v_1 v_2, v_1 v_3, …, v_{n−1} v_n]`` or to ``[q̇²]``, (4.9), n being
    nv; rows to joints or, of m frames, to accelerations in world axes, linear ones first.
    """

    frames: tuple
    """The m frame names, in order."""
    coriolis: np.ndarray
    """B, (nv, nv (nv − 1) / 2), (4.8): N m or N by products of rad/s or m/s."""
    centrifugal: np.ndarray
    """C, (nv, nv), (4.8)."""
    coriolis_acceleration: np.ndarray
    """H_1, (6m, nv (nv − 1) / 2), (4.10): m/s² and rad/s² by the same."""
    centrifugal_acceleration: np.ndarray
    """H_2, (6m, nv), (4.10)."""
    decoupling_coriolis: np.ndarray
    """B̃ = B − Jᵀ Λ H_1, as B, (4.12)."""
    decoupling_centrifugal: np.ndarray
    """C̃ = C − Jᵀ Λ H_2, as C, (4.12)."""

    def bias_force(self, v):
        """Return ``b = B [q̇q̇] + C [q̇²]``, (nv,), N m or N, (4.8), for v (nv,), rad/s or m/s."""
        return _expanded(self.coriolis, self.centrifugal, v)

    def bias_acceleration(self, v):
        """Return ``h = H_1 [q̇q̇] + H_2 [q̇²]``, (6m,), m/s² and rad/s², (4.10)."""
        return _expanded(self.coriolis_acceleration, self.centrifugal_acceleration, v)

    def decoupling_force(self, v):
        """
        Return ``b̃ = B̃ [q̇q̇] + C̃ [q̇²] = b − Jᵀ Λ h``, (nv,), N m or N, (4.11).

        With it ``Γ = Jᵀ Λ F* + b̃ + g``, (4.13), gives the frames the acceleration F*.
        """
        return _expanded(self.decoupling_coriolis, self.decoupling_centrifugal, v)


def coriolis_matrices(model, state, frames=()):
    """
    Return the `CoriolisMatrices` at a configuration, [K87] (4.8)-(4.12); v of the state is ignored.

    The recursions are quadratic in v: unit velocities give the columns of C and H_2, sums of two
    minus these the columns of B and H_1. This takes O(n³), as B has n² (n − 1) / 2 elements. With m
    frames the products ``Jᵀ Λ H`` take O(m n³), and Λ takes O(m³). `RobotModel.bias_force` computes
    b at one v in O(n).

    Without frames B̃ and C̃ are B and C. Frames of a robot with passive joints raise a ModelError,
    because forces ``Jᵀ F`` do not decouple their accelerations.
    """
    check_state(model, state)
    frames = names(frames)
    if frames and model.passive.any():
        joint = model.names_of(model.passive)[0]
        raise ModelError(f"Joint '{joint}' is passive: (4.12) does not hold.", joint=joint,
                         cure='Leave out the frames for B and C; hybrid_dynamics has b of robots '
                         'with passive joints.')
    n = model.nv
    moving = RobotState(model, state.q, np.zeros(n))
    pairs = np.triu_indices(n, 1)

    def terms(v):
        moving.update(state.q, v)
        h = model.bias_acceleration(moving, frames) if frames else np.zeros(0)
        return np.concatenate([model.bias_force(moving), h])

    unit = np.eye(n)
    squares = np.array([terms(v) for v in unit]).reshape(n, n + 6 * len(frames))
    products = np.array([terms(unit[i] + unit[j]) - squares[i] - squares[j]
                         for i, j in zip(*pairs, strict=True)]).reshape(-1, squares.shape[1])
    (B, H_1), (C, H_2) = ((part.T[:n], part.T[n:]) for part in (products, squares))
    B_tilde, C_tilde = B.copy(), C.copy()
    if frames:
        space = operational_space(model, state, frames)
        force = space.jacobian.T @ space.inertia
        B_tilde -= force @ H_1
        C_tilde -= force @ H_2
    return CoriolisMatrices(frames, B, C, H_1, H_2, B_tilde, C_tilde)


def _expanded(products, squares, v):
    v = np.asarray(v, dtype=float)
    i, j = np.triu_indices(squares.shape[1], 1)
    return products @ (v[i] * v[j]) + squares @ (v * v)
