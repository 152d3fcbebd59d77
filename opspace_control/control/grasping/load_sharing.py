# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What effectors that hold one object do of its load, and how they squeeze it."""

from opspace_control.compiled import rare
from opspace_control.control.grasping.grasp_law import (
    balance_object,
    exert_grips,
    place_grips,
    plan_grips,
    read_acceleration,
    slot_of,
    swing_object,
)
from opspace_control.control.grasping.passive_rows import allow_exerted, fill_passive_rows
from opspace_control.control.hierarchy.structures import (
    ACTIVATION,
    APPLIED,
    FACTOR_Q,
    FORCE,
    GRAM_Q,
    GRIP_FORCE,
    MOVING,
    REACTION,
    RESIDUAL,
    SPARE,
)


@rare
def plan_loads(cycle, grasping, constrained, tasks, points, rows):
    """
    Plan what effectors that hold one object do to it: their shares of its load, and a squeeze.

    For the motion that its task asks for and gets. ``GRIP_FORCE`` of the constraints' rows
    receives them.
    """
    environment, gripped = rows[SPARE], rows[GRIP_FORCE]
    grasps, grips = grasping
    for r in range(6 * constrained):
        gripped[r] = 0.0
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        e = slot_of(points, constrained, grasp.task)
        point, first = points[e], 6 * e
        for r in range(6):
            environment[r] = rows[APPLIED, first + r] - rows[MOVING, first + r]
        read_acceleration(tasks[grasp.task], point, environment, rows[RESIDUAL, first:first + 6],
                          cycle.motion, cycle.rate)
        balance_object(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        if grasp.line.any():
            swing_object(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        plan_grips(grasp, grips)
        place_grips(grasp, grips, point.R, rows[ACTIVATION], gripped)


@rare
def share_loads(cycle, robot, constrained, grasping, rows, squares):
    """
    Let effectors that hold one object do their share of its load, and squeeze it, as planned.

    Where joints are passive, they do the nearest to it that these allow.
    """
    count, exerted = 6 * constrained, rows[SPARE + 2]
    grasps, grips = grasping
    cycle.passive_rows = 0
    for r in range(count):
        exerted[r] = 0.0
    for g in range(grasps.size):
        if grasps[g].activation > 0.0:
            exert_grips(
                grasps[g], grips, rows[ACTIVATION], rows[REACTION], rows[GRIP_FORCE], exerted)
    if cycle.has_passive:
        basis = squares[FACTOR_Q:GRAM_Q + 1]
        cycle.passive_rows = fill_passive_rows(
            robot.nodes, robot.states, robot.points, robot.supports, count, grasps, grips,
            rows[ACTIVATION], basis, cycle.motion)
        if cycle.passive_rows > 0:
            allow_exerted(grasps, grips, robot.points, count, rows[ACTIVATION], basis,
                          cycle.passive_rows, cycle.motion, rows[SPARE:SPARE + 2], exerted)
    for r in range(count):
        rows[FORCE, r] += exerted[r]
