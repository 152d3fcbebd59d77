# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Articulated-body inertias, [CK00] (20)-(21), and composite ones, by inward recursions."""

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.kinematics import place_node, weigh_node
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.six import put, six
from opspace_control.spatial.vectors import dot


@inlined
def body_inertia(m, c, Ic, out):
    """
    Write the spatial inertia (6, 6) of a body about the root link's origin, [CK00] (16).

    Mass, kg, centre of mass and rotational inertia about it, both in world axes.
    """
    h0, h1, h2 = m * c[0], m * c[1], m * c[2]
    for r in range(6):
        for k in range(6):
            out[r, k] = 0.0
    out[0, 0] = out[1, 1] = out[2, 2] = m
    out[0, 4] = out[4, 0] = h2
    out[0, 5] = out[5, 0] = -h1
    out[1, 3] = out[3, 1] = -h2
    out[1, 5] = out[5, 1] = h0
    out[2, 3] = out[3, 2] = h1
    out[2, 4] = out[4, 2] = -h0
    out[3, 3] = Ic[0, 0] + h1 * c[1] + h2 * c[2]
    out[4, 4] = Ic[1, 1] + h2 * c[2] + h0 * c[0]
    out[5, 5] = Ic[2, 2] + h0 * c[0] + h1 * c[1]
    out[3, 4] = out[4, 3] = Ic[0, 1] - h0 * c[1]
    out[3, 5] = out[5, 3] = Ic[0, 2] - h0 * c[2]
    out[4, 5] = out[5, 4] = Ic[1, 2] - h1 * c[2]


@inlined
def joint_inertia(inertia, S, U):
    """Write ``U = I S`` and return ``D = Sᵀ U``, the inertia I (6, 6) projected on the joint."""
    put(U, 0, (S[0] * six(inertia[0], 0) + S[1] * six(inertia[1], 0) + S[2] * six(inertia[2], 0))
        + (S[3] * six(inertia[3], 0) + S[4] * six(inertia[4], 0) + S[5] * six(inertia[5], 0)))
    return dot(S, U)


@inlined
def propagate_inertia(inertia, U, inverse_D, outer):
    """
    Add the articulated inertia seen through a joint, ``I − U Uᵀ / D``, to the parent's.

    This is the ``L I Lᵀ`` of [CK00] (20)-(21); with U zero the joint is rigid.
    """
    w = inverse_D * six(U, 0)
    for r in range(6):
        put(outer[r], 0, six(outer[r], 0) + (six(inertia[r], 0) - U[r] * w))


@inlined
def set_inertia(nodes, i, states):
    """Write the spatial inertia of body i about the root link's origin to IA."""
    s = states[i]
    body_inertia(nodes[i].mass, s.c, s.Ic, s.IA)


@inlined
def eliminate_node(nodes, i, states):
    """
    Project joint i out of its articulated inertia and add the rest to the parent's.

    ``U = IA S``, ``D = Sᵀ U``, ``IA_parent += IA − U Uᵀ / D``. The inertia of the joint's motor
    adds to D only. A locked joint adds its whole inertia to the parent's.
    """
    node, s = nodes[i], states[i]
    U = s.U
    if node.status == LOCKED:
        s.inverse_D = 0.0
        for r in range(6):
            U[r] = 0.0
    else:
        s.inverse_D = 1.0 / (joint_inertia(s.IA, s.S, U) + node.armature)
    if node.parent >= 0:
        propagate_inertia(s.IA, U, s.inverse_D, states[node.parent].IA)


@kernel
def mass_matrix(nodes, q, states, A):
    """Write the joint-space inertia matrix A of [CK00] (1), by composite rigid bodies."""
    n = nodes.size
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        set_inertia(nodes, i, states)
    A[:] = 0.0
    for i in range(n - 1, -1, -1):
        s = states[i]
        IA, S, U = s.IA, s.S, s.U
        for r in range(6):
            U[r] = dot(IA[r], S)
        column = nodes[i].v_index
        if column >= 0:
            k = i
            while k >= 0:
                row = nodes[k].v_index
                if row >= 0:
                    A[row, column] = dot(U, states[k].S)
                    A[column, row] = A[row, column]
                k = nodes[k].parent
            A[column, column] += nodes[i].armature
        parent = nodes[i].parent
        if parent >= 0:
            outer = states[parent].IA
            for r in range(6):
                for c in range(6):
                    outer[r, c] += IA[r, c]
