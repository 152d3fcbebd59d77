# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The inverse of one level's Λ⁻¹, bounded also where its tasks cannot all be met.

A level is some consecutive rows of the stack, the first of which is ``first``. Arrays of one number
a row are given as their parts of these rows; ``factor`` and ``vectors`` are scratch for the largest
level, of which each uses the upper left corner.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.spatial.eigen import diagonalise, reflect, tridiagonalise

# A relative turn that two links cannot make still leaves the square of rounding errors.
_ROUNDING = 1e-12


@called
def scale_rows(L, activation, single_joint, least_mobility, least_turning, scale):
    """
    Write the scaling that takes masses and units out of Λ⁻¹, one number per point and kind.

    It is ``1 / sqrt`` of the mean diagonal of the point's linear block, or of its angular one, so a
    turned base frame changes nothing. A point that hardly anything can move, such as one on the
    axes of all its joints, is measured by ``least_mobility`` instead of by itself: else rounding
    errors would count as freedoms. A point that is seen from another link, and so is moved by both,
    is scaled by the mobility of its own link, ``-single_joint``: a light wrist of the other would
    hide it. Rows that cannot move or are not active get zero; for those that cannot turn,
    ``least_turning`` is the measure. The row of a ``single_joint`` is scaled by itself.
    """
    for first in range(0, scale.size, 3):
        mobility = (L[first, first] + L[first + 1, first + 1] + L[first + 2, first + 2]) / 3.0
        if single_joint[first] < 0.0:
            mobility = min(mobility, -single_joint[first])
        s = 0.0
        if first % 6 == 0:
            if mobility > 0.0:
                s = 1.0 / math.sqrt(max(mobility, least_mobility))
        elif mobility > _ROUNDING * least_turning:
            s = 1.0 / math.sqrt(mobility)
        for r in range(first, first + 3):
            if single_joint[r] > 0.0:
                s = 1.0 / math.sqrt(L[r, r]) if L[r, r] > 0.0 else 0.0
            scale[r] = s * activation[r]


@called
def regularise_rows(L, Q, constrained, activation):
    """
    Inflate the diagonal of each row that with an activation a below 1, to ``L_rr / a²``.

    As if a spring were between its force and its point: 1 is exact, towards 0 the force goes to
    zero. The first rows, those of constraints, are inflated as much in Q: ``L − Q`` stays.
    """
    for r in range(activation.size):
        if 0.0 < activation[r] < 1.0:
            more = L[r, r] * (1.0 / (activation[r] * activation[r]) - 1.0)
            L[r, r] += more
            if r < constrained:
                Q[r, r] += more


@inlined
def factorise(L, first, scale, factor):
    """
    Write the Cholesky factor of the level's scaled Λ⁻¹.

    Its diagonal is inverted. A row of scale zero becomes a row of the identity. Returns whether
    all pivots are positive.
    """
    for r in range(scale.size):
        for c in range(r + 1):
            t = scale[r] * L[first + r, first + c] * scale[c]
            if r == c and scale[r] == 0.0:
                t += 1.0
            for k in range(c):
                t -= factor[r, k] * factor[c, k]
            if c < r:
                factor[r, c] = t * factor[c, c]
            elif t > 0.0:
                factor[r, r] = 1.0 / math.sqrt(t)
            else:
                return False
    return True


@inlined
def inverse_trace(factor, scale, column):
    """
    Return the trace of the inverse of the factorised matrix, but for the rows of scale zero.

    Its reciprocal is a lower bound of the smallest eigenvalue, tight within the number of rows.
    """
    n = column.size
    trace = 0.0
    for j in range(n):
        if scale[j] == 0.0:
            continue
        column[j] = factor[j, j]
        trace += column[j] * column[j]
        for i in range(j + 1, n):
            t = 0.0
            for k in range(j, i):
                t -= factor[i, k] * column[k]
            column[i] = t * factor[i, i]
            trace += column[i] * column[i]
    return trace


