# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Least effort: what the redundancy of actuation of a grasp is used for, [RKR95] 3.2.

Internal forces x move nothing, so they are free to spare the drives: the ones that nobody has asked
for minimise ``|W (τ + J_cᵀ x)|²``, W one over the effort limits. With x = X y, y along a basis of
the virtual linkage, that is ``Xᵀ G X y = −Xᵀ J_c W² τ``, ``G = J_c W² J_cᵀ``: one pass over the
joints and a Cholesky decomposition. Only grasps that have it switched on take the time.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.grasping.friction_cone import least_squeeze, longest_step
from opspace_control.control.grasping.grasp_law import fill_row
from opspace_control.control.grasping.passive_rows import (
    allow_way,
    report_change,
    turn_all_rows,
)
from opspace_control.control.hierarchy.structures import (
    ACTIVATION,
    FACTOR,
    FACTOR_Q,
    GRAM_Q,
    SPARE,
    VECTORS,
    L,
)
from opspace_control.model.nodes import ACTIVE
from opspace_control.tasks.specification_law import row_activation

# An internal force as strong as the strongest squeeze counts like this part of a drive's full
# effort: a stretched arm, which costs next to nothing, is not pulled at without bounds.
TEMPER = 0.1


@inlined
def drives(nodes, i):
    """Return whether a node has a drive of its own."""
    return nodes[i].status == ACTIVE and nodes[i].v_index >= 0


@called
def weigh_efforts(nodes, states, points, supports, count, limits, tau, G, g, row):
    """Write ``G = J_c W² J_cᵀ``, its lower triangle, and ``g = J_c W² τ``."""
    known = False
    for i in range(nodes.size):
        known = known or (drives(nodes, i) and 0.0 < limits[nodes[i].v_index] < math.inf)
    for r in range(count):
        g[r] = 0.0
        for c in range(r + 1):
            G[r, c] = 0.0
    for i in range(nodes.size):
        if not (drives(nodes, i) and fill_row(i, states, points, supports, count, row)):
            continue
        limit = limits[nodes[i].v_index]
        # A drive without a limit costs nothing beside those that have one.
        weight = (1.0 / (limit * limit) if limit > 0.0 else 0.0) if known else 1.0
        for r in range(count):
            w = weight * row[r]
            if w != 0.0:
                g[r] += w * tau[nodes[i].v_index]
                for c in range(r + 1):
                    G[r, c] += w * row[c]


@inlined
def solve_half(X, G, g, count, width, temper, squeeze, M, y, product):
    """
    Write the Cholesky factor of ``Xᵀ G X + temper``, and y, the right side half solved.

    ``squeeze`` is that of which the forces in g know already; its column is the last one.
    """
    for a in range(width):
        y[a] = 0.0
        for r in range(count):
            y[a] -= X[r, a] * g[r]
            t = 0.0
            for c in range(count):
                t += (G[r, c] if r >= c else G[c, r]) * X[c, a]
            product[r] = t
        for b in range(a + 1):
            t = temper if a == b else 0.0
            for r in range(count):
                t += X[r, b] * product[r]
            for k in range(b):
                t -= M[a, k] * M[b, k]
            M[a, b] = t / M[b, b] if b < a else math.sqrt(t)
        if a == width - 1:
            y[a] -= temper * squeeze
        for k in range(a):
            y[a] -= M[a, k] * y[k]
        y[a] /= M[a, a]


@inlined
def follow_squeeze(M, width, step, half, y):
    """Write to y how the other internal forces follow a step of the squeeze, N."""
    y[width - 1] = step
    for a in range(width - 2, -1, -1):
        t = half[a]
        for b in range(a + 1, width):
            t -= M[b, a] * y[b]
        y[a] = t / M[a, a]


