# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Compiled algebra of 3- and 6-vectors.

Six-vectors are linear first: motion ``[v; ω]``, force ``[f; n]``, both about one fixed point and in
axes parallel to the world's, so vectors of parent and child add without a transform.
Results go into ``out``; nothing is allocated, nothing is validated. Operands are read into locals
before anything is written: the compiler cannot know that ``out`` is other memory.
"""

from opspace_control.compiled import inlined, vectorised


@inlined
def rotate(R, x, out):
    """Write ``R x`` for a (3, 3) rotation and a (3,) vector."""
    x0, x1, x2 = x[0], x[1], x[2]
    for r in range(3):
        out[r] = R[r, 0] * x0 + R[r, 1] * x1 + R[r, 2] * x2


@inlined
def multiply(A, B, out):
    """Write the (3, 3) product ``A B``; ``out`` must be neither."""
    for r in range(3):
        a0, a1, a2 = A[r, 0], A[r, 1], A[r, 2]
        for c in range(3):
            out[r, c] = a0 * B[0, c] + a1 * B[1, c] + a2 * B[2, c]


@inlined
def multiply_transpose(A, B, out):
    """Write the (3, 3) product ``A Bᵀ``; ``out`` must be neither."""
    for r in range(3):
        a0, a1, a2 = A[r, 0], A[r, 1], A[r, 2]
        for c in range(3):
            out[r, c] = a0 * B[c, 0] + a1 * B[c, 1] + a2 * B[c, 2]


@vectorised
def dot(a, b):
    """Return the product of a force and a motion 6-vector: a power, in W, if both are physical."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inlined
def linear_at(B, p):
    """Return the linear part ``b + β × p`` of a motion vector (6,) at a point (3,): its numbers."""
    p0, p1, p2, b3, b4, b5 = p[0], p[1], p[2], B[3], B[4], B[5]
    return B[0] + b4 * p2 - b5 * p1, B[1] + b5 * p0 - b3 * p2, B[2] + b3 * p1 - b4 * p0


@inlined
def add_cross(a, b, out):
    """Add the product ``a × b`` of (3,) vectors; ``out`` must be neither."""
    out[0] += a[1] * b[2] - a[2] * b[1]
    out[1] += a[2] * b[0] - a[0] * b[2]
    out[2] += a[0] * b[1] - a[1] * b[0]


@inlined
def add_cross_motion(V, S, scale, out):
    """
    Add ``scale (V × S)``, the rate of a motion vector S carried by a body that moves with V.

    The spatial cross product of [CK00] (19).
    """
    v0, v1, v2 = V[0], V[1], V[2]
    w0, w1, w2 = V[3], V[4], V[5]
    l0, l1, l2 = scale * S[0], scale * S[1], scale * S[2]
    a0, a1, a2 = scale * S[3], scale * S[4], scale * S[5]
    out[0] += w1 * l2 - w2 * l1 + v1 * a2 - v2 * a1
    out[1] += w2 * l0 - w0 * l2 + v2 * a0 - v0 * a2
    out[2] += w0 * l1 - w1 * l0 + v0 * a1 - v1 * a0
    out[3] += w1 * a2 - w2 * a1
    out[4] += w2 * a0 - w0 * a2
    out[5] += w0 * a1 - w1 * a0


@inlined
def add_wrench(p, wrench, out):
    """Add a wrench ``[f; n]`` that acts at the point ``p``, moved to the origin of moments."""
    p0, p1, p2 = p[0], p[1], p[2]
    f0, f1, f2 = wrench[0], wrench[1], wrench[2]
    n0, n1, n2 = wrench[3], wrench[4], wrench[5]
    out[0] += f0
    out[1] += f1
    out[2] += f2
    out[3] += n0 + p1 * f2 - p2 * f1
    out[4] += n1 + p2 * f0 - p0 * f2
    out[5] += n2 + p0 * f1 - p1 * f0
