# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Articulated-body inertias and the forward dynamics they give, [CK00] (20)-(21)."""

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.inverse_dynamics import load_node
from opspace_control.dynamics.kinematics import move_node, place_node, weigh_node
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.vectors import dot


@inlined
def set_inertia(nodes, i, states):
    """Write the spatial inertia of body i about the root link's origin, [CK00] (16), to IA."""
    m = nodes[i].mass
    s = states[i]
    IA, c, Ic = s.IA, s.c, s.Ic
    h0, h1, h2 = m * c[0], m * c[1], m * c[2]
    for r in range(6):
        for k in range(6):
            IA[r, k] = 0.0
    IA[0, 0] = IA[1, 1] = IA[2, 2] = m
    IA[0, 4] = IA[4, 0] = h2
    IA[0, 5] = IA[5, 0] = -h1
    IA[1, 3] = IA[3, 1] = -h2
    IA[1, 5] = IA[5, 1] = h0
    IA[2, 3] = IA[3, 2] = h1
    IA[2, 4] = IA[4, 2] = -h0
    IA[3, 3] = Ic[0, 0] + h1 * c[1] + h2 * c[2]
    IA[4, 4] = Ic[1, 1] + h2 * c[2] + h0 * c[0]
    IA[5, 5] = Ic[2, 2] + h0 * c[0] + h1 * c[1]
    IA[3, 4] = IA[4, 3] = Ic[0, 1] - h0 * c[1]
    IA[3, 5] = IA[5, 3] = Ic[0, 2] - h0 * c[2]
    IA[4, 5] = IA[5, 4] = Ic[1, 2] - h1 * c[2]


@inlined
def eliminate_node(nodes, i, states):
    """
    Project joint i out of its articulated inertia and hand the rest to the parent.

    ``U = IA S``, ``D = Sᵀ U``, ``IA_parent += IA − U Uᵀ / D``: this is the ``L IA Lᵀ`` of [CK00]
    (20)-(21). A locked joint is no freedom: its whole inertia is handed on.
    """
    node, s = nodes[i], states[i]
    IA, S, U = s.IA, s.S, s.U
    inverse_D = 0.0
    if node.status == LOCKED:
        for r in range(6):
            U[r] = 0.0
    else:
        for r in range(6):
            U[r] = (IA[r, 0] * S[0] + IA[r, 1] * S[1] + IA[r, 2] * S[2]
                    + IA[r, 3] * S[3] + IA[r, 4] * S[4] + IA[r, 5] * S[5])
        s.D = dot(S, U)
        inverse_D = 1.0 / s.D
    if node.parent >= 0:
        outer = states[node.parent].IA
        for r in range(6):
            w = U[r] * inverse_D
            for c in range(6):
                outer[r, c] += IA[r, c] - w * U[c]


@kernel
def forward_dynamics(nodes, q, v, tau, gravity, zero, states, a):
    """
    Write the joint accelerations of the joint forces ``tau`` in O(n); locked joints get zero.

    Pass 1 takes every body along with its velocity alone, ``zero`` being the accelerations; the
    net force of that motion is the bias force. Pass 2 eliminates, pass 3 releases the joints.
    """
    n = nodes.size
    # Pass 1: bias motion and bias forces.
    for i in range(n):
        place_node(nodes, i, q, states)
        move_node(nodes, i, v, zero, states)
        weigh_node(nodes, i, states)
        load_node(nodes, i, gravity, states)
        set_inertia(nodes, i, states)
    # Pass 2: what the joints leave over.
    for i in range(n - 1, -1, -1):
        eliminate_node(nodes, i, states)
        node, s = nodes[i], states[i]
        f, U = s.f, s.U
        gain = 0.0
        if node.status != LOCKED:
            s.u = tau[node.v_index] - dot(f, s.S)
            gain = s.u / s.D
        if node.parent >= 0:
            outer = states[node.parent].f
            for r in range(6):
                outer[r] += f[r] + gain * U[r]
    # Pass 3: accelerations on top of the bias motion; A is reused for them.
    for i in range(n):
        node, s = nodes[i], states[i]
        A = s.A
        for r in range(6):
            A[r] = states[node.parent].A[r] if node.parent >= 0 else 0.0
        if node.v_index < 0:
            continue
        acceleration = 0.0
        if node.status != LOCKED:
            acceleration = (s.u - dot(s.U, A)) / s.D
        a[node.v_index] = acceleration
        for r in range(6):
            A[r] += acceleration * s.S[r]
