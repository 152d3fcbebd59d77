# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The wrench at a frame that explains unknown joint forces."""

from typing import NamedTuple

import numpy as np

from opspace_control.dynamics.articulated_body import mass_matrix
from opspace_control.dynamics.data import NODE_STATE, make_points, moment_nodes
from opspace_control.dynamics.kinematics import fill_jacobian, move
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
    found, = WrenchEstimator(model, [frame], base=base).estimate(state, r, model.locked)
    if found is None:
        raise ModelError(f"No joint moves '{frame}': no joint force tells of a wrench there.",
                         cure='Name a link further out.' + (
                             ' base=True has the wrench on the base.' * model.floating_base),
                         frame=frame)
    return found


class WrenchEstimator:
    """
    Estimate the wrenches at frames of a model, as `estimated_wrench` each, at many states.

    ``frames`` (m,) are names; a ModelError refuses an unknown one.
    """

    def __init__(self, model, frames, *, base=False):
        nodes = moment_nodes(model)
        points, supports = make_points(model, frames)
        states = np.zeros(nodes.size, NODE_STATE)
        self._q, self._v = np.zeros(model.nq), np.zeros(model.nv)
        self._A, self._J = np.zeros((model.nv, model.nv)), np.zeros((6 * points.size, model.nv))
        self._least_mobility = 1.0 / nodes['mass'].sum()
        self._chains = np.zeros((points.size, model.nv), bool)
        moves = nodes['v_index'] >= 0
        for chain, support in zip(self._chains, supports.T, strict=True):
            chain[nodes['v_index'][(support != 0) & moves]] = True
        if model.floating_base and not base:
            self._chains[:, :6] = False
        self._kernels = (
            move.partial(nodes, self._q, self._v, np.zeros(model.nv), states, points),
            fill_jacobian.partial(nodes, states, points, supports, self._J),
            mass_matrix.partial(nodes, self._q, states, self._A))

    def estimate(self, state, residual, locked):
        """
        Return the `EstimatedWrench` at each frame, a list; None at one that no joint moves.

        ``residual`` (nv,), N·m or N, of a state of the model, ``locked`` (nv,) of bool are the
        joints under a brake; nothing is checked.
        """
        self._q[:], self._v[:] = state.q, state.v
        for kernel in self._kernels:
            kernel()
        return [_explain(self._A, J, chain, residual, self._least_mobility) if chain.any() else None
                for J, chain in zip(self._J.reshape(len(self._chains), 6, -1),
                                    self._chains & ~locked, strict=True)]


def _explain(A, J, chain, r, least_mobility):
    """Return the `EstimatedWrench` for A (nv, nv), J (6, nv), and the joints of the chain (nv,)."""
    J = J[:, chain]
    responses = np.linalg.solve(A[np.ix_(chain, chain)], np.column_stack([J.T, r[chain]]))
    Lambda_inverse = J @ responses[:, :6]
    scale = row_scales(Lambda_inverse.diagonal(), least_mobility)
    eigenvalues, vectors = np.linalg.eigh(scale[:, None] * Lambda_inverse * scale)
    t = 6.0 * eigenvalues / SINGULARITY_THRESHOLD
    gains = np.array(list(map(smooth_step, t))) / np.maximum(eigenvalues, np.finfo(float).tiny)
    turned = scale[:, None] * vectors
    F = turned @ (gains * (turned.T @ (J @ responses[:, 6])))
    remainder = np.zeros(r.size)
    remainder[chain] = r[chain] - J.T @ F
    return EstimatedWrench(F, int((t >= 1.0).sum()), remainder)
