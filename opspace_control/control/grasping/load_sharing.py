# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Load sharing of the effectors of one object, and its internal forces."""

from opspace_control.compiled import rare
from opspace_control.control.data import (
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
from opspace_control.control.grasping.grasp_law import (
    balance_about_line,
    balance_object,
    exert_grips,
    object_point,
    place_grips,
    plan_grips,
    read_acceleration,
)
from opspace_control.control.grasping.passive_rows import fill_passive_rows, make_admissible


@rare
def plan_loads(cycle, grasping, constrained, tasks, points, rows):
    """
    Write the wrenches h of all grips for the motion of the object's task to rows ``GRIP_FORCE``.

    Base axes: each effector's share of the load, and internal forces.
    """
    environment, gripped = rows[SPARE], rows[GRIP_FORCE]
    grasps, grips = grasping
    for r in range(6 * constrained):
        gripped[r] = 0.0
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        e = object_point(points, constrained, grasp.task)
        point, first = points[e], 6 * e
        for r in range(6):
            environment[r] = rows[APPLIED, first + r] - rows[MOVING, first + r]
        read_acceleration(tasks[grasp.task], point, environment, rows[RESIDUAL, first:first + 6],
                          cycle.motion, cycle.rate)
        balance_object(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        if grasp.line.any():
            balance_about_line(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        plan_grips(grasp, grips)
        place_grips(grasp, grips, point.R, rows[ACTIVATION], gripped)


@rare
def share_loads(cycle, robot, constrained, grasping, rows, squares):
    """
    Add ``λ + h`` to the forces of the constraint rows, h as planned.

    With passive joints it is replaced by the nearest wrenches that these admit.
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
        passive = squares[FACTOR_Q:GRAM_Q + 1]
        cycle.passive_rows = fill_passive_rows(
            robot.nodes, robot.states, robot.points, robot.supports, count, grasps, grips,
            rows[ACTIVATION], passive, cycle.motion)
        if cycle.passive_rows > 0:
            make_admissible(
                grasps, grips, robot.points, count, rows[ACTIVATION], passive, cycle.passive_rows,
                cycle.motion, rows[SPARE:SPARE + 2], exerted)
    for r in range(count):
        rows[FORCE, r] += exerted[r]
