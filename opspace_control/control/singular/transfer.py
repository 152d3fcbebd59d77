# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Singular-direction control moved between the stack's forces and the reference acceleration.

`resolve_stack` leaves it in the forces of the stack, relative to q̈_null. The problem with bounds
has it in its reference instead, `move_to_reference`; then `move_to_stack` brings it back. Its own
forces are ``SINGULAR_FORCE``: f_s of tasks, and of constraints their reactions λ_s.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.constraints.elimination import constraint_reactions
from opspace_control.control.data import FORCE, REACTION, WANTED
from opspace_control.control.singular.direction_motion import (
    CORRECTION,
    FORCES,
    LIMIT_REACTION,
    SINGULAR_FORCE,
    apply_singular_forces,
    reaction_at_limit,
)
from opspace_control.control.solver.cholesky import symmetric
from opspace_control.dynamics.passive_responses import project_exerted
from opspace_control.dynamics.responses import forward_response


@rare
def add_singular_torque(data, tau):
    """
    Add the joint forces of singular directions to tau (nv,), with the reactions at limits.

    Of λ_s drives exert with passive joints the part ``−Q_cc⁺ Q_ct f_s``, without them nothing where
    `decide_forces` decides. Else all of it is here: planned grasps exert it, and without those only
    joints that no constraint loads have effort rows.
    """
    directions, cycle = data.scratch.bounded.directions, data.cycle
    if cycle.singular_active:
        applied, constrained = data.scratch.exerted, 6 * data.demand.constraints.size
        for r in range(applied.size):
            applied[r] = directions[SINGULAR_FORCE, r]
        if cycle.has_passive:
            constraint_reactions(
                data.scratch.passive_factor, constrained, applied, data.scratch.coordinates)
        elif cycle.forces_decided:
            for c in range(constrained):
                applied[c] = 0.0
        apply_singular_forces(data, applied)
        project_exerted(data.robot.nodes, data.robot.states, data.robot.responds,
                        directions[FORCES, :tau.size], tau)


@rare
def move_to_reference(data, a_ref):
    """
    Move singular-direction control from the tasks into the reference acceleration a_ref (nv,).

    ``a_ref = q̈_null + A⁻¹ (J_tᵀ f_s + J_cᵀ λ_s + τ_s)``, τ_s the reactions of joints at limits. Of
    ``WANTED`` of tasks what that motion does is subtracted, and ``CORRECTION``; of ``FORCE`` of
    tasks f_s. Those of constraints, and ``REACTION``, are not valid until `write_reactions`. The
    entries of a_ref at passive joints are not their accelerations: their own response is not in
    them.
    """
    cycle, bounded, mobility = data.cycle, data.scratch.bounded, data.results.Lambda_inverse
    directions, constrained = bounded.directions, 6 * data.demand.constraints.size
    wanted, forces = data.results.stack[WANTED], data.results.stack[FORCE]
    cycle.singular_control = False
    if not cycle.singular_active:
        for k in range(a_ref.size):
            a_ref[k], directions[LIMIT_REACTION, k] = data.results.a_null[k], 0.0
        return
    applied = directions[SINGULAR_FORCE, :wanted.size]
    for r in range(constrained, wanted.size):
        forces[r] -= applied[r]
        wanted[r] -= directions[CORRECTION, r]
        for c in range(constrained, wanted.size):
            wanted[r] -= symmetric(mobility, r - constrained, c - constrained) * applied[c]
    for w in range(cycle.resting_count):
        t = reaction_at_limit(bounded.resting_rows, w, applied)
        for r in range(constrained, wanted.size):
            wanted[r] -= t * bounded.bound_rows.coupling[w, r]
    apply_singular_forces(data, applied)
    forward_response(data.robot.nodes, data.robot.states, directions[FORCES, :a_ref.size],
                     data.results.a_null, a_ref)


@rare
def add_correction(data, residual):
    """Add the correction by singular-direction control to the residual accelerations (k,)."""
    if data.cycle.singular_active:
        for r in range(residual.size):
            residual[r] += data.scratch.bounded.directions[CORRECTION, r]


@rare
def move_to_stack(data):
    """
    Add f_s to ``FORCE`` of tasks, λ_s to ``REACTION``: both are relative to q̈_null again.

    With passive joints drives exert the part ``−Q_cc⁺ Q_ct f_s`` of λ_s, which goes to ``FORCE``.
    ``SINGULAR_FORCE`` of constraints is overwritten by it, so this is called once in a cycle.
    """
    forces, reaction = data.results.stack[FORCE], data.results.stack[REACTION]
    applied = data.scratch.bounded.directions[SINGULAR_FORCE, :forces.size]
    constrained = 6 * data.demand.constraints.size
    if not data.cycle.singular_active:
        return
    for r in range(constrained):
        reaction[r] += applied[r]
    if data.cycle.has_passive:
        constraint_reactions(
            data.scratch.passive_factor, constrained, applied, data.scratch.coordinates)
        for r in range(constrained):
            forces[r] += applied[r]
            reaction[r] -= applied[r]
    for r in range(constrained, forces.size):
        forces[r] += applied[r]


@inlined
def add_limit_reactions(directions, tau):
    """Add the reaction torques of joints at their limits to singular directions to tau (nv,)."""
    for k in range(tau.size):
        tau[k] += directions[LIMIT_REACTION, k]

