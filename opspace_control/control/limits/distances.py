# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Bounds on the distances of near pairs of shapes: links hit neither each other nor the world.

The distance of two convex shapes has the rate ``ḋ = n · (v_a − v_b)`` of the points of the bodies
that are nearest, n being the unit vector from the second to the first. So its second rate is that
of these points, ``∇d · q̈ + n · (J̇_a − J̇_b) q̇``, and what their motion over the shapes adds, of
second order in the velocity. The bound leaves that out: e m/s² of it change the speed of approach
by e over ``return_rate``.

A pair within its margin has two bounds: it comes no nearer, and it parts. The second is soft, for
pairs may have to part in directions that contradict each other. Where shapes overlap they come no
nearer by motion of the robot, which standing still keeps; to evade a world that moves into the
robot is part of the second bound there.
"""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.collision.features import FEATURES
from opspace_control.collision.kept_pairs import overlap_share
from opspace_control.collision.near_pairs import advance_world, find_near_pairs
from opspace_control.collision.waiting import PairBraking
from opspace_control.compiled import called, inlined
from opspace_control.control.limits.kinds import DISTANCE, PARTING
from opspace_control.dynamics.braking import braking_speed
from opspace_control.dynamics.kinematics import move_with, write_velocity
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.dense import dot_product
from opspace_control.spatial.vectors import linear_at

# Joints that change a distance by less, m by rad or m, do not part a pair, nor does it come nearer
# by more than some µm before they count. A bound that demands 10 m/s² of such a joint, as where the
# first link turns in a pedestal that it overlaps, takes all other bounds away.
LEAST_GRADIENT = 1e-3
# The same of shapes that overlap by the zone of features, more. Near the posture with the greatest
# depth a bound exerts τ / ∇d against a torque τ of tasks, and the curvature h of the depth makes
# that the stiffness ``τ h / ∇d`` of the joint: with 1000 N m at 3 mm/rad far more than a cycle can
# follow. With h = 0.3 m depths grow by ``∇d² / 2h``, 0.2 mm, at 1 cm/rad. h is the lever of the
# normal about the joint at most, so where that is small a joint counts from this angle on, rad,
# between it and that posture.
_DEEP_GRADIENT = 1e-2
_DEEP_ANGLE = 0.033


class Distances(NamedTuple):
    """Bounds of the distances of near pairs, d at most."""

    least: np.ndarray = '2 d'  # ``∇d · q̈`` at least: to come no nearer, and to part, m/s²
    gradient: np.ndarray = 'd nv'  # ∇d
    lever: np.ndarray = 'nv'  # scratch: how fast a joint can change the distance at most
    attainable: np.ndarray = 'd'  # greatest ``∇d · q̈``, m/s²; 0: no joint parts the pair
    wider: np.ndarray = 'd'  # by which bounds are wider since joints hardly change d, m/s²
    motion: np.ndarray = '2 6'  # velocity and acceleration of a point
    states: np.ndarray = 'l+2 d int'  # those of the last problem


@inlined
def add_gradient(nodes, states, node, point, normal, sign, row):
    """Add the gradient (nv,) of ``sign n · p`` of a point of a body."""
    n0, n1, n2 = sign * normal[0], sign * normal[1], sign * normal[2]
    while node >= 0:
        k = nodes[node].v_index
        if k >= 0 and nodes[node].status != LOCKED:
            x, y, z = linear_at(states[node].S, point)
            row[k] += n0 * x + n1 * y + n2 * z
        node = nodes[node].parent


@inlined
def write_levers(nodes, states, shape, point, normal, lever):
    """
    Write the greatest rate that n · p of a shape's point has while a joint turns it, m/rad.

    That is ``|u × n| |u × r|`` about an axis u, and 0 along one, whose rate does not change. The
    point rolls over a round shape, so its radius counts besides; that of the other does not.
    """
    node, rounding = shape.node, shape.radius + shape.disc
    while node >= 0:
        k, S = nodes[node].v_index, states[node].S
        if k >= 0:
            x, y, z = linear_at(S, point)
            along = S[3] * normal[0] + S[4] * normal[1] + S[5] * normal[2]
            across = S[3] * S[3] + S[4] * S[4] + S[5] * S[5] - along * along
            lever[k] = math.sqrt(max(across, 0.0)) * (
                math.sqrt(x * x + y * y + z * z) + rounding)
        node = nodes[node].parent


@called
def find_distances(collision, cycle, nodes, states, limits, v, distances):
    """
    Find the near pairs, write the gradients of their distances, and what is attainable of these.

    The bodies are placed; their velocities are those of v (nv,). ``limits`` (nv,) are of joints.
    """
    near, collision.count[0] = collision.near, 0
    advance_world(collision.counts[0].shapes, collision.shapes, cycle.dt)
    if cycle.keep > 0.0 and collision.counts[0].pairs > 0:
        for i in range(nodes.size):
            write_velocity(nodes, i, v, states)
        furthest = collision.counted[0] / cycle.return_rate
        find_near_pairs(states, cycle.origin, collision, PairBraking(
            cycle.distance_margin, cycle.distance_braking, cycle.approach_rate, cycle.return_rate,
            furthest, furthest, cycle.repulsion_influence if cycle.repulsion > 0.0 else -math.inf))
    for s in range(collision.count[0]):
        row = distances.gradient[s]
        row[:] = 0.0
        for side in range(2):
            add_gradient(nodes, states, near[s].nodes[side], near[s].points[side], near[s].normal,
                         1.0 - 2.0 * side, row)
        overlap = overlap_share(collision, near[s].distance)
        if overlap > 0.0:
            pair = collision.pairs[near[s].pair]
            write_levers(nodes, states, collision.shapes[pair.first], near[s].points[0],
                         near[s].normal, distances.lever)
            write_levers(nodes, states, collision.shapes[pair.second], near[s].points[1],
                         near[s].normal, distances.lever)
        distances.attainable[s], distances.wider[s] = attainable_acceleration(
            limits, row, distances.lever, overlap)


@inlined
def distance_rates(states, pair, motion):
    """Return the rate of a pair's distance, and ``n · (a_a − a_b)``; ``motion`` is scratch."""
    rate, acceleration = pair.world_rate, 0.0
    for side in range(2):
        sign = 1.0 - 2.0 * side
        move_with(pair.nodes[side], states, pair.points[side], motion[0], motion[1])
        for r in range(3):
            rate += sign * pair.normal[r] * motion[0, r]
            acceleration += sign * pair.normal[r] * motion[1, r]
    return rate, acceleration


