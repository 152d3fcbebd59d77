# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From task accelerations to task forces, bounded also where the tasks cannot all be met."""

import math

from opspace_control.compiled import inlined
from opspace_control.spatial.eigen import diagonalise, reflect, tridiagonalise


@inlined
def scale_rows(L, asked, least_mobility, scale):
    """
    Write the scaling that takes masses and units out of Λ⁻¹, one number per point and kind.

    It is ``1 / sqrt`` of the mean diagonal of the point's linear block, or of its angular one, so a
    turned base frame changes nothing. A point that hardly anything can move, such as one on the
    axes of all its joints, is measured by ``least_mobility`` instead of by itself: else rounding
    errors would count as freedoms. Rows that cannot move, or are not asked for, get zero.

    A row that is asked for with less than 1 gets its diagonal inflated to ``L_rr / asked²``, as if
    something soft were between its force and its point: 1 is exact, towards 0 it lets go.
    """
    for first in range(0, scale.size, 3):
        mobility = (L[first, first] + L[first + 1, first + 1] + L[first + 2, first + 2]) / 3.0
        s = 0.0
        if mobility != 0.0:
            if first % 6 == 0 and mobility < least_mobility:
                mobility = least_mobility
            s = 1.0 / math.sqrt(mobility)
        for r in range(first, first + 3):
            scale[r] = s * asked[r]
            if 0.0 < asked[r] < 1.0:
                L[r, r] /= asked[r] * asked[r]


@inlined
def factorise(L, scale, factor):
    """
    Write the Cholesky factor of the scaled Λ⁻¹.

    Its diagonal is inverted. A row of scale zero becomes a row of the identity. Returns whether
    all pivots are positive.
    """
    for r in range(scale.size):
        for c in range(r + 1):
            t = scale[r] * L[r, c] * scale[c]
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


@inlined
def solve_factorised(factor, scale, b, x):
    """Write ``x = M⁻¹ S b``, M being the factorised matrix."""
    n = b.size
    for r in range(n):
        t = scale[r] * b[r]
        for c in range(r):
            t -= factor[r, c] * x[c]
        x[r] = t * factor[r, r]
    for r in range(n - 1, -1, -1):
        x[r] *= factor[r, r]
        for c in range(r):
            x[c] -= factor[r, c] * x[r]


@inlined
def solve_released(L, scale, b, threshold, matrix, vectors, eigenvalues, off, x):
    """
    Write ``x = φ(M) M⁻¹ S b`` for the scaled ``M = S Λ⁻¹ S``, by its eigenvalues λ.

    ``φ = t² (3 − 2 t)``, ``t = λ / threshold`` up to 1, hands each nearly lost direction smoothly
    to the null space: met exactly at the threshold, by half at half of it, not at all at zero.
    ``φ(λ) / λ`` never exceeds 9/8 of ``1 / threshold``.
    """
    n = b.size
    for r in range(n):
        x[r] = scale[r] * b[r]
        for c in range(r + 1):
            matrix[r, c] = scale[r] * L[r, c] * scale[c]
    tridiagonalise(matrix, eigenvalues, off)
    diagonalise(eigenvalues, off, vectors)
    for k in range(n - 2):
        reflect(matrix, k, x)
    for k in range(n):
        t = eigenvalues[k] / threshold
        if t <= 0.0:
            gain = 0.0
        elif t < 1.0:
            gain = t * (3.0 - 2.0 * t) / threshold
        else:
            gain = 1.0 / eigenvalues[k]
        projection = 0.0
        for r in range(n):
            projection += vectors[k, r] * x[r]
        off[k] = gain * projection
    for r in range(n):
        x[r] = 0.0
    for k in range(n):
        for r in range(n):
            x[r] += off[k] * vectors[k, r]
    for k in range(n - 3, -1, -1):
        reflect(matrix, k, x)


@inlined
def resolve_forces(L, b, asked, least_mobility, threshold, scale, factor, vectors, spare, x):
    """
    Write the task forces ``x = Λ b``, [CK00] (13), bounded and continuous through singularities.

    Exact wherever no eigenvalue of the scaled ``M = S Λ⁻¹ S`` is below the threshold divided by the
    number of axes asked for; the reciprocal of the trace of the inverse is a lower bound of them.
    Elsewhere by `solve_released`, which hands over what is below, and solves for the rest exactly.

    Parameters
    ----------
    L : (k, k) array
        Λ⁻¹, lower triangle.
    b : (k,) array
        ``a* − a_null``, m/s² and rad/s².
    asked : (k,) array
        How much of each axis the tasks ask for, from 0 (nothing) to 1 (all, exactly).
    least_mobility : float
        Least linear mobility a point is measured by, 1/kg.
    threshold : float
        Of the scaled eigenvalues times the number of axes, without unit.
    scale, x : (k,) arrays
        Scratch; result in N and N m.
    factor, vectors : (k, k) arrays
        Scratch.
    spare : (2, k) array
        Scratch.

    Returns
    -------
    float
        Lower bound of the smallest scaled eigenvalue, 0 where some may be below the threshold.

    """
    scale_rows(L, asked, least_mobility, scale)
    axes = 0.0
    for r in range(asked.size):
        axes += asked[r]
    released = threshold / axes if axes > 1.0 else threshold
    least = 0.0
    if factorise(L, scale, factor):
        least = 1.0 / inverse_trace(factor, scale, x)
    if least >= released:
        solve_factorised(factor, scale, b, x)
    else:
        least = 0.0
        solve_released(L, scale, b, released, factor, vectors, spare[0], spare[1], x)
    for r in range(x.size):
        x[r] *= scale[r]
    return least
