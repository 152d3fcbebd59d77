# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The prioritised problem of a cycle, solved where the motion without bounds violates a limit.

It is solved, too, while links have inertia for the stiffness of forces.

Rows of bounds are generated as needed: first those of joints at rest at their limits, those that
were active in the last cycle, and that of the share of applied forces, or where there are none,
those that the motion without bounds violates; then all that a solution violates. Rows are only
added, so the iteration ends. References of motion and efforts are in
doc/explanation/developer_notes.md.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.constraints.elimination import moving_forces
from opspace_control.control.data import FORCE, REACTION, RESIDUAL, WANTED
from opspace_control.control.limits.bounds import (
    any_active,
    any_active_counts,
    any_motion_violated,
    any_other_violated,
)
from opspace_control.control.problem.applied_forces import find_reducible_forces
from opspace_control.control.problem.assembly import prepare_tasks, select_rows
from opspace_control.control.problem.bound_rows import (
    add_bound_forces,
    add_first,
    add_violated,
    begin_rows,
)
from opspace_control.control.problem.contact_rows import decide_forces, exert_internal
from opspace_control.control.problem.effects import find_efforts, write_reactions, write_residual
from opspace_control.control.problem.geometric_stiffness import (
    end_link_inertia,
    exert_link_inertia,
    may_stiffen,
    stiffen,
    write_link_inertia,
)
from opspace_control.control.problem.grip_efforts import correct_efforts, exert_reactions
from opspace_control.control.problem.references import (
    REFERENCE,
    evaluate_for_rows,
    find_posture_torques,
    write_effort_references,
)
from opspace_control.control.problem.resting import write_reference
from opspace_control.control.problem.solution import (
    exceeds_residual,
    forget_active,
    read_forces,
    record_active,
    start_forces,
)
from opspace_control.control.problem.solve import solve_nominal_problem, solve_problem
from opspace_control.control.singular.transfer import (
    add_correction,
    add_limit_reactions,
    move_to_stack,
)
from opspace_control.control.stack.rejection import rejecting_forces
from opspace_control.control.stack.scaling import copy_mobility
from opspace_control.dynamics.drive_friction import any_friction
from opspace_control.dynamics.hybrid_dynamics import restore_loads
from opspace_control.dynamics.responses import (
    add_response,
    apply_wrenches,
    clear_wrenches,
    forward_response,
    keep_second,
    respond_to_both,
)

# The free values of effort rows are corrected so often at most: the grasp force does not follow
# the motion linearly, and the rows leave out constraint reactions to passive joints' own forces. It
# ends by itself unless efforts alone cannot do it. With none, one and two 6, 2 and 1 of 36 cases of
# test_grasp_limits.py fail, with 4 and 16 none.
_CORRECTIONS = 8


@inlined
def begin_problem(cycle):
    """Begin without a problem; links have inertia only if there was one in the last cycle."""
    cycle.stiffened = cycle.stiffened and cycle.problems > 0 and not cycle.has_passive
    cycle.bound_count = cycle.problems = cycle.unsolved = cycle.levels_skipped = 0
    cycle.force_share, cycle.at_once = 1.0, True


@rare
def solve_bounded_problem(data, needed, violated, tau):
    """
    Solve the problem of bounds and tasks; write forces of the stack and of bounds.

    Unless it is ``needed`` it is solved only where joints at rest may make a direction singular.
    Returns whether it is.

    ``FORCE`` and ``REACTION`` are relative to q̈_ref then. ``a_joints`` (nv,) receives how active
    joints accelerate; where bounds are ``violated`` without the problem it has the acceleration
    that does, and ``tau`` (nv,) is 0. Else tau is scratch. Effort limits take part where
    `LIMIT.determined`.
    """
    cycle, robot, bounded = data.cycle, data.robot, data.scratch.bounded
    nodes, states, stack = robot.nodes, robot.states, data.results.stack
    a, force, moving = data.results.a_joints, data.scratch.joint_force, data.scratch.moving
    a_ref, tau_singular, tau_ref = bounded.a_ref, bounded.tau_singular, bounded.tau_ref[REFERENCE]
    count, t, corrections = begin_rows(data), select_rows(data), 0
    if not (write_reference(data, count, t) or needed):
        clear_wrenches(states)  # of `begin_rows`; `apply_forces` adds to them
        return False
    find_posture_torques(data, bounded.tau_null)
    reducible = find_reducible_forces(data)
    prepare_tasks(data, t, cycle.resting_count)
    evaluated = write_effort_references(data, reducible)
    if cycle.stiffened:
        stiffen(data, count, t)
    count = add_first(
        data, count, reducible, violated and not (evaluated or cycle.singular_active), tau)
    while True:
        evaluated = evaluated or evaluate_for_rows(data, count)
        if count > 0 or cycle.stiffened:
            count, evaluated = solve_problem(data, count, t, evaluated, tau)
        else:  # the forces without bounds are the solution in the metric A
            start_forces(bounded.problem, count, t, True)
        read_forces(data, count)
        cycle.problems += 1
        write_reactions(data, count)
        apply_wrenches(
            nodes, states, robot.points, robot.supports, moving, force, data.scratch.wrench)
        add_bound_forces(count, bounded.bound_rows, force)
        forward_response(nodes, states, force, a_ref, a)
        write_residual(data, stack[WANTED], count)
        add_correction(data, stack[RESIDUAL])
        if cycle.forces_decided:
            decide_forces(data, count, True)
        find_efforts(data, count, tau_singular, tau)
        exert_link_inertia(data, a, tau)
        if corrections < _CORRECTIONS and correct_efforts(data, count, tau, tau_ref):
            corrections += 1
            continue
        before = count
        count = add_violated(data, count, a, tau)
        if count == before:
            break
    cycle.bound_count = count
    if cycle.singular_active or exceeds_residual(data, t):
        cycle.attained = False
    record_active(data, count)
    solve_nominal_problem(data, count, t)
    if cycle.stiffened:
        copy_mobility(bounded.unstiffened, 0, data.results.Lambda_inverse)
    return True


