# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a residual of a momentum observer is made of: friction, an error of a payload, contact."""

from dataclasses import dataclass

import numpy as np

from opspace_control.dynamics import GRAVITY
from opspace_control.dynamics.drive_friction import SLIP_VELOCITY
from opspace_control.dynamics.estimated_wrench import estimated_wrench
from opspace_control.errors import StateError

# Rounds of iteratively reweighted least squares; a rest below this part of the mean counts as it.
_ROUNDS, _LEAST_REST = 25, 1e-4
# A combination of parameters with less than this part of the greatest influence is not told; a
# parameter of which less than this share is told is NaN.
_LEAST_INFLUENCE, _TOLD = 1e-3, 0.98


@dataclass(frozen=True, eq=False)
class ResidualParts:
    """The parts of k residuals; NaN for what the motion does not tell."""

    coulomb: np.ndarray
    """(nv,) Coulomb friction that the residual has, N·m or N."""
    viscous: np.ndarray
    """(nv,) likewise, N·m·s/rad or N·s/m."""
    mass: float
    """kg, that the link carries beyond the model; negative if it carries less."""
    moment: np.ndarray
    """(3,) this mass times its centre of mass in the frame, kg·m."""
    contact: np.ndarray
    """(k, 6) the wrench at the frame that explains what is left, N and N·m, world axes."""
    remainder: np.ndarray
    """(k, nv) what none of them explains, N·m or N."""


def residual_parts(model, states, residuals, frame, *, slip_velocity=SLIP_VELOCITY):
    """
    Return the `ResidualParts` of residuals (k, nv) of a `MomentumObserver` at k states.

    Friction and a payload have parameters that stay, contact comes and goes. So

        ``r = −F_c tanh(v / v_0) − b v + Jᵀ [m g; (R s) × g] + Jᵀ F``

    is fitted with the Coulomb friction F_c and the viscous friction b of each
    joint, and the mass m at the frame with ``s = m c`` of its centre of mass c, all linear, efforts
    in parts of their limits. The sum of the norms of what is left at the states is least, which
    forgives a lot at some of them: there is contact, and the wrench F at the frame explains what is
    left as in `estimated_wrench`. Slow motion: inertial forces of the payload are not looked at.

    Contact during more than half of the states is not told from a payload, nor a vertical force
    that stays; friction of a joint that does not move is NaN, and so is what postures that are all
    alike do not tell of the payload. A StateError refuses residuals of another shape.
    """
    r = np.array(residuals, float)
    if r.shape != (len(states), model.nv) or not len(states) or not np.isfinite(r).all():
        raise StateError(f'residuals have the shape {r.shape}, not {(len(states), model.nv)}, or '
                         'are not finite.', cure='Give a residual for each state, one at least.')
    limits = np.where(np.isfinite(model.effort_limits) & (model.effort_limits > 0.0),
                      model.effort_limits, 1.0)
    columns = np.array([_columns(model, state, frame, slip_velocity) for state in states])
    A, b = columns / limits[:, None], r / limits
    weight = np.ones(len(states))
    for _ in range(_ROUNDS):
        x, share = _fit((weight[:, None, None] * A).reshape(-1, A.shape[2]),
                        (weight[:, None] * b).ravel())
        rest = np.linalg.norm(b - A @ x, axis=1)
        weight = np.maximum(rest, _LEAST_REST * rest.mean() + 1e-12) ** -0.5
    left = r - columns @ x
    found = [estimated_wrench(model, state, frame, rest)
             for state, rest in zip(states, left, strict=True)]
    parameters = np.where(share > _TOLD, x, np.nan)
    n = model.nv
    return ResidualParts(
        coulomb=parameters[:n], viscous=parameters[n:2 * n], mass=float(parameters[2 * n]),
        moment=parameters[2 * n + 1:], contact=np.array([each.wrench for each in found]),
        remainder=np.array([each.remainder for each in found]))


def _columns(model, state, frame, slip_velocity):
    """Return the columns of Coulomb and viscous friction, of mass and moment, (nv, 2 nv + 4)."""
    J = model.jacobian(state, frame)
    R = model.forward_kinematics(state, frame)[frame][:3, :3]
    turned = np.cross(R.T, GRAVITY).T  # (R e_i) × g
    friction = np.where(model.locked | model.passive, 0.0, 1.0)
    return np.column_stack([
        -np.diag(friction * np.tanh(state.v / slip_velocity)), -np.diag(friction * state.v),
        J[:3].T @ GRAVITY, J[3:].T @ turned])


def _fit(A, b):
    """Return the least-squares solution of least norm, and which share of each entry is told."""
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = 1.0
    U, S, V = np.linalg.svd(A / scale, full_matrices=False)
    kept = S[0] * _LEAST_INFLUENCE < S
    x = V[kept].T @ ((U[:, kept].T @ b) / S[kept])
    return x / scale, (V[kept] ** 2).sum(axis=0)
