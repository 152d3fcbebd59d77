# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What a problem refers to: efforts without any force that it decides, and values of rows at rest.

doc/explanation/developer_notes.md has all references with their equations.
"""

from opspace_control.compiled import rare
from opspace_control.control.constraints.constraint_law import project_rotation
from opspace_control.control.data import DEMANDED, RESIDUAL, WANTED
from opspace_control.control.limits.kinds import FORCE_COMPONENT, JOINT_FORCE, quantity_of
from opspace_control.control.problem.applied_forces import set_force_share
from opspace_control.control.problem.contact_rows import decide_forces, write_singular_reactions
from opspace_control.control.problem.effects import (
    find_efforts,
    start_from_applied,
    write_reactions,
    write_residual,
)
from opspace_control.control.singular.transfer import add_correction, add_singular_torque
from opspace_control.control.solver.semidefinite import fit_coordinates, solve_transposed
from opspace_control.dynamics.responses import (
    accelerate_bodies,
    add_acceleration,
    motion_torques,
)
from opspace_control.spatial.dense import dot_product
from opspace_control.tasks.posture import feed_efforts

# Rows of ``tau_ref`` of `BoundedScratch`, and of ``ContactForces.reference``: of q̈_ref,
# and of q̈_null.
REFERENCE, NOMINAL = range(2)


@rare
def find_posture_torques(data, tau):
    """Write ``A q̈_null + b + g``, (nv,), with the feed-forward; ``f`` of nodes is of q̈_null."""
    motion_torques(data.robot.nodes, data.robot.states, data.results.a_null,
                   data.scratch.joint_force, tau)
    feed_efforts(data.robot.nodes, data.demand.dofs, tau)


@rare
def evaluate_reference(data, reference, tau_reference):
    """
    Write efforts and constraint forces without multipliers; ``FORCE`` becomes that of the stack.

    ``reference`` is ``REFERENCE``, of q̈_ref, or ``NOMINAL``, of q̈_null; the motion takes the
    efforts ``tau_reference`` (nv,).
    """
    contacts, stack = data.scratch.bounded.contacts, data.results.stack
    start_from_applied(data)
    write_reactions(data, 0)
    if data.cycle.forces_decided:
        decide_forces(data, 0, reference == REFERENCE)
        for c in range(contacts.force.size):
            contacts.reference[reference, c] = contacts.force[c]
    write_residual(data, stack[WANTED if reference == REFERENCE else DEMANDED], 0)
    if reference == REFERENCE:
        add_correction(data, stack[RESIDUAL])
    find_efforts(data, 0, tau_reference, data.scratch.bounded.tau_ref[reference])


@rare
def find_reactions(data, a, reaction):
    """
    Write what constraint forces do against accelerations a (nv,), ``L_cc⁺ J_c a``, (c,).

    No joint is passive. The accelerations of bodies, ``B``, are scratch.
    """
    robot, factor, u = data.robot, data.scratch.constraint_factor, data.scratch.coordinates
    states = robot.states
    accelerate_bodies(robot.nodes, states, a)
    for c in range(data.demand.constraints.size):
        point, rows = robot.points[c], reaction[6 * c:6 * c + 6]
        rows[:] = 0.0
        if point.frame.node >= 0:
            add_acceleration(states[point.frame.node].B, point.p, 1.0, rows)
        if point.other.node >= 0:
            add_acceleration(states[point.other.node].B, point.p, -1.0, rows)
        project_rotation(point.axes[1], rows)
    fit_coordinates(factor, reaction, u)
    solve_transposed(factor, u, reaction)


@rare
def refer_to_rest(data, count, a):
    """
    Write the values of so many rows of bounds where no joint accelerates, from those at a (nv,).

    The bounds alone refer to these, so that the posture has no part in what they attain. But where
    the forces of constraints have bounds, or move passive joints, they refer to a, too.
    """
    problem, bound_rows = data.scratch.bounded.problem, data.scratch.bounded.bound_rows
    constrained = 6 * data.demand.constraints.size
    reaction = data.scratch.response_reaction[:constrained]
    at_rest = constrained == 0 or not (data.cycle.has_passive or data.cycle.forces_decided)
    if at_rest and constrained > 0:
        find_reactions(data, a, reaction)
    for w in range(count):
        problem.free[0, w] = problem.free[1, w]
        if at_rest:
            problem.free[0, w] += (dot_product(bound_rows.coupling[w], reaction, constrained)
                                   - dot_product(bound_rows.torque[w], a, a.size))


@rare
def find_effects_of_reducible(data):
    """Write w and the changes of contact forces by the forces that may be reduced, from 0 to 1."""
    bounded = data.scratch.bounded
    applied, tau, force = bounded.applied, bounded.tau_ref[REFERENCE], (
        bounded.contacts.reference[REFERENCE])
    set_force_share(data, 0.0)
    evaluate_reference(data, REFERENCE, bounded.tau_singular)
    for k in range(tau.size):
        applied.effort[k] = tau[k]
    for c in range(force.size):
        applied.reaction[c] = force[c]
    set_force_share(data, 1.0)
    evaluate_reference(data, REFERENCE, bounded.tau_singular)
    for k in range(tau.size):
        applied.effort[k] = tau[k] - applied.effort[k]
    for c in range(force.size):
        applied.reaction[c] = force[c] - applied.reaction[c]


@rare
def write_effort_references(data, reducible):
    """
    Write the efforts of q̈_ref, and of q̈_null for the nominal problem, from ``tau_null``.

    Those of q̈_ref wait for `evaluate_for_rows` unless forces may be reduced or links have inertia.
    Returns whether they are written.
    """
    cycle, bounded = data.cycle, data.scratch.bounded
    tau_null, tau_singular = bounded.tau_null, bounded.tau_singular
    for k in range(tau_singular.size):
        tau_singular[k] = tau_null[k]
    add_singular_torque(data, tau_singular)
    if cycle.forces_decided:
        write_singular_reactions(data)
    if cycle.singular_active:
        evaluate_reference(data, NOMINAL, tau_null)
    if reducible:
        find_effects_of_reducible(data)
    elif cycle.stiffened:
        evaluate_reference(data, REFERENCE, tau_singular)
    return reducible or cycle.stiffened


@rare
def evaluate_for_rows(data, count):
    """Evaluate q̈_ref if one of so many rows bounds an effort or a contact force; return whether."""
    kind, found = data.scratch.bounded.bound_rows.kind, False
    for w in range(count):
        found = found or quantity_of(kind[w]) in (JOINT_FORCE, FORCE_COMPONENT)
    if found:
        evaluate_reference(data, REFERENCE, data.scratch.bounded.tau_singular)
    return found
