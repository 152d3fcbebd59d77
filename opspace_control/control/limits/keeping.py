# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints in a cycle: what it takes where the stack's forces would go beyond."""

from opspace_control.compiled import inlined
from opspace_control.control.hierarchy.handover import take_back
from opspace_control.control.hierarchy.modes import MOVED
from opspace_control.control.hierarchy.planes import COUPLING, LEADING, LOADS, NUMBERS
from opspace_control.control.hierarchy.pushes import answer_pushes, push_links
from opspace_control.control.hierarchy.stack import FORCE, MISSED, REACTION, SPARE
from opspace_control.control.limits.active_limits import (
    exert_borne,
    miss,
    moving_forces,
    resolve_within_limits,
)
from opspace_control.control.limits.ends import advise_motion, let_go_of_ends
from opspace_control.control.limits.held_rows import HOLDING
from opspace_control.control.limits.limit_check import within_limits


@inlined
def keep_limits(
        cycle, nodes, states, points, supports, tasks, levels, held, grasps, grips, limits,
        effort_limits, between_ends, a_null, a_task, joint_force, room, rows, squares, orders,
        small, Lambda_inverse, robot, tau):
    """Let limits hold joints where the stack's forces would take them beyond, tasks giving way."""
    moving_forces(rows, held, rows[SPARE])
    push_links(nodes, states, points, supports, rows[SPARE], joint_force, rows[SPARE + 1])
    answer_pushes(nodes, states, joint_force, a_null, a_task)
    if grasps is not None:
        miss(held, rows, Lambda_inverse, rows[SPARE], room[COUPLING], room[NUMBERS, HOLDING, :0],
             rows[MISSED])
    if between_ends or not within_limits(nodes, limits, room[LOADS], a_task):
        a_led = room[LEADING, MOVED, :tau.size]
        advise_motion(
            cycle, between_ends, nodes, states, levels, held, limits, effort_limits, a_null,
            a_led, room, rows, squares, orders, Lambda_inverse, robot)
        exactly = resolve_within_limits(
            cycle, nodes, states, points, supports, levels, held, tasks, grasps, grips, limits,
            effort_limits, a_null, a_led, a_task, joint_force, tau, room, rows, squares, orders,
            small, Lambda_inverse, robot)
        if held > 0 and not cycle.yields:
            exert_borne(cycle, held, room, rows)
        let_go_of_ends(cycle, exactly, held, levels, limits, room, rows, squares)
        take_back(robot, rows[FORCE], rows[REACTION])
        if cycle.led:
            cycle.least_eigenvalue = 0.0
