# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From task accelerations to task forces, bounded also where the tasks cannot all be met."""

import math

from opspace_control.compiled import inlined

# Near a singularity the inverse is found in this many passes, each for what the last one left
# over. With shift ε a direction of eigenvalue λ then is met up to (ε / (λ + ε))^8: to 6e-7 at the
# threshold, where ε is a fifth of λ and the exact inverse takes over.
PASSES = 8
SHIFT = 0.2  # of the threshold


@inlined
def scale_rows(L, asked, least_mobility, scale):
    """
    Write the scaling that takes masses and units out of Λ⁻¹, one number per point and kind.

    It is ``1 / sqrt`` of the mean diagonal of the point's linear block, or of its angular one, so a
    turned base frame changes nothing. A point that hardly anything can move, such as one on the
    axes of all its joints, is measured by ``least_mobility`` instead of by itself: else rounding
    errors would count as freedoms. Rows that cannot move, or are not asked for, get zero.
    """
    for first in range(0, scale.size, 3):
        mobility = (L[first, first] + L[first + 1, first + 1] + L[first + 2, first + 2]) / 3.0
        if first % 6 == 0 and mobility < least_mobility:
            mobility = least_mobility
        s = 0.0 if mobility == 0.0 else 1.0 / math.sqrt(mobility)
        for r in range(first, first + 3):
            scale[r] = s * asked[r]


@inlined
def factorise(L, scale, shift, factor):
    """
    Write the Cholesky factor of the scaled Λ⁻¹, plus ``shift`` times the identity.

    Its diagonal is inverted. A row of scale zero becomes a row of the identity. Returns whether
    all pivots are positive.
    """
    for r in range(scale.size):
        for c in range(r + 1):
            t = scale[r] * L[r, c] * scale[c]
            if r == c:
                t += shift if scale[r] != 0.0 else 1.0
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
def solve_factorised(factor, scale, b, shift, x):
    """Solve ``(M + shift) x_new = S b + shift x`` in place, M being the factorised matrix."""
    n = b.size
    for r in range(n):
        t = scale[r] * b[r] + shift * x[r]
        for c in range(r):
            t -= factor[r, c] * x[c]
        x[r] = t * factor[r, r]
    for r in range(n - 1, -1, -1):
        x[r] *= factor[r, r]
        for c in range(r):
            x[c] -= factor[r, c] * x[r]


@inlined
def resolve_forces(L, b, asked, least_mobility, threshold, scale, factor, x):
    """
    Write the task forces ``x = Λ b``, [CK00] (13), bounded and continuous through singularities.

    Exact wherever the smallest eigenvalue of the scaled ``M = S Λ⁻¹ S`` certainly is above the
    threshold (its lower bound, the reciprocal of the trace of the inverse, is). Elsewhere
    ``x = S φ(M) M⁻¹ S b`` with the smooth ``φ(λ) = 1 − (ε / (λ + ε))^8``: directions well above ε
    are met as ever, each nearly lost one is handed over to the null space, and ``φ(λ) / λ`` never
    exceeds ``8 / ε``. It takes no eigenvalues, but 8 passes of ``(M + ε) y ← S b + ε y``.

    Parameters
    ----------
    L : (k, k) array
        Λ⁻¹, lower triangle.
    b : (k,) array
        ``a* − a_null``, m/s² and rad/s².
    asked : (k,) array
        1 for an axis that the tasks control, 0 for one that they do not.
    least_mobility : float
        Least linear mobility a point is measured by, 1/kg.
    threshold : float
        Of the scaled eigenvalues, without unit; ε is a fifth of it.
    scale, x : (k,) arrays
        Scratch; result in N and N m.
    factor : (k, k) array
        Scratch.

    Returns
    -------
    float
        Lower bound of the smallest scaled eigenvalue, 0 where it is below the threshold.

    """
    scale_rows(L, asked, least_mobility, scale)
    least, shift, passes = 0.0, 0.0, 1
    if factorise(L, scale, 0.0, factor):
        least = 1.0 / inverse_trace(factor, x)
    if not least >= threshold:
        least, shift, passes = 0.0, SHIFT * threshold, PASSES
        if not factorise(L, scale, shift, factor):
            for r in range(x.size):  # not finite: it must stay visible
                x[r] = math.nan
            return least
    for r in range(x.size):
        x[r] = 0.0
    for _ in range(passes):
        solve_factorised(factor, scale, b, shift, x)
    for r in range(x.size):
        x[r] *= scale[r]
    return least
