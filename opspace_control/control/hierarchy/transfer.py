# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Singular-direction control moved between the stack's forces and the reference acceleration."""

from opspace_control.compiled import inlined, rare
from opspace_control.control.hierarchy.elimination import constraint_reactions
from opspace_control.control.hierarchy.modes import (
    FORCES,
    GIVEN,
    KEEPER,
    LEADER,
    TAKEN,
    WRENCH,
    push_leading,
    reaction_at_limit,
)
from opspace_control.control.hierarchy.structures import (
    FORCE,
    REACTION,
    WANTED,
    Q,
)
from opspace_control.dynamics.responses import (
    add_passive_response,
    apply_wrenches,
    forward_response,
    project_forces,
)


@rare
def add_response_to(data, push, tau):
    """Add to tau (nv,) what it takes that passive joints give way to forces of the stack."""
    leads, robot = data.scratch.limits.leads, data.robot
    if data.cycle.has_passive:
        force, given = leads[FORCES, :tau.size], leads[GIVEN, :tau.size]
        apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, push, force,
                   leads[WRENCH])
        add_passive_response(robot.nodes, robot.states, robot.responds, force, given, tau)


@rare
def bear_leads(data, tau):
    """Add the joint forces of what leads directions to tau (nv,)."""
    leads = data.scratch.limits.leads
    if data.cycle.led:
        leader = leads[LEADER, :data.scratch.rows.shape[1]]
        add_response_to(data, leader, tau)
        push_leading(data, leader)
        project_forces(data.robot.nodes, data.robot.states, leads[FORCES, :tau.size], tau)


@rare
def hand_over(data, a_led):
    """
    Make what leads directions a part of the motion advised, ``a_led`` (nv,), instead of the tasks'.

    What is ``WANTED`` of the stack's rows, and its ``FORCE``, become what is beyond that. Of
    ``a_led`` those of passive joints are not what they will be.
    """
    cycle, memory, mobility = data.cycle, data.scratch.limits, data.scratch.Lambda_inverse
    leads, constrained = memory.leads, 6 * data.demand.constraints.size
    wanted, forces = data.scratch.rows[WANTED], data.scratch.rows[FORCE]
    cycle.leads = False
    if not cycle.led:
        for k in range(a_led.size):
            a_led[k], leads[KEEPER, k] = data.scratch.a_null[k], 0.0
        return
    leader = leads[LEADER, :wanted.size]
    for r in range(constrained, wanted.size):
        forces[r] -= leader[r]
        wanted[r] -= leads[TAKEN, r]
        for c in range(constrained, wanted.size):
            wanted[r] -= mobility[max(r, c) - constrained, min(r, c) - constrained] * leader[c]
    for w in range(cycle.resting):
        t = reaction_at_limit(memory.resting_rows, w, leader)
        for r in range(constrained, wanted.size):
            wanted[r] -= t * memory.bound_rows.coupling[w, r]
    push_leading(data, leader)
    forward_response(data.robot.nodes, data.robot.states, leads[FORCES, :a_led.size],
                     data.scratch.a_null, a_led)


@rare
def add_led_residual(data, missing):
    """Add what leading takes off the tasks to what is ``missing`` of their accelerations, (k,)."""
    if data.cycle.led:
        for r in range(missing.size):
            missing[r] += data.scratch.limits.leads[TAKEN, r]


@rare
def take_back(data):
    """Add what leads directions to the forces of the stack, and what constraints bear."""
    forces, reaction = data.scratch.rows[FORCE], data.scratch.rows[REACTION]
    leader, constrained = data.scratch.limits.leads[LEADER], 6 * data.demand.constraints.size
    leader = leader[:forces.size]
    if not data.cycle.led:
        return
    for r in range(constrained):
        reaction[r] += leader[r]
    if data.cycle.has_passive:
        constraint_reactions(data.scratch.squares[Q], constrained, leader)
        for r in range(constrained):
            forces[r] += leader[r]
            reaction[r] -= leader[r]
    for r in range(constrained, forces.size):
        forces[r] += leader[r]


@inlined
def add_keepers(leads, tau):
    """Add what keeps joints at their ends against what leads directions to tau (nv,)."""
    for k in range(tau.size):
        tau[k] += leads[KEEPER, k]

