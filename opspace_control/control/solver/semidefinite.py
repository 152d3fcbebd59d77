# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The pseudo-inverse of a small semidefinite matrix by Cholesky, its rank decided.

Higham, Accuracy and Stability of Numerical Algorithms, 10.3.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.solver.cholesky import factorise, solve_lower, solve_upper

# Of what a row yields, in units of itself: less counts as none. Rounding leaves 1e-15 of redundant
# rows.
RANK_TOLERANCE = 1e-9


@inlined
def factorise_gram(F, count, rank, gram):
    """Write the Cholesky factor of ``Fᵀ F``."""
    for i in range(rank):
        for j in range(i + 1):
            gram[i, j] = 0.0
            for r in range(count):
                gram[i, j] += F[r, i] * F[r, j]
    factorise(gram, rank)


@called
def decompose_semidefinite(L, scale, count, remaining, order, F, gram):
    """
    Write ``F`` with ``F Fᵀ = S L S`` over the first ``count`` rows; return its rank.

    Cholesky with pivots: column k of F belongs to row ``order[k]``. Where rows are redundant,
    ``gram`` becomes the Cholesky factor of ``Fᵀ F``.
    """
    for r in range(count):
        remaining[r] = scale[r] * L[r, r] * scale[r]
    rank = 0
    while rank < count:
        pivot = 0
        for r in range(1, count):
            if remaining[r] > remaining[pivot]:
                pivot = r
        if not remaining[pivot] > RANK_TOLERANCE:
            break
        root = math.sqrt(remaining[pivot])
        order[rank] = pivot
        for r in range(count):
            t = scale[r] * (L[r, pivot] if r >= pivot else L[pivot, r]) * scale[pivot]
            for k in range(rank):
                t -= F[r, k] * F[pivot, k]
            F[r, rank] = t / root
            remaining[r] -= F[r, rank] * F[r, rank]
        for k in range(rank):
            F[order[k], rank] = 0.0
        remaining[pivot] = -1.0
        rank += 1
    if rank < count:
        factorise_gram(F, count, rank, gram)
    return rank


@inlined
def solve_pivoted(F, order, count, x, spare):
    """Replace x by ``(F Fᵀ)⁻¹ x``, F of full rank: a triangle, its rows in pivot order."""
    for k in range(count):
        t = x[order[k]]
        for j in range(k):
            t -= F[order[k], j] * spare[j]
        spare[k] = t / F[order[k], k]
    for k in range(count - 1, -1, -1):
        t = spare[k]
        for j in range(k + 1, count):
            t -= F[order[j], k] * x[order[j]]
        x[order[k]] = t / F[order[k], k]


@inlined
def solve_redundant(F, gram, rank, count, x, spare):
    """Replace x by ``(F Fᵀ)⁺ x = F (Fᵀ F)⁻² Fᵀ x``."""
    for k in range(rank):
        spare[k] = 0.0
        for r in range(count):
            spare[k] += F[r, k] * x[r]
    for _ in range(2):
        solve_lower(gram, rank, spare)
        solve_upper(gram, rank, spare)
    for r in range(count):
        x[r] = 0.0
        for k in range(rank):
            x[r] += F[r, k] * spare[k]


@called
def solve_semidefinite(F, gram, order, rank, scale, count, x, spare):
    """
    Replace x by ``S (S L S)⁺ S x``, L being the matrix that `decompose_semidefinite` decomposed.

    Where rows are redundant that is the smallest solution in the scaled rows: the force is shared.
    """
    for r in range(count):
        x[r] *= scale[r]
    if rank == count:
        solve_pivoted(F, order, count, x, spare)
    else:
        solve_redundant(F, gram, rank, count, x, spare)
    for r in range(count):
        x[r] *= scale[r]