@inlined
def respond_to_stack(data):
    """
    Write to ``a_joints`` how active joints accelerate by q̈_null and the stack's forces.

    Where drives have friction, ``u2`` is the response to the forces that reject disturbances.
    """
    robot, demand, results, scratch = data.robot, data.demand, data.results, data.scratch
    nodes, states, force = robot.nodes, robot.states, scratch.joint_force
    rejects = demand.disturbance.flags.size > 0 and any_friction(demand.friction)
    if rejects:
        rejecting_forces(
            results.stack, 6 * demand.constraints.size, scratch.mobility, scratch)
        apply_wrenches(nodes, states, robot.points, robot.supports, scratch.moving, force,
                       scratch.wrench)
        keep_second(nodes, states, force, scratch.second_force)
    moving_forces(results.stack, 6 * demand.constraints.size, scratch.moving)
    apply_wrenches(nodes, states, robot.points, robot.supports, scratch.moving, force,
                   scratch.wrench)
    if rejects:
        respond_to_both(nodes, states, force, scratch.second_force)
        add_response(nodes, states, results.a_null, results.a_joints)
    else:
        forward_response(nodes, states, force, results.a_null, results.a_joints)


@rare
def resolve_bounded(data, needed, violated, tau):
    """
    Solve the problem with bounds; for parameters and result see `solve_bounded_problem`.

    Afterwards ``FORCE`` and ``REACTION`` are relative to q̈_null, complete but for grips.
    """
    if not solve_bounded_problem(data, needed, violated, tau):
        return False
    if data.demand.constraints.size > 0 and not (
            data.cycle.has_passive or data.cycle.forces_decided):
        exert_reactions(data)
    move_to_stack(data)
    if data.cycle.forces_decided:
        stack = data.results.stack
        exert_internal(data.scratch.bounded.contacts, stack[FORCE], stack[REACTION])
    return True


@rare
def exert_bounds(data, tau):
    """
    Add to tau (nv,) what drives exert beside the forces of the stack after a problem.

    Then this cycle's forces tell the inertias of links for the next one.
    """
    bounded = data.scratch.bounded
    add_bound_forces(data.cycle.bound_count, bounded.bound_rows, tau)
    add_limit_reactions(bounded.directions, tau)
    exert_link_inertia(data, data.results.a_joints, tau)
    write_link_inertia(data)


@rare
def resolve_within_efforts(data, tau):
    """Solve the problem where efforts alone violate limits; `move_joints_by_forces` follows."""
    restore_loads(data.robot.nodes, data.robot.states, data.cycle.gravity[:], data.v,
                  data.results.a_null)
    resolve_bounded(data, True, False, tau)


@inlined
def resolve_within_bounds(data, any_resting, tau):
    """Solve the problem with bounds where motion or contact forces violate limits, or I is left."""
    stack = data.results.stack
    if data.cycle.stiffened and not may_stiffen(data):
        end_link_inertia(data.cycle)
    respond_to_stack(data)
    if data.grasping.grasps.size > 0:
        write_residual(data, stack[WANTED], 0)
    if data.cycle.forces_decided:
        decide_forces(data, 0, False)
    a = data.results.a_joints  # efforts are not known yet
    motion, other = any_motion_violated(data, a), any_other_violated(data, a)
    active = any_active(data)
    needed = motion or other or data.cycle.stiffened or (active and any_active_counts(data))
    if any_resting or needed:
        tau[:] = 0.0
        if resolve_bounded(data, needed, motion or other, tau):
            return
    if any_resting or active:
        forget_active(data)
    if data.cycle.forces_decided:
        exert_internal(data.scratch.bounded.contacts, stack[FORCE], stack[REACTION])
