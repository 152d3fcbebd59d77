# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The nearest of the pairs of shapes that may touch.

Their features that are nearly as near are near pairs, too, see `near_features`.
"""

import math

from opspace_control.collision.body_pairs import approach, place_others, place_shapes
from opspace_control.collision.distance import find_distance, gap_of_spheres
from opspace_control.collision.kept_pairs import (
    FADED,
    complete,
    is_known,
    keep_known,
    keep_urgent,
    share_by_distance,
    store_pair,
    write_reached,
)
from opspace_control.collision.near_features import keep_features
from opspace_control.collision.shapes import HALF_SPACE, advance_shape
from opspace_control.collision.speeds import greatest_approach, relative_motion
from opspace_control.collision.waiting import PairBraking, may_wait, moves_across
from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.braking import braking_distance
from opspace_control.dynamics.kinematics import place_node

# By so much the margins of near pairs are expected to increase at most in a cycle, m/s. With less
# the search is done again more often, with more it looks at more pairs.
_CHANGE = 0.05


@called
def advance_world(count, shapes, dt):
    """Move the shapes of the world by their twists for the time dt since the last cycle, s."""
    for s in range(count):
        if shapes[s].node < 0:
            advance_shape(shapes[s], dt)


@called
def find_near_pairs(states, origin, collision, braking):
    """
    Write the pairs of shapes that may have to brake, or are nearer than their influence.

    The pairs that are nearer than `PairBraking.reach` have a distance of this search, too.

    They are in the order of the pairs; where more are near than there is memory for, those with the
    least margin of speed: their bounds are the highest. None has a margin of `PairBraking.furthest`
    or more; its share falls to 0 there. A pair that is far away is not looked at before its bodies
    have moved that far, nor is one that cannot be among those: what it takes goes by the number of
    pairs that are near, and by that of pairs of bodies. Who changes the size of a shape calls
    `forget_distances`.

    Parameters
    ----------
    states : (n,) array of NODE_STATE
        The bodies, placed, with their velocities.
    origin : (3,) array
        Root link's origin in the world, m.
    collision : CollisionData
        Its ``near`` and ``count`` are results.
    braking : PairBraking
        Which speed of approach has to be braked.

    """
    capacity, likely = collision.near.size - 1, collision.likely
    place_shapes(collision.counts[0], collision.shapes, collision.bodies, origin, states)
    most = min(likely[0], braking.furthest)
    search_near_pairs(states, origin, collision, braking, most)
    if most < braking.furthest and collision.count[0] < capacity:
        search_near_pairs(states, origin, collision, braking, braking.furthest)
    likely[0] = math.inf
    if collision.count[0] == capacity and capacity > 0:
        most = collision.near[0].speed_margin
        for i in range(1, capacity):
            most = max(most, collision.near[i].speed_margin)
        likely[0] = most + _CHANGE


@inlined
def look_at(k, both, speed, motion, states, collision, braking, search):
    """
    Keep a pair and its features if they are urgent, as `keep_features`; ``both`` is its BODY_PAIR.

    ``speed`` is how fast its distance may decrease at most, m/s, and ``motion`` that of
    `relative_motion`.
    """
    pair, near, least = collision.pairs[k], collision.near, collision.scratch.least
    zone, limit, path, (count, last, most, likely) = (
        collision.zone[0], pair.influence, both.path, search)
    if may_wait(pair.clear - path, limit, speed, braking, most):
        return count, last, most
    if is_known(pair, path, speed, collision, braking, most):
        return keep_known(k, states, collision, braking, search)
    a, b = collision.shapes[pair.first], collision.shapes[pair.second]
    one = b if b.bounding_radius < a.bounding_radius else a
    speed = min(speed, greatest_approach(motion, one.p, one.bounding_radius))
    gap = gap_of_spheres(a, b)
    if may_wait(gap, limit, speed, braking, most):
        pair.clear = gap + path  # NaN is not, and stays visible
        return count, last, most
    featureless = pair.clear - path >= braking.margin + FADED * zone
    if pair.within < math.inf and featureless and moves_across(
            pair, path, a, b, one, motion, limit, braking, most):
        return count, last, most
    found = near[count]
    find_distance(a, b, found, collision.scratch)
    pair.clear = found.distance + path
    if HALF_SPACE not in (a.kind, b.kind):
        pair.within = found.distance - path
        for r in range(3):
            pair.normal[r] = found.normal[r]
    if both.still:
        store_pair(pair, path, found, collision)
    least[0] = found
    complete(k, 0, 1.0, braking, states, collision, found)
    write_reached(pair, collision.known[0], braking, found)
    if not found.speed_margin >= (
            most if found.distance <= limit else min(most, braking.always)):
        count, last, most = keep_urgent(near, count, last, likely)
    if zone > 0.0 and share_by_distance(least[0].distance, zone, braking) > 0.0:
        return keep_features(k, speed, collision, states, braking, (count, last, most, likely))
    return count, last, most


@called
def search_near_pairs(states, origin, collision, braking, likely):
    """Write the near pairs whose margins of speed are below ``likely``, m/s; bodies are placed."""
    shapes, pairs, bodies, waits, body_pairs, due, pose = (
        collision.shapes, collision.pairs, collision.bodies, collision.waits, collision.body_pairs,
        collision.due, collision.pose)
    collision.known[0] += 1
    collision.known[1] = looked = 0
    fastest = 0.0
    for b in range(collision.counts[0].bodies):
        speed = bodies[b].speed
        fastest = max(fastest, speed if speed < math.inf else math.inf)  # NaN stays visible
    enough = math.inf  # what is further apart waits
    if likely <= braking.always:
        enough = braking_distance(
            likely + (fastest + fastest), braking.acceleration, braking.approach_rate)
        enough = max(enough, braking.reach - braking.margin)
    for g in range(collision.counts[0].body_pairs):
        a, b = bodies[waits[g].bodies[0]], bodies[waits[g].bodies[1]]
        gap = waits[g].clear - (a.path + b.path)
        if not gap - braking.margin >= enough and not may_wait(
                gap, body_pairs[g].influence, a.speed + b.speed, braking, likely):
            due[looked] = g
            looked += 1
    count, last, most = 0, 0, likely  # the last has the largest margin of speed, if all are there
    for i in range(looked):
        wait, both = waits[due[i]], body_pairs[due[i]]
        a, b = bodies[wait.bodies[0]], bodies[wait.bodies[1]]
        motion = relative_motion(shapes[a.shape], shapes[b.shape], states)
        speed = approach(both, a, b, motion, pose[:3], pose[3])
        if not may_wait(both.least - both.path, both.influence, speed, braking, most):
            place_others(a, shapes, origin, states)
            place_others(b, shapes, origin, states)
            both.least = math.inf
            for k in range(both.pairs[0], both.pairs[1]):
                count, last, most = look_at(
                    k, both, speed, motion, states, collision, braking,
                    (count, last, most, likely))
                both.least = min(both.least, pairs[k].clear)
        wait.clear = both.least - both.path + (a.path + b.path)
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
    find_near_pairs(
        states, origin, collision, PairBraking(0.0, 1.0, 1.0, 1.0, math.inf, -math.inf, -math.inf))
