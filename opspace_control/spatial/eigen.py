# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues of small symmetric matrices in compiled code, without LAPACK."""

import math

from opspace_control.compiled import kernel

MAX_SWEEPS = 30


@kernel
def symmetric_eigen(A, vectors):
    """
    Diagonalise A in place by cyclic Jacobi rotations: eigenvalues on its diagonal, unordered.

    Parameters
    ----------
    A : (n, n) array
        Symmetric, both triangles given; overwritten.
    vectors : (n, n) array
        Receives the eigenvectors as columns.

    """
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(MAX_SWEEPS):
        off, total = 0.0, 0.0
        for i in range(n):
            total += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if not off > 1e-32 * total:
            return
        for p in range(n - 1):
            for r in range(p + 1, n):
                if A[p, r] == 0.0:
                    continue
                theta = (A[r, r] - A[p, p]) / (2.0 * A[p, r])
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(n):
                    x, y = A[k, p], A[k, r]
                    A[k, p], A[k, r] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = A[p, k], A[r, k]
                    A[p, k], A[r, k] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = vectors[k, p], vectors[k, r]
                    vectors[k, p], vectors[k, r] = c * x - s * y, s * x + c * y
