# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The inverse of one level's Λ⁻¹, bounded also where its tasks cannot all be met.

A level is some consecutive rows of the stack, the first of which is ``first``. Arrays of one number
a row are given as their parts of these rows; ``factor`` and ``vectors`` are scratch for the largest
level, of which each uses the upper left corner.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, shared
from opspace_control.control.solver.cholesky import (
    bound_eigenvalues,
    factorise,
    inverse_trace,
    solve_lower,
    solve_upper,
)
from opspace_control.control.solver.semidefinite import (
    Factor,
    factorise_gram,
    factorise_pivoted,
    fit_redundant,
    solve_transposed,
)
from opspace_control.spatial.dense import add_scaled, dot_product
from opspace_control.spatial.eigen import diagonalise, reflect, reflect_back, tridiagonalise
from opspace_control.spatial.six import put, six

# Eigenvalues up to this are rounding errors. One of 1e-12 has a part of 1e-6 in the force of its
# direction.
_ROUNDING = 1e-13


class Decomposition(NamedTuple):
    """A level's scaled Λ⁻¹, decomposed: its factor, or eigenvectors where it is near singular."""

    matrix: np.ndarray = 'k k'  # factor of the rows that are used; or what `diagonalise` leaves
    vectors: np.ndarray = 'k k'  # eigenvectors of the used rows, as rows
    gains: np.ndarray = 'k'  # of the eigenvectors
    scale: np.ndarray = 'k'
    scratch: np.ndarray = 'k'  # of `decompose_level`, and of `solve_level`
    order: np.ndarray = 'k int'  # rows that are used, as of `Factor`
    sizes: np.ndarray = '2 int'  # rank, -1 where M is diagonalised, and number of used rows


@inlined
def rows_of_level(whole, first, last):
    """Return the `Decomposition` of these rows of a stack."""
    return Decomposition(
        whole.matrix, whole.vectors, whole.gains[first:last], whole.scale[first:last],
        whole.scratch[first:last], whole.order[first:last], whole.sizes)


@inlined
def factor_of_level(level):
    """Return the `Factor` of a level whose rows are redundant."""
    return Factor(level.vectors, level.matrix, level.order, level.sizes, level.scale)


@shared
def write_used(L, first, scale, order, matrix):
    """Write ``M = S Λ⁻¹ S`` over the rows that have a scale; return how many."""
    used = 0
    for r in range(scale.size):
        if scale[r] != 0.0 or scale[r] * L[first + r, first + r] != 0.0:  # infinity stays visible
            order[used] = r
            for p in range(used + 1):
                c = order[p]
                matrix[used, p] = scale[r] * L[first + r, first + c] * scale[c]
            used += 1
    return used


@inlined
def truncate(L, first, threshold, level):
    """
    Decompose the scaled ``M = S Λ⁻¹ S`` and write what `solve_truncated` makes of its eigenvalues.

    ``φ(λ) / λ``, φ being the `smooth_step` of ``λ / threshold``, truncates each nearly lost
    direction smoothly: the task meets it exactly at the threshold, by half at half of it, not at
    all at zero, and the null space gets the rest. The gain never exceeds 9/8 of ``1 / threshold``.
    ``scratch`` receives λ itself.
    """
    used = write_used(L, first, level.scale, level.order, level.matrix)
    level.sizes[0], level.sizes[1] = -1, used
    gains, values = level.gains[:used], level.scratch[:used]
    tridiagonalise(level.matrix, gains, values)
    diagonalise(gains, values, level.vectors)
    for k in range(used):
        values[k] = gains[k]
        t = gains[k] / threshold
        if t <= 0.0:
            gains[k] = 0.0
        elif t < 1.0:
            gains[k] = t * (3.0 - 2.0 * t) / threshold
        else:
            gains[k] = 1.0 / gains[k]


@inlined
def spread(order, used, x):
    """Move the first numbers of x (n,) to the used rows; others become 0."""
    p = used - 1
    for r in range(x.size - 1, -1, -1):
        if p >= 0 and order[p] == r:
            x[r] = x[p]
            p -= 1
        else:
            x[r] = 0.0


@inlined
def project_modes(level, x, parts):
    """Write the parts of ``S x`` along the eigenvectors that `truncate` found; x is lost."""
    used = level.sizes[1]
    y = x[:used]
    for p in range(used):
        y[p] = level.scale[level.order[p]] * x[level.order[p]]
    for k in range(used - 2):
        reflect(level.matrix, k, y)
    for k in range(used):
        parts[k] = dot_product(level.vectors[k], y, used)


@inlined
def assemble_modes(level, parts, x):
    """Write ``S u`` to x, u being the sum of these parts of the eigenvectors."""
    used = level.sizes[1]
    y = x[:used]
    for p in range(used):
        y[p] = 0.0
    for k in range(used):
        add_scaled(y, parts[k], level.vectors[k], used)
    reflect_back(level.matrix, y)
    spread(level.order, used, x)
    for r in range(x.size):
        x[r] *= level.scale[r]