@inlined
def squeeze_enough(grasp, grips, M, half, y, slope, forces):
    """
    Return the squeeze, N: that of least effort where it is free, and enough for the friction.

    The other internal forces follow it, so a grip's force is that of no squeeze, and some more for
    each newton.
    """
    width, squeeze = grasp.width, grasp.squeezed
    held, f, p = row_activation(grasp.activation), forces[0], forces[1]
    squeeze = max(grasp.squeeze,
                  squeeze + grasp.eased * half[width - 1] / M[width - 1, width - 1])
    follow_squeeze(M, width, 1.0, half, slope)
    follow_squeeze(M, width, 0.0, half, y)
    for a in range(width):
        slope[a] -= y[a]
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            for r in range(3):
                f[r], p[r] = grip.wrench[r], 0.0
                for a in range(width):
                    f[r] += held * grip.allowed[a, r] * y[a]
                    p[r] += held * grip.allowed[a, r] * slope[a]
                f[r] -= grasp.squeezed * p[r]
            squeeze = max(squeeze, least_squeeze(
                grip.friction, grip.inward, f, p, grasp.strongest))
    return min(squeeze, grasp.strongest)


@inlined
def limit_step(grasp, grips, y, forces):
    """Shorten the change y of the internal forces where it would let a grip slip."""
    held, step = row_activation(grasp.activation), 1.0
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            for r in range(3):
                forces[0, r], forces[1, r] = grip.wrench[r], 0.0
                for a in range(grasp.width):
                    forces[1, r] += held * grip.allowed[a, r] * y[a]
            step = min(step, longest_step(grip.friction, grip.inward, forces[0], forces[1]))
    for a in range(grasp.width):
        y[a] *= grasp.relief * step


@inlined
def report_relief(grasps, grips, points, constraints, count, x, row, wrench):
    """Report forces x of the constraints to these and to the grips; the last two are scratch."""
    for r in range(count):
        constraints[r // 6].exerted[r % 6] += x[r]
        row[r] = x[r]
    turn_all_rows(grasps, grips, points, count, True, row)
    report_change(grasps, grips, row, wrench)


@called
def relieve_drives(cycle, robot, constraints, grasping, limits, scratch, tau):
    """
    Let the internal forces of grasps spare the drives, and add what that makes to τ.

    Parameters
    ----------
    cycle : CYCLE record
        How many rows of the basis in ``FACTOR_Q`` and ``GRAM_Q``, of what passive joints do not
        allow, count.
    robot : Robot
        Constraints are the first points.
    constraints : array of CONSTRAINT
        ``exerted`` is brought up to date.
    grasping : Grasping
        ``squeezed`` and ``wrench`` are brought up to date.
    limits : (nv,) array
        Of the efforts, N m or N.
    scratch : Scratch
        ``ACTIVATION`` is positive for rows that a constraint holds; the other squares, and rows
        from ``SPARE`` on, are overwritten.
    tau : (nv,) array
        Joint forces without limits, N m or N.

    """
    nodes, states, points, supports = robot.nodes, robot.states, robot.points, robot.supports
    (grasps, grips), held = grasping, scratch.rows[ACTIVATION]
    spare, basis = scratch.rows[SPARE:], scratch.squares[FACTOR_Q:GRAM_Q + 1]
    X, G, M = scratch.squares[FACTOR], scratch.squares[VECTORS], scratch.squares[L]
    count = 6 * constraints.size
    g, row, half, y, slope = spare[0], spare[1], spare[2], spare[3], spare[4]
    for n in range(grasps.size):
        grasp = grasps[n]
        if grasp.relief == 0.0 or grasp.activation == 0.0:
            continue
        weight = row_activation(grasp.activation)
        weigh_efforts(nodes, states, points, supports, count, limits, tau, G, g, row)
        for a in range(grasp.width):
            allow_way(grasp, grips, held, basis, cycle.passive_rows, count, a, row, half)
            turn_all_rows(grasps, grips, points, count, False, half)
            for r in range(count):
                X[r, a] = weight * half[r]
        temper = TEMPER / max(grasp.strongest, 1.0)
        solve_half(X, G, g, count, grasp.width, temper * temper, grasp.squeezed, M, half, row)
        squeeze = squeeze_enough(grasp, grips, M, half, y, slope, cycle.motion)
        follow_squeeze(M, grasp.width, squeeze - grasp.squeezed, half, y)
        limit_step(grasp, grips, y, cycle.motion)
        for r in range(count):
            g[r] = 0.0
            for a in range(grasp.width):
                g[r] += X[r, a] * y[a]
        grasp.squeezed += y[grasp.width - 1]
        report_relief(grasps, grips, points, constraints, count, g, row, slope)
        for i in range(nodes.size):
            if drives(nodes, i) and fill_row(i, states, points, supports, count, row):
                for r in range(count):
                    tau[nodes[i].v_index] += row[r] * g[r]
