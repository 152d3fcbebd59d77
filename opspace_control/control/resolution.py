# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From task accelerations to task forces, bounded also where the tasks cannot all be met."""

import math

from opspace_control.compiled import inlined
from opspace_control.spatial.eigen import symmetric_eigen


@inlined
def scale_rows(L, threshold, scale):
    """
    Write the scaling that takes mass and lever arms out of Λ⁻¹: ``1 / sqrt(Λ⁻¹_rr)`` a row.

    A row that hardly moves at all, against the liveliest row of its kind (linear or angular), is
    not blown up to full size: it keeps a small diagonal and is released like any lost direction.
    Rows that cannot move, or are not asked for, get zero.
    """
    rows = scale.size
    liveliest_linear, liveliest_angular = 0.0, 0.0
    for r in range(rows):
        if r % 6 < 3:
            if L[r, r] > liveliest_linear:
                liveliest_linear = L[r, r]
        elif L[r, r] > liveliest_angular:
            liveliest_angular = L[r, r]
    for r in range(rows):
        diagonal = L[r, r]
        least = threshold * (liveliest_linear if r % 6 < 3 else liveliest_angular)
        if diagonal <= 0.0:
            scale[r] = 0.0
        elif diagonal < least:
            scale[r] = 1.0 / math.sqrt(least)
        else:
            scale[r] = 1.0 / math.sqrt(diagonal)


@inlined
def factorise(L, scale, factor):
    """
    Write the Cholesky factor of the scaled Λ⁻¹, its diagonal inverted; False if a pivot fails.

    A row of scale zero becomes a row of the identity.
    """
    for r in range(scale.size):
        for c in range(r + 1):
            t = scale[r] * L[r, c] * scale[c]
            if r == c and scale[r] == 0.0:
                t = 1.0
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
def inverse_trace(factor, column):
    """
    Return the trace of the inverse of the factorised matrix.

    Its reciprocal is a lower bound of the smallest eigenvalue, tight within the number of rows.
    """
    n = column.size
    trace = 0.0
    for j in range(n):
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
    """Solve ``Λ⁻¹ x = b`` with the scaled factor."""
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
    for r in range(n):
        x[r] *= scale[r]


@inlined
def solve_released(L, threshold, scale, b, matrix, vectors, x):
    """
    Solve ``Λ⁻¹ x = b`` with the nearly lost directions released: ``x = Σ v φ(λ)/λ vᵀ b``.

    φ rises smoothly from 0 at λ = 0 to 1 at the threshold, so each direction is handed
    continuously from the task to the null space and φ(λ)/λ never exceeds 9/8 of 1/threshold.
    """
    n = b.size
    for r in range(n):
        for c in range(r + 1):
            matrix[r, c] = scale[r] * L[r, c] * scale[c]
            matrix[c, r] = matrix[r, c]
    symmetric_eigen(matrix, vectors)
    for r in range(n):
        x[r] = 0.0
    for k in range(n):
        t = matrix[k, k] / threshold
        if t <= 0.0:
            continue
        gain = 1.0 / matrix[k, k] if t >= 1.0 else t * (3.0 - 2.0 * t) / threshold
        projection = 0.0
        for r in range(n):
            projection += vectors[r, k] * scale[r] * b[r]
        for r in range(n):
            x[r] += gain * projection * vectors[r, k]
    for r in range(n):
        x[r] *= scale[r]


@inlined
def resolve_forces(L, b, threshold, scale, matrix, vectors, x):
    """
    Write the task forces ``x = Λ b``, [CK00] (13), bounded and continuous through singularities.

    The exact solution wherever the smallest eigenvalue of the scaled Λ⁻¹ certainly is above the
    threshold (its lower bound 1 / trace of the inverse is), else eigenvalue by eigenvalue; there
    the two agree, so there is no step from one to the other.

    Parameters
    ----------
    L : (k, k) array
        Λ⁻¹, lower triangle; a row of zeros for a direction not asked for.
    b : (k,) array
        ``a* − a_null``, m/s² and rad/s².
    threshold : float
        Of the scaled eigenvalues, without unit.
    scale, x : (k,) arrays
        Scratch; result in N and N m.
    matrix, vectors : (k, k) arrays
        Scratch.

    Returns
    -------
    float
        Lower bound of the smallest scaled eigenvalue, 0 where it is below the threshold.

    """
    scale_rows(L, threshold, scale)
    if factorise(L, scale, matrix):
        least = 1.0 / inverse_trace(matrix, x)
        if least >= threshold:
            solve_factorised(matrix, scale, b, x)
            return least
    solve_released(L, threshold, scale, b, matrix, vectors, x)
    return 0.0
