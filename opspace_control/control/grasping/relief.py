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
from opspace_control.control.grasping.grasp_law import keep_off_passive_joints, least_squeeze
from opspace_control.control.grasping.load_sharing import slot_of
from opspace_control.dynamics.workspace import OTHER, OWN
from opspace_control.model.nodes import ACTIVE
from opspace_control.tasks.specification_law import insistence

# An internal force as strong as the strongest squeeze counts like this part of a drive's full
# effort: a stretched arm, which costs next to nothing, is not pulled at without bounds.
TEMPER = 0.1


@inlined
def fill_row(i, states, points, supports, count, row):
    """Write what joint i does to the rows of the first constraints, its column of J_c."""
    S, any_row = states[i].S, False
    for e in range(count // 6):
        support = supports[i, e]
        sign = (1.0 if support & OWN else 0.0) - (1.0 if support & OTHER else 0.0)
        any_row = any_row or sign != 0.0
        p, k = points[e].p, 6 * e
        row[k] = sign * (S[0] + S[4] * p[2] - S[5] * p[1])
        row[k + 1] = sign * (S[1] + S[5] * p[0] - S[3] * p[2])
        row[k + 2] = sign * (S[2] + S[3] * p[1] - S[4] * p[0])
        for r in range(3, 6):
            row[k + r] = sign * S[r]
    return any_row


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
def way(grasp, grip, r, a):
    """Return an entry of a grip's part of the internal forces; the last of them is the squeeze."""
    return grip.pattern[r] if a == grasp.width - 1 else grip.ways[r, a]


@inlined
def spread(grasp, grips, R, held, column, x):
    """Add what the constraints exert for one of the internal forces, of 1 N."""
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint < 0:
            continue
        first = 6 * grips[k].constraint
        for part in range(0, 6, 3):
            for c in range(3):
                along = way(grasp, grips[k], part + c, column)
                for r in range(3):
                    x[first + part + r] += held[first + part + r] * R[r, c] * along


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
    held, f, p = insistence(grasp.activation), forces[0], forces[1]
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
                    f[r] += held * way(grasp, grip, r, a) * y[a]
                    p[r] += held * way(grasp, grip, r, a) * slope[a]
                f[r] -= grasp.squeezed * p[r]
            squeeze = max(squeeze, least_squeeze(
                grip.friction, grip.inward, f, p, grasp.strongest))
    return min(squeeze, grasp.strongest)


@inlined
def longest_step(mu, n, f, d):
    """
    Return how much of a change d, up to all of it, leaves a force f inside its friction cone.

    The whole of it where f is not inside: no change is to blame then.
    """
    f_n = n[0] * f[0] + n[1] * f[1] + n[2] * f[2]
    d_n = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
    ff, fd, dd, wide = 0.0, 0.0, 0.0, 1.0 + mu * mu
    for r in range(3):
        ff += f[r] * f[r]
        fd += f[r] * d[r]
        dd += d[r] * d[r]
    # a t² + 2 b t + c ≥ 0 up to the first root.
    a, b, c = wide * d_n * d_n - dd, wide * f_n * d_n - fd, wide * f_n * f_n - ff
    root = b * b - a * c
    if c < 0.0 or f_n < 0.0 or root < 0.0:
        return 1.0
    slope = math.sqrt(root) - b
    return c / slope if slope > c else 1.0


@inlined
def limit_step(grasp, grips, y, forces):
    """Shorten the change y of the internal forces where it would let a grip slip."""
    held, step = insistence(grasp.activation), 1.0
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            for r in range(3):
                forces[0, r], forces[1, r] = grip.wrench[r], 0.0
                for a in range(grasp.width):
                    forces[1, r] += held * way(grasp, grip, r, a) * y[a]
            step = min(step, longest_step(grip.friction, grip.inward, forces[0], forces[1]))
    for a in range(grasp.width):
        y[a] *= grasp.relief * step


@inlined
def apply_relief(grasp, grips, constraints, count, X, y, x):
    """Write the forces x of the constraints, and report them to these and to the grips."""
    width, held = grasp.width, insistence(grasp.activation)
    for r in range(count):
        x[r] = 0.0
        for a in range(width):
            x[r] += X[r, a] * y[a]
        constraints[r // 6].exerted[r % 6] += x[r]
    for k in range(grasp.first, grasp.end):
        for r in range(6):
            for a in range(width):
                grips[k].wrench[r] += held * way(grasp, grips[k], r, a) * y[a]
    grasp.squeezed += y[width - 1]


@called
def relieve_drives(
        cycle, nodes, states, points, supports, constraints, grasps, grips, limits, held, scale,
        Q, FQ, gramQ, order, X, G, M, spare, tau):
    """
    Let the internal forces of grasps spare the drives, and add what that makes to τ.

    Parameters
    ----------
    cycle : CYCLE record
        With what is known of passive joints: they are kept out of it.
    nodes, states, points, supports : arrays
        The robot; constraints are the first points.
    constraints, grasps, grips : arrays of CONSTRAINT, GRASP, GRIP
        ``exerted``, ``squeezed`` and ``wrench`` are brought up to date.
    limits : (nv,) array
        Of the efforts, N m or N.
    held, scale, Q, FQ, gramQ, order
        Of the stack's rows, and as in `keep_off_passive_joints`.
    X, G, M, spare : (k, k), (k, k), (k, k), (5, k) arrays
        Scratch.
    tau : (nv,) array
        Joint forces without limits, N m or N.

    """
    count = 6 * constraints.size
    g, row, half, y, slope = spare[0], spare[1], spare[2], spare[3], spare[4]
    for n in range(grasps.size):
        grasp = grasps[n]
        if grasp.relief == 0.0 or grasp.activation == 0.0:
            continue
        R = points[slot_of(points, constraints.size, grasp.task)].R
        weigh_efforts(nodes, states, points, supports, count, limits, tau, G, g, row)
        for a in range(grasp.width):
            for r in range(count):
                half[r] = 0.0
            spread(grasp, grips, R, held, a, half)
            if cycle.yields:
                keep_off_passive_joints(
                    Q, count, FQ, gramQ, order, cycle.ranks[1], scale, spare[3:], half)
            for r in range(count):
                X[r, a] = half[r]
        temper = TEMPER / max(grasp.strongest, 1.0)
        solve_half(X, G, g, count, grasp.width, temper * temper, grasp.squeezed, M, half, row)
        squeeze = squeeze_enough(grasp, grips, M, half, y, slope, cycle.motion)
        follow_squeeze(M, grasp.width, squeeze - grasp.squeezed, half, y)
        limit_step(grasp, grips, y, cycle.motion)
        apply_relief(grasp, grips, constraints, count, X, y, g)
        for i in range(nodes.size):
            if drives(nodes, i) and fill_row(i, states, points, supports, count, row):
                for r in range(count):
                    tau[nodes[i].v_index] += row[r] * g[r]
