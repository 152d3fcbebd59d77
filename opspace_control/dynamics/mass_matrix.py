# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joint-space inertia by composite rigid bodies; not used in a control cycle."""

from opspace_control.compiled import kernel
from opspace_control.dynamics.articulated_body import set_inertia
from opspace_control.dynamics.kinematics import place_node, weigh_node
from opspace_control.spatial.vectors import dot


@kernel
def mass_matrix(nodes, q, states, A):
    """Write the joint-space inertia matrix A of [CK00] (1), column by column."""
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
