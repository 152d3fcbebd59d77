# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Features of two shapes that may be nearly as near as their nearest points.

Where two flat faces, edges or both are parallel, the distance is the same in the whole region in
which they overlap: a polygon, whose corners are corners of one shape, or crossings of two edges.
Distances of these features have points that do not jump. Of a shape's core they are those of the
box that is inscribed in it: of a capsule two corners and an edge, of a cylinder a square prism. All
of its points are points of the shape, so their distances are never less than that of the shapes.
"""

import math

from opspace_control.collision.distance import find_distance
from opspace_control.collision.shapes import CAPSULE, SPHERE
from opspace_control.compiled import called, inlined

# Numbers of features: 0 the whole shapes, 8 corners of a, 8 of b, pairs of 12 edges each.
CORNERS, EDGES = 8, 12
FEATURES = 1 + 2 * CORNERS + EDGES * EDGES


@inlined
def inscribed(shape, axis):
    """Return the half length of the box inscribed in a shape's core along an axis, m."""
    half = shape.half[axis]
    return half + shape.disc * math.sqrt(0.5) if axis < 2 else half


@inlined
def is_flat(shape):
    """Return whether a shape's core has faces."""
    return shape.half[0] > 0.0 or shape.disc > 0.0


@inlined
def feature_count(a, b):
    """Return the number of features of two shapes that count, 1 for the whole shapes alone."""
    return FEATURES if is_flat(a) and is_flat(b) else 1 + 2 * CORNERS


@inlined
def corner_exists(shape, i):
    """Return whether a shape has a corner i."""
    if is_flat(shape):
        return True
    return shape.half[2] > 0.0 and i < 2


@inlined
def place_part(shape, x, y, z, part):
    """Write a point of a shape's axes, m from its centre, as a sphere of the shape's radius."""
    R = shape.R
    part.kind, part.disc, part.radius, part.bound = SPHERE, 0.0, shape.radius, shape.radius
    for r in range(3):
        part.half[r] = 0.0
        part.p[r] = shape.p[r] + R[r, 0] * x + R[r, 1] * y + R[r, 2] * z


@inlined
def place_corner(shape, i, part):
    """Write corner i: bit 0 is the side along z, bits 1 and 2 those along x and y."""
    z, x, y = 1.0 - 2.0 * (i & 1), 1.0 - (i & 2), 1.0 - 0.5 * (i & 4)
    place_part(shape, x * inscribed(shape, 0), y * inscribed(shape, 1), z * inscribed(shape, 2),
               part)


@inlined
def place_edge(shape, i, part):
    """Write edge i as a capsule of the shape's radius: four along each of z, x and y."""
    axis, u, w = (i // 4 + 2) % 3, 1.0 - 2.0 * (i & 1), 1.0 - (i & 2)
    one, two = (axis + 1) % 3, (axis + 2) % 3
    x = u * inscribed(shape, 0) if one == 0 else (w * inscribed(shape, 0) if two == 0 else 0.0)
    y = u * inscribed(shape, 1) if one == 1 else (w * inscribed(shape, 1) if two == 1 else 0.0)
    z = u * inscribed(shape, 2) if one == 2 else (w * inscribed(shape, 2) if two == 2 else 0.0)
    place_part(shape, x, y, z, part)
    part.kind, part.half[2] = CAPSULE, inscribed(shape, axis)
    part.bound += part.half[2]
    for r in range(3):
        part.R[r, 2] = shape.R[r, axis]


@inlined
def height(part, side, least):
    """Return how far a part is from the plane through the nearest point, away from the other, m."""
    sign, h, along = 1.0 - 2.0 * side, -part.radius, 0.0
    for r in range(3):
        h += sign * least.normal[r] * (part.p[r] - least.points[side, r])
        along += least.normal[r] * part.R[r, 2]
    return h - abs(along) * part.half[2]


@inlined
def crosses(part, point):
    """Return whether a point of an edge's surface is not beside one of its ends."""
    along = 0.0
    for r in range(3):
        along += part.R[r, 2] * (point[r] - part.p[r])
    return abs(along) < part.half[2] - 1e-9


@called
def find_feature(a, b, feature, zone, found, scratch):
    """
    Write the distance of a feature; return whether it counts.

    It does if it is nearer than the least distance, of the whole shapes, and the ``zone``, m. Edges
    count where they cross: their ends are corners.
    """
    parts, least = scratch.parts, scratch.least[0]
    if feature <= 2 * CORNERS:
        side = (feature - 1) // CORNERS
        i = (feature - 1) % CORNERS
        shape = b if side == 1 else a
        if not corner_exists(shape, i):
            return False
        place_corner(shape, i, parts[0])
        if height(parts[0], side, least) > zone:
            return False
        if side == 1:
            find_distance(a, parts[0], found, scratch)
        else:
            find_distance(parts[0], b, found, scratch)
        return found.distance <= least.distance + zone
    i = feature - 1 - 2 * CORNERS
    place_edge(a, i // EDGES, parts[0])
    if height(parts[0], 0, least) > zone:
        return False
    place_edge(b, i % EDGES, parts[1])
    if height(parts[1], 1, least) > zone:
        return False
    find_distance(parts[0], parts[1], found, scratch)
    return (found.distance + parts[0].radius + parts[1].radius > 0.0
            and found.distance <= least.distance + zone
            and crosses(parts[0], found.points[0]) and crosses(parts[1], found.points[1]))
