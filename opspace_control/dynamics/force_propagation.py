# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The steps of force propagation, [CK00] 4.3: unit wrenches at points move inwards over joints."""

import math

from opspace_control.compiled import inlined
from opspace_control.dynamics.data import CENTER, COUNTS, FLOATING, OTHER, OWN, SEEN, UNIT
from opspace_control.model.nodes import LOCKED, PASSIVE
from opspace_control.spatial.six import add_six, put, six


@inlined
def unit_wrenches(p, axes, Psi):
    """
    Write six unit wrenches at p, moved to the root link's origin, as the columns of Ψ.

    Three forces along ``axes[0]`` (by column), three moments about ``axes[1]``.
    """
    for c in range(3):
        x, y, z = axes[0, 0, c], axes[0, 1, c], axes[0, 2, c]
        Psi[0, c], Psi[1, c], Psi[2, c] = x, y, z
        Psi[3, c] = p[1] * z - p[2] * y
        Psi[4, c] = p[2] * x - p[0] * z
        Psi[5, c] = p[0] * y - p[1] * x
        for r in range(3):
            Psi[r, 3 + c] = 0.0
            Psi[3 + r, 3 + c] = axes[1, r, c]


@inlined
def is_group(point):
    """Return whether a point is a group of joints."""
    return point.joints[0] >= 0


@inlined
def is_idle(point):
    """Return whether a point has no rows in this cycle."""
    return point.begin >= point.end


@inlined
def is_propagated(point):
    """Return whether propagation gives Λ⁻¹ of a point: it is neither idle nor `FLOATING`."""
    return not (is_idle(point) or point.whole == FLOATING)


@inlined
def is_moving_frame(point, carried):
    """Return whether an operational point is a frame and not idle: no group, no centre of mass."""
    return not (is_group(point) or point.whole or is_idle(carried))


@inlined
def clear_point(point):
    """Leave a point out of Λ⁻¹: no unit wrenches, no projections of them."""
    for r in range(6):
        put(point.Psi[r], 0, 0.0)
        put(point.PsiP[r], 0, 0.0)
        put(point.Psi_other[r], 0, 0.0)
        put(point.PsiP_other[r], 0, 0.0)
    put(point.K, 0, 0.0)
    point.own_mobility[0] = point.own_mobility[1] = 0.0


@inlined
def clear_rows(point, Psi):
    """Leave the unit wrenches of rows out that a point has not in this cycle."""
    for r in range(6):
        if not point.begin <= r < point.end:
            for k in range(6):
                Psi[k, r] = 0.0


@inlined
def copy_wrenches(Psi, out):
    """Copy unit wrenches (6, 6)."""
    for r in range(6):
        put(out[r], 0, six(Psi[r], 0))


@inlined
def start_propagation(point, passively):
    """
    Write the unit wrenches at a point and their reactions on the other link; zero for groups.

    ``passively``, those to propagate with passive joints free alone as well.
    """
    if is_group(point):
        for r in range(6):
            put(point.Psi[r], 0, 0.0)
    else:
        unit_wrenches(point.p, point.axes, point.Psi)
        clear_rows(point, point.Psi)
    if passively:
        copy_wrenches(point.Psi, point.PsiP)
    if point.other.node >= 0:
        for r in range(6):
            put(point.Psi_other[r], 0, -1.0 * six(point.Psi[r], 0))
        if passively:
            copy_wrenches(point.Psi_other, point.PsiP_other)
        point.own_mobility[0] = point.own_mobility[1] = 0.0


