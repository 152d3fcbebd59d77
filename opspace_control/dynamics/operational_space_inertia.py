# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse operational-space inertia by force propagation, the recursion behind [CK00] Table 1."""

from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.articulated_body import eliminate_node, set_inertia
from opspace_control.dynamics.kinematics import place_node, place_point, weigh_node
from opspace_control.dynamics.workspace import CENTER, COUNTS, OTHER, OWN, SEEN, UNIT
from opspace_control.model.nodes import LOCKED, PASSIVE


@inlined
def unit_wrenches(p, axes, sign, Psi):
    """
    Write six unit wrenches at p, moved to the root link's origin, as the columns of Ψ.

    Three forces along ``axes[0]`` (by column), three moments about ``axes[1]``, all times ``sign``.
    """
    for c in range(3):
        x, y, z = sign * axes[0, 0, c], sign * axes[0, 1, c], sign * axes[0, 2, c]
        Psi[0, c], Psi[1, c], Psi[2, c] = x, y, z
        Psi[3, c] = p[1] * z - p[2] * y
        Psi[4, c] = p[2] * x - p[0] * z
        Psi[5, c] = p[0] * y - p[1] * x
        for r in range(3):
            Psi[r, 3 + c] = 0.0
            Psi[3 + r, 3 + c] = sign * axes[1, r, c]


@inlined
def is_group(point):
    """Return whether a point is a group of joints."""
    return point.joints[0] >= 0


@inlined
def start_propagation(points, e):
    """Write the unit wrenches at point e, and their reactions on the other link; none of joints."""
    point = points[e]
    if is_group(point):
        point.Psi[:] = 0.0
        return
    unit_wrenches(point.p, point.axes, 1.0, point.Psi)
    if point.other.node >= 0:
        unit_wrenches(point.p, point.axes, -1.0, point.Psi_other)
        point.alone[0] = point.alone[1] = 0.0


@inlined
def start_passive_propagation(points, e):
    """Do the same for the propagation in which passive joints alone give way."""
    point = points[e]
    if is_group(point):
        point.PsiP[:] = 0.0
        return
    unit_wrenches(point.p, point.axes, 1.0, point.PsiP)
    if point.other.node >= 0:
        unit_wrenches(point.p, point.axes, -1.0, point.PsiP_other)


@inlined
def carry_across(Psi, S, U, inverse_D, K):
    """Carry unit wrenches across a joint that gives way: ``K = Ψᵀ S``, ``Ψ ← Ψ − U Kᵀ / D``."""
    S0, S1, S2, S3, S4, S5 = S[0], S[1], S[2], S[3], S[4], S[5]
    U0, U1, U2, U3, U4, U5 = U[0], U[1], U[2], U[3], U[4], U[5]
    for r in range(6):
        k = (Psi[0, r] * S0 + Psi[1, r] * S1 + Psi[2, r] * S2
             + Psi[3, r] * S3 + Psi[4, r] * S4 + Psi[5, r] * S5)
        K[r] = k
        w = k * inverse_D
        Psi[0, r] -= U0 * w
        Psi[1, r] -= U1 * w
        Psi[2, r] -= U2 * w
        Psi[3, r] -= U3 * w
        Psi[4, r] -= U4 * w
        Psi[5, r] -= U5 * w


@inlined
def carry_torques(joints, i, Psi, S, U, inverse_D, K):
    """Carry the unit torques of a group of joints across joint i, which is one of them."""
    for r in range(6):
        K[r] = 1.0 if joints[r] == i else 0.0
        for k in range(6):
            K[r] += Psi[k, r] * S[k]
        for k in range(6):
            Psi[k, r] -= U[k] * K[r] * inverse_D


@called
def spread_forces(share, axes, c, F):
    """Add a body's share of the unit forces at a centre of mass, along axes, to F (6, 3)."""
    for k in range(3):
        x, y, z = share * axes[0, 0, k], share * axes[0, 1, k], share * axes[0, 2, k]
        F[0, k] += x
        F[1, k] += y
        F[2, k] += z
        F[3, k] += c[1] * z - c[2] * y
        F[4, k] += c[2] * x - c[0] * z
        F[5, k] += c[0] * y - c[1] * x


@called
def carry_forces(F, S, U, inverse_D, K):
    """Let a joint give way to the unit forces F (6, 3) at a centre of mass: ``F − U Kᵀ / D``."""
    for k in range(3):
        t = 0.0
        for r in range(6):
            t += F[r, k] * S[r]
        K[k], K[3 + k] = t, 0.0
        for r in range(6):
            F[r, k] -= U[r] * t * inverse_D


@called
def cross_center(i, support, nodes, states, point):
    """
    Carry the unit forces at a centre of mass, which act on all its bodies, across joint i.

    Branches come together: what is carried is kept with the nodes, not with the point.
    """
    node, s = nodes[i], states[i]
    if support & COUNTS:
        spread_forces(node.mass / point.mass, point.axes, s.c, s.F)
    if node.status != LOCKED:
        carry_forces(s.F, s.S, s.U, 1.0 / s.D, point.K)
    if node.parent >= 0:
        for r in range(6):
            for k in range(3):
                states[node.parent].F[r, k] += s.F[r, k]


