# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The nearest of the pairs of shapes that may touch.

The nearest points of two flat faces jump when the faces turn, so bounds on the least distance alone
would let them rattle: their `features` that are nearly as near are near pairs, too. The bound of a
feature has a ``share`` that is 0 where it begins to count, so that no bound appears at once.
"""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.collision.cores import TOUCHING
from opspace_control.collision.distance import Scratch, find_distance
from opspace_control.collision.features import feature_count, find_feature
from opspace_control.collision.shapes import HALF_SPACE, advance_shape, bound_speed, place_shape
from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.braking import braking_speed
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


class Braking(NamedTuple):
    """The law by which pairs brake, as `braking_speed`."""

    margin: float         # distance at which they have stopped, m
    acceleration: float   # m/s²
    approach_rate: float  # 1/s
    return_rate: float    # that turns speeds to accelerations, 1/s


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
def body_velocity(shape, states, point, normal):
    """Return the velocity of a shape's body along the normal at a point, m/s; 0 of the world."""
    if shape.node < 0:
        return 0.0
    V = states[shape.node].V
    return (normal[0] * (V[0] + V[4] * point[2] - V[5] * point[1])
            + normal[1] * (V[1] + V[5] * point[0] - V[3] * point[2])
            + normal[2] * (V[2] + V[3] * point[1] - V[4] * point[0]))


@inlined
def keep_urgent(near, count, last):
    """
    Keep the near pair after the last one, or forget the one with the largest margin of speed.

    Returns how many there are, and which has the most of them.
    """
    capacity = near.size - 1
    if count < capacity:
        count += 1
    else:
        for i in range(last, capacity):
            near[i] = near[i + 1]
    if count == capacity:
        last = 0
        for i in range(1, capacity):
            if near[i].speed_margin > near[last].speed_margin:
                last = i
    return count, last


@inlined
def may_wait(gap, speed, braking, near, last):
    """Return whether a pair further apart than the gap has more margin of speed than a near one."""
    allowed, _ = braking_speed(gap - braking.margin, braking.acceleration, braking.approach_rate)
    return allowed - speed >= near[last].speed_margin


@inlined
def complete(a, b, k, feature, share, braking, states, found):
    """Write which pair a near one is, what the motion of the world does to it, and its speeds."""
    found.pair, found.feature, found.nodes[0], found.nodes[1] = k, feature, a.node, b.node
    points, normal = found.points, found.normal
    found.world_rate = (world_velocity(a, points[0], normal) - world_velocity(b, points[1], normal))
    allowed, _ = braking_speed(
        found.distance - braking.margin, braking.acceleration, braking.approach_rate)
    wider = (1.0 / (share * share) - 1.0) * braking.acceleration / braking.return_rate
    found.share, found.speed_margin = share, allowed + wider + found.world_rate + (
        body_velocity(a, states, points[0], normal) - body_velocity(b, states, points[1], normal))


@inlined
def share_of(feature, least, zone):
    """
    Return the share of a feature in bounds, from 0 to 1, as ``NEAR_PAIR.share``.

    It is 0 from the ``zone`` beyond the least distance on, and from twice the zone on. A feature
    whose points are the nearest ones has none: its row would be that of the whole shapes again.
    """
    apart = 0.0
    for r in range(3):
        apart = max(apart, abs(feature.points[0, r] - least.points[0, r]),
                    abs(feature.points[1, r] - least.points[1, r]))
    if apart < TOUCHING:
        return 0.0
    return min(1.0 - (feature.distance - least.distance) / zone, 1.0) * (
        min(2.0 - least.distance / zone, 1.0))


@called
def advance_world(shapes, dt):
    """Move the shapes of the world by their twists for the time dt since the last cycle, s."""
    for s in range(shapes.size):
        if shapes[s].node < 0:
            advance_shape(shapes[s], dt)


@called
def find_near_pairs(states, origin, collision, braking):
    """
    Write the pairs of shapes that are nearer than their influence distances.

    They are in the order of the pairs; where more are near than there is memory for, those with the
    least margin of speed: their bounds are the highest. A pair that is far away is not looked at
    before its shapes have moved that far, nor is one that cannot be among those: what it takes goes
    by the number of pairs that are near, and little by that of all. Who changes the size of a shape
    sets ``clear`` of its pairs to -inf.

    Parameters
    ----------
    states : (n,) array of NODE_STATE
        The bodies, placed, with their velocities.
    origin : (3,) array
        Root link's origin in the world, m.
    collision : CollisionData
        Its ``near`` and ``count`` are results.
    braking : Braking
        Which speed of approach has to be braked.

    """
    shapes, pairs, near, least = (
        collision.shapes, collision.pairs, collision.near, collision.scratch.least)
    zone = collision.zone[0]
    for s in range(shapes.size):
        place_shape(shapes[s], origin, states)
        bound_speed(shapes[s], states)
    capacity, count = near.size - 1, 0
    last = 0  # the one with the largest margin of speed, once there are as many as there may be
    for k in range(pairs.size):
        pair = pairs[k]
        a, b = shapes[pair.first], shapes[pair.second]
        limit, paths, speed = pair.influence, a.path + b.path, a.speed + b.speed
        gap = pair.clear - paths
        if gap > limit or (count == capacity and may_wait(gap, speed, braking, near, last)):
            continue
        gap = gap_of_bounds(a, b)
        if gap > limit or (count == capacity and may_wait(gap, speed, braking, near, last)):
            pair.clear = gap + paths  # NaN is not, and stays visible
            continue
        found = near[count]
        find_distance(a, b, found, collision.scratch)
        pair.clear = found.distance + paths
        if found.distance > limit:
            continue
        complete(a, b, k, 0, 1.0, braking, states, found)
        least[0] = found
        if count == capacity and found.speed_margin >= near[last].speed_margin:
            continue
        count, last = keep_urgent(near, count, last)
        if zone > 0.0 and least[0].distance < 2.0 * zone:
            for feature in range(1, feature_count(a, b)):
                if not find_feature(a, b, feature, zone, near[count], collision.scratch):
                    continue
                share = share_of(near[count], least[0], zone)
                if share > 0.0:
                    complete(a, b, k, feature, share, braking, states, near[count])
                    if count < capacity or near[count].speed_margin < near[last].speed_margin:
                        count, last = keep_urgent(near, count, last)
    collision.count[0] = count


@kernel
def near_pairs_at(nodes, q, states, origin, collision):
    """
    Write the near pairs of shapes at the positions q (nq,); ``origin`` as `find_near_pairs`.

    Where more are near than there is memory for, the nearest: the bodies are at rest.
    """
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        for r in range(6):
            states[i].V[r] = 0.0
    find_near_pairs(states, origin, collision, Braking(0.0, 1.0, 1.0, 1.0))
