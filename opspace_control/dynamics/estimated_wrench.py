# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The wrench at a frame that explains unknown joint forces."""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.articulated_body import mass_matrix
from opspace_control.dynamics.data import NODE_STATE, make_points, moment_nodes
from opspace_control.dynamics.kinematics import fill_jacobian, move
from opspace_control.dynamics.preparation import check_state, joint_vector
from opspace_control.errors import ModelError
from opspace_control.spatial.eigen import (
    SINGULARITY_THRESHOLD,
    diagonalise,
    reflect_back,
    smooth_step,
    tridiagonalise,
)

_TINY = float(np.finfo(float).tiny)


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


class _Chains(NamedTuple):
    """The chains of m frames, of n joints at most, and what explains joint forces there."""

    A: np.ndarray           # (nv, nv), joint-space inertia
    J: np.ndarray           # (6 m, nv)
    residual: np.ndarray    # (nv,)
    joints: np.ndarray      # (m, n), of each chain, as many as
    counts: np.ndarray      # (m,)
    wrench: np.ndarray      # (m, 6)
    ranks: np.ndarray       # (m,)
    remainder: np.ndarray   # (m, nv)
    factor: np.ndarray      # (n, n), scratch, as all below
    rows: np.ndarray        # (7, n), L⁻¹ Jᵀ by row, and L⁻¹ r
    mobility: np.ndarray    # (6, 6), scaled Λ⁻¹
    scale: np.ndarray       # (6,)
    eigenvalues: np.ndarray  # (6,)
    off: np.ndarray         # (6,)
    vectors: np.ndarray     # (6, 6)
    least_mobility: np.ndarray  # (1,), 1/kg, as of `row_scales`


@inlined
def project_chain(chains, e):
    """Write ``L⁻¹ Jᵀ`` and ``L⁻¹ r``, ``L Lᵀ`` being the inertia of the joints of chain e."""
    joints, L, rows = chains.joints[e], chains.factor, chains.rows
    for k in range(chains.counts[e]):
        for i in range(k + 1):
            t = chains.A[joints[k], joints[i]]
            for j in range(i):
                t -= L[k, j] * L[i, j]
            L[k, i] = t / L[i, i] if i < k else math.sqrt(t)
        for r in range(7):
            t = chains.J[6 * e + r, joints[k]] if r < 6 else chains.residual[joints[k]]
            for j in range(k):
                t -= L[k, j] * rows[r, j]
            rows[r, k] = t / L[k, k]


@inlined
def scale_mobility(chains, e):
    """Write the scaling of `row_scales` and the scaled Λ⁻¹ of the rows of chain e."""
    mobility, rows, scale = chains.mobility, chains.rows, chains.scale
    for r in range(6):
        for c in range(r + 1):
            mobility[r, c] = 0.0
            for j in range(chains.counts[e]):
                mobility[r, c] += rows[r, j] * rows[c, j]
    for first in range(0, 6, 3):
        mean = (mobility[first, first] + mobility[first + 1, first + 1]
                + mobility[first + 2, first + 2]) / 3.0
        if first == 0:
            mean = max(mean, chains.least_mobility[0])
        for r in range(first, first + 3):
            scale[r] = 1.0 / math.sqrt(mean) if mean > 0.0 else 0.0
    for r in range(6):
        for c in range(r + 1):
            mobility[r, c] *= scale[r] * scale[c]


@kernel
def explain_forces(chains):
    """Write wrench, rank and remainder of `EstimatedWrench` for each chain that has a joint."""
    F, rows, scale, found = chains.wrench, chains.rows, chains.scale, chains.eigenvalues
    for e in range(chains.counts.size):
        project_chain(chains, e)
        scale_mobility(chains, e)
        tridiagonalise(chains.mobility, found, chains.off)
        diagonalise(found, chains.off, chains.vectors)
        chains.ranks[e] = 0
        F[e, :] = 0.0
        for i in range(6):
            vector, t, along = chains.vectors[i], 6.0 * found[i] / SINGULARITY_THRESHOLD, 0.0
            reflect_back(chains.mobility, vector)
            chains.ranks[e] += t >= 1.0
            for r in range(6):
                for j in range(chains.counts[e]):
                    along += vector[r] * scale[r] * rows[r, j] * rows[6, j]
            along *= smooth_step(t) / max(found[i], _TINY)
            for r in range(6):
                F[e, r] += scale[r] * vector[r] * along
        chains.remainder[e, :] = 0.0
        for j in range(chains.counts[e]):
            k = chains.joints[e, j]
            t = chains.residual[k]
            for r in range(6):
                t -= chains.J[6 * e + r, k] * F[e, r]
            chains.remainder[e, k] = t


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
        self._chains = np.zeros((points.size, model.nv), bool)
        moves = nodes['v_index'] >= 0
        for chain, support in zip(self._chains, supports.T, strict=True):
            chain[nodes['v_index'][(support != 0) & moves]] = True
        if model.floating_base and not base:
            self._chains[:, :6] = False
        n, m = max(int(self._chains.sum(axis=1).max(initial=0)), 1), points.size
        self._found = _Chains(
            np.zeros((model.nv, model.nv)), np.zeros((6 * m, model.nv)), np.zeros(model.nv),
            np.zeros((m, n), int), np.zeros(m, int), np.zeros((m, 6)), np.zeros(m, int),
            np.zeros((m, model.nv)), np.zeros((n, n)), np.zeros((7, n)), np.zeros((6, 6)),
            *np.zeros((3, 6)), np.zeros((6, 6)), np.array([1.0 / nodes['mass'].sum()]))
        self._follow_chains(model.locked.copy())
        self._kernels = (
            move.partial(nodes, self._q, self._v, np.zeros(model.nv), states, points),
            fill_jacobian.partial(nodes, states, points, supports, self._found.J),
            mass_matrix.partial(nodes, self._q, states, self._found.A),
            explain_forces.partial(self._found))

    def _follow_chains(self, locked):
        """Find the joints of each chain that are not locked."""
        self._locked, chains = locked, self._chains & ~locked
        self._found.counts[:] = chains.sum(axis=1)
        for joints, chain in zip(self._found.joints, chains, strict=True):
            joints[:chain.sum()] = np.flatnonzero(chain)

    def estimate(self, state, residual, locked):
        """
        Return the `EstimatedWrench` at each frame, a list; None at one that no joint moves.

        ``residual`` (nv,), N·m or N, of a state of the model, ``locked`` (nv,) of bool are the
        joints under a brake; nothing is checked.
        """
        if (self._locked != locked).any():
            self._follow_chains(locked.copy())
        found = self._found
        self._q[:], self._v[:], found.residual[:] = state.q, state.v, residual
        for run in self._kernels:
            run()
        return [EstimatedWrench(wrench, rank, remainder) if count else None
                for wrench, rank, remainder, count in zip(
                    found.wrench.copy(), found.ranks.tolist(), found.remainder.copy(),
                    found.counts.tolist(), strict=True)]
