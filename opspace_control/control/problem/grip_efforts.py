# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Efforts of joints in grasps, as far as the motion determines them.

The joints exert the constraint reactions of a grasp, so that grips have their planned shares h of
the object's wrench, which depend on its motion: efforts are ``A q̈ + b + g + J_cᵀ h(q̈)``, and that
of joint k is a row ``A_k + (∂h/∂q̈)ᵀ J_c e_k``. Where contacts have bounds, constraint forces of
grasps are a part of the internal forces λ_int that the controller decides, since no passive joint
is between the effectors, see `grips_are_planned`.
"""

from opspace_control.compiled import rare
from opspace_control.control.constraints.constraint_law import constraint_column
from opspace_control.control.constraints.elimination import bound_reactions
from opspace_control.control.data import ACTIVATION, FORCE, REACTION
from opspace_control.control.grasping.grasp_law import object_point, share_gradient
from opspace_control.control.limits.kinds import JOINT_FORCE, quantity_of
from opspace_control.dynamics.responses import apply_wrenches, project_forces, project_torques

# Of a limit: an excess below is rounding.
_EXACTLY = 1e-10


@rare
def add_share_gradient(data, w, node):
    """Add ``(∂h/∂q̈)ᵀ J_c e_k`` of planned grips to the effort row ``A_k`` of a node's joint."""
    if not data.cycle.reactions_exerted:
        return
    nodes, states, points, supports = (
        data.robot.nodes, data.robot.states, data.robot.points, data.robot.supports)
    bound_rows, stack, small = (
        data.scratch.bounded.bound_rows, data.results.stack, data.scratch.small)
    joint_force, constrained = data.scratch.joint_force, 6 * data.demand.constraints.size
    grasps, grips = data.grasping
    column, shares, wrench = data.scratch.column, data.scratch.grasps.shares, data.scratch.wrench
    for r in range(shares.size):
        column[r] = shares[r] = 0.0
    constraint_column(node, states, points, supports, constrained, column)
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        e = object_point(points, constrained // 6, grasp.task)
        point, task = points[e], data.demand.tasks[grasp.task]
        share_gradient(grasp, grips, point.R, stack[ACTIVATION], column, small[0], wrench)
        for r in range(6):
            if task.row_activation[r] > 0.0:
                part = r - r % 3
                for d in range(3):
                    shares[6 * e + r] += task.activation * (
                        point.axes[r // 3, d, r - part] * wrench[part + d])
    apply_wrenches(nodes, states, points, supports, shares, joint_force, wrench)
    project_forces(nodes, states, joint_force, bound_rows.torque[w])
    project_torques(nodes, states, bound_rows.torque[w], bound_rows.projection[w])


@rare
def correct_efforts(data, count, tau, tau_ref):
    """
    Add ``tau − y`` of effort rows to their free efforts, tau_ref; return whether any is not 0.

    All three are (nv,) or of the rows: tau of `find_efforts`, y the values of the solved problem.

    Grasp forces for friction depend on the motion, but not linearly, and rows leave out reactions
    of constraints to passive joints' own forces; else rows are exact. Only efforts at their limits
    or beyond count.
    """
    cycle = data.cycle
    if not (cycle.reactions_exerted or (
            cycle.has_passive and data.demand.constraints.size > 0 and not cycle.forces_decided)):
        return False
    bound_rows, efforts, corrected = data.scratch.bounded.bound_rows, data.limits.efforts, False
    y = data.scratch.bounded.problem.f_y[1]
    for w in range(count):
        k = bound_rows.dof[w]
        if quantity_of(bound_rows.kind[w]) != JOINT_FORCE:
            continue
        error = tau[k] - y[w]
        if abs(error) > _EXACTLY * efforts[k] and (
                max(abs(tau[k]), abs(y[w])) > (1.0 - _EXACTLY) * efforts[k]):
            tau_ref[k] += error
            corrected = True
    return corrected


@rare
def exert_reactions(data):
    """
    Move the constraint reactions to f_R from ``REACTION`` to ``FORCE``: drives exert them.

    Their sum stays, so in planned grasps the efforts do. λ is then that of the tasks' forces alone.
    """
    stack = data.results.stack
    reaction = data.scratch.bound_reaction[:6 * data.demand.constraints.size]
    bound_reactions(
        data, data.scratch.bounded.bound_rows.multiplier, data.cycle.bound_count, reaction)
    for c in range(reaction.size):
        stack[FORCE, c] -= reaction[c]
        stack[REACTION, c] += reaction[c]
