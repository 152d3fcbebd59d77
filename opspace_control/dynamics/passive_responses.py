# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Responses of passive joints to wrenches at links and to joint forces, by sweeps over the tree.

The active joint forces h for a task wrench f are those whose acceleration is the response of all
joints minus that of the passive joints only, each with its constraint forces:
``A⁻¹ h = A⁻¹ (Jᵀ f + J_cᵀ f_L) − A_pp⁻¹ (J_pᵀ f + J_cpᵀ f_Q)``.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.dynamics.hybrid_dynamics import (
    add_inertial_force,
    gather_torques,
    load_node,
    propagate_passive_force,
    respond_node,
)
from opspace_control.dynamics.responses import project_forces
from opspace_control.model.nodes import LOCKED, PASSIVE
from opspace_control.spatial.six import add_six, put, six
from opspace_control.spatial.vectors import dot


@inlined
def gather_with_response(nodes, states, responds, passive_torque, reacts, joint_force, a_null, a,
                         tau):
    """
    Write the joint forces (nv,) that balance the links' forces, with the passive-joint response.

    ``f`` has the forces of the motion ``a_null`` (nv,), and wrenches on bodies that do not respond;
    ``z`` has those on bodies that do, and is lost. The response ``B`` to ``z`` is added to a (nv,);
    an active joint accelerates all bodies beyond by its own B, which takes ``UPᵀ B``. If it
    ``reacts``, a passive joint has the force ``joint_force`` (nv,), which active joints induce as
    if its reaction acted on the joint, [JR94] (6.9).
    """
    for i in range(nodes.size - 1, -1, -1):
        node, s, reaction = nodes[i], states[i], 0.0
        if not responds[i]:
            continue
        if reacts and node.status == PASSIVE:
            reaction = -joint_force[node.v_index]
        propagate_passive_force(nodes, i, responds, reaction, states)
        if node.parent >= 0 and not responds[node.parent]:
            outer = states[node.parent].f
            put(outer, 0, six(outer, 0) + six(s.z, 0) + (s.u / s.DP) * six(s.UP, 0))
    gather_torques(nodes, passive_torque, a_null, states, tau)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        if responds[i]:
            respond_node(nodes, i, responds, states, a)
            if node.status != PASSIVE and node.v_index >= 0:
                tau[node.v_index] += dot(s.z, s.S) + dot(s.UP, s.B)


@rare
def passive_response(nodes, states, responds, joint_force, response):
    """
    Write minus the acceleration of passive joints under forces, (nv,), all others locked.

    The forces are those of `apply_wrenches`; ``z`` becomes the links' inertial force of the motion.
    """
    for i in range(nodes.size - 1, -1, -1):
        node = nodes[i]
        if responds[i]:
            propagate_passive_force(nodes, i, responds,
                     -joint_force[node.v_index] if node.status == PASSIVE else 0.0, states)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = 0.0
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        if node.v_index >= 0:
            response[node.v_index] = 0.0
        if node.status == PASSIVE:
            x = (s.u - dot(s.UP, s.B)) / s.DP
            response[node.v_index] = x
            put(s.B, 0, six(s.B, 0) + x * six(s.S, 0))
        add_inertial_force(node.mass, s.c, s.Ic, s.B, s.z)


@rare
def add_passive_response(nodes, states, responds, joint_force, response, tau):
    """
    Add the joint forces of the `passive_response` to tau (nv,).

    The forces are those of `apply_wrenches`; they are set to zero, at joints and at links.
    """
    passive_response(nodes, states, responds, joint_force, response)
    for k in range(joint_force.size):
        joint_force[k] = 0.0
    project_forces(nodes, states, joint_force, tau)


@rare
def project_exerted(nodes, states, responds, joint_force, tau):
    """
    Add ``h + Jᵀ f`` to tau (nv,), with the joint forces of the response of passive joints to both.

    The forces are those of `apply_wrenches`; those at links are set to zero. The inward recursion
    has the force z through each joint, the outward one adds ``(IP S)ᵀ B`` of the response.
    Entries of passive joints stay.
    """
    for i in range(nodes.size - 1, -1, -1):
        node, s, gain = nodes[i], states[i], 0.0
        if node.status == PASSIVE:
            s.u = -joint_force[node.v_index] - dot(s.z, s.S)
            gain = s.u / s.DP
        elif node.v_index >= 0:
            tau[node.v_index] += joint_force[node.v_index] + dot(s.z, s.S)
        if node.parent >= 0:
            outer = states[node.parent].z
            add_six(outer, s.z)
            if node.status == PASSIVE:
                put(outer, 0, six(outer, 0) + gain * six(s.UP, 0))
        put(s.z, 0, 0.0)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        if responds[i]:
            put(s.B, 0, 0.0)
            if node.parent >= 0 and responds[node.parent]:
                put(s.B, 0, six(states[node.parent].B, 0))
            if node.status == PASSIVE:
                put(s.B, 0, six(s.B, 0) + (s.u - dot(s.UP, s.B)) / s.DP * six(s.S, 0))
            elif node.v_index >= 0:
                tau[node.v_index] += dot(s.UP, s.B)


@rare
def project_passive_response(nodes, states, responds, joint_force, response, projection, torque):
    """
    Add the `passive_response` to a row's joint forces, (nv,): they become zero at passive joints.

    ``projection``, (n,), the forces projected on the joints, is updated.
    """
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0:
            joint_force[k] = torque[k]
        for r in range(6):
            states[i].z[r] = 0.0
    add_passive_response(nodes, states, responds, joint_force, response, torque)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        if node.status != LOCKED:
            projection[i] += dot(s.U, s.B)
        if node.status == PASSIVE:
            projection[i] += node.armature * response[node.v_index]
            torque[node.v_index] = 0.0


@rare
def passive_power(nodes, states, gravity, response):
    """Return the power of the forces of a steady motion, of `move_node`, along a response (nv,)."""
    total = 0.0
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = s.f[r]
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        load_node(nodes, i, gravity, states)
        x = response[node.v_index] if node.v_index >= 0 else 0.0
        for r in range(6):
            s.B[r] += x * s.S[r]
            total += s.f[r] * s.B[r]
            s.f[r], s.z[r] = s.z[r], 0.0
    return total
