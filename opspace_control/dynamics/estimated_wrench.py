# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The wrench at a frame that explains unknown joint forces."""

from typing import NamedTuple

import numpy as np

from opspace_control.dynamics.data import make_points
from opspace_control.dynamics.operational_space import row_scales
from opspace_control.dynamics.preparation import check_state, joint_vector
from opspace_control.errors import ModelError
from opspace_control.spatial.eigen import SINGULARITY_THRESHOLD, smooth_step


class EstimatedWrench(NamedTuple):
    """The wrench on a frame that explains joint forces, and what it does not explain."""

    wrench: np.ndarray
    """``[f; n]`` (6,) on the robot at the frame's origin, N and N m, world axes."""
    rank: int
    """How many of the six directions are found in full; less than 6 where the chain is singular."""
    remainder: np.ndarray
    """``r − Jᵀ F`` of the frame's chain, (nv,), N m or N; zero at all other joints."""


def estimated_wrench(model, state, frame, residual, *, base=False):
    """
    Return the `EstimatedWrench` at a frame for joint forces such as `MomentumObserver.residual`.

    ``F = Λ J A⁻¹ r`` with ``Λ⁻¹ = J A⁻¹ Jᵀ`` over the chain of joints from the root to the frame,
    that are not locked: F minimises ``|Jᵀ F − r|`` in the metric of A⁻¹, which depends on no unit.
    If a wrench there is all that is unknown, ``r = Jᵀ F``, it is this wrench. Where scaled
    eigenvalues of Λ⁻¹ times six are below SINGULARITY_THRESHOLD, the chain hardly transmits forces
    along these directions: they are truncated smoothly, as in the control law, and are not in
    ``rank``.

    ``residual`` (nv,), N·m or N. With ``base`` the rows of a floating base count, too: for a robot
    that nothing else touches. A StateError refuses what is not nv finite numbers, a ModelError an
    unknown frame, or one that no joint of the chain moves.
    """
    check_state(model, state)
    r = joint_vector(model, residual, 'residual')
    return explain(model, state, frame, r, base, model.locked)


def explain(model, state, frame, r, base, locked):
    """Return the `EstimatedWrench` with these joints locked, (nv,) of bool; nothing is checked."""
    nodes, supports = model.nodes, make_points(model, [frame])[1]
    chain = np.zeros(model.nv, bool)
    chain[nodes['v_index'][(supports[:, 0] != 0) & (nodes['v_index'] >= 0)]] = True
    chain &= ~locked
    if model.floating_base and not base:
        chain[:6] = False
    if not chain.any():
        raise ModelError(f"No joint moves '{frame}': no joint force tells of a wrench there.",
                         cure='Name a link further out.' + (
                             ' base=True has the wrench on the base.' * model.floating_base),
                         frame=frame)
    J = model.jacobian(state, [frame])[:, chain]
    responses = np.linalg.solve(model.mass_matrix(state)[np.ix_(chain, chain)],
                                np.column_stack([J.T, r[chain]]))
    Lambda_inverse = J @ responses[:, :6]
    scale = row_scales(Lambda_inverse.diagonal(), 1.0 / nodes['mass'].sum())
    eigenvalues, vectors = np.linalg.eigh(scale[:, None] * Lambda_inverse * scale)
    t = 6.0 * eigenvalues / SINGULARITY_THRESHOLD
    gains = np.array(list(map(smooth_step, t))) / np.maximum(eigenvalues, np.finfo(float).tiny)
    turned = scale[:, None] * vectors
    F = turned @ (gains * (turned.T @ (J @ responses[:, 6])))
    remainder = np.zeros(model.nv)
    remainder[chain] = r[chain] - J.T @ F
    return EstimatedWrench(F, int((t >= 1.0).sum()), remainder)
