# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Points beside the nearest one of a capsule or a cylinder, on the line along which it lies.

Where the lines of two such shapes are nearly parallel, a small rotation moves the nearest point far
along them. The row of that point alone neglects this: the moment of its multiplier alternates from
cycle to cycle. With rows on both sides of it, whose distances are nearly the same, the multipliers
share the force so that its moment is balanced.
"""

from opspace_control.collision.distance import find_distance
from opspace_control.collision.features import place_part
from opspace_control.compiled import inlined

# How far the points are from the nearest one, m. Steps of efforts fall with it down to 0.3 mm; with
# 0.1 mm they are up to 40 times those with 1 mm.
ASIDE = 1e-3


@inlined
def is_round(shape):
    """Return whether a shape has a line along which it lies: a capsule or a cylinder."""
    return shape.half[0] == 0.0 and shape.half[2] > 0.0


@inlined
def find_beside(a, b, along, zone, found, scratch):
    """
    Write the distance of a point of a, ``along`` its axis, m, from its nearest one: `find_corner`.

    It is that of a sphere on the axis, with the radius of the shape. Returns whether it counts: it
    is no further than the nearest points and the ``zone``, m, and not beyond an end.
    """
    part, least, at, cosine = scratch.parts[0], scratch.least[0], along, 0.0
    for r in range(3):
        at += a.R[r, 2] * (least.points[0, r] - a.p[r])
    if not abs(at) < a.half[2]:
        return False
    place_part(a, 0.0, 0.0, at, part)
    part.radius += a.disc
    part.bounding_radius = part.radius
    find_distance(part, b, found, scratch)
    for r in range(3):
        cosine += a.R[r, 2] * found.normal[r]
    return (found.distance <= least.distance + zone
            and abs(at) + a.disc * abs(cosine) < a.half[2])


@inlined
def share_beside(least, braking):
    """
    Return the share in bounds that such points have by the least distance, m, from 0 to 1.

    Shapes that are pressed together rest at their margin, where it is 1. Where they overlap it is
    0: there are no levers to balance, and rows to part that are nearly the same, beside others,
    would fix the little by which they differ.
    """
    return min(max(2.0 * least / braking.margin, 0.0), 1.0) if braking.margin > 0.0 else 0.0
