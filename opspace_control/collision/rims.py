# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Crossings of the rims of a cylinder's caps with edges and rims of another shape.

The region in which a cap and a face overlap, seen along the normal, has corners where an edge of
the face passes the rim, and that of two caps where their rims cross. Beside them both curves are
nearest to each other.
"""

import math

from opspace_control.collision.cores import TOUCHING
from opspace_control.compiled import inlined

# Steps of the search for the nearest points, which converges quadratically.
_STEPS = 8
# Step, m, after which the search ends: what is left is its square by the radius.
_LAST = 1e-6
# Sine of the angle between two lines, squared, below which they count as parallel.
_PARALLEL = 1e-6


@inlined
def is_rim(shape, i):
    """Return whether edge i of a shape is a rim."""
    return shape.disc > 0.0 and i >= 4


@inlined
def start_on_rim(rim, other, sign, normal, point, across):
    """
    Write the crossing of a rim and another curve, seen along the normal, on the side ``sign``.

    A curve is a rim, or an edge as `place_edge`. It has two crossings, on both sides of its point
    that is nearest to the rim's axis: this is the one along ``sign · across``, which is written.
    Returns False if there is none. Another rim is looked at as if it were parallel.
    """
    z0, z1, z2 = rim.R[0, 2], rim.R[1, 2], rim.R[2, 2]
    w0, w1, w2 = other.R[0, 2], other.R[1, 2], other.R[2, 2]
    d0, d1, d2 = other.p[0] - rim.p[0], other.p[1] - rim.p[1], other.p[2] - rim.p[2]
    n0, n1, n2 = normal[0], normal[1], normal[2]
    steep = z0 * n0 + z1 * n1 + z2 * n2
    if abs(steep) < _PARALLEL:
        return False
    along = (z0 * d0 + z1 * d1 + z2 * d2) / steep
    d0, d1, d2 = d0 - along * n0, d1 - along * n1, d2 - along * n2
    if other.disc > 0.0:
        square = d0 * d0 + d1 * d1 + d2 * d2
        w0, w1, w2 = z1 * d2 - z2 * d1, z2 * d0 - z0 * d2, z0 * d1 - z1 * d0
        if square < TOUCHING * TOUCHING:
            return False
        part = 0.5 + 0.5 * (rim.disc * rim.disc - other.disc * other.disc) / square
    else:
        along = (z0 * w0 + z1 * w1 + z2 * w2) / steep
        w0, w1, w2 = w0 - along * n0, w1 - along * n1, w2 - along * n2
        square = w0 * w0 + w1 * w1 + w2 * w2
        if square < _PARALLEL:
            return False
        along = (d0 * w0 + d1 * w1 + d2 * w2) / square
        d0, d1, d2, part = d0 - along * w0, d1 - along * w1, d2 - along * w2, 1.0
    square = w0 * w0 + w1 * w1 + w2 * w2
    rest = rim.disc * rim.disc - part * part * (d0 * d0 + d1 * d1 + d2 * d2)
    if rest <= 0.0:
        return False
    rest = sign * math.sqrt(rest / square)
    across[0], across[1], across[2] = w0, w1, w2
    point[0] = rim.p[0] + part * d0 + rest * w0
    point[1] = rim.p[1] + part * d1 + rest * w1
    point[2] = rim.p[2] + part * d2 + rest * w2
    return True


@inlined
def put_on(curve, point):
    """Move a point to the nearest one of a curve's line or circle."""
    R, p = curve.R, curve.p
    along = 0.0
    for r in range(3):
        along += R[r, 2] * (point[r] - p[r])
    if curve.disc == 0.0:
        for r in range(3):
            point[r] = p[r] + along * R[r, 2]
        return
    square = 0.0
    for r in range(3):
        point[r] -= p[r] + along * R[r, 2]
        square += point[r] * point[r]
    part = curve.disc / math.sqrt(square) if square > 0.0 else 0.0
    for r in range(3):
        point[r] = p[r] + part * point[r]


@inlined
def tangent_at(curve, point, apart, tangent):
    """Write a curve's unit tangent; return the product of ``apart`` with its curvature vector."""
    R, p = curve.R, curve.p
    if curve.disc == 0.0:
        for r in range(3):
            tangent[r] = R[r, 2]
        return 0.0
    part = 1.0 / curve.disc
    e0, e1, e2 = part * (point[0] - p[0]), part * (point[1] - p[1]), part * (point[2] - p[2])
    tangent[0] = R[1, 2] * e2 - R[2, 2] * e1
    tangent[1] = R[2, 2] * e0 - R[0, 2] * e2
    tangent[2] = R[0, 2] * e1 - R[1, 2] * e0
    return -part * (e0 * apart[0] + e1 * apart[1] + e2 * apart[2])


@inlined
def approach_curves(a, b, points, normal, most, vectors):
    """
    Move points of two curves to where both are nearest to each other, by Newton's method.

    Returns False where it does not come to a minimum, or to one whose points are not between 0 and
    ``most`` from each other along the ``normal``, m.
    """
    apart, u, w = vectors[0], vectors[1], vectors[2]
    for _ in range(_STEPS):
        for r in range(3):
            apart[r] = points[0, r] - points[1, r]
        one = 1.0 + tangent_at(a, points[0], apart, u)
        two = 1.0 - tangent_at(b, points[1], apart, w)
        au, aw, both, along = 0.0, 0.0, 0.0, 0.0
        for r in range(3):
            au += apart[r] * u[r]
            aw += apart[r] * w[r]
            both += u[r] * w[r]
            along += apart[r] * normal[r]
        det = one * two - both * both
        if not (one > 0.0 and det > _PARALLEL):
            return False
        s, t = (both * aw - two * au) / det, (one * aw - both * au) / det
        step = abs(s) + abs(t)
        if not -step < along < most + step:
            return False
        for r in range(3):
            points[0, r] += s * u[r]
            points[1, r] += t * w[r]
        put_on(a, points[0])
        put_on(b, points[1])
        if step < _LAST:
            return True
    return False


@inlined
def cross_rim(parts, root, furthest, found, scratch):
    """
    Write the nearest points of two curves, one of them a rim, near a crossing of both.

    ``parts`` are the curves: rims have a disc, edges a half length; ``root`` says which of the
    crossings, 0 or 1. Returns whether there is one, not ``furthest`` from each other or more, m.
    """
    side = 0 if parts[0].disc > 0.0 else 1
    points, vectors, sign = found.points, scratch.vectors, 1.0 - 2.0 * root
    rim, other = parts[side], parts[1 - side]
    across = vectors[3]
    if not start_on_rim(rim, other, sign, scratch.least[0].normal, points[side], across):
        return False
    for r in range(3):
        points[1 - side, r] = points[side, r]
    put_on(other, points[1 - side])
    radii = parts[0].radius + parts[1].radius
    if not approach_curves(parts[0], parts[1], points, scratch.least[0].normal, furthest + radii,
                           vectors):
        return False
    where, square = 0.0, 0.0
    for r in range(3):
        where += across[r] * (points[side, r] - rim.p[r])
        found.normal[r] = points[0, r] - points[1, r]
        square += found.normal[r] * found.normal[r]
    if not (sign * where > 0.0 and square > TOUCHING * TOUCHING):
        return False
    length = math.sqrt(square)
    found.distance = length - radii
    for r in range(3):
        found.normal[r] /= length
        points[0, r] -= parts[0].radius * found.normal[r]
        points[1, r] += parts[1].radius * found.normal[r]
    return found.distance <= furthest
