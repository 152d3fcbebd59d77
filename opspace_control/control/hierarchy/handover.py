# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How what leads directions becomes a part of the motion advised, and of the forces again."""

from opspace_control.compiled import inlined, rare
from opspace_control.control.hierarchy.giving_way import bear_giving_way, let_constraints_bear
from opspace_control.control.hierarchy.modes import (
    FORCES,
    GIVEN,
    KEEPER,
    LEADER,
    TAKEN,
    WRENCH,
    hold_against,
    push_leading,
)
from opspace_control.control.hierarchy.planes import COUPLING
from opspace_control.control.hierarchy.pushes import answer_pushes, bear_pushes, push_links


@rare
def give_way_to(robot, push, tau):
    """Add to tau (nv,) what it takes that passive joints give way to forces of the stack."""
    cycle, leads, nodes, states, supports, points = robot[:6]
    if cycle.yields:
        force, given = leads[FORCES, :tau.size], leads[GIVEN, :tau.size]
        push_links(nodes, states, points, supports, push, force, leads[WRENCH])
        bear_giving_way(nodes, states, robot[14], force, given, tau)


@rare
def bear_leads(robot, tau):
    """Add the joint forces of what leads directions to tau (nv,)."""
    leads, nodes, states = robot[1:4]
    if robot[0].led:
        leader = leads[LEADER, :robot[11].size]
        give_way_to(robot, leader, tau)
        push_leading(robot, leader)
        bear_pushes(nodes, states, leads[FORCES, :tau.size], tau)


@rare
def hand_over(robot, mobility, wanted, forces, a_led):
    """
    Make what leads directions a part of the motion advised, ``a_led`` (nv,), instead of the tasks'.

    What is ``wanted`` (k,) of the stack's rows, and its ``forces`` (k,), become what is beyond
    that; ``mobility`` is Λ⁻¹ as given, lower triangle, of the rows of tasks. Of ``a_led`` those of
    passive joints are not what they will be.
    """
    cycle, leads, nodes, states = robot[:4]
    a_null, room, constrained = robot[10], robot[12], robot[15]
    cycle.leads = False
    if not cycle.led:
        for k in range(a_led.size):
            a_led[k], leads[KEEPER, k] = a_null[k], 0.0
        return
    leader = leads[LEADER, :wanted.size]
    for r in range(constrained, wanted.size):
        forces[r] -= leader[r]
        wanted[r] -= leads[TAKEN, r]
        for c in range(constrained, wanted.size):
            wanted[r] -= mobility[max(r, c) - constrained, min(r, c) - constrained] * leader[c]
    for w in range(cycle.ends):
        t = hold_against(room, w, leader)
        for r in range(constrained, wanted.size):
            wanted[r] -= t * room[COUPLING, w, r]
    push_leading(robot, leader)
    answer_pushes(nodes, states, leads[FORCES, :a_led.size], a_null, a_led)


@rare
def miss_what_leads(robot, missing):
    """Add what leading takes off the tasks to what is ``missing`` of their accelerations, (k,)."""
    if robot[0].led:
        for r in range(missing.size):
            missing[r] += robot[1][TAKEN, r]


@rare
def take_back(robot, forces, reaction):
    """Add what leads directions to the forces (k,) of the stack, and what constraints bear."""
    cycle, leader, constrained = robot[0], robot[1][LEADER, :forces.size], robot[15]
    if not cycle.led:
        return
    for r in range(constrained):
        reaction[r] += leader[r]
    if cycle.yields:
        let_constraints_bear(robot[13], constrained, leader)
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

