# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Additional rotational inertias of links: what they add to A, and the torques that they take."""

from opspace_control.compiled import rare
from opspace_control.dynamics.articulated_body import set_inertia
from opspace_control.dynamics.responses import project_forces
from opspace_control.model.nodes import LOCKED


@rare
def set_inertias(nodes, states, needs_inertia, inertia):
    """Write the spatial inertias of bodies, with rotational inertias (n, 3, 3) in addition."""
    for i in range(nodes.size):
        if needs_inertia[i]:
            set_inertia(nodes, i, states)
            for r in range(3):
                for c in range(3):
                    states[i].IA[3 + r, 3 + c] += inertia[i, r, c]


@rare
def oppose_rotations(nodes, states, inertia, a, a_ref, zeros, tau):
    """
    Add ``−J_ωᵀ I α`` to tau (nv,), what drives exert as if links had the inertia (n, 3, 3).

    α are the angular accelerations of the links where the joints accelerate by ``a − a_ref``, (nv,)
    each. ``zeros`` (nv,) is scratch.
    """
    for k in range(zeros.size):
        zeros[k] = 0.0
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(3):
            s.z[r], s.B[3 + r] = 0.0, states[node.parent].B[3 + r] if node.parent >= 0 else 0.0
        if node.status != LOCKED:
            for r in range(3, 6):
                s.B[r] += s.S[r] * (a[node.v_index] - a_ref[node.v_index])
        for r in range(3):
            s.z[3 + r] = -(inertia[i, r, 0] * s.B[3] + inertia[i, r, 1] * s.B[4]
                           + inertia[i, r, 2] * s.B[5])
    project_forces(nodes, states, zeros, tau)


@rare
def add_inertias_by_force(nodes, states, end, node, force, stiffness, inertia):
    """
    Add the inertias of the links from a node to the root by a force (3,) at ``end`` (3,).

    N and m, base axes; the stiffness is the task's, 1/s².
    """
    tip0, tip1, tip2 = end[0], end[1], end[2]
    while node >= 0:
        p = states[node].p
        l0, l1, l2 = tip0 - p[0], tip1 - p[1], tip2 - p[2]
        tension = force[0] * l0 + force[1] * l1 + force[2] * l2
        if tension > 0.0:
            square, own = l0 * l0 + l1 * l1 + l2 * l2, inertia[node]
            tension /= stiffness * square
            own[0, 0] += tension * (l1 * l1 + l2 * l2)
            own[1, 1] += tension * (l2 * l2 + l0 * l0)
            own[2, 2] += tension * (l0 * l0 + l1 * l1)
            own[0, 1] -= tension * l0 * l1
            own[0, 2] -= tension * l0 * l2
            own[1, 2] -= tension * l1 * l2
            own[1, 0], own[2, 0], own[2, 1] = own[0, 1], own[0, 2], own[1, 2]
        tip0, tip1, tip2 = p[0], p[1], p[2]
        node = nodes[node].parent
