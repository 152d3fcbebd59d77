# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues of small symmetric matrices without LAPACK or allocation, and their truncation."""

import math

from opspace_control.compiled import inlined

# The usual scaled eigenvalue of Λ⁻¹, times the number of controlled axes, at which directions begin
# to be truncated, without unit.
SINGULARITY_THRESHOLD = 2.5e-2

_PRECISION = 2.2e-16
_MAX_STEPS = 50  # of QR, an eigenvalue; it usually takes two


@inlined
def tridiagonalise(A, diagonal, off):
    """
    Reduce the lower half of A (n, n) to tridiagonal form by reflections ``1 − v vᵀ``.

    The two diagonals go to ``diagonal`` (n,) and ``off`` (n,), whose last entry is spare; A may be
    larger than that. Below its diagonal, column k of A keeps the vector v of reflection k, of
    length √2. Householder's method, Golub and Van Loan, Matrix Computations, 8.3.1.
    """
    n = diagonal.size
    for k in range(n - 2):
        norm = 0.0
        for i in range(k + 1, n):
            norm += A[i, k] * A[i, k]
        norm = math.sqrt(norm)
        off[k] = -norm if A[k + 1, k] > 0.0 else norm
        A[k + 1, k] -= off[k]
        if norm > 0.0:
            scale = 1.0 / math.sqrt(norm * abs(A[k + 1, k]))
            for i in range(k + 1, n):
                A[i, k] *= scale
        # A ← A − v wᵀ − w vᵀ with w = A v − (vᵀ A v / 2) v, stored in the diagonal's place.
        along = 0.0
        for i in range(k + 1, n):
            t = 0.0
            for j in range(k + 1, i + 1):
                t += A[i, j] * A[j, k]
            for j in range(i + 1, n):
                t += A[j, i] * A[j, k]
            diagonal[i] = t
            along += t * A[i, k]
        for i in range(k + 1, n):
            diagonal[i] -= 0.5 * along * A[i, k]
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                A[i, j] -= A[i, k] * diagonal[j] + diagonal[i] * A[j, k]
    for i in range(n):
        diagonal[i] = A[i, i]
    if n > 1:
        off[n - 2] = A[n - 1, n - 2]


@inlined
def diagonalise(diagonal, off, vectors):
    """
    Turn a tridiagonal matrix into its eigenvalues, unordered, in ``diagonal`` (n,).

    ``vectors`` (n, n), or larger, receives the eigenvectors as rows. Implicit QR steps with
    Wilkinson's shift, Golub and Van Loan, Matrix Computations, 8.3.3. NaN ends them at once and
    stays.
    """
    n = diagonal.size
    total = 0.0
    for i in range(n):
        total += abs(diagonal[i])
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    tiny = _PRECISION * total
    last = n - 1
    for _ in range(_MAX_STEPS * n):
        while last > 0 and not abs(off[last - 1]) > tiny:
            last -= 1
        if last <= 0:
            return
        first = last - 1
        while first > 0 and abs(off[first - 1]) > tiny:
            first -= 1
        e = off[last - 1]
        half = 0.5 * (diagonal[last - 1] - diagonal[last])
        root = math.sqrt(half * half + e * e)
        shift = diagonal[last] - e * e / (half + (root if half >= 0.0 else -root))
        x, z = diagonal[first] - shift, off[first]
        for k in range(first, last):
            r = math.sqrt(x * x + z * z)
            c, s = x / r, z / r
            if k > first:
                off[k - 1] = r
            a, b, e = diagonal[k], diagonal[k + 1], off[k]
            diagonal[k] = c * c * a + 2.0 * c * s * e + s * s * b
            diagonal[k + 1] = s * s * a - 2.0 * c * s * e + c * c * b
            off[k] = (c * c - s * s) * e + c * s * (b - a)
            if k < last - 1:
                x, z = off[k], s * off[k + 1]
                off[k + 1] *= c
            for i in range(n):
                u, w = vectors[k, i], vectors[k + 1, i]
                vectors[k, i], vectors[k + 1, i] = c * u + s * w, c * w - s * u


@inlined
def reflect(A, k, x):
    """Apply reflection k that `tridiagonalise` left in A to a vector x (n,), in place."""
    t = 0.0
    for i in range(k + 1, x.size):
        t += A[i, k] * x[i]
    for i in range(k + 1, x.size):
        x[i] -= t * A[i, k]


@inlined
def reflect_back(A, x):
    """Apply all reflections that `tridiagonalise` left in A to x (n,), in place, the last first."""
    for k in range(x.size - 3, -1, -1):
        reflect(A, k, x)


@inlined
def truncation_threshold(axes, threshold):
    """Return the scaled eigenvalue at which truncation begins, for axes that share a threshold."""
    return threshold / axes if axes > 1.0 else threshold


@inlined
def smooth_step(t):
    """Return ``φ = t² (3 − 2 t)``, t clipped to 0 to 1: the weight of a direction in the task."""
    t = min(max(t, 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)
