# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The nearest of the pairs of shapes that may touch.

The nearest points of two flat faces jump when the faces turn, so bounds on the least distance alone
would let them rattle: their `features` that are nearly as near are near pairs, too.
"""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.collision.distance import Scratch, find_distance
from opspace_control.collision.features import feature_count, find_feature
from opspace_control.collision.shapes import HALF_SPACE, advance_shape, place_shape
from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.kinematics import place_node

# Two shapes that may come near each other.
PAIR = np.dtype([
    ('first', np.int64),       # a, an index of a shape
    ('second', np.int64),      # b
    ('influence', np.float64),  # distance up to which the pair is near, m; -inf: it never is
    ('clear', np.float64),     # lower bound of the distance when it was found last, and the paths
                               # of both up to then, m: so much path they may have before it is 0
], align=True)


class CollisionData(NamedTuple):
    """The shapes, the pairs, and those that are near; k at most."""

    shapes: np.ndarray  # (s,) SHAPE; poses and twists of the world's may change
    pairs: np.ndarray   # (p,) PAIR
    near: np.ndarray    # (k + 1,) NEAR_PAIR; the last is scratch
    count: np.ndarray   # (1,) int: of near pairs
    scratch: Scratch
    zone: np.ndarray = np.zeros(1)  # features further than the least distance and this do not
    #                                 count, m


@inlined
def gap_of_bounds(a, b):
    """Return a lower bound of the distance of two placed shapes, by enclosing spheres, m."""
    x, y, z = a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2]
    if a.kind == HALF_SPACE:
        return -(a.R[0, 2] * x + a.R[1, 2] * y + a.R[2, 2] * z) - b.bound
    if b.kind == HALF_SPACE:
        return b.R[0, 2] * x + b.R[1, 2] * y + b.R[2, 2] * z - a.bound
    return math.sqrt(x * x + y * y + z * z) - a.bound - b.bound


@inlined
def world_velocity(shape, point, normal):
    """Return the velocity of a shape of the world along the normal at a point, m/s."""
    if shape.node >= 0:
        return 0.0
    t, p = shape.twist, shape.p
    x, y, z = point[0] - p[0], point[1] - p[1], point[2] - p[2]
    return (normal[0] * (t[0] + t[4] * z - t[5] * y)
            + normal[1] * (t[1] + t[5] * x - t[3] * z)
            + normal[2] * (t[2] + t[3] * y - t[4] * x))


@inlined
def keep_nearest(near, count, furthest):
    """Keep the near pair after the last, or forget the furthest; return both numbers."""
    capacity = near.size - 1
    if count < capacity:
        count += 1
    else:
        for i in range(furthest, capacity):
            near[i] = near[i + 1]
    if count == capacity:
        furthest = 0
        for i in range(1, capacity):
            if near[i].distance > near[furthest].distance:
                furthest = i
    return count, furthest


@inlined
def complete(a, b, k, feature, found):
    """Write which pair a near one is, and what the motion of the world does to it."""
    found.pair, found.feature, found.nodes[0], found.nodes[1] = k, feature, a.node, b.node
    found.world_rate = (world_velocity(a, found.points[0], found.normal)
                        - world_velocity(b, found.points[1], found.normal))


@called
def advance_world(shapes, dt):
    """Move the shapes of the world by their twists for the time dt since the last cycle, s."""
    for s in range(shapes.size):
        if shapes[s].node < 0:
            advance_shape(shapes[s], dt)


@called
def find_near_pairs(states, origin, collision):
    """
    Write the pairs of shapes that are nearer than their influence distances.

    They are in the order of the pairs; where more are near than there is memory for, the nearest.
    A pair that is far away is not looked at before its shapes have moved that far: what it takes
    goes by the number of pairs that are near, and little by that of all. Who changes the size of a
    shape sets ``clear`` of its pairs to -inf.

    Parameters
    ----------
    states : (n,) array of NODE_STATE
        The bodies, placed.
    origin : (3,) array
        Root link's origin in the world, m.
    collision : CollisionData
        Its ``near`` and ``count`` are results.

    """
    shapes, pairs, near, least = (
        collision.shapes, collision.pairs, collision.near, collision.scratch.least)
    zone = collision.zone[0]
    for s in range(shapes.size):
        place_shape(shapes[s], origin, states)
    capacity, count = near.size - 1, 0
    furthest = 0  # of the near ones, once there are as many as there may be
    for k in range(pairs.size):
        pair = pairs[k]
        a, b = shapes[pair.first], shapes[pair.second]
        limit = pair.influence
        if count == capacity:
            limit = min(limit, near[furthest].distance)
        paths = a.path + b.path
        if pair.clear - paths > limit:
            continue
        gap = gap_of_bounds(a, b)
        if gap > limit:  # NaN is not, and stays visible
            pair.clear = gap + paths
            continue
        found = near[count]
        find_distance(a, b, found, collision.scratch)
        pair.clear = found.distance + paths
        if found.distance > limit or (count == capacity and found.distance == limit):
            continue
        complete(a, b, k, 0, found)
        least[0] = found
        count, furthest = keep_nearest(near, count, furthest)
        if zone > 0.0 and least[0].distance < 2.0 * zone:
            for feature in range(1, feature_count(a, b)):
                if not find_feature(a, b, feature, zone, near[count], collision.scratch):
                    continue
                if count < capacity or near[count].distance < near[furthest].distance:
                    complete(a, b, k, feature, near[count])
                    count, furthest = keep_nearest(near, count, furthest)
    collision.count[0] = count


@kernel
def near_pairs_at(nodes, q, states, origin, collision):
    """Write the near pairs of shapes at the positions q (nq,); ``origin`` as `find_near_pairs`."""
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
    find_near_pairs(states, origin, collision)
