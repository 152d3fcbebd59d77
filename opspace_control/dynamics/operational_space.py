# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The operational-space dynamics of a robot at a state, as one object for users and tests."""

from dataclasses import dataclass

import numpy as np

from opspace_control.dynamics.consistent_inverse import response_columns
from opspace_control.dynamics.operational_space_inertia import inverse_inertia
from opspace_control.dynamics.robot_model import names
from opspace_control.dynamics.workspace import poisoned
from opspace_control.errors import ModelError

# A direction is lost when the inverse inertia along it, divided by that of its point on average
# (so without units), is below this.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
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
    """
    How many of the 6m directions the joints can accelerate independently: less than 6m in a
    singular posture, for a frame with few joints before it, or for two frames on one link.
    """

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
        The robot.
    state : RobotState
        Made for this model.
    frames : sequence of str
        m frame names, at least one; one name alone will do.

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
    frames = names(frames)
    if not frames:
        raise ModelError('No frame is named, so there is no operational space.',
                         cure=f"Name one or more links, such as '{model.frame_names[-1]}'.")
    nodes, states, points, supports = model._placed(state, frames)
    n, columns = nodes.size, 6 * len(frames)
    K, L = poisoned((n, columns)), poisoned((columns, columns))
    inverse_inertia(nodes, state.q, supports, states, points, K, L)
    X = poisoned((model.nv, columns))
    response_columns(nodes, states, K, X, poisoned((n, 6, columns)))
    inertia, rank = invert_inverse_inertia(L, 1.0 / model.nodes['mass'].sum())
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


def invert_inverse_inertia(inverse, least_mobility, tolerance=RANK_TOLERANCE, reference=None):
    """
    Return Λ and the rank of Λ⁻¹; the pseudo-inverse where directions are lost.

    Masses and units are scaled out first, one number per point and kind of row, so neither units
    nor a turned base frame decide what is lost. A point that hardly anything moves, such as one on
    the axes of all its joints, is measured by ``least_mobility``: else rounding would count.

    Parameters
    ----------
    inverse : (6m, 6m) array
        Λ⁻¹, symmetric positive semi-definite.
    least_mobility : float
        Linear mobility that any point of interest exceeds by far, 1/kg.
    tolerance : float
        Smallest eigenvalue of the scaled matrix that counts as a freedom.
    reference : (6m,) array, optional
        By what to measure the points instead: the diagonal of Λ⁻¹ before something took freedoms
        from them, for what is left then may be nothing but rounding.

    Returns
    -------
    inertia : (6m, 6m) array
        Λ.
    rank : int
        How many directions are left.

    """
    diagonal = inverse.diagonal() if reference is None else reference
    mobility = diagonal.reshape(-1, 2, 3).mean(axis=2)    # a point's linear and angular
    mobility[:, 0] = np.maximum(mobility[:, 0], least_mobility)
    moving = mobility > 0.0
    scale = np.repeat(np.where(moving, mobility, np.inf) ** -0.5, 3)
    eigenvalues, vectors = np.linalg.eigh(scale[:, None] * inverse * scale)
    kept = eigenvalues > tolerance
    half = scale[:, None] * vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return half @ half.T, int(kept.sum())
