# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Cholesky factors of small matrices: factorisation, triangular solves, rows that come and go.

The diagonal of every factor is stored inverted, so that the solves multiply instead of dividing.
"""

import math

from opspace_control.compiled import inlined, rare, shared
from opspace_control.spatial.dense import add_scaled, dot_product


@inlined
def symmetric(M, r, c):
    """Return an entry of a symmetric matrix of which the lower triangle is given."""
    return M[max(r, c), min(r, c)]


@inlined
def factorise_block(M, first, last, count, least=0.0):
    """
    Replace the columns ``first`` to ``last`` of M, in so many rows, by those of its factor.

    What the columns before them do has been subtracted. Returns whether all pivots are more than
    ``least``.
    """
    for k in range(first, last):  # by columns: the rows below do not wait for each other
        pivot = M[k, k] - dot_product(M[k, first:], M[k, first:], k - first)
        if not pivot > least:
            return False
        M[k, k] = 1.0 / math.sqrt(pivot)
        for i in range(k + 1, count):
            left = M[i, k] - dot_product(M[i, first:], M[k, first:], k - first)
            M[i, k] = left * M[k, k]
    return True


@shared
def factorise(M, count, least=0.0):
    """
    Replace the lower triangle of ``count`` rows of a symmetric matrix by its Cholesky factor.

    Returns whether all pivots are more than ``least``; if not, the triangle is lost, and its first
    entry NaN, which stays visible in what is solved with it.
    """
    regular = factorise_block(M, 0, count, count, least)
    if not regular:
        M[0, 0] = math.nan
    return regular


@shared
def solve_lower(factor, count, x):
    """Replace x by ``L⁻¹ x``, L being the first ``count`` rows of the factor."""
    for i in range(count):
        x[i] = (x[i] - dot_product(factor[i], x, i)) * factor[i, i]


@inlined
def solve_upper_block(factor, first, last, x):
    """Replace x from ``first`` to ``last`` by ``L⁻ᵀ x``, L being that block of the factor."""
    for i in range(last - 1, first - 1, -1):
        x[i] *= factor[i, i]
        add_scaled(x[first:], -x[i], factor[i, first:], i - first)


@shared
def solve_upper(factor, count, x):
    """Replace x by ``L⁻ᵀ x``, L being the first ``count`` rows of the factor."""
    solve_upper_block(factor, 0, count, x)


@inlined
def append_row(factor, count, column, pivot):
    """
    Append a row to the factor of ``count`` rows.

    Parameters
    ----------
    factor : (n, n) array
        Lower triangular, its diagonal inverted.
    count : int
        Rows so far.
    column : (n,) array
        ``L⁻¹ a``, a being the new row's entries beside the diagonal.
    pivot : float
        What is left of its diagonal entry, ``a_pp − |L⁻¹ a|²``, positive.

    """
    for k in range(count):
        factor[count, k] = column[k]
    factor[count, count] = 1.0 / math.sqrt(pivot)


@rare
def delete_row(factor, count, row):
    """
    Delete a row of the factor of ``count`` rows.

    The rows below move up; plane rotations of their columns make them triangular again (Golub and
    Van Loan, Matrix Computations, 6.5.4).
    """
    for i in range(row, count - 1):
        for k in range(i + 2):
            factor[i, k] = factor[i + 1, k]
    for k in range(row, count - 1):
        a, b = factor[k, k], 1.0 / factor[k, k + 1]  # b was on the diagonal
        r = math.sqrt(a * a + b * b)
        c, s = a / r, b / r
        factor[k, k] = 1.0 / r
        for i in range(k + 1, count - 1):
            a, b = factor[i, k], factor[i, k + 1]
            factor[i, k] = c * a + s * b
            factor[i, k + 1] = c * b - s * a


@inlined
def solve_unit(factor, n, j, column):
    """Write ``L⁻¹ e_j`` from its j-th entry on, L being the factor of n rows."""
    column[j] = factor[j, j]
    for i in range(j + 1, n):
        t = 0.0
        for k in range(j, i):
            t -= factor[i, k] * column[k]
        column[i] = t * factor[i, i]


@inlined
def inverse_trace(factor, n, column):
    """
    Return the trace of the inverse of the factorised matrix of n rows.

    Its reciprocal is a lower bound of the smallest eigenvalue, tight within the number of rows.
    """
    trace = 0.0
    for j in range(n):
        solve_unit(factor, n, j, column)
        for i in range(j, n):
            trace += column[i] * column[i]
    return trace


@inlined
def inverse_norm(factor, n, column):
    """
    Return the Frobenius norm of the inverse of the factorised matrix of n rows.

    Its reciprocal is a bound as that of the trace, tight within the root of the number of rows, and
    takes three times as long.
    """
    square = 0.0
    for j in range(n):
        solve_unit(factor, n, j, column)
        for i in range(n - 1, j - 1, -1):
            for k in range(i + 1, n):
                column[i] -= factor[k, i] * column[k]
            column[i] *= factor[i, i]
            square += column[i] * column[i] * (1.0 if i == j else 2.0)
    return math.sqrt(square)


@inlined
def bound_eigenvalues(factor, n, enough, column):
    """
    Return a lower bound of the smallest eigenvalue of the factorised matrix of n rows.

    By the trace of its inverse, and where that is not ``enough`` by the norm, which is tighter,
    unless the eigenvalue, n times the first bound at most, is less.
    """
    least = 1.0 / inverse_trace(factor, n, column)
    return 1.0 / inverse_norm(factor, n, column) if least < enough <= n * least else least
