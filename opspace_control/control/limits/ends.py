# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Singularities that joints at their ends make.

A joint at an end of its way, or of what it may carry, moves nothing: an arm that is stretched out
is singular even if the torso, were it not bent all the way, could carry it further. So directions
near singularities are those of what is left of Λ⁻¹, and the motion w that they are led by leaves
these joints at rest.
"""

import math

from opspace_control.compiled import called, rare
from opspace_control.control.hierarchy.modes import LEADER, forget_leads, hand_over, hold_against
from opspace_control.control.hierarchy.planes import (
    COUPLING,
    FEELING,
    FELT,
    LEADING,
    NUMBERS,
    OWN_MOBILITY,
    TORQUES,
)
from opspace_control.control.hierarchy.stack import FORCE, WANTED, L, resolve_tasks
from opspace_control.control.limits.active_limits import SOLUTIONS, advise_tasks
from opspace_control.control.limits.held_rows import (
    ADVISED,
    HOLDING,
    decompose_rows,
    hold_joints,
    take_off_held,
)
from opspace_control.control.limits.limit_law import LOAD, MOTION, POSITION, held_by

# A joint that goes slower than this part of its greatest velocity stands.
_STILL = 0.01
# What leads directions changes with what they do without: it takes so long, s.
_TIME = 0.1


@called
def find_ends(limits, leads, dt, v):
    """
    Find the joints that stand at an end of their way, held there; return whether any does.

    They begin and end to stand gradually, or what leads would be another from one cycle to the
    next. Where nothing can be led, none does.
    """
    found = False
    for k in range(limits.size):
        limit = limits[k]
        at_end = (limit.reason[(1 + limit.held[MOTION]) // 2] == POSITION
                  and abs(v[k]) <= _STILL * limit.velocity)
        for kind in (MOTION, LOAD):
            limit.kept[kind] = 0.0
            if not leads or (kind == LOAD and math.isinf(limit.growth)):
                limit.stands[kind] = 0.0
                continue
            stands = limit.held[kind] != 0 and (at_end if kind == MOTION else limit.laden)
            limit.stands[kind] = min(max(
                limit.stands[kind] + (dt if stands else -dt) / _TIME, 0.0), 1.0)
            found = found or limit.stands[kind] > 0.0
    return found


@rare
def lead_between_ends(
        cycle, nodes, states, levels, constrained, limits, effort_limits, a_null, room, rows,
        squares, orders, Lambda_inverse, robot):
    """
    Resolve the stack without joints that stand at their ends, and lead what is lost then.

    They stand whichever way they are pulled: what leads would be another without them, and push
    them back. What holds them against all forces of the stack stays in ``room`` for `push_leading`,
    in `LIMIT` against those that lead. Returns whether they all can be held.
    """
    size, leads = rows.shape[1], room[LEADING]
    cycle.leads, cycle.led = True, False
    forget_leads(leads, size)
    cycle.ends = hold_joints(
        nodes, states, limits, cycle.leads, effort_limits, a_null, room[NUMBERS, ADVISED],
        room[FEELING, :nodes.size, :size], room[FELT, :, :nodes.size],
        room[TORQUES, :, :limits.size], room[COUPLING, :, :size], room[OWN_MOBILITY],
        room[NUMBERS], robot)
    exactly = decompose_rows(cycle.ends, room)
    take_off_held(exactly, cycle.ends, constrained, room, rows[WANTED], Lambda_inverse, squares[L],
                  rows[FORCE])
    cycle.least_eigenvalue = resolve_tasks(
        cycle, constrained, levels, cycle.singularity_threshold, rows, squares, orders, robot)
    if cycle.led:
        for w in range(cycle.ends):
            k, kind = held_by(limits, w)
            limits[k].kept[kind] = hold_against(room, w, leads[LEADER, :size])
    return exactly


@rare
def advise_motion(
        cycle, between_ends, nodes, states, levels, constrained, limits, effort_limits, a_null,
        a_led, room, rows, squares, orders, Lambda_inverse, robot):
    """Advise what leads directions, ``a_led`` (nv,), and let tasks want what they get beside it."""
    exactly = True
    if between_ends:
        exactly = lead_between_ends(
            cycle, nodes, states, levels, constrained, limits, effort_limits, a_null, room, rows,
            squares, orders, Lambda_inverse, robot)
    hand_over(robot, rows[FORCE], a_led)
    advise_tasks(exactly, cycle.ends, constrained, room, rows, Lambda_inverse)


@called
def let_go_of_ends(cycle, limits, room):
    """
    Let go, for the cycles to come, of joints at their ends that would go back by themselves.

    While directions are led without them this is no matter of one cycle: what leads would be
    another. They have to be pulled to their ends against all that moves them.
    """
    if not cycle.led or cycle.ends == 0 or 2 * cycle.solutions >= SOLUTIONS:
        return
    for w in range(cycle.held):
        k, kind = held_by(limits, w)
        limit = limits[k]
        if limit.stands[kind] > 0.0:
            force = room[NUMBERS, HOLDING, w] + limit.kept[kind]
            if limit.held[kind] * force > 0.0:
                limit.held[kind] = 0
