# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The signed distance of two placed shapes, its direction and the nearest points."""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.collision.cores import TOUCHING, extent, furthest, separate
from opspace_control.collision.shapes import HALF_SPACE, SHAPE
from opspace_control.compiled import called, inlined, rare

# Two shapes that are near each other.
NEAR_PAIR = np.dtype([
    ('pair', np.int64),              # index of the pair
    ('feature', np.int64),           # of `features`, 0: the whole shapes
    ('nodes', np.int64, (2,)),       # of the bodies that carry a and b, WORLD for the world
    ('distance', np.float64),        # m; below 0 the depth of the overlap
    ('normal', np.float64, (3,)),    # unit vector from b to a, world axes
    ('points', np.float64, (2, 3)),  # nearest ones of a and of b, from the root link's origin, m
    ('world_rate', np.float64),      # rate of the distance by the motion of the world's shapes, m/s
    ('bound_share', np.float64),     # from 0 to 1, how much of a bound a feature has; of the whole
                                     # shapes 1
    ('speed_margin', np.float64),     # by which the pair may approach faster, m/s; negative where
                                     # it has to brake
], align=True)

# Directions from which the search for the least depth starts, and steps of each.
STARTS, DESCENTS = 4, 40
# Distance to which a search moves overlapping cores apart, by their size.
_CLEARANCE = 0.01
# The search ends when the depth changes by less than this part of it.
_PROGRESS = 1e-12
# The sine of the angle between two directions, squared, below which they count as parallel.
_PARALLEL = 1e-14


class Scratch(NamedTuple):
    """Intermediate results of a distance."""

    simplex: np.ndarray  # (7, 4) of `reduce_simplex`
    vectors: np.ndarray  # (5, 3) of `separate`, and the shift
    directions: np.ndarray  # (STARTS, 4): unit vectors, and the overlap along each, m
    parts: np.ndarray  # (2,) SHAPE: of `features`
    least: np.ndarray  # (1,) NEAR_PAIR: of the whole shapes; `keep_features` moves them apart
    heights: np.ndarray  # (2, 20) of `write_heights`, m
    edges: np.ndarray  # (12,) int of `find_crossings`
    frames: np.ndarray  # (7, 3) of `place_boxes`
    turned: np.ndarray  # (2,) SHAPE: of `features`


def make_scratch():
    """Return the memory of `find_distance`."""
    return Scratch(np.zeros((7, 4)), np.zeros((5, 3)), np.zeros((STARTS, 4)),
                   np.zeros(2, SHAPE), np.zeros(1, NEAR_PAIR), np.zeros((2, 20)),
                   np.zeros(12, int), np.zeros((7, 3)), np.zeros(2, SHAPE))


@inlined
def gap_of_spheres(a, b):
    """Return a lower bound of the distance of two placed shapes, by enclosing spheres, m."""
    x, y, z = a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]
    if a.kind == HALF_SPACE:
        return -(a.R[0, 2] * x + a.R[1, 2] * y + a.R[2, 2] * z) - b.bounding_radius
    if b.kind == HALF_SPACE:
        return b.R[0, 2] * x + b.R[1, 2] * y + b.R[2, 2] * z - a.bounding_radius
    return math.sqrt(x * x + y * y + z * z) - a.bounding_radius - b.bounding_radius


@inlined
def find_distance(a, b, near, scratch):
    """
    Write the signed distance of two placed shapes, its direction and the nearest points.

    The rate of the distance is ``n · (v_a − v_b)`` of the shapes' material at these points. Where
    shapes overlap, the distance is minus the depth: the length of the shortest translation that
    separates them, which is along the normal; exact but with a cylinder's core,
    where it is the least of several local minima.

    Parameters
    ----------
    a, b : SHAPE record
        At most one of them a half-space.
    near : NEAR_PAIR record
        Result: ``distance``, ``normal`` and ``points``.
    scratch : Scratch
        Intermediate results.

    """
    normal, points = near.normal, near.points
    if HALF_SPACE in (a.kind, b.kind):
        plane, shape, own, other = (a, b, 0, 1) if a.kind == HALF_SPACE else (b, a, 1, 0)
        z0, z1, z2 = plane.R[0, 2], plane.R[1, 2], plane.R[2, 2]
        point = scratch.vectors[1]
        furthest(shape, -z0, -z1, -z2, point)
        height = (z0 * (point[0] - plane.p[0]) + z1 * (point[1] - plane.p[1])
                  + z2 * (point[2] - plane.p[2]))
        for r in range(3):
            normal[r] = plane.R[r, 2] if own == 1 else -plane.R[r, 2]
            points[own, r] = point[r] - height * plane.R[r, 2]
            points[other, r] = point[r] - shape.radius * plane.R[r, 2]
        near.distance = height - shape.radius
        return
    v, point = scratch.vectors[0], scratch.vectors[1]
    distance = separate_any(a, b, scratch)
    if not distance <= TOUCHING:  # NaN stays visible
        for r in range(3):
            normal[r] = v[r] / distance
    else:
        distance = -find_depth(a, b, normal, scratch)
    near.distance = distance - a.radius - b.radius
    for r in range(3):
        points[0, r] = point[r] - a.radius * normal[r]
        points[1, r] = points[0, r] - near.distance * normal[r]


