# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The mobility by passive joints, kept as the factor that it has: ``Q = J_p A_pp⁻¹ J_pᵀ = Pᵀ P``.

P has a row for each passive joint: the points' unit wrenches projected on it over √D. With the
coordinates ``H = F_c⁻¹ S P_c`` of its rows in the factor ``F_c F_cᵀ = S (Q_cc + Γ) S`` of the
constraint rows,

``Q_tt − Q_tc (Q_cc + Γ)⁺ Q_ct = P_tᵀ (1 − Hᵀ H) P_t = Wᵀ W``.

W has as many rows as there are motions of passive joints that constraints leave free: none for a
floating base on a sole, one for a base on two points.
"""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, shared
from opspace_control.dynamics.force_propagation import is_idle
from opspace_control.spatial.dense import add_scaled
from opspace_control.spatial.six import put, six

# Part of a motion of passive joints that constraints leave, below which it is rounding: what
# pivots of Q_cc leave is known to 1e-13 and less. In Λ⁻¹ that is a part as small.
_ROUNDING = 1e-12


class PassiveMobility(NamedTuple):
    """Q of the stack's k rows, c of them of constraints, by P."""

    rows: np.ndarray = '2 int'  # of P, and of W
    projection: np.ndarray = 'nv b'  # P, of points, then of trunks
    constrained: np.ndarray = 'c c'  # Q_cc, lower triangle; then with Γ of `regularise_rows`
    coordinates: np.ndarray = 'c nv'  # H
    left: np.ndarray = 'nv nv'  # the factor of ``1 − Hᵀ H``, by rows
    free: np.ndarray = 'nv k'  # W, from the first task's column on
    diagonal: np.ndarray = 'nv'  # what the factor leaves of that of ``1 − Hᵀ H``


@inlined
def sum_constrained(passive, carried):
    """Write the lower triangle of Q_cc; rows of idle constraints are 0."""
    Q, P = passive.constrained, passive.projection
    for e in range(Q.shape[0] // 6):
        for d in range(e + 1):
            idle = is_idle(carried[e]) or is_idle(carried[d])
            for r in range(6 * e, 6 * e + 6):
                put(Q[r], 6 * d, 0.0)
            if idle:
                continue
            for r in range(6 * e + carried[e].begin, 6 * e + carried[e].end, 3):
                x, y, z = six(Q[r], 6 * d), six(Q[r + 1], 6 * d), six(Q[r + 2], 6 * d)
                for p in range(passive.rows[0]):
                    numbers = six(P[p], 6 * d)
                    x = x + P[p, r] * numbers
                    y = y + P[p, r + 1] * numbers
                    z = z + P[p, r + 2] * numbers
                put(Q[r], 6 * d, x)
                put(Q[r + 1], 6 * d, y)
                put(Q[r + 2], 6 * d, z)


@shared
def combine_projections(row, passive, carried, count, out):
    """Write ``row P_t`` of tasks, with a number for each row of P."""
    P = passive.projection
    for e in range(count // 6, out.size // 6):
        put(out, 6 * e, 0.0)
        numbers = six(out, 6 * e)
        for p in range(0 if is_idle(carried[e]) else passive.rows[0]):
            numbers = numbers + row[p] * six(P[p], 6 * e)
        put(out, 6 * e, numbers)


@inlined
def extend_passive_factor(passive, factor, carried, count):
    """Write H, and the coordinates ``F_c⁻¹ S Q_ct = H P_t`` of tasks, as `extend_factor` does."""
    F, P, H, rows = factor.F, passive.projection, passive.coordinates, passive.rows[0]
    for k in range(factor.sizes[0]):
        pivot, row = factor.order[k], H[k]
        for p in range(rows):
            row[p] = factor.scale[pivot] * P[p, pivot]
        for j in range(k):
            add_scaled(row, -F[pivot, j], H[j], rows)
        per_pivot = 1.0 / F[pivot, k]
        for p in range(rows):
            row[p] *= per_pivot
        combine_projections(row, passive, carried, count, F[k])


@inlined
def find_free_motions(passive, rank, carried, count):
    """
    Write W by a Cholesky factorisation of ``1 − Hᵀ H`` with pivots, H having so many rows.

    Each row of ``left`` takes the one column that is its pivot's. W is P itself if H is empty.
    """
    H, left, P, W, rows, diagonal = (
        passive.coordinates, passive.left, passive.projection, passive.free, passive.rows[0],
        passive.diagonal)
    passive.rows[1] = rows
    if rank == 0:
        for w in range(rows):
            for c in range(count, W.shape[1], 6):
                put(W[w], c, six(P[w], c))
        return
    for p in range(rows):
        diagonal[p] = 1.0
        for k in range(rank):
            diagonal[p] -= H[k, p] * H[k, p]
    for w in range(rows):
        pivot = 0
        for p in range(1, rows):
            if diagonal[p] > diagonal[pivot]:
                pivot = p
        if diagonal[pivot] <= _ROUNDING:  # NaN stays visible
            passive.rows[1] = w
            break
        row = left[w]
        row[:rows] = 0.0
        row[pivot] = 1.0
        for k in range(rank):
            add_scaled(row, -H[k, pivot], H[k], rows)
        for k in range(w):
            add_scaled(row, -left[k, pivot], left[k], rows)
        per_root = 1.0 / math.sqrt(diagonal[pivot])
        for p in range(rows):
            row[p] *= per_root
            diagonal[p] -= row[p] * row[p]
        combine_projections(row, passive, carried, count, W[w])