@inlined
def propagate_wrenches(Psi, S, U, inverse_D, K):
    """Propagate unit wrenches over a joint: ``K = Ψᵀ S``, ``Ψ ← Ψ − U Kᵀ / D``."""
    a, b, c = six(Psi[0], 0), six(Psi[1], 0), six(Psi[2], 0)
    d, e, f = six(Psi[3], 0), six(Psi[4], 0), six(Psi[5], 0)
    k = (S[0] * a + S[1] * b + S[2] * c) + (S[3] * d + S[4] * e + S[5] * f)
    w = inverse_D * k
    put(K, 0, k)
    put(Psi[0], 0, a - U[0] * w)
    put(Psi[1], 0, b - U[1] * w)
    put(Psi[2], 0, c - U[2] * w)
    put(Psi[3], 0, d - U[3] * w)
    put(Psi[4], 0, e - U[4] * w)
    put(Psi[5], 0, f - U[5] * w)


@inlined
def propagate_torques(joints, i, Psi, S, U, inverse_D, K):
    """Propagate the unit torques of a group of joints over joint i, a member of the group."""
    for r in range(6):
        K[r] = 1.0 if joints[r] == i else 0.0
        for k in range(6):
            K[r] += Psi[k, r] * S[k]
        for k in range(6):
            Psi[k, r] -= U[k] * K[r] * inverse_D


@inlined
def spread_forces(mass_share, axes, c, F):
    """Add a body's share of the unit forces at a centre of mass, along axes, to F (6, 3)."""
    for k in range(3):
        x, y, z = mass_share * axes[0, 0, k], mass_share * axes[0, 1, k], mass_share * axes[0, 2, k]
        F[0, k] += x
        F[1, k] += y
        F[2, k] += z
        F[3, k] += c[1] * z - c[2] * y
        F[4, k] += c[2] * x - c[0] * z
        F[5, k] += c[0] * y - c[1] * x


@inlined
def propagate_forces(F, S, U, inverse_D, K):
    """Propagate unit forces F (6, 3) at a centre of mass over a joint: ``F ← F − U Kᵀ / D``."""
    for k in range(3):
        t = 0.0
        for r in range(6):
            t += F[r, k] * S[r]
        K[k], K[3 + k] = t, 0.0
        for r in range(6):
            F[r, k] -= U[r] * t * inverse_D


@inlined
def cross_center(i, passively, support, nodes, states, point):
    """
    Propagate the unit forces at a centre of mass, which act on all its bodies, over joint i.

    Forces of several branches add up at a node, so they are stored with nodes, not with the point.
    """
    node, s = nodes[i], states[i]
    F = s.FP if passively else s.F
    if support & COUNTS:
        spread_forces(node.mass / point.mass, point.axes, s.c, F)
    if passively and node.status == PASSIVE:
        propagate_forces(F, s.S, s.UP, 1.0 / s.DP, point.K)
    elif not passively and node.status != LOCKED:
        propagate_forces(F, s.S, s.U, s.inverse_D, point.K)
    if node.parent >= 0:
        outer = states[node.parent].FP if passively else states[node.parent].F
        for r in range(6):
            for k in range(3):
                outer[r, k] += F[r, k]


@inlined
def project_floating(i, U, point):
    """
    Write ``point.K``, unit forces at the centre of mass of a floating robot projected on joint i.

    They accelerate all bodies by ``a = e / m`` and no joint but the base's, whose first three nodes
    are translations along x, y and z. So ``K = Uᵀ a``, with the acceleration of the joint's body.
    """
    x, y, z = U[0], U[1] if i > 0 else 0.0, U[2] if i > 1 else 0.0
    for k in range(3):
        t = x * point.axes[0, 0, k] + y * point.axes[0, 1, k] + z * point.axes[0, 2, k]
        point.K[k], point.K[3 + k] = t / point.mass, 0.0