@inlined
def separate_any(a, b, scratch):
    """Write vector and point of `separate` of two cores where they are; return its length."""
    vectors = scratch.vectors
    v, point, shift = vectors[0], vectors[1], vectors[4]
    for r in range(3):
        shift[r] = 0.0
    if is_segment(a) and is_segment(b):
        return separate_segments(a, b, v, point)
    if is_segment(a) and a.half[2] == 0.0:
        for r in range(3):
            point[r] = a.p[r]
        return separate_point(a, b, v)
    if is_segment(b) and b.half[2] == 0.0:
        distance = separate_point(b, a, v)
        for r in range(3):
            v[r] = -v[r]
            point[r] = b.p[r] + v[r]
        return distance
    return separate(a, b, shift, scratch.simplex, vectors)


@inlined
def is_segment(shape):
    """Return whether the core of a shape is a point or a segment along z."""
    return shape.half[0] == 0.0 and shape.half[1] == 0.0 and shape.disc == 0.0


@inlined
def separate_point(a, b, v):
    """Write the vector from the nearest point of a core b to the center of a; return its length."""
    R, half = b.R, b.half
    d0, d1, d2 = a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]
    x = R[0, 0] * d0 + R[1, 0] * d1 + R[2, 0] * d2
    y = R[0, 1] * d0 + R[1, 1] * d1 + R[2, 1] * d2
    z = R[0, 2] * d0 + R[1, 2] * d1 + R[2, 2] * d2
    x, y, z = x - clamp(x, half[0]), y - clamp(y, half[1]), z - clamp(z, half[2])
    across = math.sqrt(x * x + y * y)
    part = max(1.0 - b.disc / across, 0.0) if across > 0.0 else 0.0
    x, y = part * x, part * y
    for r in range(3):
        v[r] = R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
    return math.sqrt(x * x + y * y + z * z)


@inlined
def clamp(x, limit):
    """Return x within ± limit."""
    return min(max(x, -limit), limit)


