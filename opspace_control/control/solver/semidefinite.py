# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The pseudo-inverse of a small semidefinite matrix by Cholesky, its rank decided.

Higham, Accuracy and Stability of Numerical Algorithms, 10.3. With ``S M S = F Fᵀ``, S the scales of
the rows, ``M⁺ = S (F Fᵀ)⁺ S`` takes two steps: coordinates u of F, then a vector of rows.
"""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, shared
from opspace_control.control.solver.cholesky import (
    factorise,
    solve_lower,
    solve_upper,
    symmetric,
)
from opspace_control.spatial.dense import add_scaled, dot_product

# A pivot of ``S M S``, whose diagonal is about 1, up to this counts as zero: rounding leaves 1e-15.
PIVOT_TOLERANCE = 1e-9


class Factor(NamedTuple):
    """The factor F of the used rows of a matrix of k rows, those that have a scale."""

    F: np.ndarray = 'k k'  # row r belongs to row r of the matrix
    gram: np.ndarray = 'k k'  # Cholesky factor of FᵀF; not written where no row is redundant
    order: np.ndarray = 'k int'  # used rows; first the pivots, in the order of the columns
    sizes: np.ndarray = '2 int'  # rank, and number of used rows
    scale: np.ndarray = 'k'  # S


@inlined
def factorise_gram(factor):
    """Write the Cholesky factor of ``Fᵀ F``; return whether it is regular: if not, it is NaN."""
    gram, rank = factor.gram, factor.sizes[0]
    for i in range(rank):
        gram[i, :i + 1] = 0.0
    for p in range(factor.sizes[1]):
        row = factor.F[factor.order[p]]
        for i in range(min(p + 1, rank)):  # the p-th pivot has nothing beyond its own column
            add_scaled(gram[i], row[i], row, i + 1)
    return factorise(gram, rank)


@inlined
def factorise_pivoted(M, first, count, tolerance, remaining, factor):
    """
    Write the factor of ``count`` rows of M; return whether none of those used is redundant.

    ``F Fᵀ = S M S``, by Cholesky with pivots: those up to the ``tolerance`` count as none. M is the
    block of a lower triangle that begins at the ``first`` row. ``remaining`` receives what the
    columns leave of the diagonal of redundant rows.
    """
    F, order, scale, used, trace = factor.F, factor.order, factor.scale, 0, 0.0
    for r in range(count):
        remaining[r] = scale[r] * M[first + r, first + r] * scale[r]
        if scale[r] != 0.0 or remaining[r] != 0.0:  # infinity stays visible: it makes NaN
            order[used] = r
            used += 1
        trace += remaining[r]
    if math.isnan(trace):  # no comparison is true: there would be no pivot
        F[order[0], 0], factor.sizes[0], factor.sizes[1] = trace, 1, 1
        return True
    factor.sizes[0], factor.sizes[1] = used, used
    for rank in range(used):
        place = rank
        for p in range(rank + 1, used):
            if remaining[order[p]] > remaining[order[place]]:
                place = p
        pivot = order[place]
        if not remaining[pivot] > tolerance:
            factor.sizes[0] = rank
            break
        order[place], order[rank] = order[rank], pivot
        F[pivot, rank] = math.sqrt(remaining[pivot])
        per_root = 1.0 / F[pivot, rank]
        for p in range(rank + 1, used):
            r = order[p]
            t = scale[r] * symmetric(M, first + r, first + pivot) * scale[pivot]
            F[r, rank] = (t - dot_product(F[r], F[pivot], rank)) * per_root
            remaining[r] -= F[r, rank] * F[r, rank]
    return factor.sizes[0] == used


@shared
def decompose_semidefinite(M, count, remaining, factor):
    """Write the factor of the first ``count`` rows of a matrix, of its lower triangle."""
    if not factorise_pivoted(M, 0, count, PIVOT_TOLERANCE, remaining, factor):
        factorise_gram(factor)


@inlined
def find_coordinates(factor, x, u):
    """
    Write u with ``F u = S x``, x (n,) being in the range of the matrix; the pivots determine it.

    Columns of a semidefinite matrix, beside the decomposed block, are in the range of the block.
    """
    F, order, scale = factor.F, factor.order, factor.scale
    for k in range(factor.sizes[0]):
        pivot = order[k]
        u[k] = (scale[pivot] * x[pivot] - dot_product(F[pivot], u, k)) / F[pivot, k]


@inlined
def fit_redundant(factor, x, u):
    """Do as `fit_coordinates`, with the factor of ``Fᵀ F``."""
    rank = factor.sizes[0]
    for k in range(rank):
        u[k] = 0.0
    for p in range(factor.sizes[1]):
        r = factor.order[p]
        add_scaled(u, factor.scale[r] * x[r], factor.F[r], min(p + 1, rank))
    solve_lower(factor.gram, rank, u)
    solve_upper(factor.gram, rank, u)


@shared
def fit_coordinates(factor, x, u):
    """Write u of the least ``|F u − S x|``, x being any (n,)."""
    if factor.sizes[0] == factor.sizes[1]:
        find_coordinates(factor, x, u)
    else:
        fit_redundant(factor, x, u)


@shared
def solve_transposed(factor, u, y):
    """
    Write to y (c,) the least ``|S⁻¹ y|`` with ``Fᵀ S⁻¹ y = u``; rows without a scale become 0.

    u is lost.
    """
    F, order, scale = factor.F, factor.order, factor.scale
    rank, used = factor.sizes[0], factor.sizes[1]
    for r in range(y.size):
        y[r] = 0.0
    if rank == used:
        for k in range(rank - 1, -1, -1):
            pivot = order[k]
            t = u[k] / F[pivot, k]
            add_scaled(u, -t, F[pivot], k)
            y[pivot] = scale[pivot] * t
        return
    solve_lower(factor.gram, rank, u)
    solve_upper(factor.gram, rank, u)
    for p in range(used):
        r = order[p]
        y[r] = scale[r] * dot_product(F[r], u, min(p + 1, rank))


@inlined
def solve_semidefinite(factor, x, u):
    """
    Replace x (c,) by ``S (S M S)⁺ S x``; u (c,) is scratch.

    Where rows are redundant that is the smallest solution in the scaled rows: the force is shared.
    """
    fit_coordinates(factor, x, u)
    solve_transposed(factor, u, x)
