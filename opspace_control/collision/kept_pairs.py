# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which near pairs are kept: those with the least margins of speed.

Where two bodies have not moved relative to each other, what was found of their shapes is known
still: it turns and moves with them, and only its margin of speed is new.
"""

import math

from opspace_control.collision.body_pairs import STILL
from opspace_control.collision.speeds import body_velocity, world_velocity
from opspace_control.compiled import inlined
from opspace_control.dynamics.braking import braking_speed
from opspace_control.spatial.vectors import rotate

# Features of what is at rest are looked for as if it were faster by this, m/s: so that noise of
# velocities does not let them be looked for anew.
LEEWAY = 0.01
# Distance beyond the margin, in parts of the zone of features, from which on they do not count.
FADED = 5.0 / 3.0


@inlined
def keep_urgent(near, count, last, likely):
    """
    Keep the near pair after the last one, or forget the one with the largest margin of speed.

    Returns how many there are, which has the most of them, and the margin below which others are
    looked for, m/s: as ``likely``, as long as there is memory.
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
        return count, last, min(likely, near[last].speed_margin)
    return count, last, likely


@inlined
def overlap_share(collision, distance):
    """Return how far two shapes overlap, in parts of the zone of features, from 0 to 1."""
    zone = collision.zone[0]
    return min(max(-distance, 0.0) / zone, 1.0) if zone > 0.0 else 0.0


@inlined
def complete(k, feature, bound_share, braking, states, collision, found):
    """Write which pair a near one is, what the motion of the world does to it, and its speeds."""
    pair = collision.pairs[k]
    a, b = collision.shapes[pair.first], collision.shapes[pair.second]
    found.pair, found.feature, found.nodes[0], found.nodes[1] = k, feature, a.node, b.node
    points, normal = found.points, found.normal
    found.world_rate = (world_velocity(a, points[0], normal) - world_velocity(b, points[1], normal))
    allowed, _ = braking_speed(
        found.distance - braking.margin, braking.acceleration, braking.approach_rate)
    wider = (1.0 / (bound_share * bound_share) - 1.0) * braking.acceleration / braking.return_rate
    margin = allowed + wider + found.world_rate + (
        body_velocity(a, states, points[0], normal) - body_velocity(b, states, points[1], normal))
    found.bound_share, found.speed_margin = bound_share, margin
    if 2.0 * margin > braking.furthest:
        found.bound_share = bound_share * max(2.0 - 2.0 * margin / braking.furthest, 0.0)


@inlined
def write_reached(pair, search, braking, found):
    """Write the distance and direction of a pair that is nearer than `PairBraking.reach`."""
    if found.distance < braking.reach:
        pair.reached, pair.distance = search, found.distance
        for r in range(3):
            pair.direction[r] = found.normal[r]


@inlined
def share_by_distance(least, zone, braking):
    """
    Return the share in bounds that features have by the least distance, m, from 0 to 1.

    It is 1 up to 2/3 of the ``zone``, m, beyond the margin, and 0 from 5/3 of it on.
    """
    return max(min(FADED - (least - braking.margin) / zone, 1.0), 0.0)


@inlined
def reach_of_features(least, zone, speed, braking, most):
    """
    Return how much further than the least distance features may be with margins below ``most``, m.

    Their share falls with that, so their bounds are wider. Below 0 for none. ``speed`` is how fast
    their distances may decrease at most, m/s.
    """
    share = share_by_distance(least, zone, braking)
    allowed, _ = braking_speed(least - braking.margin, braking.acceleration, braking.approach_rate)
    wider = max(most + speed - allowed, 0.0) * braking.return_rate / braking.acceleration
    return zone * (1.0 - 1.0 / (share * math.sqrt(1.0 + wider)))


@inlined
def is_stored(pair, collision):
    """Return whether what this search finds of a pair is stored for the next one."""
    return pair.known_since == collision.known[0]


@inlined
def store(pair, feature, bound_share, found, collision):
    """Write what was found of a pair, in the axes of its second shape, for the next search."""
    searches, at, b = collision.known[0], collision.known[1], collision.shapes[pair.second]
    if at == collision.found.shape[1]:
        pair.known_since = -1
        return
    known, R, p, n, points = collision.found[searches & 1, at], b.R, b.p, found.normal, found.points
    known.feature, known.bound_share, known.distance = feature, bound_share, found.distance
    for r in range(3):
        known.normal[r] = R[0, r] * n[0] + R[1, r] * n[1] + R[2, r] * n[2]
        for side in range(2):
            known.points[side, r] = (
                R[0, r] * (points[side, 0] - p[0]) + R[1, r] * (points[side, 1] - p[1])
                + R[2, r] * (points[side, 2] - p[2]))
    collision.known[1] = pair.known[1] = at + 1


@inlined
def store_pair(pair, path, found, collision):
    """Begin to `store` a pair with its whole shapes; ``path`` is that of its bodies."""
    pair.known_since, pair.known[0], pair.known_path = collision.known[0], collision.known[1], path
    store(pair, 0, 1.0, found, collision)


@inlined
def is_known(pair, path, speed, collision, braking, most):
    """
    Return whether all that counts of a pair was found in the last search, and is where it was.

    ``path`` is that of its bodies; its distance may decrease by ``speed`` at most, m/s. Margins of
    speed below ``most`` count.
    """
    searches, stored, zone = collision.known[0], collision.known[1], collision.zone[0]
    if pair.known_since != searches - 1 or not path - pair.known_path <= STILL or (
            stored + pair.known[1] - pair.known[0] > collision.found.shape[1]):
        return False
    least = collision.found[1 - (searches & 1), pair.known[0]].distance
    return zone == 0.0 or share_by_distance(least, zone, braking) == 0.0 or (
        reach_of_features(least, zone, speed, braking, most) <= pair.known_reach)


@inlined
def keep_known(k, states, collision, braking, search):
    """Keep what is known of pair k as far as it is urgent, as `keep_features`."""
    pair, near, (count, last, most, likely) = collision.pairs[k], collision.near, search
    b, before = collision.shapes[pair.second], pair.known[0]
    R, p, half, at, share = b.R, b.p, collision.known[0] & 1, collision.known[1], 1.0
    for i in range(pair.known[1] - before):
        known, found = collision.found[1 - half, before + i], near[count]
        collision.found[half, at + i] = known
        found.distance = known.distance
        rotate(R, known.normal, found.normal)
        for side in range(2):
            rotate(R, known.points[side], found.points[side])
            for r in range(3):
                found.points[side, r] += p[r]
        complete(k, known.feature, share * known.bound_share, braking, states, collision, found)
        if i == 0:
            write_reached(pair, collision.known[0], braking, found)
            share = share_by_distance(found.distance, collision.zone[0], braking)
        if not found.speed_margin >= (most if known.feature > 0 or known.distance <= pair.influence
                                      else min(most, braking.always)):
            count, last, most = keep_urgent(near, count, last, likely)
    pair.known_since, pair.known[0] = collision.known[0], at
    collision.known[1] = pair.known[1] = at + pair.known[1] - before
    return count, last, most
