# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The operational-space dynamics of a robot at a state."""

from dataclasses import dataclass

import numpy as np

from opspace_control.dynamics.generalized_jacobian import generalized_jacobian
from opspace_control.dynamics.operational_space_inertia import point_responses
from opspace_control.dynamics.preparation import moved, point_names
from opspace_control.model.nodes import ACTIVE, LOCKED

# A direction is singular if the inverse inertia along it, divided by the mean of its point (so
# without units), is below this.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """
    Operational-space dynamics of m points, ``Λ a + μ + ρ = F``, [K87] (3.10), [CK00] (5).

    The active joints exert F by ``J_Gᵀ F``. If all joints are active, J_G is J, and Λ, J̄, N, μ, ρ
    are those of [CK00]. Field descriptions give the form for passive joints without forces first.

    World axes; per point three linear rows, then three angular ones.
    """

    frames: tuple
    """The m frame names, in order."""
    jacobian: np.ndarray
    """J, (6m, nv), [CK00] (4), with columns of passive joints, too."""
    bias_acceleration: np.ndarray
    """J̇ v, (6m,), m/s² and rad/s², [CK00] (26)."""
    generalized_jacobian: np.ndarray
    """J_G = J_a − J_p A_pp⁻¹ A_pa, (6m, n_a), [JR94] (6.8): a column for each active dof."""
    inverse_inertia: np.ndarray
    """
    Λ⁻¹ = J_G S_aa⁻¹ J_Gᵀ = J A⁻¹ Jᵀ − J_p A_pp⁻¹ J_pᵀ, (6m, 6m), 1/kg, 1/(kg m), 1/(kg m²),
    [CK00] (6), (30).
    """
    inertia: np.ndarray
    """Λ, (6m, 6m), kg, kg m, kg m²; the pseudo-inverse of Λ⁻¹ at singularities."""
    dynamically_consistent_inverse: np.ndarray
    """
    J̄ = A⁻¹ E_a J_Gᵀ Λ, (nv, 6m), [CK00] (8), E_a the columns of the identity of active joints:
    accelerations of all joints for unit accelerations of the points.
    """
    coriolis: np.ndarray
    """μ = Λ (J A⁻¹ b − J̇ v), (6m,), N and N m, [CK00] (7): J̄ᵀ b − Λ J̇ v if all are active."""
    gravity: np.ndarray
    """ρ = Λ J A⁻¹ g, (6m,), N and N m, [CK00] (7): J̄ᵀ g if all are active."""
    rank: int
    """
    Rank of Λ⁻¹: less than 6m in a singular posture, for a frame with few joints before it, or for
    two frames on one link.
    """
    active: np.ndarray
    """(nv,) bool: the joints of J_G's columns."""

    @property
    def null_space_projection(self):
        """
        N = 1 − J̄ J_G E_aᵀ, (nv, nv), [CK00] (10).

        ``Nᵀ τ`` accelerates none of the points, for any forces τ of active joints.
        """
        J_bar = self.dynamically_consistent_inverse
        N = np.eye(J_bar.shape[0])
        N[:, self.active] -= J_bar @ self.generalized_jacobian
        return N


def operational_space(model, state, frames):
    """
    Return the `OperationalSpace` of m frames, at least one.

    Λ⁻¹ comes from the recursion of [CK00] 4.3 in O(n + m²) and J̄ from that of [WPO15] in O(nm),
    without A or A⁻¹; Λ takes O(m³). Locked joints are rigid. With passive joints Λ⁻¹ is that of all
    free joints minus that of the passive ones with all others locked.
    """
    frames = point_names(model, frames)
    L, X = free_responses(model, state, frames)
    reachable, responses = L, X
    if model.passive.any():
        status = model.nodes['status']
        Q, X_p = free_responses(model, state, frames, np.where(status == ACTIVE, LOCKED, status))
        reachable, responses = L - Q, X - X_p
    inertia, rank = invert_inverse_inertia(reachable, 1.0 / model.nodes['mass'].sum(),
                                           reference=L.diagonal())
    bias = model.bias_acceleration(state, frames)
    return OperationalSpace(
        frames=frames,
        jacobian=model.jacobian(state, frames),
        bias_acceleration=bias,
        generalized_jacobian=generalized_jacobian(model, state, frames),
        inverse_inertia=reachable,
        inertia=inertia,
        dynamically_consistent_inverse=responses @ inertia,
        coriolis=inertia @ (X.T @ model.bias_force(state) - bias),
        gravity=inertia @ (X.T @ model.gravity(state)),
        rank=rank,
        active=model.active,
    )


def free_responses(model, state, frames, status=None):
    """
    Return ``J A⁻¹ Jᵀ`` (6m, 6m) and ``A⁻¹ Jᵀ`` (nv, 6m) over all joints that are not locked.

    ``status`` (n,) replaces the robot's own.
    """
    nodes, states, points, supports = moved(model, state, frames)
    if status is not None:
        nodes['status'] = status
    return point_responses(nodes, state.q, points, supports, states)


def row_scales(diagonal, least_mobility):
    """
    Return the scaling (6m,) that makes Λ⁻¹ dimensionless, one number per point and kind of row.

    It is ``1 / sqrt`` of the mean of the point's three diagonal entries of that kind, 0 for a mean
    of zero. The mean of linear rows is at least ``least_mobility``, 1/kg: for a point on the axes
    of all its joints it would be rounding.
    """
    mobility = diagonal.reshape(-1, 2, 3).mean(axis=2)
    mobility[:, 0] = np.maximum(mobility[:, 0], least_mobility)
    return np.repeat(np.where(mobility > 0.0, mobility, np.inf) ** -0.5, 3)


def invert_inverse_inertia(inverse, least_mobility, reference=None):
    """
    Return Λ (6m, 6m) and the rank of Λ⁻¹; at singularities the pseudo-inverse.

    ``inverse`` is symmetric positive semi-definite. The rank is the number of eigenvalues above
    RANK_TOLERANCE of Λ⁻¹ scaled by `row_scales`, so it depends on neither units nor base axes.
    ``least_mobility``, 1/kg, is far below the linear mobility of any point of interest.
    ``reference`` (6m,) is the diagonal to scale by, instead of that of Λ⁻¹: that without
    constraints, because a constrained diagonal may be only rounding.
    """
    scale = row_scales(inverse.diagonal() if reference is None else reference, least_mobility)
    eigenvalues, vectors = np.linalg.eigh(scale[:, None] * inverse * scale)
    kept = eigenvalues > RANK_TOLERANCE
    half = scale[:, None] * vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return half @ half.T, int(kept.sum())
