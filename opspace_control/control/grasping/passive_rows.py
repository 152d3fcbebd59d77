# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Internal forces that passive joints allow, [RKR95] 3.2 and [JR94].

The wrenches of the grips are a particular part, which moves the object and is determined by its
motion, and internal forces, which the null space of the grasp matrix contains. No drive balances
what the forces x that are exerted at the grips do to a passive joint. Hence each passive joint i
adds a row, ``c_iᵀ x = 0``, c_i its column of J_c. The wrenches that are planned become the nearest
ones, over all N grips,

``min Σ_k |Δf_k|² + |Δm_k|² / ℓ²``  with  ``Σ_k Δf_k = 0``, ``Σ_k (Δm_k + r_k × Δf_k) = 0``,
``c_iᵀ (x + Δ) = 0``

ℓ is the root mean square distance of the grips from their middle: with this lever forces of the
grips balance a moment. So each term is in newtons, and the result depends neither on axes nor on
which of the effectors carries the object. Vectors of all constraint rows are in the object's axes
here.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.grasping.friction_cone import least_squeeze
from opspace_control.control.grasping.grasp_law import fill_row, planned_wrench, slot_of
from opspace_control.control.hierarchy.semidefinite import RANK_TOLERANCE
from opspace_control.model.nodes import PASSIVE
from opspace_control.spatial.vectors import add_cross, rotate
from opspace_control.tasks.specification_law import row_activation


@inlined
def turn_rows(grasp, grips, R, to_object, x):
    """Turn the rows of a grasp's constraints from base axes into the object's, or back."""
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint < 0:
            continue
        first = 6 * grips[k].constraint
        for part in range(first, first + 6, 3):
            x0, x1, x2 = x[part], x[part + 1], x[part + 2]
            for r in range(3):
                if to_object:
                    x[part + r] = R[0, r] * x0 + R[1, r] * x1 + R[2, r] * x2
                else:
                    x[part + r] = R[r, 0] * x0 + R[r, 1] * x1 + R[r, 2] * x2


