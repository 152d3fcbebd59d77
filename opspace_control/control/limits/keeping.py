# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints in a cycle: what it takes where the stack's forces would go beyond."""

from opspace_control.compiled import inlined
from opspace_control.control.hierarchy.modes import MOVED
from opspace_control.control.hierarchy.structures import LEADING, LOADS, MISSED, NUMBERS, SPARE
from opspace_control.control.hierarchy.transfer import take_back
from opspace_control.control.limits.active_limits import (
    exert_borne,
    miss,
    moving_forces,
    resolve_within_limits,
)
from opspace_control.control.limits.ends import advise_motion, let_go_of_ends
from opspace_control.control.limits.held_rows import HOLDING
from opspace_control.control.limits.limit_check import within_limits
from opspace_control.dynamics.responses import apply_wrenches, forward_response


@inlined
def keep_limits(data, grasping, between_ends, tau):
    """Let limits hold joints where the stack's forces would take them beyond, tasks giving way."""
    robot, rows, room = data.robot, data.scratch.rows, data.scratch.room
    constrained, push = 6 * data.demand.constraints.size, rows[SPARE]
    moving_forces(rows, constrained, push)
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, push,
               data.scratch.joint_force, rows[SPARE + 1])
    forward_response(robot.nodes, robot.states, data.scratch.joint_force, data.scratch.a_null,
                  data.scratch.a_task)
    if grasping is not None:
        miss(data, push, room[NUMBERS, HOLDING, :0], rows[MISSED])
    if between_ends or not within_limits(
            robot.nodes, data.bounds.joints, room[LOADS], data.scratch.a_task):
        a_led = room[LEADING, MOVED, :tau.size]
        advise_motion(data, between_ends, a_led)
        exactly = resolve_within_limits(data, grasping, a_led, tau)
        if constrained > 0 and not data.cycle.has_passive:
            exert_borne(data.cycle, constrained, room, rows)
        let_go_of_ends(data, exactly)
        take_back(data)
        if data.cycle.led:
            data.cycle.least_eigenvalue = 0.0