@inlined
def cross(i, support, point, Psi, Psi_other, S, U, inverse_D):
    """
    Propagate the unit wrenches on both links of a point over joint i, which supports them.

    ``point.K`` is their projection on the joint. For a point seen from another link (SEEN) the
    mobility of its own link is summed in ``point.own_mobility``.
    """
    K = point.K
    if support & UNIT:
        propagate_torques(point.joints, i, Psi, S, U, inverse_D, K)
    elif support & OWN:
        propagate_wrenches(Psi, S, U, inverse_D, K)
    else:
        for r in range(6):
            K[r] = 0.0
    if support & SEEN:
        for r in range(6):
            point.own_mobility[r // 3] += K[r] * K[r] * inverse_D / 3.0
    if support & OTHER:
        propagate_wrenches(Psi_other, S, U, inverse_D, point.K_other)
        add_six(K, point.K_other)


@inlined
def add_block(point, other, inverse_D, first, column, mobility):
    """Add ``K_e K_fᵀ / D`` to a block of six rows and columns, in the rows that point e has."""
    numbers = inverse_D * six(other, 0)
    for r in range(point.begin, point.end):
        row = mobility[first + r]
        put(row, column, six(row, column) + point.K[r] * numbers)


@inlined
def cross_node(nodes, i, crossing, states, carried, mobility, coupling):
    """
    Propagate unit wrenches over joint i and add the joint's contribution to Λ⁻¹.

    ``K = Ψᵀ S``, ``Λ⁻¹_ef += K_e K_fᵀ / D``, ``Ψ ← Ψ − U Kᵀ / D``, for the points and trunks that
    the joint supports: the force propagation of [CK00] 4.3, whose outward half becomes the sum.
    Only blocks on and below the diagonal are written: rows of points to ``mobility``, those of
    trunks to ``coupling``.
    """
    s, moves = states[i], nodes[i].status != LOCKED
    for k in range(1, crossing[i, 0, 0] + 1):
        e, support = crossing[i, k, 0], crossing[i, k, 1]
        point = carried[e]
        if not is_propagated(point):
            continue
        if support & CENTER:
            cross_center(i, False, support, nodes, states, point)
        elif moves:
            cross(i, support, point, point.Psi, point.Psi_other, s.S, s.U, s.inverse_D)
        if not moves:
            continue
        trunk = 6 * e - mobility.shape[0]
        for j in range(1, k + 1):
            d = crossing[i, j, 0]
            if not is_propagated(carried[d]):
                continue
            if trunk < 0:
                add_block(point, carried[d].K, s.inverse_D, 6 * e, 6 * d, mobility)
            else:
                add_block(point, carried[d].K, s.inverse_D, trunk, 6 * d, coupling)


@inlined
def cross_passively(nodes, i, crossing, states, carried, P, row):
    """
    Propagate unit wrenches over joint i, passive joints free and all others locked.

    A passive joint writes its row of P, ``K = Ψᵀ S`` over √D: ``Q = J_p A_pp⁻¹ J_pᵀ = Pᵀ P``. That
    needs `eliminate_passive` of node i before. Returns the number of rows of P.
    """
    s, passive, inverse_D = states[i], nodes[i].status == PASSIVE, 0.0
    if passive:
        inverse_D = 1.0 / s.DP
        P[row, :] = 0.0
    for k in range(1, crossing[i, 0, 0] + 1):
        e, support = crossing[i, k, 0], crossing[i, k, 1]
        point = carried[e]
        if is_idle(point):
            continue
        if support & CENTER and point.whole == FLOATING:
            project_floating(i, s.UP, point)
        elif support & CENTER:
            cross_center(i, True, support, nodes, states, point)
        elif passive:
            cross(i, support & ~SEEN, point, point.PsiP, point.PsiP_other, s.S, s.UP, inverse_D)
        if passive:
            put(P[row], 6 * e, math.sqrt(inverse_D) * six(point.K, 0))
    return row + 1 if passive else row


@inlined
def store_projection(nodes, i, crossing, states, carried, K):
    """Write the projection of the propagated unit wrenches on joint i."""
    for k in range(1, crossing[i, 0, 0] + 1):
        e = crossing[i, k, 0]
        if carried[e].whole == FLOATING and not is_idle(carried[e]):
            project_floating(i, states[i].U, carried[e])
        if nodes[i].status == LOCKED:
            for r in range(6 * e, 6 * e + 6):
                K[i, r] = 0.0
        else:
            put(K[i], 6 * e, six(carried[e].K, 0))
