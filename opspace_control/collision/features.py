# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Features of two shapes that may be nearly as near as their nearest points.

Where two flat faces, edges or both are parallel, the distance is the same in the whole region in
which they overlap: its corners are corners of one shape, or crossings of two edges. Distances of
these features have points that do not jump. The core of a capsule has two corners and an edge. That
of a cylinder has the corners and the edges along z of the inscribed square prism, one of which is
the generator nearest to the other shape, and two `rims`. All points are points of the shapes, so
the distances of features are never less than theirs.
"""

import math

from opspace_control.collision.distance import find_distance, gap_of_spheres
from opspace_control.collision.rims import cross_rim, is_rim
from opspace_control.collision.shapes import CAPSULE, HALF_SPACE, SPHERE
from opspace_control.compiled import inlined
from opspace_control.spatial.dense import add_scaled

# Sine of the angle between two edges, squared, below which `find_crossings` cannot tell, and the
# slack of what leaves out features, m: far above the rounding of either.
PARALLEL, SLACK = 1e-6, 1e-6
# Where a cap is flat on a face, rounding may not turn corners: they are at the cylinder's own x
# axis where the sine of the angle between its axis and the normal is far below this.
_STILL = 0.1

# Numbers of features: 0 the whole shapes, 8 corners of a, 8 of b, pairs of 12 edges each, then
# BESIDE. Edges 4 to 7 of a cylinder are two for each rim, one for a crossing; others go along z.
CORNERS, EDGES = 8, 12
BESIDE = 1 + 2 * CORNERS + EDGES * EDGES
FEATURES = BESIDE + 2


@inlined
def inscribed(shape, axis):
    """Return the half length of the box inscribed in a shape's core along an axis, m."""
    return shape.half[axis] + (shape.disc * math.sqrt(0.5) if axis < 2 else 0.0)


@inlined
def turned(shape, side, shift, scratch):
    """
    Return a shape, moved by ``shift``, m, a cylinder turned so that its prism has its nearest line.

    Both go by the normal of ``scratch.least``; ``side`` is 0 for a and 1 for b.
    """
    if shape.disc == 0.0 and shift == 0.0:
        return shape
    n, R, out = scratch.least[0].normal, shape.R, scratch.turned[side].R
    scratch.turned[side] = shape
    add_scaled(scratch.turned[side].p, shift, n, 3)
    x = n[0] * R[0, 0] + n[1] * R[1, 0] + n[2] * R[2, 0]
    y = n[0] * R[0, 1] + n[1] * R[1, 1] + n[2] * R[2, 1]
    z = n[0] * R[0, 2] + n[1] * R[1, 2] + n[2] * R[2, 2]
    x += _STILL * z * z
    across = math.sqrt(2.0 * (x * x + y * y))
    if shape.disc > 0.0 and across > 0.0:
        cosine, sine = (x + y) / across, (y - x) / across
        for r in range(3):
            out[r, 0] = cosine * R[r, 0] + sine * R[r, 1]
            out[r, 1] = cosine * R[r, 1] - sine * R[r, 0]
    return scratch.turned[side]


@inlined
def is_flat(shape):
    """Return whether a shape's core has faces."""
    return shape.half[0] > 0.0 or shape.disc > 0.0


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
    part.kind, part.disc, part.radius = SPHERE, 0.0, shape.radius
    part.bounding_radius = shape.radius
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
def axes_of_edge(i):
    """Return the axis along edge i, z, x or y in turns, and the two across it, in this order."""
    return (2, 0, 1) if i < 4 else ((0, 1, 2) if i < 8 else (1, 2, 0))


@inlined
def place_edge(shape, i, part):
    """Write edge i as a capsule of the shape's radius: four along each of z, x and y; or a rim."""
    if is_rim(shape, i):
        place_part(shape, 0.0, 0.0, (1.0 - (i & 2)) * shape.half[2], part)
        part.disc = shape.disc
        for r in range(3):
            part.R[r, 2] = shape.R[r, 2]
        return
    u, w, (axis, one, two) = 1.0 - 2.0 * (i & 1), 1.0 - (i & 2), axes_of_edge(i)
    x = u * inscribed(shape, 0) if one == 0 else (w * inscribed(shape, 0) if two == 0 else 0.0)
    y = u * inscribed(shape, 1) if one == 1 else (w * inscribed(shape, 1) if two == 1 else 0.0)
    z = u * inscribed(shape, 2) if one == 2 else (w * inscribed(shape, 2) if two == 2 else 0.0)
    place_part(shape, x, y, z, part)
    part.kind, part.half[2] = CAPSULE, inscribed(shape, axis)
    part.bounding_radius += part.half[2]
    for r in range(3):
        part.R[r, 2] = shape.R[r, axis]


