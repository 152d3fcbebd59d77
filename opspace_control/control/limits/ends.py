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
from opspace_control.control.hierarchy.modes import LADEN, LEADER, forget_leads, hold_against
from opspace_control.control.hierarchy.structures import (
    LEADING,
    LOST,
    LOST_AT_ALL,
    NUMBERS,
    OWN_MOBILITY,
    SPARE,
)
from opspace_control.control.hierarchy.transfer import hand_over
from opspace_control.control.limits.active_limits import (
    SOLUTIONS,
    find_forces,
    find_pulls,
    insist,
    miss,
    moving_forces,
    resolve_held,
)
from opspace_control.control.limits.held_rows import (
    ADVISED,
    COLUMN,
    HOLDING,
    couple_rows,
    hold_joints,
    leave_to_constraints,
    soften_ends,
)
from opspace_control.control.limits.limit_law import LOAD, MOTION, POSITION, faded, held_by

# A joint that goes slower than this part of its greatest velocity stands.
_STILL = 0.01
# What leads directions changes with what they do without: it takes so long, s.
_TIME = 0.1
# A joint that comes back to its end waits there twice as long to leave it again, s at most, unless
# it is pulled so many times as much as when it left; until it has been away for some time, s.
_PATIENCE = 5.0
_MORE = 5.0
_FORGETTING = 2.0


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
                limit.stands[kind], limit.leaves[kind] = 0.0, 0
                continue
            stands = limit.held[kind] != 0 and limit.leaves[kind] == 0 and (
                at_end if kind == MOTION else limit.laden)
            limit.stands[kind] = faded(limit.stands[kind], stands, dt, _TIME)
            limit.stood[kind] = limit.stood[kind] + dt if stands else 0.0
            if limit.stands[kind] == 0.0:
                limit.leaves[kind] = 0
                limit.patience[kind] *= 1.0 - min(dt / _FORGETTING, 1.0)
            else:
                found = True
    return found


@rare
def lead_between_ends(data):
    """
    Resolve the stack without joints that stand at their ends, and lead what is lost then.

    They stand whichever way they are pulled: what leads would be another without them, and push
    them back. What holds them against all forces of the stack stays in ``room`` for `push_leading`,
    in `LIMIT` against those that lead. Lost anyway is from now on what is lost without these
    joints. If nothing is led, these take part as all others do.
    """
    cycle, limits, rows, room = data.cycle, data.bounds.joints, data.scratch.rows, data.scratch.room
    size, leads, push = rows.shape[1], room[LEADING], rows[SPARE]
    cycle.leads, cycle.led = True, False
    forget_leads(leads, size)
    count = cycle.ends = hold_joints(data, True, data.scratch.a_null, room[NUMBERS, ADVISED])
    couple_rows(data, count)
    for w in range(count):
        k, kind = held_by(limits, w)
        leads[LADEN, w] = limits[k].node if kind == LOAD else -1
    leave_to_constraints(data, count)
    soften_ends(limits, count, room[OWN_MOBILITY], room[NUMBERS])
    exactly = resolve_held(data, count)
    if not cycle.led:
        cycle.ends = 0
        return
    for w in range(count):
        k, kind = held_by(limits, w)
        limits[k].kept[kind] = hold_against(room, w, leads[LEADER, :size])
    for r in range(size):
        rows[LOST_AT_ALL, r] = rows[LOST, r]
    held = room[NUMBERS, HOLDING, :count]
    moving_forces(rows, 6 * data.demand.constraints.size, push)
    find_forces(data, exactly, count, push, held)
    miss(data, push, held, rows[LOST])


@rare
def advise_motion(data, between_ends, a_led):
    """Make what leads directions, between ends if joints stand there, a part of ``a_led`` (nv,)."""
    rows, room = data.scratch.rows, data.scratch.room
    miss(data, rows[SPARE], room[NUMBERS, HOLDING, :0], rows[LOST])
    if between_ends:
        lead_between_ends(data)
    hand_over(data, a_led)


@rare
def let_go_of_ends(data, exactly):
    """
    Let go, for the cycles to come, of joints at their ends that would go back by themselves.

    While directions are led without them this is no matter of one cycle: what leads would be
    another. They have to be pulled to their ends both by what tasks insist on, as `let_go_of` has
    it, with what they could have without any end, and by all that moves them in fact.
    """
    cycle, limits, rows, room = data.cycle, data.bounds.joints, data.scratch.rows, data.scratch.room
    if cycle.ends == 0 or not cycle.led or 2 * cycle.solutions >= SOLUTIONS:
        return
    lost, pull, count = rows[LOST_AT_ALL], rows[SPARE + 1], cycle.held
    held, column = room[NUMBERS, HOLDING, :count], room[NUMBERS, COLUMN, :count]
    insist(data, lost, pull)
    find_pulls(exactly, count, room, pull, held, column)
    for w in range(count):
        k, kind = held_by(limits, w)
        limit = limits[k]
        if limit.stands[kind] > 0.0:
            side, force = limit.held[kind], held[w] + limit.kept[kind]
            waits = (limit.stood[kind] < limit.patience[kind]
                     and side * force < _MORE * limit.pull[kind])
            if side * force > 0.0 and side * column[w] > 0.0 and not waits:
                limit.held[kind], limit.leaves[kind] = 0, 1
                limit.patience[kind] = min(2.0 * limit.patience[kind] + _TIME, _PATIENCE)
                limit.pull[kind] = side * force