@inlined
def least_acceleration(cycle, gap, rate):
    """
    Return the least second rate of a distance that lets the pair stop at its margin, m/s².

    The law of `bound_acceleration` from below; ``gap`` is how far it is from the margin, m. Within
    the margin it comes no nearer.
    """
    fastest, slope = braking_speed(max(gap, 0.0), cycle.distance_braking, cycle.approach_rate)
    return -cycle.return_rate * (fastest + rate) - slope * rate


@inlined
def parting_acceleration(cycle, gap, rate, attainable):
    """
    Return the least second rate of a distance within its margin that lets the pair part, m/s².

    At `parting_speed` or slower, from rest with no more than the braking acceleration and a part of
    what is ``attainable``, m/s²: joints that hardly change the distance stay slow.
    """
    speed = min(-cycle.approach_rate * gap, cycle.parting_speed, attainable / cycle.return_rate)
    damping = -(cycle.return_rate + cycle.approach_rate) * rate
    return min(cycle.return_rate * speed + damping, max(damping, 0.0) + min(
        cycle.distance_braking, cycle.approach_rate / cycle.return_rate * attainable))


@inlined
def attainable_acceleration(limits, gradient, lever, overlap):
    """
    Return the greatest second rate of a distance within the acceleration limits of joints, m/s².

    ``gradient`` (nv,) is that of the distance, ``limits`` (nv,) are those of the joints; of each
    only what is above the least that counts does, m/rad, by its ``lever`` (nv,) and the share of
    ``overlap``. Also by how much the bounds of the pair are wider, m/s²: from 0 where the gradient
    of one joint is twice the least, to more than all that joints do, so that no bound appears at
    once.
    """
    attainable = total = 0.0
    for k in range(gradient.size):
        rate, idle = abs(gradient[k]), LEAST_GRADIENT
        if overlap > 0.0:
            idle += overlap * min(_DEEP_GRADIENT, _DEEP_ANGLE * lever[k])
        total += rate * limits[k].acceleration
        if not rate <= idle:  # NaN stays visible
            attainable += (rate - idle) * limits[k].acceleration
    if attainable == 0.0:
        return 0.0, math.inf
    return attainable, max((total - attainable) / attainable - 1.0, 0.0) * total


