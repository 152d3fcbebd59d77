# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Forces of constraints that the problem decides, and rows of bounds on those of contacts.

The motion determines the part ``Q_cc⁺ Q_cc λ`` of the constraint forces λ: that which passive
joints need, all of it without redundancy. The rest, internal forces, is free: drives exert it
against the environment without any motion, or against each other through an object in a grasp,
which plans them. So bounds on λ, and on efforts of limbs in contact, are rows on the motion and on
internal forces, ``y = R q̈ + dᵀ λ_int``, and the problem minimises
``½ |q̈ − q̈_ref|²_A + ½ |S⁻¹ (λ_int − λ_ref)|² / α``. The scales S² of constraint rows are masses:
with α = 1 an internal force costs what the acceleration does that it would cause, were the contact
not there. λ_ref is the reaction −x to the commanded internal wrenches x.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.constraints.constraint_law import constraint_column, project_rotation
from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.constraints.elimination import sum_coordinates
from opspace_control.control.data import ACTIVATION, APPLIED, REACTION, SCALE
from opspace_control.control.limits.kinds import FORCE_COMPONENT, JOINT_FORCE, quantity_of
from opspace_control.control.singular.direction_motion import SINGULAR_FORCE
from opspace_control.control.solver.semidefinite import fit_coordinates, solve_transposed
from opspace_control.spatial.dense import add_scaled, dot_product

# α: tasks and posture have residuals only where no internal force keeps a bound. Over the states of
# `test_contact_forces.py` tasks miss at most 1 % of what they want more than the dense optimum with
# 1e3 and 1e4, up to 200 % with 100 and ten times that with 10; with 1e6 rounding leaves 1e-5 of the
# weight beyond bounds.
_INTERNAL = 1e4


@rare
def remove_internal(data, forces):
    """Replace constraint forces λ (6c,) by their part ``Q⁺ Q λ`` that the motion determines."""
    if not data.cycle.has_passive:
        forces[:] = 0.0
        return
    factor, u = data.scratch.passive_factor, data.scratch.bounded.contacts.coordinates
    for k in range(factor.sizes[0]):
        u[k] = 0.0
    for p in range(factor.sizes[1]):
        r = factor.order[p]
        add_scaled(u, forces[r] / factor.scale[r], factor.F[r], min(p + 1, factor.sizes[0]))
    solve_transposed(factor, u, forces)


@rare
def write_singular_reactions(data):
    """Write the constraint forces that singular-direction control adds, as `move_to_stack`."""
    reaction = data.scratch.bounded.contacts.singular_reaction
    reaction[:] = 0.0
    if not data.cycle.singular_active:
        return
    applied = data.scratch.bounded.directions[SINGULAR_FORCE, :data.results.stack.shape[1]]
    if data.cycle.has_passive:
        factor, u = data.scratch.passive_factor, data.scratch.coordinates
        sum_coordinates(factor, reaction.size, applied, u)
        solve_transposed(factor, u, reaction)
    for c in range(reaction.size):
        reaction[c] += applied[c]


@rare
def decide_forces(data, count, with_singular):
    """
    Write the forces of constraints on the links, and the internal ones that drives exert for them.

    They follow from ``REACTION``, from what singular-direction control adds, if ``with_singular``,
    and from the multipliers of so many bounds.
    """
    contacts, bound_rows, stack = data.scratch.bounded.contacts, data.scratch.bounded.bound_rows, (
        data.results.stack)
    force, internal = contacts.force, contacts.internal
    for c in range(force.size):
        internal[c] = stack[REACTION, c]
        if with_singular:
            internal[c] += contacts.singular_reaction[c]
        force[c] = internal[c]
    remove_internal(data, force)
    for c in range(force.size):
        internal[c] -= force[c]
        force[c] -= stack[APPLIED, c]
        for w in range(count):
            x = bound_rows.internal[w, c] * bound_rows.multiplier[w]
            force[c] += x
            internal[c] -= x


@inlined
def exert_internal(contacts, force, reaction):
    """Add the internal forces to those that drives exert at constraints, and to the reactions."""
    for c in range(contacts.force.size):
        force[c] += contacts.internal[c]
        reaction[c] -= contacts.internal[c]


@rare
def write_direction(data, w):
    """
    Write d of a row, (k,): how constraint forces change its value.

    It is zero at the constraints of grasps: internal forces of an object are those of its grasp.
    """
    bound_rows, contacts = data.scratch.bounded.bound_rows, data.scratch.bounded.contacts
    direction, bound = bound_rows.direction[w], bound_rows.dof[w]
    direction[:] = 0.0
    quantity = quantity_of(bound_rows.kind[w])
    if quantity == FORCE_COMPONENT:
        first = 6 * (bound // CONTACT_BOUNDS)
        for r in range(6):
            if data.results.stack[ACTIVATION, first + r] > 0.0:
                direction[first + r] = contacts.direction[bound, r]
        project_rotation(data.robot.points[first // 6].axes[1], direction[first:first + 6])
    elif quantity == JOINT_FORCE:
        constraint_column(data.limits.joints[bound].node, data.robot.states, data.robot.points,
                 data.robot.supports, contacts.force.size, direction)
        for r in range(contacts.force.size):
            direction[r] *= -1.0 if data.results.stack[ACTIVATION, r] > 0.0 else 0.0
        for k in range(data.grasping.grips.size):
            first = 6 * data.grasping.grips[k].constraint
            for r in range(6 if first >= 0 else 0):
                direction[first + r] = 0.0


@rare
def add_internal(data, w):
    """Add to the coupling of a row what internal forces do, ``d_xᵀ α S (1 − Π) S d_w``."""
    bound_rows, contacts, stack = data.scratch.bounded.bound_rows, data.scratch.bounded.contacts, (
        data.results.stack)
    direction, internal, scale = bound_rows.direction[w], bound_rows.internal[w], stack[SCALE]
    constrained = contacts.force.size
    for r in range(constrained):
        internal[r] = scale[r] * direction[r]
    if data.cycle.has_passive:
        factor, u = data.scratch.passive_factor, contacts.coordinates
        rank = factor.sizes[0]
        fit_coordinates(factor, direction, u)
        for p in range(factor.sizes[1]):
            r = factor.order[p]
            internal[r] -= dot_product(factor.F[r], u, min(p + 1, rank))
    for r in range(constrained):
        internal[r] *= _INTERNAL * scale[r]
    for x in range(w + 1):
        t = 0.0
        for r in range(constrained):
            t += bound_rows.direction[x, r] * internal[r]
        bound_rows.gram[w, x] += t
    bound_rows.mobility[w] += t  # its own, the last
