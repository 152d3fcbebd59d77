# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Singularities that joints at their ends make.

A joint at an end of its way, or of what it may carry, moves nothing: an arm that is stretched out
is singular even if the torso, were it not bent all the way, could carry it further. So directions
near singularities are those of what is left of Λ⁻¹, and the motion w that they are led by leaves
these joints at rest.
"""

from opspace_control.compiled import called, rare
from opspace_control.control.hierarchy.modes import LEADER, forget_leads, hold_against
from opspace_control.control.hierarchy.planes import (
    COUPLING,
    FEELING,
    FELT,
    LEADING,
    NUMBERS,
    OWN_MOBILITY,
    TORQUES,
)
from opspace_control.control.limits.active_limits import SOLUTIONS, resolve_held
from opspace_control.control.limits.held_rows import (
    ADVISED,
    COLUMN,
    HOLDING,
    hold_joints,
)
from opspace_control.control.limits.limit_law import (
    LOAD,
    MOTION,
    POSITION,
    held_by,
)

# A joint that goes slower than this part of its greatest velocity stands. While it still comes to
# its end it can be led away from there.
_STILL = 0.01


@called
def find_ends(limits, leads, v):
    """
    Find the joints that stand at an end of their way, held there; return whether any does.

    Not those that something leads away from there, until they have been let go of: else what leads
    would be another at each cycle. Where nothing can be led, none does.
    """
    found = False
    for k in range(limits.size):
        limit = limits[k]
        at_end = (limit.reason[(1 + limit.held[MOTION]) // 2] == POSITION
                  and abs(v[k]) <= _STILL * limit.velocity)
        for kind in (MOTION, LOAD):
            if limit.held[kind] == 0 or not leads:
                limit.led_off[kind] = limit.stands[kind] = 0
            elif limit.led_off[kind] == 0 and (at_end if kind == MOTION else limit.laden):
                limit.stands[kind], found = 1, True
            else:
                limit.stands[kind] = 0
            limit.kept[kind] = 0.0
    return found


@called
def weigh_ends(count, limits, room, leader):
    """Write the forces that keep joints at their ends against what leads directions, (k,)."""
    for w in range(count):
        k, kind = held_by(limits, w)
        limits[k].kept[kind] = hold_against(room, w, leader)


@called
def leave_ends(limits, led):
    """Let joints at their ends that are led away from there take part; return whether any does."""
    found = False
    for k in range(limits.size):
        limit = limits[k]
        for kind in (MOTION, LOAD):
            if not led:
                limit.led_off[kind] = 0
            if limit.stands[kind] != 0 and (
                    not led or limit.held[kind] * limit.kept[kind] > 0.0):
                limit.stands[kind], limit.led_off[kind], found = 0, 1 if led else 0, True
    return found and led


@rare
def lead_between_ends(
        cycle, nodes, states, levels, constrained, limits, effort_limits, a_null, room, rows,
        squares, orders, Lambda_inverse, robot):
    """
    Resolve the stack without joints that stand at their ends, and lead what is lost then.

    Ends hold on one side only: a joint that would have to be pulled to its end against what leads
    takes part after all. What holds the others against all forces of the stack stays in ``room``
    for `push_leading`. If nothing is led, no joint is said to stand at its end.
    """
    size, leads = rows.shape[1], room[LEADING]
    cycle.leads = True
    while True:
        cycle.led = False
        forget_leads(leads, size)
        cycle.ends = hold_joints(
            nodes, states, limits, cycle.leads, effort_limits, a_null, room[NUMBERS, ADVISED],
            room[FEELING, :nodes.size, :size], room[FELT, :, :nodes.size],
            room[TORQUES, :, :limits.size], room[COUPLING, :, :size], room[OWN_MOBILITY],
            room[NUMBERS], robot)
        resolve_held(cycle, constrained, levels, cycle.ends, room, rows, squares, orders,
                     Lambda_inverse, robot)
        if cycle.led:
            weigh_ends(cycle.ends, limits, room, leads[LEADER, :size])
        if not leave_ends(limits, cycle.led):
            return


@called
def let_go_of_ends(cycle, limits, room):
    """
    Let go, for the cycles to come, of joints at their ends that would go back by themselves.

    While directions are led without them this is no matter of one cycle: what leads would be
    another. They have to be pulled to their ends both by what tasks insist on, as `let_go_of` has
    it, and by all that moves them in fact.
    """
    if 2 * cycle.solutions >= SOLUTIONS:
        return
    for w in range(cycle.held):
        k, kind = held_by(limits, w)
        limit = limits[k]
        if limit.stands[kind] != 0:
            side, force = limit.held[kind], room[NUMBERS, HOLDING, w] + limit.kept[kind]
            if side * force > 0.0 and side * room[NUMBERS, COLUMN, w] > 0.0:
                limit.held[kind] = 0
