# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse operational-space inertia by force propagation, the recursion behind [CK00] Table 1."""

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.articulated_body import eliminate_node, set_inertia
from opspace_control.dynamics.kinematics import place_node, place_point, weigh_node
from opspace_control.model.nodes import LOCKED


@inlined
def start_propagation(points, e):
    """Write six unit wrenches at point e, moved to the root link's origin, as the columns of Ψ."""
    p, Psi = points[e].p, points[e].Psi
    for r in range(6):
        for c in range(6):
            Psi[r, c] = 0.0
        Psi[r, r] = 1.0
    Psi[4, 0], Psi[5, 0] = p[2], -p[1]
    Psi[3, 1], Psi[5, 1] = -p[2], p[0]
    Psi[3, 2], Psi[4, 2] = p[1], -p[0]


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
        return
    inverse_D = 1.0 / s.D
    S0, S1, S2, S3, S4, S5 = s.S[0], s.S[1], s.S[2], s.S[3], s.S[4], s.S[5]
    U0, U1, U2, U3, U4, U5 = s.U[0], s.U[1], s.U[2], s.U[3], s.U[4], s.U[5]
    for e in range(points.size):
        if not supports[i, e]:
            continue
        Psi, K = points[e].Psi, points[e].K
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
        for d in range(e + 1):
            if not supports[i, d]:
                continue
            other = points[d].K
            for r in range(6):
                w = K[r] * inverse_D
                for c in range(6):
                    inverse_inertia[6 * e + r, 6 * d + c] += w * other[c]


@kernel
def inverse_inertia(nodes, q, supports, states, points, K, Lambda_inverse):
    """
    Write Λ⁻¹ of [CK00] (30) and ``K`` (n, 6m): what each joint feels of the points' unit wrenches.

    Every node is eliminated, which the recursion for J̄ relies on.
    """
    n = nodes.size
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        set_inertia(nodes, i, states)
    for e in range(points.size):
        place_point(points, e, nodes, states)
        start_propagation(points, e)
    K[:] = 0.0
    Lambda_inverse[:] = 0.0
    for i in range(n - 1, -1, -1):
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
