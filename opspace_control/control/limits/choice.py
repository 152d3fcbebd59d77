# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints to hold next, and which to let go of: one step of the search for what holds."""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.hierarchy.structures import LOADS, NUMBERS
from opspace_control.control.limits.held_rows import COLUMN, MEASURE, MOBILITY
from opspace_control.control.limits.limit_law import EFFORT, KINDS, LOAD, MOTION, held_by
from opspace_control.control.limits.loads import growth_of
from opspace_control.dynamics.responses import forward_response
from opspace_control.model.nodes import ACTIVE

# By how much more than its motion a task wants what it has not got, without unit.
INSISTENCE = 100.0
ROUNDING = 1e-7  # without unit
# So many times a joint is let go of in a cycle, at a limit of one kind.
_OFTEN = 2


@inlined
def left_to(limit, kind, side, effort_limit, load, a, tau, k):
    """Return how far joint k is within a limit of a kind at one side, in parts of what it can."""
    if kind == MOTION:
        return (limit.greatest - a[k] if side > 0 else a[k] - limit.least) / limit.acceleration
    if kind == EFFORT:
        return 1.0 - side * tau[k] / effort_limit
    return (limit.growth - growth_of(load, a)) / limit.firmness


@inlined
def has_limit(limit, kind, effort_limit):
    """Return whether a joint has a limit of a kind that counts at this cycle."""
    if kind == MOTION:
        return True
    return limit.ruled and effort_limit > 0.0 if kind == EFFORT else limit.growth < math.inf


@inlined
def nearer_side(limit, kind, a, tau, k):
    """Return at which side of its limits of a kind joint k is beyond one, if at any."""
    if kind == MOTION:
        return 1 if a[k] > limit.greatest else -1
    return 1 if kind == LOAD or tau[k] > 0.0 else -1


@inlined
def forget_freed(limits):
    """Let go of joints as if none had been let go of in this cycle."""
    for k in range(limits.size):
        for kind in range(KINDS):
            limits[k].freed[kind] = 0


@rare
def let_go_of(limits, effort_limits, between_ends, room, count, a, tau):
    """
    Let go of the joint that would best go back within its limits by itself; return whether.

    It is one that has to be pulled to its limit instead of being held back there; above all one
    that is within its limit although held, because all that is held cannot be held at a time. Of
    those that stand at their ends, while directions are led between these, `let_go_of_ends` takes
    care.
    """
    vectors, worst, found = room[NUMBERS], ROUNDING, -1
    for w in range(count):
        k, kind = held_by(limits, w)
        limit = limits[k]
        if (between_ends and limit.stands[kind] > 0.0) or limit.freed[kind] >= _OFTEN:
            continue
        side = limit.held[kind]
        back = side * vectors[COLUMN, w] * vectors[MOBILITY, w] / vectors[MEASURE, w]
        back += INSISTENCE ** 2 * left_to(
            limit, kind, side, effort_limits[k], room[LOADS, k], a, tau, k)
        if back > worst:
            worst, found = back, w
    if found < 0:
        return False
    k, kind = held_by(limits, found)
    limits[k].freed[kind] += 1
    limits[k].held[kind] = 0
    return True


@rare
def take_hold(nodes, limits, effort_limits, room, a, tau):
    """
    Hold the joint that is furthest beyond a limit and not held there; return whether there is one.

    At one limit of motion and effort at a time, but for one whose effort does not suffice to brake
    it: others help. One that has gone from one of them to the other and back is at both: what takes
    turns never ends.
    """
    worst, found, chosen = ROUNDING, -1, MOTION
    for k in range(limits.size):
        limit = limits[k]
        if limit.q_index < 0 or nodes[limit.node].status != ACTIVE:
            continue
        for kind in range(KINDS):
            if limit.held[kind] != 0 or not has_limit(limit, kind, effort_limits[k]):
                continue
            beyond = -left_to(limit, kind, nearer_side(limit, kind, a, tau, k), effort_limits[k],
                              room[LOADS, k], a, tau, k)
            if beyond > worst:
                worst, found, chosen = beyond, k, kind
    if found < 0:
        return False
    limit = limits[found]
    side = nearer_side(limit, chosen, a, tau, found)
    limit.held[chosen] = side
    if chosen != LOAD:
        other = EFFORT if chosen == MOTION else MOTION
        if limit.held[other] == side and limit.freed[other] < _OFTEN:
            limit.held[other] = 0
            limit.freed[other] += 1
    return True


@rare
def furthest_beyond(data, closed, tau, cut):
    """
    Return how far a joint goes beyond a limit of its motion or load, in parts of what it can.

    Where efforts are beyond their limits, as they will be cut: ``cut`` (nv,) receives how joints
    accelerate then, without constraints; with these, how far efforts are beyond counts itself.
    Nothing may be exerted at links.
    """
    nodes, limits, effort_limits = data.robot.nodes, data.bounds.joints, data.bounds.efforts
    room, joint_force = data.scratch.room, data.scratch.joint_force
    for k in range(tau.size):
        joint_force[k] = 0.0
        if limits[k].ruled and not closed and nodes[limits[k].node].status == ACTIVE:
            joint_force[k] = min(max(tau[k], -effort_limits[k]), effort_limits[k]) - tau[k]
    forward_response(nodes, data.robot.states, joint_force, data.scratch.a_task, cut)
    worst = 0.0
    for k in range(limits.size):
        limit = limits[k]
        if limit.q_index < 0 or nodes[limit.node].status != ACTIVE:
            continue
        for kind in range(KINDS):
            if (kind != EFFORT or closed) and has_limit(limit, kind, effort_limits[k]):
                worst = max(worst, -left_to(
                    limit, kind, nearer_side(limit, kind, cut, tau, k), effort_limits[k],
                    room[LOADS, k], cut, tau, k))
    return worst


@inlined
def remember(limits):
    """Keep in mind which joints are held."""
    for k in range(limits.size):
        for kind in range(KINDS):
            limits[k].best[kind] = limits[k].held[kind]


@called
def exchange(limits):
    """Hold the joints that were kept in mind, and keep those in mind that are held."""
    for k in range(limits.size):
        for kind in range(KINDS):
            limit = limits[k]
            held = limit.held[kind]
            limit.held[kind], limit.best[kind] = limit.best[kind], held
