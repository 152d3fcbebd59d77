# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Efforts that overcome the friction of drives, beside those of the law.

The law has what the effort limits leave, so the sum is within them.
"""

from opspace_control.compiled import called, inlined
from opspace_control.control.data import Bounds
from opspace_control.control.solver.semidefinite import solve_semidefinite
from opspace_control.control.stack.disturbance import BOUND
from opspace_control.dynamics.drive_friction import (
    MOTION_RATE,
    friction_level,
    overcoming_effort,
)
from opspace_control.dynamics.force_propagation import is_group, is_idle
from opspace_control.dynamics.responses import apply_wrenches, respond_to_forces
from opspace_control.model.nodes import ACTIVE


@inlined
def reserve_friction(friction, bounds, left, v):
    """
    Return the bounds with the effort limits, written to ``left`` (nv,), that friction leaves.

    The ``level`` of dry friction at this velocity is that of `overcoming_effort`.
    """
    for k in range(v.size):
        left[k] = bounds.efforts[k]
    for k in range(friction.size):
        friction[k].level = friction_level(friction[k], v[k])
        left[k] = max(left[k] - friction[k].level - friction[k].viscous * abs(v[k]), 0.0)
    return Bounds(left, bounds.joints)


@inlined
def acts(friction):
    """Return whether a drive has friction; if none has, no effort overcomes any."""
    largest = 0.0
    for k in range(friction.size):
        largest = max(largest, friction[k].coulomb, friction[k].breakaway, friction[k].viscous)
        friction[k].effort = 0.0
    return largest > 0.0


@called
def restart_friction(friction):
    """Forget the motion, as after a time without control."""
    for k in range(friction.size):
        friction[k].motion = 0.0


@inlined
def rejecting_forces(demand, robot, scratch, moving):
    """
    Write the forces of the stack, (k,), that reject disturbances, with reactions of constraints.

    These are ``−L_cc⁺ L_ct f``, so that the constraints hold.
    """
    constrained, mobility = 6 * demand.constraints.size, scratch.mobility
    for r in range(moving.size):
        moving[r] = 0.0
    for e in range(constrained // 6, robot.points.size):
        point, rejected = robot.points[e], demand.disturbance.tasks
        if not (is_group(point) or point.whole or is_idle(robot.carried[e])) and (
                rejected[point.record, BOUND] >= 0.0):
            for r in range(6):
                moving[6 * e + r] = rejected[point.record, r]
    if constrained > 0:
        for c in range(constrained):
            for r in range(constrained, moving.size):
                moving[c] -= mobility[r, c] * moving[r]
        solve_semidefinite(scratch.constraint_factor, moving[:constrained], scratch.coordinates)


@called
def overcome_friction(friction, cycle, robot, demand, results, scratch, v, tau):
    """
    Add the efforts that overcome friction to those of the law, (nv,), and note them.

    The law's accelerations, ``a_task``, are without the forces that reject disturbances. Drives
    exert them, so what they would move counts, too.
    """
    if not acts(friction):
        return
    nodes, rejects = robot.nodes, demand.disturbance.flags.size > 0
    gain = MOTION_RATE * cycle.dt / (1.0 + MOTION_RATE * cycle.dt)
    if rejects:
        rejecting_forces(demand, robot, scratch, scratch.moving)
        apply_wrenches(nodes, robot.states, robot.points, robot.supports, scratch.moving,
                       scratch.joint_force, scratch.wrench)
        respond_to_forces(nodes, robot.states, robot.needs_inertia, scratch.joint_force)
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0 and nodes[i].status == ACTIVE:
            a = results.a_task[k] + (robot.states[i].u if rejects else 0.0)
            friction[k].effort = overcoming_effort(friction[k], v[k], a, gain)
            tau[k] += friction[k].effort
