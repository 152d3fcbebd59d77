# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How a direction is moved where joints are passive, or where constraints hold: what they add to it.

The forces of the active joints for a wrench at the tasks are those for which all joints move as all
of them would under it, less what the passive ones would do alone, constraints bearing their part of
both: ``A⁻¹ h = A⁻¹ (Jᵀ m + J_cᵀ m_L) − A_pp⁻¹ (J_pᵀ m + J_cpᵀ m_Q)``.
"""

from opspace_control.compiled import rare
from opspace_control.control.hierarchy.pushes import bear_pushes
from opspace_control.dynamics.hybrid_dynamics import give_way
from opspace_control.dynamics.inverse_dynamics import add_inertial_force, load_node
from opspace_control.model.nodes import LOCKED, PASSIVE
from opspace_control.spatial.vectors import dot


@rare
def let_constraints_bear(M, constrained, push):
    """Write what so many rows of constraints bear of the tasks' forces, with L or with Q."""
    for c in range(constrained):
        push[c] = 0.0
        for j in range(constrained, push.size):
            push[c] -= M[c, j] * push[j]


@rare
def give_way_alone(nodes, states, yields, joint_force, given):
    """
    Write how passive joints alone give way to what forces are exerted, (nv,): opposite to these.

    The forces are those of `push_links`; at links ``z`` becomes what that motion takes.
    """
    for i in range(nodes.size - 1, -1, -1):
        node = nodes[i]
        if yields[i]:
            give_way(nodes, i, yields,
                     -joint_force[node.v_index] if node.status == PASSIVE else 0.0, states)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = 0.0
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        if node.v_index >= 0:
            given[node.v_index] = 0.0
        if node.status == PASSIVE:
            x = (s.u - dot(s.UP, s.B)) / s.DP
            given[node.v_index] = x
            for r in range(6):
                s.B[r] += x * s.S[r]
        add_inertial_force(node.mass, s.c, s.Ic, s.B, s.z)


@rare
def bear_giving_way(nodes, states, yields, joint_force, given, tau):
    """
    Add to tau (nv,) what it takes that passive joints alone give way to what forces are exerted.

    The forces are those of `push_links`; they are zero afterwards, at joints as well as at links.
    """
    give_way_alone(nodes, states, yields, joint_force, given)
    for k in range(joint_force.size):
        joint_force[k] = 0.0
    bear_pushes(nodes, states, joint_force, tau)


@rare
def feel_giving_way(nodes, states, yields, joint_force, given, felt, torque):
    """
    Let passive joints give way to the forces of a row, its ``torque`` (nv,): none is left there.

    ``felt``, (n,), is what each joint feels of them, and changes accordingly.
    """
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0:
            joint_force[k] = torque[k]
        for r in range(6):
            states[i].z[r] = 0.0
    bear_giving_way(nodes, states, yields, joint_force, given, torque)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        if node.status != LOCKED:
            felt[i] += dot(s.U, s.B)
        if node.status == PASSIVE:
            felt[i] += node.armature * given[node.v_index]
            torque[node.v_index] = 0.0


@rare
def bear_passively(nodes, states, gravity, given):
    """Return the power of the forces of a steady motion, of `move_node`, in the motion given."""
    total = 0.0
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = s.f[r]
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        load_node(nodes, i, gravity, states)
        x = given[node.v_index] if node.v_index >= 0 else 0.0
        for r in range(6):
            s.B[r] += x * s.S[r]
            total += s.f[r] * s.B[r]
            s.f[r], s.z[r] = s.z[r], 0.0
    return total
