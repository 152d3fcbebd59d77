# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Load sharing of the effectors of one object, and its internal forces."""

from opspace_control.compiled import rare
from opspace_control.control.data import (
    ACTIVATION,
    APPLIED,
    FORCE,
    GRIP_FORCE,
    MOVING,
    REACTION,
    RESIDUAL,
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
def plan_loads(cycle, grasping, constrained, tasks, points, stack, environment):
    """
    Write the wrenches h of all grips for the motion of the object's task to ``GRIP_FORCE``.

    Base axes: each effector's share of the load, and internal forces. ``environment`` (6,) is
    scratch: what the environment exerts on the object.
    """
    gripped = stack[GRIP_FORCE]
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
            environment[r] = stack[APPLIED, first + r] - stack[MOVING, first + r]
        read_acceleration(tasks[grasp.task], point, environment, stack[RESIDUAL, first:first + 6],
                          cycle.motion, cycle.rate)
        balance_object(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        if grasp.line.any():
            balance_about_line(grasp, point.R, cycle.gravity, cycle.motion, cycle.rate)
        plan_grips(grasp, grips)
        place_grips(grasp, grips, point.R, stack[ACTIVATION], gripped)


@rare
def share_loads(cycle, robot, constrained, grasping, stack, scratch):
    """
    Add ``λ + h`` to the forces of the constraint rows, h as planned.

    With passive joints it is replaced by the nearest wrenches that these admit.
    """
    count, exerted = 6 * constrained, scratch.exerted
    grasps, grips = grasping
    cycle.passive_rows = 0
    for r in range(count):
        exerted[r] = 0.0
    for g in range(grasps.size):
        if grasps[g].activation > 0.0:
            exert_grips(
                grasps[g], grips, stack[ACTIVATION], stack[REACTION], stack[GRIP_FORCE], exerted)
    if cycle.has_passive:
        passive = scratch.grasps.passive_rows
        cycle.passive_rows = fill_passive_rows(
            robot.nodes, robot.states, robot.points, robot.supports, count, grasps, grips,
            stack[ACTIVATION], passive, cycle.motion)
        if cycle.passive_rows > 0:
            make_admissible(
                grasps, grips, robot.points, count, stack[ACTIVATION], passive, cycle.passive_rows,
                cycle.motion, scratch.grasps.admissible, exerted)
    for r in range(count):
        stack[FORCE, r] += exerted[r]
