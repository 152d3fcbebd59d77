# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The features of near pairs that are near pairs, too.

The nearest points of two flat faces jump when the faces turn, so bounds on the least distance alone
would let them rattle: their `features` that are nearly as near are near pairs, too. The bound of a
feature has a ``bound_share`` that is 0 where it begins to count, so that no bound appears at once.

Shapes that overlap, or nearly touch, are moved apart along the normal of their least distance, and
the features that they have there are moved back. So an overlap has the features of the faces
between which it has come about, at any depth, and these change continuously as shapes begin to
overlap.
"""

from opspace_control.collision.beside import ASIDE, find_beside, is_round, share_beside
from opspace_control.collision.features import (
    BESIDE,
    CORNERS,
    EDGES,
    PARALLEL,
    SLACK,
    edge_is_far,
    find_corner,
    find_crossing,
    find_crossings,
    place_boxes,
    place_edge,
    turned,
    write_heights,
)
from opspace_control.collision.kept_pairs import (
    LEEWAY,
    complete,
    is_stored,
    keep_urgent,
    reach_of_features,
    share_by_distance,
    store,
)
from opspace_control.compiled import inlined
from opspace_control.spatial.dense import add_scaled, dot_product

# Cosine of the angle between the normals of a feature and of the whole shapes up to which it has
# less than its share. Shapes that are d apart have features within d and the zone of 3 cm at
# ``cos ≥ d / (d + 0.03)``: at a margin of 1 cm all have their share.
_ACROSS = 0.25
# Points nearer to each other than this count as the same, m: those on a rim are found to 1e-7.
_SAME = 1e-6
# Distance to which nearer shapes are moved apart, m: far above rounding, which the normals of edges
# that touch are of, and below margins.
_APART = 1e-3


@inlined
def share_of(feature, least, shift, zone):
    """
    Return the share of a feature in bounds by its distance from the least one, from 0 to 1.

    It is 0 from the ``zone`` beyond that on, as it is once both are moved back by ``shift``. A
    feature whose points are the nearest ones has none: its row would be that of the whole shapes
    again. Nor has one whose normal is across the least one.
    """
    apart = 0.0
    for r in range(3):
        apart = max(apart, abs(feature.points[0, r] - least.points[0, r]),
                    abs(feature.points[1, r] - least.points[1, r]))
    if apart < _SAME:
        return 0.0
    cosine = dot_product(feature.normal, least.normal, 3)
    further = feature.distance - least.distance + (1.0 - cosine) * shift
    return min(max(cosine / _ACROSS, 0.0), 1.0) * min(1.0 - further / zone, 1.0)


@inlined
def move_apart(least, shift):
    """Move the first of two shapes by ``shift``, m, along the normal of their least distance."""
    least.distance += shift
    add_scaled(least.points[0], shift, least.normal, 3)


@inlined
def move_back(feature, normal, shift, parts, found):
    """
    Move the first shape back by ``shift``, m, along a ``normal``, with what was found of a feature.

    Its points stay ``d n`` apart, n being its own normal: a corner stays where it is, and the other
    point goes over the face; those of two edges, ``parts``, slide along these.
    """
    n, points = found.normal, found.points
    along, cosine, ut, wt = dot_product(n, normal, 3), 0.0, 0.0, 0.0
    found.distance -= along * shift
    for r in range(3):
        u, w, t = parts[0].R[r, 2], parts[1].R[r, 2], shift * (normal[r] - along * n[r])
        cosine += u * w
        ut += u * t
        wt += w * t
    first, second, sine, one, two = 0.5, 0.5, 1.0 - cosine * cosine, 0.0, 0.0
    if feature <= CORNERS or feature >= BESIDE:
        first, second = 0.0, 1.0
    elif feature <= 2 * CORNERS:
        first, second = 1.0, 0.0
    elif sine > PARALLEL and parts[0].disc == 0.0 and parts[1].disc == 0.0:
        first, second = 0.0, 0.0
        one, two = (ut - cosine * wt) / sine, (cosine * ut - wt) / sine
    for r in range(3):
        t = shift * (normal[r] - along * n[r])
        points[0, r] += first * t + one * parts[0].R[r, 2] - shift * normal[r]
        points[1, r] += two * parts[1].R[r, 2] - second * t


@inlined
def keep_feature(k, feature, shift, collision, states, braking, search):
    """
    Keep a feature that has been found in the last of the near pairs, as `keep_features`.

    The first shape was moved by ``shift``, and the feature is moved back.
    """
    near, zone, (count, last, most, likely) = collision.near, collision.zone[0], search
    found, least = near[count], collision.scratch.least[0]
    bound_share = share_of(found, least, shift, zone)
    if feature >= BESIDE:
        bound_share *= share_beside(least.distance - shift, braking)
    if bound_share > 0.0:
        move_back(feature, least.normal, shift, collision.scratch.parts, found)
        if is_stored(collision.pairs[k], collision):
            store(collision.pairs[k], feature, bound_share, found, collision)
        bound_share *= share_by_distance(least.distance - shift, zone, braking)
        complete(k, feature, bound_share, braking, states, collision, found)
        if found.speed_margin < most:
            count, last, most = keep_urgent(near, count, last, likely)
    return count, last, most


@inlined
def keep_features(k, speed, collision, states, braking, search):
    """
    Keep the features of pair k, whose least distance is known, that are urgent.

    Their distances decrease by ``speed`` at most, m/s. ``search`` is as of `keep_urgent`: count,
    last, most and likely; returns the first three. ``scratch.least`` is of the shapes apart then.
    """
    near, scratch, (count, last, most, likely) = collision.near, collision.scratch, search
    pair, least, heights = collision.pairs[k], scratch.least[0], scratch.heights
    if is_stored(pair, collision):
        speed += LEEWAY
    reach = reach_of_features(least.distance, collision.zone[0], speed, braking, most)
    pair.known_reach = reach
    if reach < 0.0:
        return count, last, most
    shift = _APART - least.distance if least.distance < _APART else 0.0
    move_apart(least, shift)
    a = turned(collision.shapes[pair.first], 0, shift, scratch)
    b = turned(collision.shapes[pair.second], 1, 0.0, scratch)
    write_heights(a, 0, least, heights[0])
    write_heights(b, 1, least, heights[1])
    place_boxes(a, b, scratch.frames)
    for side in range(2):
        for i in range(CORNERS):
            if heights[side, i] <= reach and find_corner(
                    a, b, side, i, reach, near[count], scratch):
                count, last, most = keep_feature(
                    k, 1 + CORNERS * side + i, shift, collision, states, braking,
                    (count, last, most, likely))
    edges, far = scratch.edges, max(least.distance + reach + a.radius + b.radius, 0.0) + SLACK
    for i in range(EDGES):
        height = heights[0, CORNERS + i]
        if not height <= reach or edge_is_far(a, i, b, scratch.frames, far):
            continue
        crossings = find_crossings(a, i, b, height, reach, heights[1], scratch.frames, edges)
        place_edge(a, i, scratch.parts[0])
        for e in range(crossings):
            j = edges[e]
            if find_crossing(a, i, b, j, reach, near[count], scratch):
                count, last, most = keep_feature(
                    k, 1 + 2 * CORNERS + EDGES * i + j, shift, collision, states, braking,
                    (count, last, most, likely))
    for i in range(2 if is_round(a) and is_round(b) else 0):
        if find_beside(a, b, (1.0 - 2.0 * i) * ASIDE, reach, near[count], scratch):
            count, last, most = keep_feature(
                k, BESIDE + i, shift, collision, states, braking, (count, last, most, likely))
    return count, last, most
