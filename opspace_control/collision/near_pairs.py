# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The nearest of the pairs of shapes that may touch.

The nearest points of two flat faces jump when the faces turn, so bounds on the least distance alone
would let them rattle: their `features` that are nearly as near are near pairs, too. The bound of a
feature has a ``bound_share`` that is 0 where it begins to count, so that no bound appears at once.
"""

import math

from opspace_control.collision.body_pairs import approach, place_others, place_shapes
from opspace_control.collision.distance import find_distance, gap_of_spheres
from opspace_control.collision.features import (
    CORNERS,
    EDGES,
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
    FADED,
    LEEWAY,
    complete,
    is_known,
    is_stored,
    keep_known,
    keep_urgent,
    reach_of_features,
    share_by_distance,
    store,
    store_pair,
    write_reached,
)
from opspace_control.collision.shapes import HALF_SPACE, advance_shape
from opspace_control.collision.speeds import greatest_approach, relative_motion
from opspace_control.collision.waiting import Braking, may_wait, moves_across
from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.braking import braking_distance
from opspace_control.dynamics.kinematics import place_node
from opspace_control.spatial.dense import dot_product

# By so much the margins of near pairs are expected to increase at most in a cycle, m/s. With less
# the search is done again more often, with more it looks at more pairs.
_CHANGE = 0.05
# Cosine of the angle between the normals of a feature and of the whole shapes up to which it has
# less than its share. Shapes that are d apart have features within d and the zone of 3 cm at
# ``cos ≥ d / (d + 0.03)``: at a margin of 1 cm all have their share.
_ACROSS = 0.25
# What that cosine is below 1 for features that have no share where shapes overlap by the zone. All
# points of a pair are on one line then, so a feature with the least normal is the whole pair.
_ASKEW = 0.1
# Points nearer to each other than this count as the same, m: those on a rim are found to 1e-7.
_SAME = 1e-6


@inlined
def share_of(feature, least, zone):
    """
    Return the share of a feature in bounds by its distance from the least one, from 0 to 1.

    It is 0 from the ``zone`` beyond that on. A feature whose points are the nearest ones has none:
    its row would be that of the whole shapes again. Nor has one whose normal is across the least
    one; the deeper two shapes overlap, the nearer these must be to parallel.
    """
    apart = 0.0
    for r in range(3):
        apart = max(apart, abs(feature.points[0, r] - least.points[0, r]),
                    abs(feature.points[1, r] - least.points[1, r]))
    if apart < _SAME:
        return 0.0
    cosine = dot_product(feature.normal, least.normal, 3)
    overlap = min(max(-least.distance / zone, 0.0), 1.0)
    aligned = 1.0 - overlap * min((1.0 - cosine) / _ASKEW, 1.0)
    return aligned * min(max(cosine / _ACROSS, 0.0), 1.0) * (
        min(1.0 - (feature.distance - least.distance) / zone, 1.0))


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

    The pairs that are nearer than `Braking.reach` have a distance of this search, too.

    They are in the order of the pairs; where more are near than there is memory for, those with the
    least margin of speed: their bounds are the highest. None has a margin of `Braking.furthest` or
    more; its share falls to 0 there. A pair that is far away is not looked at
    before its bodies have moved that far, nor is one that cannot be among those: what it takes goes
    by the number of pairs that are near, and by that of pairs of bodies. Who changes the size of a
    shape calls `forget_distances`.

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
def keep_feature(k, feature, a, b, collision, states, braking, search):
    """Keep a feature that has been found in the last of the near pairs, as `keep_features`."""
    near, (count, last, most, likely) = collision.near, search
    least = collision.scratch.least[0]
    bound_share = share_of(near[count], least, collision.zone[0])
    if bound_share > 0.0:
        if is_stored(collision.pairs[k], collision):
            store(collision.pairs[k], feature, bound_share, near[count], collision)
        bound_share *= share_by_distance(least.distance, collision.zone[0], braking)
        complete(a, b, k, feature, bound_share, braking, states, collision, near[count])
        if near[count].speed_margin < most:
            count, last, most = keep_urgent(near, count, last, likely)
    return count, last, most


@inlined
def keep_features(k, speed, collision, states, braking, search):
    """
    Keep the features of pair k, whose least distance is known, that are urgent.

    Their distances decrease by ``speed`` at most, m/s. ``search`` is as of `keep_urgent`: count,
    last, most and likely; returns the first three.
    """
    near, scratch, (count, last, most, likely) = collision.near, collision.scratch, search
    pair, least, heights = collision.pairs[k], scratch.least[0], scratch.heights
    a, b = collision.shapes[pair.first], collision.shapes[pair.second]
    if is_stored(pair, collision):
        speed += LEEWAY
    reach = reach_of_features(least.distance, collision.zone[0], speed, braking, most)
    pair.known_reach = reach
    if reach < 0.0:
        return count, last, most
    a, b = turned(a, 0, scratch), turned(b, 1, scratch)
    write_heights(a, 0, least, heights[0])
    write_heights(b, 1, least, heights[1])
    place_boxes(a, b, scratch.frames)
    for side in range(2):
        for i in range(CORNERS):
            if heights[side, i] <= reach and find_corner(
                    a, b, side, i, reach, near[count], scratch):
                count, last, most = keep_feature(
                    k, 1 + CORNERS * side + i, a, b, collision, states, braking,
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
                    k, 1 + 2 * CORNERS + EDGES * i + j, a, b, collision, states, braking,
                    (count, last, most, likely))
    return count, last, most


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
    complete(a, b, k, 0, 1.0, braking, states, collision, found)
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
        states, origin, collision, Braking(0.0, 1.0, 1.0, 1.0, math.inf, -math.inf, -math.inf))
