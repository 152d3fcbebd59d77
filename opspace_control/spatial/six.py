# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Six numbers at once: the rows of spatial matrices, and six rows of a stack, in vector registers.

Kernels write ``put(y, 0, six(y, 0) + 2.0 * six(x, 6))`` for ``y[:6] += 2.0 * x[6:12]``. Loops over
six numbers of arrays are not vectorised by LLVM, which has to expect that the arrays overlap.
"""

from opspace_control.compiled import inlined, vectorised


@vectorised
def six(x, first):
    """Return the six numbers of a contiguous array (n,) from ``first`` on, for + and - and *."""
    return x[first:first + 6].copy()


@vectorised
def put(x, first, numbers):
    """Write six numbers, or one for all six, to a contiguous array (n,), from ``first`` on."""
    x[first:first + 6] = numbers


@inlined
def add_six(y, x):
    """Add the first six numbers of x to those of y."""
    put(y, 0, six(y, 0) + six(x, 0))


@inlined
def combine_rows(M, row, column, x, first):
    """Return ``Σ x_k M_k`` of six rows of M, six numbers from a column on, and six numbers of x."""
    return (x[first] * six(M[row], column) + x[first + 1] * six(M[row + 1], column)
            + x[first + 2] * six(M[row + 2], column)) + (
        x[first + 3] * six(M[row + 3], column) + x[first + 4] * six(M[row + 4], column)
        + x[first + 5] * six(M[row + 5], column))


@inlined
def subtract_three(A, rows, r, column, x, y, z):
    """Return x, y, z less ``Aᵀ A``, its rows r to r + 2, six numbers from a column on."""
    for k in range(rows):
        numbers = six(A[k], column)
        x = x - A[k, r] * numbers
        y = y - A[k, r + 1] * numbers
        z = z - A[k, r + 2] * numbers
    return x, y, z
