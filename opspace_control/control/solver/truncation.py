# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Nearly singular directions of a level as soft rows.

What the levels above leave of a level is its Schur complement in G. Where that is nearly singular
the level's rows are turned to its eigenvectors, and the row of the eigenvalue λ gets the softness
``δ = λ (1/φ(λ) − 1)``. So its multiplier is ``φ / λ`` times the acceleration, bounded and
continuous, and zero where λ is 0. Levels below see ``(G + diag δ)⁻¹`` of those above, so they get
as much of the direction as this one does not attain.
"""

import math

from opspace_control.compiled import rare
from opspace_control.control.solver.cholesky import (
    append_row,
    bound_eigenvalues,
    factorise,
    solve_lower,
)
from opspace_control.control.solver.program import (
    DEPENDENT,
    Program,
    eliminate_active,
    is_dependent,
)
from opspace_control.spatial.dense import dot_product
from opspace_control.spatial.eigen import diagonalise, reflect, smooth_step, tridiagonalise


@rare
def factorise_above(program, factor, order, level):
    """Factorise ``G_uu + Δ_u`` of the equality rows above a level; return its rank."""
    count = 0
    for r in range(level[0], level[1]):
        if program.lower[r] < program.upper[r]:
            continue
        column = factor[count]
        pivot = eliminate_active(program, factor, order, count, r, column)
        if not is_dependent(program, r, pivot):
            append_row(factor, count, column, pivot)
            order[count] = r
            count += 1
    return count


@rare
def schur_complement(G, first, scale, factor, order, count, M):
    """
    Write the lower triangle of ``M = S (G_ll − G_lu (G_uu + Δ_u)⁻¹ G_ul) S`` of a level.

    The factor's next rows are scratch.
    """
    for i in range(scale.size):
        column = factor[count + i]
        for k in range(count):
            column[k] = G[first + i, order[k]]
        solve_lower(factor, count, column)
        for j in range(i + 1):
            t = G[first + i, first + j] - dot_product(column, factor[count + j], count)
            M[i, j] = scale[i] * t * scale[j]


@rare
def turn(vectors, x, product):
    """Replace x by its parts along scaled eigenvectors, ``V S x``, ``vectors`` being ``V S``."""
    for i in range(x.size):
        product[i] = 0.0
        for r in range(x.size):
            product[i] += vectors[i, r] * x[r]
    for i in range(x.size):
        x[i] = product[i]


@rare
def turn_rows(M, vectors, scale, first, G, bounds, free, product):
    """
    Turn the rows of a level to the eigenvectors of M, in G, in its bounds and in its values.

    ``vectors``, in the basis of the tridiagonal matrix, become ``V S``.
    """
    n = scale.size
    last = first + n
    for k in range(n - 3, -1, -1):
        for i in range(n):
            reflect(M, k, vectors[i, :n])
    for i in range(n):
        for r in range(n):
            vectors[i, r] *= scale[r]
    for j in range(free.size):
        turn(vectors, G[first:last, j], product)
    for j in range(free.size):
        turn(vectors, G[j, first:last], product)
    turn(vectors, free[first:last], product)
    turn(vectors, bounds[0, first:last], product)
    for r in range(first, last):
        bounds[1, r] = bounds[0, r]


@rare
def truncate_level(
        G, level, scale, threshold, softness, bounds, free, factor, order, scratch):
    """
    Make the directions of a level soft of which the levels above leave less than the threshold.

    Parameters
    ----------
    G : (N, N) array
        ``R A⁻¹ Rᵀ`` of n rows, symmetric. Where a direction is below the threshold, the level's
        rows and columns are turned: they belong to the eigenvectors of the scaled Schur complement
        then.
    level : tuple of two int
        The first row of the levels above that count, and the first one of this level. All of them
        are equality rows; rows before them, such as bounds, do not decide what is truncated.
    scale : (m,) array
        Of the level's m rows, such that a row that is free to move has ``scale² G_rr`` of about 1.
        Rows of scale 0 are not active.
    threshold : float
        Of the scaled eigenvalues, below which a direction is truncated.
    softness : (N,) array
        δ of the rows above; receives that of the level's rows.
    bounds, free : (2, N), (n,) arrays
        As in `solve_levels`; the level's entries are turned with its rows. Where nothing is kept
        of a row it has no bounds.
    factor, order, scratch : (N, N), (N,) of int, (2 m + 1, m) arrays or wider ones
        Scratch. If the rows are turned, the second m rows of the last one become ``V S``, scaled
        eigenvectors in rows.

    Returns
    -------
    float
        The least eigenvalue of the scaled Schur complement; a lower bound of it where that is
        not below the threshold.

    """
    first, n = level[1], scale.size
    M, vectors, eigenvalues = scratch, scratch[n:], scratch[2 * n, :n]
    off = factor[free.size - 1, :n]
    program = Program(G, softness, bounds[0], bounds[1], free, first, DEPENDENT)
    count = factorise_above(program, factor, order, level)
    schur_complement(G, first, scale, factor, order, count, M)
    for i in range(n):
        softness[first + i] = 0.0
        for j in range(i + 1):
            vectors[i, j] = M[i, j]
    if factorise(vectors, n):
        least = bound_eigenvalues(vectors, n, threshold, off)
        if least >= threshold:
            return least
    tridiagonalise(M, eigenvalues, off)
    diagonalise(eigenvalues, off, vectors)
    least = math.inf
    for i in range(n):
        least = min(least, eigenvalues[i])
    if least >= threshold:
        return least
    turn_rows(M, vectors, scale, first, G, bounds, free, off)
    for i in range(n):
        eigenvalue = eigenvalues[i]
        kept = smooth_step(eigenvalue / threshold)
        if kept > 0.0:
            softness[first + i] = eigenvalue * (1.0 / kept - 1.0)
        else:
            bounds[0, first + i], bounds[1, first + i] = -math.inf, math.inf
    return least