@called
def cross_center_passive(i, support, nodes, states, point):
    """Do the same with the passive joints alone giving way."""
    node, s = nodes[i], states[i]
    if support & COUNTS:
        spread_forces(node.mass / point.mass, point.axes, s.c, s.FP)
    if node.status == PASSIVE:
        carry_forces(s.FP, s.S, s.UP, 1.0 / s.DP, point.K)
    if node.parent >= 0:
        for r in range(6):
            for k in range(3):
                states[node.parent].FP[r, k] += s.FP[r, k]


@inlined
def cross(i, support, joints, Psi, Psi_other, S, U, inverse_D, K, K_other, alone):
    """
    Carry the unit wrenches on both links of a point across a joint that supports them.

    What the joint yields to those on the point's own link adds to ``alone``, if it is seen from
    another.
    """
    if support & UNIT:
        carry_torques(joints, i, Psi, S, U, inverse_D, K)
    elif support & OWN:
        carry_across(Psi, S, U, inverse_D, K)
    else:
        for r in range(6):
            K[r] = 0.0
    if support & SEEN:
        for r in range(6):
            alone[r // 3] += K[r] * K[r] * inverse_D / 3.0
    if support & OTHER:
        carry_across(Psi_other, S, U, inverse_D, K_other)
        for r in range(6):
            K[r] += K_other[r]


@inlined
def add_yield(i, e, supports, points, inverse_D, inverse_inertia):
    """Add ``K_e K_fᵀ / D`` to the blocks of point e and those before it that node i supports."""
    K = points[e].K
    for d in range(e + 1):
        if not supports[i, d]:
            continue
        other = points[d].K
        for r in range(6):
            w = K[r] * inverse_D
            for c in range(6):
                inverse_inertia[6 * e + r, 6 * d + c] += w * other[c]


@inlined
def propagate_points(nodes, i, supports, states, points, inverse_inertia):
    """
    Carry the points' unit wrenches across joint i and add what that joint yields to them.

    ``K = Ψᵀ S``, ``Λ⁻¹_ef += K_e K_fᵀ / D``, ``Ψ ← Ψ − U Kᵀ / D``, for the points that node i
    supports: the force propagation of [CK00] 4.3 with its outward half folded into the sum. Only
    the blocks on and below the diagonal of Λ⁻¹ are written.
    """
    s = states[i]
    if nodes[i].status == LOCKED:
        for e in range(points.size):
            if supports[i, e] & CENTER:
                cross_center(i, supports[i, e], nodes, states, points[e])
        return
    inverse_D = 1.0 / s.D
    for e in range(points.size):
        if supports[i, e]:
            point = points[e]
            if supports[i, e] & CENTER:
                cross_center(i, supports[i, e], nodes, states, point)
            else:
                cross(i, supports[i, e], point.joints, point.Psi, point.Psi_other, s.S, s.U,
                      inverse_D, point.K, point.K_other, point.alone)
            add_yield(i, e, supports, points, inverse_D, inverse_inertia)


@inlined
def propagate_points_passive(nodes, i, supports, states, points, passive_yield):
    """
    Do the same with the passive joints alone giving way: ``Q = J_p A_pp⁻¹ J_pᵀ`` is the sum.

    ``Λ⁻¹ − Q`` is what the active joints can do. Needs `yield_node` of node i before.
    """
    s = states[i]
    if nodes[i].status != PASSIVE:
        for e in range(points.size):
            if supports[i, e] & CENTER:
                cross_center_passive(i, supports[i, e], nodes, states, points[e])
        return
    inverse_DP = 1.0 / s.DP
    for e in range(points.size):
        if supports[i, e]:
            point = points[e]
            if supports[i, e] & CENTER:
                cross_center_passive(i, supports[i, e], nodes, states, point)
            else:
                cross(i, supports[i, e], point.joints, point.PsiP, point.PsiP_other, s.S, s.UP,
                      inverse_DP, point.K, point.K_other, point.K_other)
            add_yield(i, e, supports, points, inverse_DP, passive_yield)


@inlined
def propagate_inward(nodes, supports, states, points, K, Lambda_inverse):
    """
    Inward recursion over placed bodies with their inertias set: write Λ⁻¹, both halves, and ``K``.

    Every node is eliminated, which the recursion for J̄ relies on.
    """
    for e in range(points.size):
        place_point(points, e, nodes, states)
        start_propagation(points, e)
    K[:] = 0.0
    Lambda_inverse[:] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        eliminate_node(nodes, i, states)
        propagate_points(nodes, i, supports, states, points, Lambda_inverse)
        if nodes[i].status != LOCKED:
            for e in range(points.size):
                if supports[i, e]:
                    for r in range(6):
                        K[i, 6 * e + r] = points[e].K[r]
    for r in range(6 * points.size):
        for c in range(r + 1, 6 * points.size):
            Lambda_inverse[r, c] = Lambda_inverse[c, r]


@kernel
def inverse_inertia(nodes, q, supports, states, points, K, Lambda_inverse):
    """Write Λ⁻¹ of [CK00] (30) and ``K`` (n, 6m), what each joint feels of the unit wrenches."""
    n = nodes.size
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        set_inertia(nodes, i, states)
    propagate_inward(nodes, supports, states, points, K, Lambda_inverse)