@called
def truncate(L, first, scale, threshold, matrix, vectors, gains, off):
    """
    Decompose the scaled ``M = S Λ⁻¹ S`` and write what `solve_truncated` makes of its eigenvalues.

    ``φ(λ) / λ``, φ being the `smooth_step` of ``λ / threshold``, truncates each nearly lost
    direction smoothly: the task meets it exactly at the threshold, by half at half of it, not at
    all at zero, and the null space gets the rest. The gain never exceeds 9/8 of ``1 / threshold``.
    ``off`` receives λ itself.
    """
    n = scale.size
    for r in range(n):
        for c in range(r + 1):
            matrix[r, c] = scale[r] * L[first + r, first + c] * scale[c]
    tridiagonalise(matrix, gains, off)
    diagonalise(gains, off, vectors)
    for k in range(n):
        off[k] = gains[k]
        t = gains[k] / threshold
        if t <= 0.0:
            gains[k] = 0.0
        elif t < 1.0:
            gains[k] = t * (3.0 - 2.0 * t) / threshold
        else:
            gains[k] = 1.0 / gains[k]


@called
def project_modes(matrix, vectors, scale, x, parts):
    """Write the parts of ``S x`` along the eigenvectors that `truncate` found; x is lost."""
    n = x.size
    for r in range(n):
        x[r] *= scale[r]
    for k in range(n - 2):
        reflect(matrix, k, x)
    for k in range(n):
        parts[k] = 0.0
        for r in range(n):
            parts[k] += vectors[k, r] * x[r]


@called
def assemble_modes(matrix, vectors, scale, parts, x):
    """Write ``S u`` to x, u being the sum of these parts of the eigenvectors."""
    n = x.size
    for r in range(n):
        x[r] = 0.0
    for k in range(n):
        for r in range(n):
            x[r] += parts[k] * vectors[k, r]
    for k in range(n - 3, -1, -1):
        reflect(matrix, k, x)
    for r in range(n):
        x[r] *= scale[r]


@called
def solve_truncated(matrix, vectors, gains, scale, x, spare):
    """Replace x by ``X x``, ``X = S φ(M) M⁻¹ S``, M being the matrix that `truncate` decomposed."""
    project_modes(matrix, vectors, scale, x, spare)
    for k in range(x.size):
        spare[k] *= gains[k]
    assemble_modes(matrix, vectors, scale, spare, x)


@inlined
def solve_factorised(factor, scale, x):
    """Replace x by ``S M⁻¹ S x``, M being the matrix that `factorise` decomposed."""
    n = x.size
    for r in range(n):
        t = scale[r] * x[r]
        for c in range(r):
            t -= factor[r, c] * x[c]
        x[r] = t * factor[r, r]
    for r in range(n - 1, -1, -1):
        x[r] *= factor[r, r]
        for c in range(r):
            x[c] -= factor[r, c] * x[r]
    for r in range(n):
        x[r] *= scale[r]


@called
def decompose_level(L, first, threshold, near, level):
    """
    Prepare `solve_level`; return a lower bound of the smallest eigenvalue of ``M = S Λ⁻¹ S``.

    It is tight within the number of rows. If it is below ``near``, at least the threshold below
    which directions are truncated, 0 is returned, and ``spare`` of the level's `Decomposition`
    has the eigenvalues.
    """
    if factorise(L, first, level.scale, level.matrix):
        least = 1.0 / inverse_trace(level.matrix, level.scale, level.spare)
        if least >= near:
            return least
    truncate(L, first, level.scale, threshold, level.matrix, level.vectors, level.gains,
             level.spare)
    return 0.0


@called
def solve_level(exactly, level, x):
    """Replace x by X x: the exact inverse, or that without the directions that are truncated."""
    if exactly:
        solve_factorised(level.matrix, level.scale, x)
    else:
        solve_truncated(level.matrix, level.vectors, level.gains, level.scale, x, level.spare)
