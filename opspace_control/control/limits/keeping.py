# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The prioritised problem of a cycle, solved where the motion without bounds passes a limit.

Rows of bounds are generated as needed: first those that were active in the last cycle, then all
that a solution violates. Rows are only added, so the iteration ends. References of motion and
efforts are in doc/explanation/developer_notes.md.
"""

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.constraints.elimination import (
    bound_reactions,
    moving_forces,
    predict_reactions,
)
from opspace_control.control.data import (
    APPLIED,
    DEMANDED,
    FORCE,
    GRIP_FORCE,
    REACTION,
    RESIDUAL,
    WANTED,
)
from opspace_control.control.grasping.load_sharing import plan_loads
from opspace_control.control.limits.bound_rows import (
    ROUNDING,
    add_bound_forces,
    add_violated,
    begin_rows,
)
from opspace_control.control.limits.contact_forces import (
    decide_forces,
    exert_internal,
    weight_of,
    within_contact_bounds,
    write_singular_reactions,
)
from opspace_control.control.limits.distances import within_distance_bounds
from opspace_control.control.limits.grip_efforts import (
    add_grip_efforts,
    correct_efforts,
    exert_all,
    exert_reactions,
)
from opspace_control.control.limits.limit_check import within_limits
from opspace_control.control.limits.problem import (
    prepare_tasks,
    select_rows,
    write_bounds,
    write_demands,
    write_matrix,
)
from opspace_control.control.limits.resting import write_reference
from opspace_control.control.limits.solution import (
    exceeds_residual,
    read_forces,
    record_active,
    solve_problem,
    start_forces,
)
from opspace_control.control.singular.transfer import (
    add_correction,
    add_response,
    add_singular_torque,
    move_to_stack,
)
from opspace_control.dynamics.responses import (
    apply_wrenches,
    forward_response,
    motion_torques,
    project_forces,
)
from opspace_control.spatial.dense import add_scaled, dot_product
from opspace_control.tasks.posture import feed_efforts

# The free values of effort rows are corrected so often at most: the grasp force does not follow
# the motion linearly, and the rows leave out constraint reactions to passive joints' own forces.
_CORRECTIONS = 8


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
        add_scaled(tasks, -forces[t], mobility[t], t)
    for w in range(count):
        add_scaled(tasks, -bound_rows.force[w], bound_rows.coupling[w, constrained:], tasks.size)


@rare
def react(data, count):
    """Write ``FORCE`` and ``REACTION`` of constraints, and ``moving``, of task forces and f_R."""
    stack, constrained = data.results.stack, 6 * data.demand.constraints.size
    for c in range(constrained):
        stack[FORCE, c] = stack[WANTED, c]
    predict_reactions(data.cycle, data.results, data.scratch, constrained)
    moving_forces(stack, constrained, data.scratch.moving)
    if count > 0:
        reaction = data.scratch.bound_reaction[:constrained]
        bound_reactions(data, data.scratch.bounded.bound_rows.force, count, reaction)
        for c in range(constrained):
            stack[REACTION, c] -= reaction[c]
            data.scratch.moving[c] -= reaction[c]


@rare
def find_posture_torques(data, tau):
    """Write ``A q̈_null + b + g``, (nv,), with the feed-forward; ``f`` of nodes is of q̈_null."""
    motion_torques(data.robot.nodes, data.robot.states, data.results.a_null,
                   data.scratch.joint_force, tau)
    feed_efforts(data.robot.nodes, data.demand.dofs, tau)


@rare
def find_efforts(data, grasping, count, tau_null, tau):
    """
    Write to tau (nv,) what drives exert for the forces of the problem, but for minimum effort.

    ``tau_null`` (nv,) is what q̈_ref takes. In grasps grips are planned for ``RESIDUAL``.
    """
    robot, stack, force = data.robot, data.results.stack, data.scratch.joint_force
    exerted, constraints = data.scratch.exerted, data.demand.constraints.size
    if grasping.grasps.size > 0 and data.cycle.reactions_exerted:
        plan_loads(data.cycle, grasping, constraints, data.demand.tasks, robot.points, stack,
                   data.scratch.wrench)
    decided = data.cycle.forces_decided
    exert_all(6 * constraints if data.cycle.reactions_exerted and not decided else 0, grasping,
              stack, exerted)
    for c in range(6 * constraints if decided else 0):
        exerted[c] += data.scratch.bounded.contacts.internal[c]
        if data.cycle.reactions_exerted:
            exerted[c] += stack[GRIP_FORCE, c]
    for k in range(tau.size):
        tau[k] = tau_null[k]
    add_response(data, exerted, tau)
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, exerted, force,
                   data.scratch.wrench)
    add_bound_forces(count, data.scratch.bounded.bound_rows, force)
    project_forces(robot.nodes, robot.states, force, tau)


@rare
def refer_efforts(data, grasping, reference, tau_null):
    """
    Write constraint forces and efforts without multipliers; ``FORCE`` becomes ``APPLIED``.

    Reference 0 is of q̈_ref, 1 of q̈_null, which take the efforts ``tau_null`` (nv,).
    """
    contacts, stack = data.scratch.bounded.contacts, data.results.stack
    for r in range(contacts.force.size, stack.shape[1]):
        stack[FORCE, r] = stack[APPLIED, r]
    react(data, 0)
    decide_forces(data, 0, reference == 0)
    for c in range(contacts.force.size):
        contacts.reference[reference, c] = contacts.force[c]
    write_residual(data, stack[WANTED if reference == 0 else DEMANDED], 0)
    if reference == 0:
        add_correction(data, stack[RESIDUAL])
    find_efforts(data, grasping, 0, tau_null, contacts.effort[reference])


@rare
def solve_rows(data, count, t, a, tau, plain):
    """
    Write and solve the problem of so many rows of bounds and of tasks, ``f_y`` being its result.

    ``a`` and ``tau`` (nv,) are its reference motion and the free efforts of effort rows: q̈_ref and
    ``tau_ref``, or in the ``plain`` problem, without singular-direction control, q̈_null.
    """
    write_matrix(data, count, t)
    write_bounds(data, count, a, tau, plain)
    write_demands(data, count, t, data.results.stack[DEMANDED if plain else WANTED])
    solve_problem(data, count, t, not plain)


@rare
def find_pressed(data, count, t, tau_null):
    """
    Find the limits that tasks press joints against without singular-direction control.

    They decide which joints rest: with that control the multipliers of these limits vanish.
    """
    if data.cycle.singular_active or data.cycle.resting_count > 0:
        prepare_tasks(data, t, 0)
        solve_rows(data, count, t, data.results.a_null, tau_null, True)
    record_active(data, count, True)


@rare
def solve_within_limits(data, grasping, tau):
    """
    Solve the problem of bounds and tasks; write forces of the stack and of bounds.

    ``FORCE`` and ``REACTION`` are relative to q̈_ref then. ``a_task`` (nv,) receives how active
    joints accelerate, ``tau`` (nv,) is scratch. Effort limits take part where `LIMIT.determined`.
    """
    cycle, robot, bounded = data.cycle, data.robot, data.scratch.bounded
    nodes, states, stack = robot.nodes, robot.states, data.results.stack
    a, force, moving = data.results.a_task, data.scratch.joint_force, data.scratch.moving
    a_ref, tau_null, tau_ref = bounded.a_ref, bounded.tau_null, bounded.tau_ref
    find_posture_torques(data, bounded.tau_posture)
    resting, count = begin_rows(data, grasping)
    write_reference(data, resting, a_ref)
    for k in range(tau.size):
        tau_null[k] = bounded.tau_posture[k]
    add_singular_torque(data, tau_null)
    for k in range(tau.size):
        tau_ref[k] = tau_null[k]
    nonlinear = cycle.reactions_exerted
    corrected = nonlinear or (
        cycle.has_passive and data.demand.constraints.size > 0 and not cycle.forces_decided)
    if nonlinear and not cycle.forces_decided:
        add_grip_efforts(data, grasping, tau_ref)
    t, corrections = select_rows(data), 0
    prepare_tasks(data, t, cycle.resting_count)
    if cycle.forces_decided:
        write_singular_reactions(data)
        if cycle.singular_active:
            refer_efforts(data, grasping, 1, bounded.tau_posture)
        refer_efforts(data, grasping, 0, tau_null)
    while True:
        if count > 0:
            solve_rows(data, count, t, a_ref, tau_ref, False)
        else:  # the forces without bounds are the solution
            start_forces(bounded.problem, count, t, True)
        read_forces(data, count)
        cycle.problems += 1
        react(data, count)
        apply_wrenches(
            nodes, states, robot.points, robot.supports, moving, force, data.scratch.wrench)
        add_bound_forces(count, bounded.bound_rows, force)
        forward_response(nodes, states, force, a_ref, a)
        write_residual(data, stack[WANTED], count)
        add_correction(data, stack[RESIDUAL])
        if cycle.forces_decided:
            decide_forces(data, count, True)
        find_efforts(data, grasping, count, tau_null, tau)
        if corrected and corrections < _CORRECTIONS and correct_efforts(
                data, count, tau, bounded.contacts.effort[0] if cycle.forces_decided else tau_ref):
            corrections += 1
            continue
        before = count
        count = add_violated(data, grasping, count, a, tau)
        if count == before:
            break
    cycle.bound_count = count
    if cycle.singular_active or exceeds_residual(data, t):
        cycle.least_eigenvalue = 0.0
    record_active(data, count, False)
    find_pressed(data, count, t, bounded.tau_posture)


@called
def respond_to_stack(data):
    """Write to ``a_task`` how active joints accelerate by q̈_null and the stack's forces."""
    robot, moving = data.robot, data.scratch.moving
    moving_forces(data.results.stack, 6 * data.demand.constraints.size, moving)
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, moving,
                   data.scratch.joint_force, data.scratch.wrench)
    forward_response(robot.nodes, robot.states, data.scratch.joint_force, data.results.a_null,
                     data.results.a_task)