@inlined
def separate_segments(a, b, v, point):
    """
    Write the vector between the nearest points of two segments or points, and the one of a.

    In the middle of those of parallel ones. Returns its length, m.
    """
    A, B, long_a, long_b = a.R, b.R, a.half[2], b.half[2]
    u0, u1, u2, w0, w1, w2 = A[0, 2], A[1, 2], A[2, 2], B[0, 2], B[1, 2], B[2, 2]
    r0, r1, r2 = a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]
    c0, c1, c2 = u1 * w2 - u2 * w1, u2 * w0 - u0 * w2, u0 * w1 - u1 * w0
    sine = c0 * c0 + c1 * c1 + c2 * c2
    cosine = u0 * w0 + u1 * w1 + u2 * w2
    ur, wr = u0 * r0 + u1 * r1 + u2 * r2, w0 * r0 + w1 * r1 + w2 * r2
    if sine > _PARALLEL:
        s = clamp((cosine * wr - ur) / sine, long_a)
    else:
        s = clamp(0.5 * (max(-long_a, -ur - long_b) + min(long_a, -ur + long_b)), long_a)
    t = clamp(cosine * s + wr, long_b)
    s = clamp(cosine * t - ur, long_a)
    v[0], v[1], v[2] = r0 + s * u0 - t * w0, r1 + s * u1 - t * w1, r2 + s * u2 - t * w2
    point[0], point[1], point[2] = a.p[0] + s * u0, a.p[1] + s * u1, a.p[2] + s * u2
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@rare
def find_depth(a, b, normal, scratch):
    """
    Write the direction of the least depth of two overlapping cores, and the deepest point of a.

    The depth along a unit vector n is ``h_a(n) + h_b(n) − n · c`` with the cores' half lengths
    and the vector c between their centres, since they are symmetric. Its local minima for boxes and
    segments are among the products of their axes, and are found exactly. With discs the best of
    these and of others are starts of a descent: cores moved apart along n are nearest along a
    direction of a lesser depth.

    Returns the depth, m; the point goes to ``scratch.vectors[1]``.
    """
    directions, vectors = scratch.directions, scratch.vectors
    v, point, shift = vectors[0], vectors[1], vectors[4]
    choose_directions(a, b, directions)
    clearance = TOUCHING + _CLEARANCE * (
        a.bounding_radius - a.radius + b.bounding_radius - b.radius)
    best = directions[0]
    if a.disc > 0.0 or b.disc > 0.0:
        for k in range(STARTS):
            n = directions[k]
            for _ in range(DESCENTS):
                if not n[3] < math.inf:
                    break
                for r in range(3):
                    shift[r] = (n[3] + clearance) * n[r]
                length = separate(a, b, shift, scratch.simplex, vectors)
                depth = overlap(a, b, v[0] / length, v[1] / length, v[2] / length)
                if not depth < n[3]:
                    break
                last = depth > (1.0 - _PROGRESS) * n[3]
                for r in range(3):
                    n[r] = v[r] / length
                n[3] = depth
                if last:
                    break
            if n[3] < best[3]:
                best = n
    for r in range(3):
        normal[r] = best[r]
        shift[r] = (best[3] + clearance) * best[r]
    separate(a, b, shift, scratch.simplex, vectors)
    for r in range(3):
        point[r] -= shift[r]
    return best[3]


@inlined
def overlap(a, b, x, y, z):
    """Return how far two cores are to be moved apart along a unit vector, m."""
    return extent(a, x, y, z) + extent(b, x, y, z) - (
        x * (a.p[0] - b.p[0]) + y * (a.p[1] - b.p[1]) + z * (a.p[2] - b.p[2]))


@rare
def choose_directions(a, b, directions):
    """Write the unit vectors of the least depths of two cores; infinite depths if there are few."""
    directions[:, 3] = math.inf
    c0, c1, c2 = a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]
    for i in range(6):
        one = a if i < 3 else b
        k = i % 3
        if one.half[k] == 0.0 and (k == 2 or one.disc == 0.0):
            continue
        u0, u1, u2 = one.R[0, k], one.R[1, k], one.R[2, k]
        for j in range(i + 1, 6):
            other = a if j < 3 else b
            k = j % 3
            if other.half[k] > 0.0 or (k < 2 and other.disc > 0.0):
                w0, w1, w2 = other.R[0, k], other.R[1, k], other.R[2, k]
                consider(a, b, u1 * w2 - u2 * w1, u2 * w0 - u0 * w2, u0 * w1 - u1 * w0,
                         _PARALLEL, directions)
        # What is perpendicular to one axis: along the centres, or of any direction.
        along = u0 * c0 + u1 * c1 + u2 * c2
        consider(a, b, c0 - along * u0, c1 - along * u1, c2 - along * u2, TOUCHING * TOUCHING,
                 directions)
        if abs(u0) < 0.6:
            consider(a, b, 0.0, -u2, u1, 0.0, directions)
        else:
            consider(a, b, u2, 0.0, -u0, 0.0, directions)
    consider(a, b, c0, c1, c2, TOUCHING * TOUCHING, directions)
    consider(a, b, 0.0, 0.0, 1.0, 0.0, directions)


@called
def consider(a, b, x, y, z, least, directions):
    """Keep a direction, of a squared length above ``least``, if its depth is one of the least."""
    square = x * x + y * y + z * z
    if not square > least:
        return
    along = x * (a.p[0] - b.p[0]) + y * (a.p[1] - b.p[1]) + z * (a.p[2] - b.p[2])
    scale = (1.0 if along >= 0.0 else -1.0) / math.sqrt(square)
    x, y, z = scale * x, scale * y, scale * z
    depth = overlap(a, b, x, y, z)
    for k in range(STARTS):
        kept = directions[k]
        if depth < kept[3]:
            kept[0], x = x, kept[0]
            kept[1], y = y, kept[1]
            kept[2], z = z, kept[2]
            kept[3], depth = depth, kept[3]
