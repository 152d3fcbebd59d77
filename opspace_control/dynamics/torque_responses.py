# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Responses of joints to joint forces alone, by sweeps over the tree, O(n) each.

Projections are those of `responses`, (n,) by node; they need the articulated inertias.
"""

from opspace_control.compiled import called, inlined
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.six import add_six, put, six
from opspace_control.spatial.vectors import dot


@inlined
def project_unit_torque(nodes, node, states, projection):
    """Project a unit torque at the joint of a node on all joints, (n,)."""
    projection[:] = 0.0
    projection[node] = 1.0
    z = states[node].z
    put(z, 0, (-1.0 / states[node].D) * six(states[node].U, 0))
    i = nodes[node].parent
    while i >= 0:
        if nodes[i].status != LOCKED:
            s = states[i]
            projection[i] = dot(z, s.S)
            put(z, 0, six(z, 0) - (projection[i] / s.D) * six(s.U, 0))
        i = nodes[i].parent


@inlined
def project_torques(nodes, states, torque, projection):
    """Project joint forces, (nv,), none of them at a locked joint, on all joints, (n,)."""
    for i in range(nodes.size):
        for r in range(6):
            states[i].z[r] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        projection[i] = 0.0
        if node.status != LOCKED:
            projection[i] = torque[node.v_index] + dot(s.z, s.S)
            put(s.z, 0, six(s.z, 0) - (projection[i] / s.D) * six(s.U, 0))
        if node.parent >= 0:
            add_six(states[node.parent].z, s.z)


@inlined
def project_counted_torques(nodes, states, needs_inertia, torque):
    """Write ``u``, joint forces (nv,) projected on the joints whose inertia counts, over D."""
    for i in range(nodes.size):
        for r in range(6):
            states[i].z[r] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        if needs_inertia[i]:
            node, s = nodes[i], states[i]
            s.u = 0.0
            if node.status != LOCKED:
                s.u = (torque[node.v_index] + dot(s.z, s.S)) / s.D
            if node.parent >= 0:
                outer = states[node.parent].z
                put(outer, 0, six(outer, 0) + six(s.z, 0) - s.u * six(s.U, 0))


@called
def respond_to_torques(nodes, states, needs_inertia, torque):
    """Write ``B``, the accelerations of the bodies by joint forces (nv,), where inertia counts."""
    project_counted_torques(nodes, states, needs_inertia, torque)
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
            s.z[r] = 0.0
        if needs_inertia[i] and node.status != LOCKED:
            x = s.u - dot(s.U, s.B) / s.D
            put(s.B, 0, six(s.B, 0) + x * six(s.S, 0))