@inlined
def write_heights(shape, side, least, heights):
    """
    Write how far each corner and each edge of a shape is from the plane through its nearest point.

    Away from the other shape, m, into ``heights`` (CORNERS + EDGES,); of an edge the nearer end,
    infinite for what the shape does not have. The plane is at the ``least`` distance of the whole
    shapes, of which this is the ``side``, 0 or 1.
    """
    sign, base = 1.0 - 2.0 * side, -shape.radius
    n, R = least.normal, shape.R
    for r in range(3):
        base += sign * n[r] * (shape.p[r] - least.points[side, r])
    x = sign * inscribed(shape, 0) * (n[0] * R[0, 0] + n[1] * R[1, 0] + n[2] * R[2, 0])
    y = sign * inscribed(shape, 1) * (n[0] * R[0, 1] + n[1] * R[1, 1] + n[2] * R[2, 1])
    z = sign * inscribed(shape, 2) * (n[0] * R[0, 2] + n[1] * R[1, 2] + n[2] * R[2, 2])
    for i in range(CORNERS):
        heights[i] = math.inf
        if corner_exists(shape, i):
            heights[i] = base + (1.0 - 2.0 * (i & 1)) * z + (1.0 - (i & 2)) * x + (
                1.0 - 0.5 * (i & 4)) * y
    for i in range(EDGES):
        axis, u, w = i // 4, 1.0 - 2.0 * (i & 1), 1.0 - (i & 2)
        # The first edge of a capsule is its segment: it ends at edges of a face that it lies on.
        heights[CORNERS + i] = base - abs(z) if i == 0 and corner_exists(shape, 0) else math.inf
        if is_flat(shape):
            # Along z, x and y in turns, as `place_edge`.
            heights[CORNERS + i] = base + (
                u * x + w * y - abs(z) if axis == 0 else (
                    u * y + w * z - abs(x) if axis == 1 else u * z + w * x - abs(y)))
        if is_rim(shape, i):
            heights[CORNERS + i] = base + w * z - abs(x) - abs(y) if i < 8 else math.inf


@inlined
def crosses(part, point):
    """Return whether a point of an edge's surface is not beside one of its ends; a rim has none."""
    if part.disc > 0.0:
        return True
    along = 0.0
    for r in range(3):
        along += part.R[r, 2] * (point[r] - part.p[r])
    return abs(along) < part.half[2] - 1e-9


@inlined
def place_boxes(a, b, frames):
    """
    Write how the boxes inscribed in two shapes are to each other.

    ``frames`` (7, 3): the cosines between the axes of a, by row, and those of b; the vector from
    the centre of b to that of a in the axes of each, and the half lengths of both, m.
    """
    A, B = a.R, b.R
    d0, d1, d2 = a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]
    for r in range(3):
        for c in range(3):
            frames[r, c] = A[0, r] * B[0, c] + A[1, r] * B[1, c] + A[2, r] * B[2, c]
        frames[3, r] = A[0, r] * d0 + A[1, r] * d1 + A[2, r] * d2
        frames[4, r] = B[0, r] * d0 + B[1, r] * d1 + B[2, r] * d2
        frames[5, r], frames[6, r] = inscribed(a, r), inscribed(b, r)


