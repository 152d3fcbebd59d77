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
    """Write the Cholesky factor of ``Fᵀ F``; return whether it is regular."""
    for i in range(rank):
        for j in range(i + 1):
            gram[i, j] = 0.0
    for r in range(count):
        for i in range(rank):
            x = F[r, i]
            if x != 0.0:  # pivots have nothing from their own column on
                for j in range(i + 1):
                    gram[i, j] += x * F[r, j]
    return factorise(gram, rank)


@inlined
def factorise_pivoted(L, first, scale, count, tolerance, remaining, order, F):
    """
    Write ``F`` with ``F Fᵀ = S L S`` over ``count`` rows from the ``first`` on; return its rank.

    Cholesky with pivots: column k of F belongs to row ``order[k]``, if there is an order. Pivots up
    to the ``tolerance`` count as none. ``remaining`` (count,) receives what the columns leave of
    the diagonal, and −1 for pivots.
    """
    for r in range(count):
        remaining[r] = scale[r] * L[first + r, first + r] * scale[r]
    rank = 0
    while rank < count:
        pivot = 0
        for r in range(1, count):
            if remaining[r] > remaining[pivot]:
                pivot = r
        if not remaining[pivot] > tolerance:
            break
        per_root = 1.0 / math.sqrt(remaining[pivot])
        if order is not None:
            order[rank] = pivot
        for r in range(count):
            if remaining[r] == -1.0:  # was a pivot
                F[r, rank] = 0.0
                continue
            row, column = first + max(r, pivot), first + min(r, pivot)
            t = scale[r] * L[row, column] * scale[pivot]
            for k in range(rank):
                t -= F[r, k] * F[pivot, k]
            F[r, rank] = t * per_root
            remaining[r] -= F[r, rank] * F[r, rank]
        remaining[pivot] = -1.0
        rank += 1
    return rank


@called
def decompose_semidefinite(L, scale, count, remaining, order, F, gram):
    """
    Write ``F`` with ``F Fᵀ = S L S`` over the first ``count`` rows; return its rank.

    As in `factorise_pivoted`. Where rows are redundant, ``gram`` becomes the Cholesky factor of
    ``Fᵀ F``.
    """
    rank = factorise_pivoted(L, 0, scale, count, RANK_TOLERANCE, remaining, order, F)
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