@inlined
def number_of(pair):
    """Return the number of a near pair: they are in the order of these."""
    return FEATURES * pair.pair + pair.feature


def active_pairs(memory, numbers):
    """Return the parts of ``bound_active`` that are of near pairs, (2, d); it is no copy."""
    return memory.bound_active[numbers[DISTANCE]:numbers[PARTING + 1]].reshape(2, -1)


@called
def follow_pairs(collision, memory, numbers, scratch):
    """
    Move what the last problem left of each near pair from the place it had to that it has now.

    ``scratch`` is (l + 2, d). Near pairs are in their order, in the last cycle as in this one.
    """
    near, count = collision.near, collision.count[0]
    bound_state, pairs, active = memory.bound_state, memory.near_pairs, memory.bound_active
    levels, before = bound_state.shape[0], 0
    while before < pairs.size and pairs[before] >= 0:
        before += 1
    for kind in (DISTANCE, PARTING):
        first, old = numbers[kind], 0
        for s in range(before):
            for level in range(levels):
                scratch[level, s] = bound_state[level, first + s]
            scratch[levels, s] = active[first + s]
        for s in range(max(before, count)):
            number = number_of(near[s]) if s < count else -1
            while old < before and pairs[old] < number:
                old += 1
            there = old < before and pairs[old] == number
            for level in range(levels):
                bound_state[level, first + s] = scratch[level, old] if there else 0
            active[first + s] = scratch[levels, old] if there else 0
    for s in range(max(before, count)):
        pairs[s] = number_of(near[s]) if s < count else -1


@inlined
def bound_distances(collision, cycle, states, bounded, a):
    """
    Write the bounds of the distances of near pairs, ``∇d · q̈ ≥ least``, after `find_distances`.

    A pair that no joint parts has none: it would take all other bounds away. That of a feature is
    wider by ``a (1/bound_share² − 1)``, as all bounds are by ``keep``. The bodies move as the
    reference acceleration a (nv,) demands, without responses of passive joints. The cycle without
    limits has no ``collision``.
    """
    if collision is not None:
        near, distances = collision.near, bounded.distances
        for s in range(collision.count[0]):
            least, gap = distances.least[:, s], near[s].distance - cycle.distance_margin
            least[0] = least[1] = -math.inf
            if distances.attainable[s] == 0.0:
                continue
            rate, acceleration = distance_rates(states, near[s], distances.motion)
            acceleration += distances.wider[s] - dot_product(distances.gradient[s], a, a.size)
            part = near[s].bound_share * cycle.keep
            acceleration += (1.0 / (part * part) - 1.0) * cycle.distance_braking
            least[0] = least_acceleration(cycle, gap, rate) - acceleration
            if gap < 0.0:
                evasion = least_acceleration(cycle, gap, near[s].world_rate)
                least[0] -= max(evasion, 0.0) * overlap_share(collision, near[s].distance)
                least[1] = parting_acceleration(
                    cycle, gap, rate, distances.attainable[s]) - acceleration
