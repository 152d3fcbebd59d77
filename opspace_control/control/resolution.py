# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From task accelerations to task forces, bounded also where the tasks cannot all be met."""

import math

from opspace_control.compiled import inlined

# Near a singularity the inverse is found in passes, each for what the last one left over: with a
# shift ε it leaves r = ε / (λ + ε) of it along a direction of eigenvalue λ.
PASSES = 9
EXACT_FROM = 4.0  # times ε: there nothing is left to speak of


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
def resolve_forces(L, b, asked, least_mobility, threshold, scale, factor, previous, x):
    """
    Write the task forces ``x = Λ b``, [CK00] (13), bounded and continuous through singularities.

    Exact wherever the smallest eigenvalue of the scaled ``M = S Λ⁻¹ S`` certainly is above ``4 ε``:
    its lower bound, the reciprocal of the trace of the inverse, is. Elsewhere it is
    ``x = S φ(M) M⁻¹ S b`` with a smooth φ: 0 for a lost direction, which thus gets no force, a half
    at ``ε / 5``, 0.99 at ε and 1 − 4e-6 at ``4 ε``; ``φ(λ) / λ`` never exceeds ``2.6 / ε``. No
    eigenvalues are needed for it: PASSES of ``(M + ε) y ← S b + ε y`` leave r⁹ undone and one more
    r¹⁰, which in the right proportion make ``φ = 1 − r⁹ (10 − 9 r)``, ``r = ε / (λ + ε)``.

    Parameters
    ----------
    L : (k, k) array
        Λ⁻¹, lower triangle; its diagonal is inflated where a row is asked for with less than 1.
    b : (k,) array
        ``a* − a_null``, m/s² and rad/s².
    asked : (k,) array
        1 for an axis that the tasks control, 0 for one that they do not, or in between.
    least_mobility : float
        Least linear mobility a point is measured by, 1/kg.
    threshold : float
        ε, of the scaled eigenvalues, without unit.
    scale, previous, x : (k,) arrays
        Scratch; result in N and N m.
    factor : (k, k) array
        Scratch.

    Returns
    -------
    float
        Lower bound of the smallest scaled eigenvalue, 0 where it is below ``4 ε``.

    """
    rows = x.size
    scale_rows(L, asked, least_mobility, scale)
    least = 0.0
    if factorise(L, scale, 0.0, factor):
        least = 1.0 / inverse_trace(factor, x)
    for r in range(rows):
        x[r] = 0.0
    if least >= EXACT_FROM * threshold:
        solve_factorised(factor, scale, b, 0.0, x)
    else:
        least = 0.0
        finite = factorise(L, scale, threshold, factor)
        for _ in range(PASSES):
            solve_factorised(factor, scale, b, threshold, x)
        for r in range(rows):
            previous[r] = x[r]
        solve_factorised(factor, scale, b, threshold, x)
        for r in range(rows):
            x[r] = (PASSES + 1) * previous[r] - PASSES * x[r] if finite else math.nan
    for r in range(rows):
        x[r] *= scale[r]
    return least
