# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What effectors that hold one object do of its load, and how they squeeze it."""

from opspace_control.compiled import inlined, rare
from opspace_control.control.grasping.grasp_law import (
    balance_object,
    exert_grips,
    keep_off_passive_joints,
    place_grips,
    plan_grips,
    read_acceleration,
    swing_object,
)
from opspace_control.control.hierarchy.stack import (
    ASKED,
    FACTOR_Q,
    FORCE,
    GRAM_Q,
    GRIPPED,
    MISSED,
    MOVING,
    PUSH,
    REACTION,
    SCALE,
    SPARE,
    Q,
)
from opspace_control.dynamics.operational_space_inertia import is_group


@inlined
def slot_of(points, first, task):
    """Return where in the stack the point of a task is."""
    for e in range(first, points.size):
        if points[e].record == task and not is_group(points[e]):
            return e
    return -1


@rare
def plan_loads(cycle, grasps, grips, constrained, tasks, points, rows):
    """
    Plan what effectors that hold one object do to it: their shares of its load, and a squeeze.

    For the motion that its task asks for and gets. Written to ``GRIPPED`` of the constraints' rows.
    """
    environment, gripped = rows[SPARE], rows[GRIPPED]
    for r in range(6 * constrained):
        gripped[r] = 0.0
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        e = slot_of(points, constrained, grasp.task)
        point, first = points[e], 6 * e
        for r in range(6):
            environment[r] = rows[PUSH, first + r] - rows[MOVING, first + r]
        read_acceleration(tasks[grasp.task], point, environment, rows[MISSED, first:first + 6],
                          cycle.motion, cycle.rate)
        balance_object(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        if grasp.line.any():
            swing_object(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        plan_grips(grasp, grips)
        place_grips(grasp, grips, point.R, rows[ASKED], gripped)


@rare
def share_loads(cycle, grasps, grips, constrained, rows, squares, orders):
    """Let effectors that hold one object do their share of its load, and squeeze it, as planned."""
    exerted = rows[SPARE + 2]
    for r in range(6 * constrained):
        exerted[r] = 0.0
    for g in range(grasps.size):
        if grasps[g].activation > 0.0:
            exert_grips(grasps[g], grips, rows[ASKED], rows[REACTION], rows[GRIPPED], exerted)
    if cycle.yields:
        keep_off_passive_joints(
            squares[Q], 6 * constrained, squares[FACTOR_Q], squares[GRAM_Q], orders[1],
            cycle.ranks[1], rows[SCALE], rows[SPARE:SPARE + 2], exerted)
    for r in range(6 * constrained):
        rows[FORCE, r] += exerted[r]
