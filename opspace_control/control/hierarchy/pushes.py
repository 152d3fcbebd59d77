# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What forces at links and joints make joints do, and what they take to be borne, in O(n)."""

from opspace_control.compiled import called, inlined, rare
from opspace_control.dynamics.center_of_mass import add_force
from opspace_control.dynamics.operational_space_inertia import is_group
from opspace_control.dynamics.workspace import COUNTS
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.vectors import add_wrench, dot


@inlined
def base_wrench(point, force, first, wrench):
    """Write six entries of the stack's forces as a wrench in base axes."""
    axes = point.axes
    for part in range(0, 6, 3):
        x, y, z = force[first + part], force[first + part + 1], force[first + part + 2]
        for r in range(3):
            wrench[part + r] = (
                axes[part // 3, r, 0] * x + axes[part // 3, r, 1] * y + axes[part // 3, r, 2] * z)


@inlined
def push_center(nodes, states, supports, e, mass, wrench):
    """Write a force at a centre of mass to all its bodies, ``z``, by their parts of the mass."""
    for i in range(nodes.size):
        if supports[i, e] & COUNTS:
            share = nodes[i].mass / mass
            add_force(states[i].c, share * wrench[0], share * wrench[1], share * wrench[2],
                      states[i].z)


@called
def push_links(nodes, states, points, supports, push, joint_force, wrench):
    """Write the stack's forces, (k,), to the links they act on, ``z``, and to joints, (nv,)."""
    for k in range(joint_force.size):
        joint_force[k] = 0.0
    for i in range(nodes.size):
        for r in range(6):
            states[i].z[r] = 0.0
    for e in range(points.size):
        point = points[e]
        if is_group(point):
            for r in range(6):
                if point.joints[r] >= 0:
                    joint_force[nodes[point.joints[r]].v_index] += push[6 * e + r]
            continue
        base_wrench(point, push, 6 * e, wrench)
        if point.whole:
            push_center(nodes, states, supports, e, point.mass, wrench)
            continue
        if point.frame.node >= 0:
            add_wrench(point.p, wrench, states[point.frame.node].z)
        if point.other.node >= 0:
            for r in range(6):
                wrench[r] = -wrench[r]
            add_wrench(point.p, wrench, states[point.other.node].z)


@called
def answer_pushes(nodes, states, joint_force, a_null, a):
    """
    Write how joints accelerate, (nv,), by the motion advised and forces at links and joints.

    Needs the articulated inertias of all nodes; the forces are those of `push_links`, and zero at
    links afterwards.
    """
    for k in range(a.size):
        a[k] = a_null[k]
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        s.u = 0.0
        if node.status != LOCKED:
            s.u = (joint_force[node.v_index] + dot(s.z, s.S)) / s.D
        if node.parent >= 0:
            outer = states[node.parent].z
            for r in range(6):
                outer[r] += s.z[r] - s.u * s.U[r]
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = 0.0
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        if node.status != LOCKED:
            x = s.u - dot(s.U, s.B) / s.D
            a[node.v_index] += x
            for r in range(6):
                s.B[r] += x * s.S[r]


@rare
def bear_pushes(nodes, states, joint_force, tau):
    """Add the joint forces that these forces take, if no joint gives way, to tau (nv,)."""
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        if node.v_index >= 0:
            tau[node.v_index] += joint_force[node.v_index] + dot(s.z, s.S)
        for r in range(6):
            if node.parent >= 0:
                states[node.parent].z[r] += s.z[r]
            s.z[r] = 0.0


@rare
def bear_motion(nodes, states, a, joint_force, tau):
    """Write the joint forces, (nv,), of the motion ``a`` and its forces ``f``, which stay."""
    for i in range(nodes.size):
        node = nodes[i]
        if node.v_index >= 0:
            tau[node.v_index], joint_force[node.v_index] = node.armature * a[node.v_index], 0.0
        for r in range(6):
            states[i].z[r] = states[i].f[r]
    bear_pushes(nodes, states, joint_force, tau)
