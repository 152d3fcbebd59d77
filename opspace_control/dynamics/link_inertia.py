# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Additional rotational inertias of links, and dampings of their rotations.

What the inertias add to A, and what drives exert as if links had both.
"""

from opspace_control.compiled import called, inlined, rare
from opspace_control.dynamics.articulated_body import set_inertia
from opspace_control.dynamics.data import COUNTS
from opspace_control.dynamics.responses import project_forces
from opspace_control.model.nodes import LOCKED, WORLD


@rare
def set_inertias(nodes, states, needs_inertia, inertia):
    """
    Write the spatial inertias of bodies, with I of (2, n, 3, 3), I and D, in addition.

    Unit forces at a centre of mass are zero then, as `sum_mobility` adds to them.
    """
    for i in range(nodes.size):
        for r in range(6):
            for c in range(3):
                states[i].F[r, c] = 0.0
        if needs_inertia[i]:
            set_inertia(nodes, i, states)
            for r in range(3):
                for c in range(3):
                    states[i].IA[3 + r, 3 + c] += inertia[0, i, r, c]


@inlined
def has_inertia(inertia, i):
    """Return whether link i has any of I, which is no less than 0, and so of D, (2, n, 3, 3)."""
    return inertia[0, i, 0, 0] + inertia[0, i, 1, 1] + inertia[0, i, 2, 2] != 0.0


@rare
def scale_inertias(inertia, factor):
    """Multiply I and D, (2, n, 3, 3), by a factor."""
    for i in range(inertia.shape[1]):
        if has_inertia(inertia, i):
            for k in range(2):
                for r in range(3):
                    for c in range(3):
                        inertia[k, i, r, c] *= factor


@called
def oppose_rotations(nodes, states, inertia, a, mean, dofs, v, zeros, tau):
    """
    Add ``−J_ωᵀ (I J_ω (a − mean) + D J_ω (v − v_d))`` to tau (nv,), for I and D, (2, n, 3, 3).

    ``a``, ``mean`` and ``v`` (nv,) are accelerations of the joints, their mean, and velocities, v_d
    those that ``dofs`` has for the posture; ``zeros`` (nv,) is scratch.
    """
    for k in range(zeros.size):
        zeros[k] = 0.0
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(3, 6):
            s.z[r - 3] = s.z[r] = s.B[r] = s.B2[r] = 0.0
            if node.parent >= 0:
                s.B[r], s.B2[r] = states[node.parent].B[r], states[node.parent].B2[r]
            if node.status != LOCKED:
                s.B[r] += s.S[r] * (a[node.v_index] - mean[node.v_index])
                s.B2[r] += s.S[r] * (v[node.v_index] - dofs[node.v_index].velocity)
        if has_inertia(inertia, i):
            for r in range(3):
                for c in range(3):
                    s.z[3 + r] -= (
                        inertia[0, i, r, c] * s.B[3 + c] + inertia[1, i, r, c] * s.B2[3 + c])
    project_forces(nodes, states, zeros, tau)


@rare
def add_inertias_by_force(nodes, states, end, first, last, force, law, inertia):
    """
    Add I and D, (2, n, 3, 3), of links from node ``first`` to ``last``, exclusive.

    The ``force`` (3,) acts at ``end`` (3,), N and m, base axes. The ``law`` is the stiffness of the
    task, 1/s², and the rate of the damping, 1/s: ``D = rate I``.
    """
    tip0, tip1, tip2 = end[0], end[1], end[2]
    (stiffness, rate), i = law, first
    while i != last:
        p = states[i].p
        l0, l1, l2 = tip0 - p[0], tip1 - p[1], tip2 - p[2]
        tension = force[0] * l0 + force[1] * l1 + force[2] * l2
        if tension > 0.0:
            tension /= stiffness * (l0 * l0 + l1 * l1 + l2 * l2)
            add_perpendicular(inertia[0, i], tension, l0, l1, l2)
            add_perpendicular(inertia[1, i], tension * rate, l0, l1, l2)
        tip0, tip1, tip2 = p[0], p[1], p[2]
        i = nodes[i].parent


@rare
def add_inertias_at_center(nodes, states, supports, e, mass, wrench, law, inertia):
    """
    Add I and D, (2, n, 3, 3), of links that a centre of mass moves with, as of bodies' own forces.

    Those are the first three of ``wrench`` (6,), N, base axes, in proportion to the masses of the
    bodies that ``supports`` tells for point e, ``mass`` in all, kg. The other three are scratch.
    """
    for i in range(nodes.size):
        if supports[i, e] & COUNTS:
            for r in range(3):
                wrench[3 + r] = nodes[i].mass / mass * wrench[r]
            add_inertias_by_force(
                nodes, states, states[i].c, i, WORLD, wrench[3:], law, inertia)


@inlined
def add_perpendicular(out, factor, x, y, z):
    """Add ``factor (|l|² − l lᵀ)`` of l = (x, y, z) to out (3, 3)."""
    out[0, 0] += factor * (y * y + z * z)
    out[1, 1] += factor * (z * z + x * x)
    out[2, 2] += factor * (x * x + y * y)
    out[0, 1] -= factor * x * y
    out[0, 2] -= factor * x * z
    out[1, 2] -= factor * y * z
    out[1, 0], out[2, 0], out[2, 1] = out[0, 1], out[0, 2], out[1, 2]


@inlined
def common_ancestor(nodes, i, j):
    """Return the last node that the paths from two nodes to the root share, WORLD for none."""
    while i != j:
        if i > j:
            i = nodes[i].parent
        else:
            j = nodes[j].parent
    return i
