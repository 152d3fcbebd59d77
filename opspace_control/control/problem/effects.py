# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the forces of a problem do: constraint reactions, residuals of tasks, and efforts."""

from opspace_control.compiled import rare
from opspace_control.control.constraints.elimination import (
    bound_reactions,
    moving_forces,
    predict_reactions,
)
from opspace_control.control.data import (
    APPLIED,
    FORCE,
    GRIP_FORCE,
    REACTION,
    REJECTING,
    RESIDUAL,
    WANTED,
)
from opspace_control.control.grasping.load_sharing import plan_loads
from opspace_control.control.problem.bound_rows import add_bound_forces
from opspace_control.dynamics.passive_responses import project_exerted
from opspace_control.dynamics.responses import apply_wrenches
from opspace_control.spatial.dense import add_scaled, dot_product


@rare
def write_residual(data, wanted, count):
    """Write ``wanted − Λ⁻¹ f − C f_R`` to ``RESIDUAL`` of tasks, f the moving forces."""
    constrained, mobility = 6 * data.demand.constraints.size, data.results.Lambda_inverse
    stack, bound_rows = data.results.stack, data.scratch.bounded.bound_rows
    residual, moving = stack[RESIDUAL], data.scratch.moving
    for t in range(moving.size):
        residual[t] = 0.0 if t < constrained else wanted[t]
    tasks, forces = residual[constrained:], moving[constrained:]
    for t in range(tasks.size):
        tasks[t] -= dot_product(mobility[t], forces, t + 1)
        if forces[t] != 0.0:
            add_scaled(tasks, -forces[t], mobility[t], t)
    for w in range(count):
        add_scaled(
            tasks, -bound_rows.multiplier[w], bound_rows.coupling[w, constrained:], tasks.size)


@rare
def start_from_applied(data):
    """Write to ``FORCE`` of tasks the forces that are no multipliers, those of `read_forces`."""
    stack, applied = data.results.stack, data.scratch.bounded.applied
    for r in range(6 * data.demand.constraints.size, stack.shape[1]):
        stack[FORCE, r] = (
            stack[APPLIED, r] + stack[REJECTING, r]
            + data.cycle.force_share * applied.compensation[r])


@rare
def write_reactions(data, count):
    """Write ``FORCE`` and ``REACTION`` of constraints, and ``moving``, of task forces and f_R."""
    stack, constrained = data.results.stack, 6 * data.demand.constraints.size
    for c in range(constrained):
        stack[FORCE, c] = stack[WANTED, c]
    predict_reactions(data.cycle, data.results, data.scratch, constrained)
    moving_forces(stack, constrained, data.scratch.moving)
    if count > 0:
        reaction = data.scratch.bound_reaction[:constrained]
        bound_reactions(data, data.scratch.bounded.bound_rows.multiplier, count, reaction)
        for c in range(constrained):
            stack[REACTION, c] -= reaction[c]
            data.scratch.moving[c] -= reaction[c]


@rare
def find_efforts(data, count, tau_reference, tau):
    """
    Write to tau (nv,) what drives exert for the forces of the problem, but for minimum effort.

    ``tau_reference`` (nv,) is what the reference motion takes. At constraints drives exert the
    internal forces that are decided, in planned grasps else the reactions, and h, planned for
    ``RESIDUAL``.
    """
    cycle, robot, stack, scratch = data.cycle, data.robot, data.results.stack, data.scratch
    exerted, constraints = scratch.exerted, data.demand.constraints.size
    if cycle.reactions_exerted:
        plan_loads(cycle, data.grasping, constraints, data.demand.tasks, robot.points, stack,
                   scratch.wrench)
    for c in range(exerted.size):
        exerted[c] = stack[FORCE, c]
        if c < 6 * constraints and cycle.forces_decided:
            exerted[c] += scratch.bounded.contacts.internal[c]
        if c < 6 * constraints and cycle.reactions_exerted:
            exerted[c] += stack[GRIP_FORCE, c]
            if not cycle.forces_decided:
                exerted[c] += stack[REACTION, c]
    for k in range(tau.size):
        tau[k] = tau_reference[k]
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, exerted,
                   scratch.joint_force, scratch.wrench)
    project_exerted(robot.nodes, robot.states, robot.responds, scratch.joint_force, tau)
    add_bound_forces(count, scratch.bounded.bound_rows, tau)
