# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Internal forces that passive joints admit, [RKR95] 3.2 and [JR94].

A passive joint i exerts no torque, so the forces x at the grips satisfy ``c_iᵀ x = 0``, c_i its
column of J_c. The planned wrenches are replaced by the nearest such ones, over all N grips,

``min Σ_k |Δf_k|² + |Δm_k|² / ℓ²``  with  ``Σ_k Δf_k = 0``, ``Σ_k (Δm_k + r_k × Δf_k) = 0``,
``c_iᵀ (x + Δ) = 0``

with ℓ the root mean square distance of the grips from their middle. Each term is in newtons; the
result depends neither on axes nor on which effector carries the object. Vectors of all constraint
rows are in the object's axes here.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.constraints.constraint_law import constraint_column
from opspace_control.control.grasping.friction_cone import least_grasp_force
from opspace_control.control.grasping.grasp_law import object_point, planned_wrench
from opspace_control.control.solver.semidefinite import PIVOT_TOLERANCE
from opspace_control.model.nodes import PASSIVE
from opspace_control.spatial.vectors import add_cross, rotate
from opspace_control.tasks.specification_law import row_activation


@rare
def turn_all_rows(grasps, grips, points, count, to_object, x):
    """Rotate the ``count`` constraint rows of all grasps from base into object axes, or back."""
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        R = points[object_point(points, count // 6, grasp.task)].R
        for k in range(grasp.first, grasp.end):
            first = 6 * grips[k].constraint
            for part in range(first, first + 6 if first >= 0 else first, 3):
                x0, x1, x2 = x[part], x[part + 1], x[part + 2]
                for r in range(3):
                    if to_object:
                        x[part + r] = R[0, r] * x0 + R[1, r] * x1 + R[2, r] * x2
                    else:
                        x[part + r] = R[r, 0] * x0 + R[r, 1] * x1 + R[r, 2] * x2


@inlined
def carrier_wrench(grasp, grips, x, wrench):
    """Write the carrier's wrench (6,): with it x has no resultant."""
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
def add_internal_forces(grasps, grips, x, wrench):
    """Add internal forces x of the constraints to the wrenches of all grips; scratch (6,)."""
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
def grasp_internal_forces(grasp, grips, active, c, total, u):
    """
    Write the internal forces u of a grasp of least norm for a given ``cᵀ u``.

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
            if active[first + 3 + r] > 0.0:
                u[first + 3 + r] = square * (c[first + 3 + r] - moment[r])
        add_cross(arm, moment, u[first:first + 3])


@inlined
def copy_grip_rows(grasps, grips, active, row, c):
    """Copy the active rows of grasps to c, others zero; return the squared norm of all rows."""
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
                if active[first + r] > 0.0:
                    c[first + r] = row[first + r]
    return square


@inlined
def internal_forces_along(grasps, grips, active, c, total, u):
    """Write these internal forces of all grasps; return ``cᵀ u``, their squared norm."""
    square = 0.0
    for r in range(c.size):
        u[r] = 0.0
    for g in range(grasps.size):
        if grasps[g].activation > 0.0:
            grasp_internal_forces(grasps[g], grips, active, c, total, u)
    for r in range(c.size):
        square += c[r] * u[r]
    return square


@called
def subtract_projections(along, vectors, rank, count, x):
    """Subtract ``(along_i · x) vectors_i`` from x, for i below ``rank``, one after the other."""
    for i in range(rank):
        part = 0.0
        for r in range(count):
            part += along[i, r] * x[r]
        for r in range(count):
            x[r] -= part * vectors[i, r]


@rare
def fill_passive_rows(nodes, states, points, supports, count, grasps, grips, active, passive,
                      total):
    """
    Write the rows C of the passive joints, and their dual internal forces U, ``C Uᵀ = 1``.

    Rows that depend on the others, or that no internal force affects, are omitted.

    Parameters
    ----------
    nodes, states, points, supports : arrays
        The robot; constraints are the first points.
    count : int
        Of constraint rows.
    grasps, grips : arrays of GRASP, GRIP
        The grasps.
    active : (k,) array
        Positive for active constraint rows.
    passive : (2, k, k) array
        Receives C and U, zero at constraints of no grasp.
    total : (3, 3) array
        Scratch.

    Returns
    -------
    int
        Number of rows of C and U.

    """
    rank = 0
    for i in range(nodes.size):
        if rank == count or nodes[i].status != PASSIVE:
            continue
        c, u = passive[0, rank, :count], passive[1, rank, :count]
        if not constraint_column(i, states, points, supports, count, u):
            continue
        turn_all_rows(grasps, grips, points, count, True, u)
        whole = copy_grip_rows(grasps, grips, active, u, c)
        subtract_projections(passive[1], passive[0], rank, count, c)
        square = internal_forces_along(grasps, grips, active, c, total, u)
        if square > PIVOT_TOLERANCE * whole:
            for r in range(count):
                c[r] /= math.sqrt(square)
                u[r] /= math.sqrt(square)
            rank += 1
    return rank


@inlined
def project_admissible(passive, rank, count, x):
    """Replace forces x of the constraints by the nearest ones that passive joints admit."""
    subtract_projections(passive[0], passive[1], rank, count, x)


@rare
def admissible_force(grasp, grips, active, passive, rank, count, a, wrench, x):
    """
    Write the admissible part of unit internal force a of a grasp to x and to its grips.

    The last one, ``a = basis_size − 1``, is the grasp force. ``wrench`` (6,) is scratch.
    """
    for r in range(count):
        x[r] = 0.0
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        first = 6 * grip.constraint
        for r in range(6 if first >= 0 else 0):
            if active[first + r] > 0.0:
                x[first + r] = grip.unit_force[r] if a == grasp.basis_size - 1 else grip.basis[r, a]
    project_admissible(passive, rank, count, x)
    for k in range(grasp.first, grasp.end):
        first = 6 * grips[k].constraint
        if first < 0:
            carrier_wrench(grasp, grips, x, wrench)
        for r in range(6):
            grips[k].admissible[a, r] = wrench[r] if first < 0 else x[first + r]


@inlined
def admissible_grasp_force(grasp, grips, forces):
    """
    Return the grasp force s, N, at which the admissible grip forces are in their friction cones.

    It leads the load as in `plan_grips`. ``forces`` (2, 3) is scratch.
    """
    s, a = grasp.grasp_force, grasp.basis_size - 1
    weight, f, p = row_activation(grasp.activation), forces[0], forces[1]
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            for r in range(3):
                p[r] = grip.admissible[a, r]
                f[r] = grip.wrench[r] - weight * grasp.applied_force * p[r] + planned_wrench(
                    grip, grasp.resultant, 1.0 - grasp.activation, 1.0 - weight, r)
            s = max(s, least_grasp_force(
                grip.friction, grip.inward, f, p, grasp.max_grasp_force))
    return s


@rare
def make_admissible(grasps, grips, points, count, active, passive, rank, total, work, x):
    """
    Replace the forces x of the grasps' constraints, base axes, by the nearest admissible ones.

    Grip wrenches are updated, and grasp forces where friction requires it. ``total`` (4, 3) and
    ``work`` (2, k) are scratch.
    """
    change, wrench = work[0], work[1]
    turn_all_rows(grasps, grips, points, count, True, x)
    for r in range(count):
        change[r] = -x[r]
    project_admissible(passive, rank, count, x)
    for r in range(count):
        change[r] += x[r]
    add_internal_forces(grasps, grips, change, wrench)
    for g in range(grasps.size):
        grasp = grasps[g]
        if grasp.activation == 0.0:
            continue
        admissible_force(grasp, grips, active, passive, rank, count, grasp.basis_size - 1, wrench,
                         change)
        s = admissible_grasp_force(grasp, grips, total)
        for r in range(count):
            change[r] *= row_activation(grasp.activation) * (s - grasp.applied_force)
            x[r] += change[r]
        grasp.applied_force = s
        add_internal_forces(grasps, grips, change, wrench)
    turn_all_rows(grasps, grips, points, count, False, x)
