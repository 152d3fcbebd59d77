# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Additional rotational inertias of links, and dampings of their rotations and of momentum.

What the inertias add to A, and what drives exert as if links had all of it.
"""

from opspace_control.compiled import called, inlined, rare
from opspace_control.dynamics.articulated_body import set_inertia
from opspace_control.dynamics.data import COUNTS
from opspace_control.dynamics.hybrid_dynamics import add_inertial_force
from opspace_control.dynamics.kinematics import write_velocity
from opspace_control.dynamics.responses import project_forces
from opspace_control.model.nodes import LOCKED, WORLD
from opspace_control.spatial.six import put, six
from opspace_control.spatial.vectors import dot


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
def oppose_motion(nodes, states, inertia, damping, a, mean, dofs, v, joint_force, tau):
    """
    Add ``−J_ωᵀ (I J_ω (a − mean) + D J_ω (v − v_d)) − r A w`` to tau (nv,).

    I and D are (2, n, 3, 3), r is the ``damping``, 1/s. ``a``, ``mean`` and ``v`` (nv,) are
    accelerations of the joints, their mean, and velocities, v_d those that ``dofs`` has for the
    posture. ``joint_force`` (nv,) has the velocities w, and is scratch.
    """
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = s.B[r] = s.B2[r] = s.z2[r] = 0.0
            if node.parent >= 0:
                s.B[r], s.B2[r], s.z2[r] = (
                    states[node.parent].B[r], states[node.parent].B2[r], states[node.parent].z2[r])
        k = node.v_index
        if node.status != LOCKED:
            rate, damped = v[k] - dofs[k].velocity, joint_force[k]
            for r in range(6):
                s.B[r] += s.S[r] * (a[k] - mean[k])
                s.B2[r] += s.S[r] * rate
                s.z2[r] += s.S[r] * damped
            joint_force[k] = -damping * node.armature * damped
        elif k >= 0:
            joint_force[k] = 0.0
        if damping > 0.0:
            add_inertial_force(node.mass, s.c, s.Ic, s.z2, s.z)
            put(s.z, 0, -damping * six(s.z, 0))
        if has_inertia(inertia, i):
            for r in range(3):
                for c in range(3):
                    s.z[3 + r] -= (
                        inertia[0, i, r, c] * s.B[3 + c] + inertia[1, i, r, c] * s.B2[3 + c])
    project_forces(nodes, states, joint_force, tau)


@rare
def kinetic_energy(nodes, states, v):
    """Return ``vᵀ A v``, twice the kinetic energy, J; write the velocities ``V`` of bodies at v."""
    total = 0.0
    for i in range(nodes.size):
        write_velocity(nodes, i, v, states)
        node, s = nodes[i], states[i]
        put(s.z, 0, 0.0)
        add_inertial_force(node.mass, s.c, s.Ic, s.V, s.z)
        total += dot(s.z, s.V)
        put(s.z, 0, 0.0)
        if node.status != LOCKED:
            total += node.armature * v[node.v_index] ** 2
    return total


@rare
def stiffness_along(nodes, states, end, first, last, wrench, v):
    """
    Return what is left of the geometric stiffness of a ``wrench`` along v (nv,), W/s.

    This is the second derivative along v of what it does, negative, at nodes from ``first`` to
    ``last``, exclusive: ``ωᵀ (F·l − F lᵀ) ω`` of each link, l long, and ``q̇ ω·(m × u)`` of each
    joint with the axis u and the moment m, less what `add_inertias_by_force` adds for the links.
    The wrench (6,) acts at ``end`` (3,), N and N m, base axes; ω is of the velocities ``V``.
    """
    tip, found, i = (end[0], end[1], end[2]), 0.0, first
    F0, F1, F2 = wrench[0], wrench[1], wrench[2]
    while i != last:
        p, S, V = states[i].p, states[i].S, states[i].V
        w0, w1, w2 = V[3], V[4], V[5]
        l0, l1, l2 = tip[0] - p[0], tip[1] - p[1], tip[2] - p[2]
        tension, along = F0 * l0 + F1 * l1 + F2 * l2, l0 * w0 + l1 * w1 + l2 * w2
        square = w0 * w0 + w1 * w1 + w2 * w2
        found += tension * square - along * (F0 * w0 + F1 * w1 + F2 * w2)
        if tension > 0.0:
            found -= tension * (square - along * along / (l0 * l0 + l1 * l1 + l2 * l2))
        if nodes[i].status != LOCKED:
            l0, l1, l2 = end[0] - p[0], end[1] - p[1], end[2] - p[2]
            m0 = wrench[3] + l1 * F2 - l2 * F1
            m1 = wrench[4] + l2 * F0 - l0 * F2
            m2 = wrench[5] + l0 * F1 - l1 * F0
            found += v[nodes[i].v_index] * (
                w0 * (m1 * S[5] - m2 * S[4]) + w1 * (m2 * S[3] - m0 * S[5])
                + w2 * (m0 * S[4] - m1 * S[3]))
        tip, i = (p[0], p[1], p[2]), nodes[i].parent
    return found


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