@inlined
def solve_truncated(level, x):
    """Replace x by ``X x``, ``X = S φ(M) M⁻¹ S``, M being the matrix that `truncate` decomposed."""
    parts = level.scratch
    project_modes(level, x, parts)
    for k in range(level.sizes[1]):
        parts[k] *= level.gains[k]
    assemble_modes(level, parts, x)


@inlined
def solve_factorised(level, used, x):
    """Replace x by ``S M⁻¹ S x``, M being the factorised matrix of the used rows."""
    order, scale, scratch = level.order, level.scale, level.scratch
    for p in range(used):
        scratch[p] = scale[order[p]] * x[order[p]]
    solve_lower(level.matrix, used, scratch)
    solve_upper(level.matrix, used, scratch)
    for r in range(x.size):
        x[r] = 0.0
    for p in range(used):
        x[order[p]] = scale[order[p]] * scratch[p]


@inlined
def decompose_level(L, first, threshold, near, directions, level):
    """
    Prepare `solve_level`; return a bound of the eigenvalues of ``M = S Λ⁻¹ S``.

    Cholesky factors do where no direction is truncated. If rows are redundant, as those of more
    axes than there are joints, these are ``F Fᵀ = M`` with as many columns as the rank, and the
    factor of ``Fᵀ F``, which has the other eigenvalues of M. Otherwise M is diagonalised.

    Parameters
    ----------
    L : (k, k) array
        Its lower triangle.
    first : int
        The level's first row.
    threshold, near : float
        Eigenvalue below which a direction is truncated, and the one from which on factors do, at
        least as large.
    directions : bool
        Whether eigenvectors are needed wherever an eigenvalue is below ``near``, zeros included.
    level : Decomposition
        With ``scale``; the others are written. Of a diagonalised M ``scratch`` has the eigenvalues.

    Returns
    -------
    float
        A lower bound of the smallest eigenvalue, tight within the number of rows; 0 if the tightest
        one is below ``near``.

    """
    count = level.scale.size
    used = write_used(L, first, level.scale, level.order, level.matrix)
    level.sizes[0] = level.sizes[1] = used
    if factorise(level.matrix, used):
        least = bound_eigenvalues(level.matrix, used, near, level.scratch)
        if least >= near:
            return least
    if not directions:
        factor = factor_of_level(level)
        factorise_pivoted(L, first, count, _ROUNDING, level.scratch, factor)
        rank, rest = level.sizes[0], 0.0
        for p in range(rank, used):
            rest += abs(level.scratch[level.order[p]])
        if 0 < rank < used and rest <= count * _ROUNDING and factorise_gram(factor) and (  # not NaN
                inverse_trace(level.matrix, rank, level.scratch) * threshold <= 1.0):
            return 0.0
    truncate(L, first, threshold, level)
    return 0.0


@inlined
def solve_level(level, x):
    """Replace x by X x: the inverse as `decompose_level` prepared it."""
    rank, used = level.sizes[0], level.sizes[1]
    if rank == used:
        solve_factorised(level, used, x)
    elif rank > 0:
        factor = factor_of_level(level)
        fit_redundant(factor, x, level.scratch)
        solve_transposed(factor, level.scratch, x)
    else:
        solve_truncated(level, x)


@inlined
def solve_factorised_columns(level, M, first, column):
    """Do as `solve_factorised` for six columns of M, each of which has x from its first row on."""
    matrix, order, scale, used = level.matrix, level.order, level.scale, level.sizes[1]
    for p in range(used):
        numbers = scale[order[p]] * six(M[first + order[p]], column)
        for q in range(p):
            numbers = numbers - matrix[p, q] * six(M[first + order[q]], column)
        put(M[first + order[p]], column, matrix[p, p] * numbers)
    for p in range(used - 1, -1, -1):
        numbers = six(M[first + order[p]], column)
        for q in range(p + 1, used):
            numbers = numbers - matrix[q, p] * six(M[first + order[q]], column)
        put(M[first + order[p]], column, matrix[p, p] * numbers)
    for r in range(scale.size):
        row = M[first + r]
        put(row, column, scale[r] * six(row, column))


@inlined
def solve_columns(level, M, first, begin, end, x):
    """
    Replace some of six columns of M, the rows of the level from ``first`` on, by X times them.

    The others, up to multiples of six, are 0.
    """
    if level.sizes[0] == level.sizes[1]:
        solve_factorised_columns(level, M, first, begin - begin % 6)
        return
    for j in range(begin, end):
        for r in range(x.size):
            x[r] = M[first + r, j]
        solve_level(level, x)
        for r in range(x.size):
            M[first + r, j] = x[r]
