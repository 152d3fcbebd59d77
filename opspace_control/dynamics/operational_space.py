# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The operational-space dynamics of a robot at a state, as one object for users and tests."""

from dataclasses import dataclass

import numpy as np

from opspace_control.dynamics.consistent_inverse import response_columns
from opspace_control.dynamics.operational_space_inertia import inverse_inertia
from opspace_control.dynamics.workspace import poisoned

# A direction is lost when the inverse inertia along it, measured on the matrix scaled to a unit
# diagonal (so without units), is below this.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class OperationalSpace:
    """
    Operational-space dynamics of m points, ``Λ a + μ + ρ = F``, [K87] (3.10), [CK00] (5).

    World axes; per point three linear rows, then three angular ones.
    """

    frames: tuple
    """The m frame names, in order."""
    jacobian: np.ndarray
    """J, (6m, nv), [CK00] (4)."""
    bias_acceleration: np.ndarray
    """J̇ v, (6m,), m/s² and rad/s², [CK00] (26)."""
    inverse_inertia: np.ndarray
    """Λ⁻¹ = J A⁻¹ Jᵀ, (6m, 6m), 1/kg, 1/(kg m), 1/(kg m²), [CK00] (6), (30)."""
    inertia: np.ndarray
    """Λ, (6m, 6m), kg, kg m, kg m²; the pseudo-inverse of Λ⁻¹ where directions are lost."""
    dynamically_consistent_inverse: np.ndarray
    """J̄ = A⁻¹ Jᵀ Λ, (nv, 6m), [CK00] (8)."""
    coriolis: np.ndarray
    """μ = J̄ᵀ b − Λ J̇ v, (6m,), N and N m, [CK00] (7)."""
    gravity: np.ndarray
    """ρ = J̄ᵀ g, (6m,), N and N m, [CK00] (7)."""
    rank: int
    """How many of the 6m directions the joints can accelerate independently."""

    @property
    def null_space_projection(self):
        """N = 1 − J̄ J, (nv, nv), [CK00] (10): Nᵀ τ accelerates none of the points."""
        J_bar = self.dynamically_consistent_inverse
        return np.eye(J_bar.shape[0]) - J_bar @ self.jacobian


def operational_space(model, state, frames):
    """
    Return the operational-space dynamics of the named frames.

    Λ⁻¹ and J̄ come from the recursions of [CK00] 4.3 and [WPO15] in O(nm + m³), without A or A⁻¹.
    Locked joints take no part.

    Parameters
    ----------
    model : RobotModel
    state : RobotState
        Made for this model.
    frames : sequence of str
        m frame names, at least one.

    Returns
    -------
    OperationalSpace

    Raises
    ------
    StateError
        If the state is another model's.
    ModelError
        For an unknown frame, or none.

    """
    frames = (frames,) if isinstance(frames, str) else tuple(frames)
    nodes, states, points, supports = model._placed(state, frames)
    n, columns = nodes.size, 6 * len(frames)
    K, L = poisoned((n, columns)), poisoned((columns, columns))
    inverse_inertia(nodes, state.q, supports, states, points, K, L)
    X = poisoned((model.nv, columns))
    response_columns(nodes, states, K, X, poisoned((n, 6, columns)))
    inertia, rank = invert_inverse_inertia(L)
    J_bar = X @ inertia
    bias = model.bias_acceleration(state, frames)
    return OperationalSpace(
        frames=frames,
        jacobian=model.jacobian(state, frames),
        bias_acceleration=bias,
        inverse_inertia=L,
        inertia=inertia,
        dynamically_consistent_inverse=J_bar,
        coriolis=J_bar.T @ model.bias_force(state) - inertia @ bias,
        gravity=J_bar.T @ model.gravity(state),
        rank=rank,
    )


def invert_inverse_inertia(inverse, tolerance=RANK_TOLERANCE):
    """
    Return Λ and the rank of Λ⁻¹; the pseudo-inverse where directions are lost.

    Mass and lever arms are scaled out first (unit diagonal), so the tolerance has no unit.

    Parameters
    ----------
    inverse : (k, k) array
        Λ⁻¹, symmetric positive semi-definite.
    tolerance : float
        Smallest eigenvalue of the scaled matrix that counts as a freedom.

    Returns
    -------
    inertia : (k, k) array
    rank : int

    """
    diagonal = inverse.diagonal()
    moving = diagonal > tolerance**2 * diagonal.max(initial=0.0)
    scale = np.where(moving, 1.0 / np.sqrt(np.where(moving, diagonal, 1.0)), 0.0)
    eigenvalues, vectors = np.linalg.eigh(scale[:, None] * inverse * scale)
    kept = eigenvalues > tolerance
    if kept.all():
        inertia = np.linalg.inv(inverse)
        return 0.5 * (inertia + inertia.T), kept.size
    half = scale[:, None] * vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return half @ half.T, int(kept.sum())