@inlined
def keep_limits(data, grasping, any_resting, tau):
    """
    Solve the problem with bounds where the stack's forces violate limits.

    Afterwards ``FORCE`` and ``REACTION`` are relative to q̈_null, complete but for grips.
    """
    robot, stack = data.robot, data.results.stack
    constrained = 6 * data.demand.constraints.size
    respond_to_stack(data)
    if grasping.grasps.size > 0:
        write_residual(data, stack[WANTED], 0)
    contacts = data.scratch.bounded.contacts
    if data.cycle.forces_decided:
        decide_forces(data, 0, False)
    if any_resting or not (within_limits(
            robot.nodes, data.bounds.joints, data.scratch.bounded.gravity_rates,
            data.results.a_task) and within_contact_bounds(
                contacts, data.memory.contact_active, ROUNDING * weight_of(data.cycle))
            and within_distance_bounds(robot.collision, data.scratch.bounded.distances,
                                       data.memory.distance_active, data.results.a_task,
                                       ROUNDING * data.cycle.distance_braking)):
        solve_within_limits(data, grasping, tau)
        if constrained > 0 and not data.cycle.has_passive and not data.cycle.forces_decided:
            exert_reactions(data)
        move_to_stack(data)
    if data.cycle.forces_decided:
        exert_internal(contacts, stack[FORCE], stack[REACTION])