@rare
def turn_all_rows(grasps, grips, points, count, to_object, x):
    """Do so for all grasps; ``count`` is that of constraint rows."""
    for g in range(grasps.size):
        if grasps[g].activation > 0.0:
            e = slot_of(points, count // 6, grasps[g].task)
            turn_rows(grasps[g], grips, points[e].R, to_object, x)


@inlined
def carrier_wrench(grasp, grips, x, wrench):
    """Write the wrench (6,) of the effector that carries, so that x has no resultant."""
    carrier = grips[grasp.first]
    for r in range(6):
        wrench[r] = 0.0
    for k in range(grasp.first + 1, grasp.end):
        first = 6 * grips[k].constraint
        for r in range(3):
            i, j = (r + 1) % 3, (r + 2) % 3
            wrench[r] -= x[first + r]
            wrench[3 + r] -= x[first + 3 + r] + (
                (grips[k].place[i] - carrier.place[i]) * x[first + j]
                - (grips[k].place[j] - carrier.place[j]) * x[first + i])


@rare
def report_change(grasps, grips, x, wrench):
    """Add internal forces x of the constraints to the wrenches of all grips; (6,) of scratch."""
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        for k in range(grasp.first, grasp.end):
            c = grips[k].constraint
            if c < 0:
                carrier_wrench(grasp, grips, x, wrench)
            for r in range(6):
                grips[k].wrench[r] += wrench[r] if c < 0 else x[6 * c + r]


@inlined
def place_grip(grasp, grip, arm):
    """Write a grip's place from the middle of its grasp; return its first row, < 0 for none."""
    for r in range(3):
        arm[r] = grip.place[r] - grasp.middle[r]
    return 6 * grip.constraint


@inlined
def spread_row(grasp, grips, held, c, total, u):
    """
    Write the internal forces u of a grasp along a row c: those of least norm for ``cᵀ u``.

    ``u = (D − D Wᵀ (W D Wᵀ)⁻¹ W D) c``, W the grasp matrix about the middle of the grips, D one
    for forces and ℓ² for moments. ``total`` (3, 3) is scratch.
    """
    force, moment, arm = total[0], total[1], total[2]
    square = grasp.length * grasp.length
    for r in range(3):
        force[r] = moment[r] = 0.0
    for k in range(grasp.first, grasp.end):
        first = place_grip(grasp, grips[k], arm)
        if first < 0:
            continue
        for r in range(3):
            force[r] += c[first + r] / (grasp.end - grasp.first)
            moment[r] += square * c[first + 3 + r]
        add_cross(arm, c[first:first + 3], moment)
    rotate(grasp.inverse_leverage, moment, moment)
    for k in range(grasp.first, grasp.end):
        first = place_grip(grasp, grips[k], arm)
        if first < 0:
            continue
        for r in range(3):
            u[first + r] = c[first + r] - force[r]
            u[first + 3 + r] = 0.0
            if held[first + 3 + r] > 0.0:
                u[first + 3 + r] = square * (c[first + 3 + r] - moment[r])
        add_cross(arm, moment, u[first:first + 3])


@inlined
def take_grip_rows(grasps, grips, held, row, c):
    """Copy the rows that constraints of grasps hold, others zero; return the square of all."""
    square = 0.0
    for r in range(c.size):
        c[r] = 0.0
    for g in range(grasps.size):
        grasp = grasps[g]
        for k in range(grasp.first, grasp.end if grasp.activation > 0.0 else grasp.first):
            first = 6 * grips[k].constraint
            for r in range(6 if first >= 0 else 0):
                size = row[first + r] * (grasp.length if r > 2 else 1.0)
                square += size * size
                if held[first + r] > 0.0:
                    c[first + r] = row[first + r]
    return square


@inlined
def spread_all(grasps, grips, held, c, total, u):
    """Write the internal forces u of all grasps along a row c, and return their square ``cᵀ u``."""
    square = 0.0
    for r in range(c.size):
        u[r] = 0.0
    for g in range(grasps.size):
        if grasps[g].activation > 0.0:
            spread_row(grasps[g], grips, held, c, total, u)
    for r in range(c.size):
        square += c[r] * u[r]
    return square


@called
def project_off(along, vectors, rank, count, x):
    """Take so many vectors off x, one after the other: each ``along_i · x`` times."""
    for i in range(rank):
        part = 0.0
        for r in range(count):
            part += along[i, r] * x[r]
        for r in range(count):
            x[r] -= part * vectors[i, r]


@rare
def fill_passive_rows(nodes, states, points, supports, count, grasps, grips, held, basis, total):
    """
    Write the rows C that passive joints add, and the internal forces U along them.

    ``C Uᵀ = 1``, so that `allow` needs products alone. A row that follows from the others, or that
    no internal force has a part in, is left out.

    Parameters
    ----------
    nodes, states, points, supports : arrays
        The robot; constraints are the first points.
    count : int
        Of constraint rows.
    grasps, grips : arrays of GRASP, GRIP
        What is grasped, and how.
    held : (k,) array
        Positive for rows that a constraint holds.
    basis : (2, k, k) array
        Receives C and U, a row for each passive joint that counts; both are zero for constraints
        that belong to no grasp.
    total : (3, 3) array
        Scratch.

    Returns
    -------
    int
        How many rows there are.

    """
    rank = 0
    for i in range(nodes.size):
        if rank == count or nodes[i].status != PASSIVE:
            continue
        c, u = basis[0, rank, :count], basis[1, rank, :count]
        if not fill_row(i, states, points, supports, count, u):
            continue
        turn_all_rows(grasps, grips, points, count, True, u)
        whole = take_grip_rows(grasps, grips, held, u, c)
        project_off(basis[1], basis[0], rank, count, c)
        square = spread_all(grasps, grips, held, c, total, u)
        if square > RANK_TOLERANCE * whole:
            for r in range(count):
                c[r] /= math.sqrt(square)
                u[r] /= math.sqrt(square)
            rank += 1
    return rank


@inlined
def allow(basis, rank, count, x):
    """Replace forces x of the constraints by the nearest ones that passive joints allow."""
    project_off(basis[0], basis[1], rank, count, x)


@rare
def allow_way(grasp, grips, held, basis, rank, count, a, wrench, x):
    """
    Write what is allowed of one of the internal forces of a grasp, of 1 N, to x and to its grips.

    The last one, ``a = width − 1``, is the squeeze. ``wrench`` (6,) is scratch.
    """
    for r in range(count):
        x[r] = 0.0
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        first = 6 * grip.constraint
        for r in range(6 if first >= 0 else 0):
            if held[first + r] > 0.0:
                x[first + r] = grip.pattern[r] if a == grasp.width - 1 else grip.ways[r, a]
    allow(basis, rank, count, x)
    for k in range(grasp.first, grasp.end):
        first = 6 * grips[k].constraint
        if first < 0:
            carrier_wrench(grasp, grips, x, wrench)
        for r in range(6):
            grips[k].allowed[a, r] = wrench[r] if first < 0 else x[first + r]


@inlined
def allowed_squeeze(grasp, grips, forces):
    """
    Return the squeeze, N, with which no grip slips by the forces that passive joints allow.

    As in `plan_grips` the squeeze is ahead of the object's weight. ``forces`` (2, 3) is scratch.
    """
    squeeze, a = grasp.squeeze, grasp.width - 1
    held, f, p = row_activation(grasp.activation), forces[0], forces[1]
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            for r in range(3):
                p[r] = grip.allowed[a, r]
                f[r] = grip.wrench[r] - held * grasp.squeezed * p[r] + planned_wrench(
                    grip, grasp.resultant, 1.0 - grasp.activation, 1.0 - held, r)
            squeeze = max(squeeze, least_squeeze(
                grip.friction, grip.inward, f, p, grasp.strongest))
    return squeeze


@rare
def allow_exerted(grasps, grips, points, count, held, basis, rank, total, work, x):
    """
    Replace what constraints of grasps exert, x in base axes, by what passive joints allow.

    The wrenches of the grips become the true ones, and squeezes follow where a grip would slip.
    ``total`` (4, 3) and ``work`` (2, k) are scratch.
    """
    change, wrench = work[0], work[1]
    turn_all_rows(grasps, grips, points, count, True, x)
    for r in range(count):
        change[r] = -x[r]
    allow(basis, rank, count, x)
    for r in range(count):
        change[r] += x[r]
    report_change(grasps, grips, change, wrench)
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        allow_way(grasp, grips, held, basis, rank, count, grasp.width - 1, wrench, change)
        squeeze = allowed_squeeze(grasp, grips, total)
        for r in range(count):
            change[r] *= row_activation(grasp.activation) * (squeeze - grasp.squeezed)
            x[r] += change[r]
        grasp.squeezed = squeeze
        report_change(grasps, grips, change, wrench)
    turn_all_rows(grasps, grips, points, count, False, x)
