# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Operations on points with the same rounding on every processor.

BLAS and LAPACK, by which NumPy multiplies matrices, have other kernels for each kind of processor,
whose results differ in the last bit. A search that takes the least of many nearly equal volumes
takes another path then: fits of Talos had 66 shapes on some computers and 68 on others. What is
here adds and multiplies numbers one by one, in one order.
"""

import math

import numpy as np

from opspace_control.spatial.rotations import matrix_from_quaternion

# Rotations in each of three planes, of which five are enough; what is left off the diagonal.
_SWEEPS, _TINY = 20, 1e-15


def multiply(a, b):
    """Return a b for a (m, n) and b (n, k) or (n,), of small n."""
    if b.ndim == 1:
        return multiply(a, b[:, None])[:, 0]
    total = b[0, :, None] * a[:, 0]  # (k, m), which is faster for many points
    for column, row in zip(a.T[1:], b[1:], strict=True):
        total += row[:, None] * column
    return total.T


def small_rotation(phi):
    """Return the rotation (3, 3) about phi (3,) by the angle 2 atan(|phi| / 2), without sines."""
    x, y, z = (0.5 * part for part in phi.tolist())
    norm = math.sqrt(1.0 + x * x + y * y + z * z)
    return matrix_from_quaternion((x / norm, y / norm, z / norm, 1.0 / norm))


def principal_axes(points):
    """
    Return the principal axes (3, 3) of points (m, 3), by column, right-handed, the least first.

    By Jacobi's method, Golub and Van Loan, Matrix Computations, 8.5.
    """
    local = points - points.mean(axis=0)
    A, axes = (local[:, :, None] * local[:, None, :]).mean(axis=0), np.eye(3)
    for _ in range(_SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if abs(A[p, q]) > _TINY * np.trace(A):
                ratio = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
                t = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / math.sqrt(1.0 + t * t)
                turn = np.eye(3)
                turn[p, p] = turn[q, q] = cosine
                turn[p, q], turn[q, p] = t * cosine, -t * cosine
                A, axes = multiply(multiply(turn.T, A), turn), multiply(axes, turn)
    axes = axes[:, np.argsort(np.diag(A), kind='stable')]
    x, y, z = axes.T
    return axes if float((np.cross(x, y) * z).sum()) > 0.0 else axes * (1.0, 1.0, -1.0)
