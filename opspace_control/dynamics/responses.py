# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Responses of joints to wrenches at links and to joint forces, by sweeps over the tree, O(n) each.

The forward response is ``A⁻¹ (h + Jᵀ f)``. Its inward half gives the projection of the forces on
each joint, the residual force of [JR94] and of the articulated-body algorithm: for two sets of
forces h and k with projections u and w, ``hᵀ A⁻¹ k = Σ u_i w_i / D_i``. Projections are by node,
(n,), and need the articulated inertias of all nodes.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.dynamics.center_of_mass import add_force
from opspace_control.dynamics.data import COUNTS
from opspace_control.dynamics.force_propagation import is_group, is_idle
from opspace_control.dynamics.hybrid_dynamics import add_inertial_force
from opspace_control.dynamics.weights import branch_end
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.six import add_six, put, six
from opspace_control.spatial.vectors import add_wrench, dot, linear_at


@inlined
def base_wrench(point, force, first, wrench):
    """Write six of the stacked forces, along a point's axes, as a wrench in base axes."""
    axes = point.axes
    for part in range(0, 6, 3):
        x, y, z = force[first + part], force[first + part + 1], force[first + part + 2]
        for r in range(3):
            wrench[part + r] = (
                axes[part // 3, r, 0] * x + axes[part // 3, r, 1] * y + axes[part // 3, r, 2] * z)


@inlined
def apply_at_center(nodes, states, supports, e, mass, wrench):
    """Add a force at a centre of mass to ``z`` of its bodies, in proportion to their masses."""
    for i in range(nodes.size):
        if supports[i, e] & COUNTS:
            mass_share = nodes[i].mass / mass
            add_force(states[i].c, mass_share * wrench[0], mass_share * wrench[1],
                      mass_share * wrench[2], states[i].z)


@inlined
def apply_wrenches(nodes, states, points, supports, forces, joint_force, wrench):
    """
    Write stacked forces of points, (k,), as wrenches at links, ``z``, and joint forces (nv,).

    Those of idle points are 0.
    """
    for k in range(joint_force.size):
        joint_force[k] = 0.0
    for i in range(nodes.size):
        put(states[i].z, 0, 0.0)
    for e in range(points.size):
        point = points[e]
        if is_group(point):
            for r in range(6):
                if point.joints[r] >= 0:
                    joint_force[nodes[point.joints[r]].v_index] += forces[6 * e + r]
            continue
        if is_idle(point):
            continue
        base_wrench(point, forces, 6 * e, wrench)
        if point.whole:
            apply_at_center(nodes, states, supports, e, point.mass, wrench)
            continue
        if point.frame.node >= 0:
            add_wrench(point.p, wrench, states[point.frame.node].z)
        if point.other.node >= 0:
            for r in range(6):
                wrench[r] = -wrench[r]
            add_wrench(point.p, wrench, states[point.other.node].z)


@rare
def clear_wrenches(states):
    """Set the forces at links, ``z``, to zero: projections of rows leave some."""
    for i in range(states.size):
        put(states[i].z, 0, 0.0)


@inlined
def pass_inward(s, u, z, outer):
    """Add to ``outer`` (6,) what a joint that accelerates by u passes on of the force z (6,)."""
    put(outer, 0, six(outer, 0) + six(z, 0) - u * six(s.U, 0))


@inlined
def pass_outward(s, u, B):
    """Add a joint's acceleration to its carrier's B (6,), where u is that of a carrier at rest."""
    u -= dot(s.U, B) * s.inverse_D
    put(B, 0, six(B, 0) + u * six(s.S, 0))
    return u


@inlined
def respond_to_forces(nodes, states, joint_force):
    """
    Write ``u``, the accelerations of joints by forces at links, ``z``, and joints, (nv,).

    ``B`` receives those of the bodies; ``z`` is zero afterwards.
    """
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        s.u = 0.0
        if node.status != LOCKED:
            s.u = (joint_force[node.v_index] + dot(s.z, s.S)) * s.inverse_D
        if node.parent >= 0:
            pass_inward(s, s.u, s.z, states[node.parent].z)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        put(s.z, 0, 0.0)
        if node.parent >= 0:
            put(s.B, 0, six(states[node.parent].B, 0))
        else:
            put(s.B, 0, 0.0)
        if node.status != LOCKED:
            s.u = pass_outward(s, s.u, s.B)


@inlined
def keep_second(nodes, states, joint_force, second_force):
    """Make the forces of `apply_wrenches` the second ones of `respond_to_both`."""
    for k in range(joint_force.size):
        second_force[k] = joint_force[k]
    for i in range(nodes.size):
        put(states[i].z2, 0, six(states[i].z, 0))


@inlined
def respond_to_both(nodes, states, joint_force, second_force):
    """
    Do the same as `respond_to_forces` for two sets of forces: ``u2`` is the second one's response.

    A joint waits for its neighbour in each set alone, so two sets take little longer than one.
    """
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        s.u = s.u2 = 0.0
        if node.status != LOCKED:
            s.u = (joint_force[node.v_index] + dot(s.z, s.S)) * s.inverse_D
            s.u2 = (second_force[node.v_index] + dot(s.z2, s.S)) * s.inverse_D
        if node.parent >= 0:
            pass_inward(s, s.u, s.z, states[node.parent].z)
            pass_inward(s, s.u2, s.z2, states[node.parent].z2)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        put(s.z, 0, 0.0)
        if node.parent >= 0:
            put(s.B, 0, six(states[node.parent].B, 0))
            put(s.B2, 0, six(states[node.parent].B2, 0))
        else:
            for r in range(6):
                s.B[r] = s.B2[r] = 0.0
        if node.status != LOCKED:
            s.u = pass_outward(s, s.u, s.B)
            s.u2 = pass_outward(s, s.u2, s.B2)


@inlined
def forward_response(nodes, states, joint_force, a_null, a):
    """
    Write ``a_null`` plus the forward response to forces at links and joints, (nv,).

    The forces are those of `apply_wrenches`; those at links are set to zero.
    """
    respond_to_forces(nodes, states, joint_force)
    add_response(nodes, states, a_null, a)


@inlined
def add_response(nodes, states, a_null, a):
    """Write ``a_null`` plus the response ``u`` to a, (nv,)."""
    for k in range(a.size):
        a[k] = a_null[k]
    for i in range(nodes.size):
        if nodes[i].status != LOCKED:
            a[nodes[i].v_index] += states[i].u


@inlined
def project_unit_torque(nodes, node, states, projection):
    """Project a unit torque at the joint of a node on all joints, (n,)."""
    projection[:] = 0.0
    projection[node] = 1.0
    z = states[node].z
    put(z, 0, -states[node].inverse_D * six(states[node].U, 0))
    i = nodes[node].parent
    while i >= 0:
        if nodes[i].status != LOCKED:
            s = states[i]
            projection[i] = dot(z, s.S)
            put(z, 0, six(z, 0) - (projection[i] * s.inverse_D) * six(s.U, 0))
        i = nodes[i].parent


@inlined
def project_torques(nodes, states, torque, projection):
    """Project joint forces, (nv,), none of them at a locked joint, on all joints, (n,)."""
    for i in range(nodes.size):
        put(states[i].z, 0, 0.0)
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        projection[i] = 0.0
        if node.status != LOCKED:
            projection[i] = torque[node.v_index] + dot(s.z, s.S)
            put(s.z, 0, six(s.z, 0) - (projection[i] * s.inverse_D) * six(s.U, 0))
        if node.parent >= 0:
            add_six(states[node.parent].z, s.z)


@rare
def accelerate_bodies(nodes, states, a):
    """Write ``B``, the accelerations of bodies by those of their joints a (nv,) alone."""
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        if node.status != LOCKED:
            put(s.B, 0, six(s.B, 0) + a[node.v_index] * six(s.S, 0))


@inlined
def add_acceleration(B, p, sign, a):
    """Add the acceleration at p of a body with the spatial acceleration B, base axes, to a (6,)."""
    x, y, z = linear_at(B, p)
    a[0] += sign * x
    a[1] += sign * y
    a[2] += sign * z
    for r in range(3, 6):
        a[r] += sign * B[r]


@inlined
def project_unit_acceleration(nodes, node, states, projection, torque):
    """Write the column of A of one joint, its torques (nv,), and their projection on all, (n,)."""
    projection[:] = 0.0
    torque[:] = 0.0
    S = states[node].S
    end = branch_end(nodes, node)
    for i in range(node, end):
        s = states[i]
        put(s.z, 0, 0.0)
        add_inertial_force(nodes[i].mass, s.c, s.Ic, S, s.z)
        if nodes[i].status != LOCKED:
            projection[i] = 1.0 / s.inverse_D if i == node else dot(s.U, S)
    for i in range(end - 1, node - 1, -1):
        if nodes[i].v_index >= 0:
            torque[nodes[i].v_index] = dot(states[i].z, states[i].S)
        if i == node:
            torque[nodes[i].v_index] += nodes[i].armature
        else:
            add_six(states[nodes[i].parent].z, states[i].z)
    i = nodes[node].parent
    while i >= 0:
        if nodes[i].v_index >= 0:
            torque[nodes[i].v_index] = dot(states[node].z, states[i].S)
        i = nodes[i].parent


@rare
def project_forces(nodes, states, joint_force, tau):
    """Add ``h + Jᵀ f`` of the forces of `apply_wrenches` to tau (nv,)."""
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        if node.v_index >= 0:
            tau[node.v_index] += joint_force[node.v_index] + dot(s.z, s.S)
        if node.parent >= 0:
            add_six(states[node.parent].z, s.z)
        put(s.z, 0, 0.0)


@rare
def subtract_inertial_torques(nodes, states, a, joint_force, tau):
    """Subtract ``A a`` from tau, (nv,) all; joint_force (nv,), ``B`` and ``z`` are scratch."""
    accelerate_bodies(nodes, states, a)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        put(s.z, 0, 0.0)
        put(s.B, 0, -1.0 * six(s.B, 0))
        add_inertial_force(node.mass, s.c, s.Ic, s.B, s.z)
        if node.v_index >= 0:
            joint_force[node.v_index] = -node.armature * a[node.v_index]
    project_forces(nodes, states, joint_force, tau)


@rare
def motion_torques(nodes, states, a, joint_force, tau):
    """Write the joint forces, (nv,), of accelerations a and the links' forces ``f``."""
    for i in range(nodes.size):
        node = nodes[i]
        if node.v_index >= 0:
            tau[node.v_index], joint_force[node.v_index] = node.armature * a[node.v_index], 0.0
        for r in range(6):
            states[i].z[r] = states[i].f[r]
    project_forces(nodes, states, joint_force, tau)