@inlined
def find_crossings(a, i, b, height, reach, heights, frames, edges):
    """
    Write which edges of b may cross edge i of a, and return how many.

    Those whose ``heights`` and its own are within ``reach`` together, m, and where the nearest
    points of both lines are on the edges, as `place_edge` numbers them, after `place_boxes`. The
    lines are nearest at ``s sin² = cos w·r − u·r`` and ``t sin² = w·r − cos u·r``, with their
    directions u and w and r between their centres. Where they are nearly parallel, they may cross,
    and so may rims.
    """
    k, k1, k2 = axes_of_edge(i)
    a1, a2, count = (1.0 - 2.0 * (i & 1)) * frames[5, k1], (1.0 - (i & 2)) * frames[5, k2], 0
    for axis in range(3):
        m = 2 if axis == 0 else axis - 1
        m1 = axis
        m2 = 0 if axis == 2 else axis + 1
        cosine = frames[k, m]
        sine = 1.0 - cosine * cosine
        s_most, t_most = sine * (frames[5, k] + SLACK), sine * (frames[6, m] + SLACK)
        b1, b2 = frames[6, m1], frames[6, m2]
        u1, u2 = b1 * frames[k, m1], b2 * frames[k, m2]
        ur, wr = frames[3, k], frames[4, m] + a1 * frames[k1, m] + a2 * frames[k2, m]
        for side in range(4):
            j = 4 * axis + side
            x = ur - (u1 if side & 1 == 0 else -u1) - (u2 if side & 2 == 0 else -u2)
            if height + heights[CORNERS + j] <= reach and (
                    is_rim(a, i) or is_rim(b, j) or sine < PARALLEL or (
                    abs(cosine * wr - x) <= s_most and abs(wr - cosine * x) <= t_most)):
                edges[count] = j
                count += 1
    return count


@inlined
def corner_is_far(side, i, disc, frames, far):
    """
    Return whether a corner is further than ``far``, m, from the core of the other shape.

    It is one of a, or of b for ``side`` 1, after `place_boxes`; ``disc`` is the radius of the disc
    of the other core.
    """
    square, own, other = 0.0, frames[5 + side], frames[6 - side]
    z, x = (1.0 - 2.0 * (i & 1)) * own[2], (1.0 - (i & 2)) * own[0]
    y = (1.0 - 0.5 * (i & 4)) * own[1]
    for k in range(3):
        if side == 1:
            at = x * frames[k, 0] + y * frames[k, 1] + z * frames[k, 2] - frames[3, k]
        else:
            at = x * frames[0, k] + y * frames[1, k] + z * frames[2, k] + frames[4, k]
        square += max(abs(at) - other[k] - (disc if k < 2 else 0.0), 0.0) ** 2
    return square > far * far


@inlined
def edge_is_far(a, i, b, frames, far):
    """Return whether edge i of a is further than ``far``, m, from b: `place_boxes`; never a rim."""
    if is_rim(a, i):
        return False
    if b.disc > 0.0:
        far += b.disc - frames[6, 0]
    k, k1, k2 = axes_of_edge(i)
    a1, a2, square = (1.0 - 2.0 * (i & 1)) * frames[5, k1], (1.0 - (i & 2)) * frames[5, k2], 0.0
    for m in range(3):
        at = frames[4, m] + a1 * frames[k1, m] + a2 * frames[k2, m]
        square += max(abs(at) - frames[5, k] * abs(frames[k, m]) - frames[6, m], 0.0) ** 2
    return square > far * far


@inlined
def find_corner(a, b, side, i, zone, found, scratch):
    """
    Write the distance of a corner of one of two shapes from the other; return whether it counts.

    It does if it is nearer than the least distance, of the whole shapes, and the ``zone``, m. It
    comes after `place_boxes`.
    """
    part, furthest = scratch.parts[0], scratch.least[0].distance + zone
    shape, other = (b, a) if side == 1 else (a, b)
    cores = max(furthest + shape.radius + other.radius, 0.0)
    if other.kind != HALF_SPACE and corner_is_far(
            side, i, other.disc, scratch.frames, cores + SLACK):
        return False
    place_corner(shape, i, part)
    if side == 1:
        find_distance(a, part, found, scratch)
    else:
        find_distance(part, b, found, scratch)
    return found.distance <= furthest


@inlined
def find_crossing(a, i, b, j, zone, found, scratch):
    """
    Write the distance of two edges, and return whether it counts: where they cross, likewise.

    Edge i of a is in ``scratch.parts[0]``.
    """
    parts, furthest = scratch.parts, scratch.least[0].distance + zone
    if is_rim(a, i) and is_rim(b, j) and (i & 1) != (j & 1):
        return False
    place_edge(b, j, parts[1])
    if is_rim(a, i) or is_rim(b, j):
        if not cross_rim(parts, (i if is_rim(a, i) else j) & 1, furthest, found, scratch):
            return False
    elif gap_of_spheres(parts[0], parts[1]) > furthest:
        return False
    else:
        find_distance(parts[0], parts[1], found, scratch)
    return (found.distance + parts[0].radius + parts[1].radius > 0.0
            and found.distance <= furthest
            and crosses(parts[0], found.points[0]) and crosses(parts[1], found.points[1]))
