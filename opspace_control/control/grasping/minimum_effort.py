# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Minimum-effort internal forces, which use the redundant actuation of a grasp, [RKR95] 3.2.

Internal forces x = X y that are not commanded minimise ``|W (τ + J_cᵀ x)|²``, W one over the effort
limits, X an admissible basis: ``Xᵀ G X y = −Xᵀ J_c W² τ`` with ``G = J_c W² J_cᵀ``. That takes one
pass over the joints and a Cholesky decomposition.
"""

import math

from opspace_control.compiled import inlined
from opspace_control.control.constraints.constraint_law import constraint_column
from opspace_control.control.data import ACTIVATION
from opspace_control.control.grasping.friction_cone import least_grasp_force, longest_step
from opspace_control.control.grasping.passive_rows import (
    add_internal_forces,
    admissible_force,
    turn_all_rows,
)
from opspace_control.control.solver.cholesky import (
    factorise,
    solve_lower,
    solve_upper,
    symmetric,
)
from opspace_control.model.nodes import ACTIVE
from opspace_control.tasks.specification_law import row_activation

# Cost of an internal force of max_grasp_force, as part of the effort limit of a drive: near a
# singularity internal forces need hardly any effort and would be unbounded.
REGULARISATION = 0.1


@inlined
def drives(nodes, i):
    """Return whether a node is driven."""
    return nodes[i].status == ACTIVE and nodes[i].v_index >= 0


@inlined
def effort_gradient(nodes, states, points, supports, count, effort_limits, tau, G, g, row):
    """Write ``G = J_c W² J_cᵀ``, its lower triangle, and ``g = J_c W² τ``."""
    known = False
    for i in range(nodes.size):
        known = known or (drives(nodes, i) and 0.0 < effort_limits[nodes[i].v_index] < math.inf)
    for r in range(count):
        g[r] = 0.0
        for c in range(r + 1):
            G[r, c] = 0.0
    for i in range(nodes.size):
        if not (drives(nodes, i) and constraint_column(i, states, points, supports, count, row)):
            continue
        limit = effort_limits[nodes[i].v_index]
        # Drives without a limit have no weight beside those with one.
        weight = (1.0 / (limit * limit) if limit > 0.0 else 0.0) if known else 1.0
        for r in range(count):
            w = weight * row[r]
            if w != 0.0:
                g[r] += w * tau[nodes[i].v_index]
                for c in range(r + 1):
                    G[r, c] += w * row[c]


@inlined
def solve_half(X, G, g, count, m, epsilon, s, M, y, product):
    """
    Write the Cholesky factor M of ``Xᵀ G X + epsilon``, and y after the forward substitution.

    ``s`` is the grasp force contained in g; its column of X is the last one.
    """
    for a in range(m):
        y[a] = 0.0
        for r in range(count):
            y[a] -= X[r, a] * g[r]
            t = 0.0
            for c in range(count):
                t += symmetric(G, r, c) * X[c, a]
            product[r] = t
        for b in range(a + 1):
            t = epsilon if a == b else 0.0
            for r in range(count):
                t += X[r, b] * product[r]
            M[a, b] = t
    y[m - 1] -= epsilon * s
    factorise(M, m)
    solve_lower(M, m, y)


@inlined
def follow_grasp_force(M, m, step, half, y):
    """Write the optimal y for a given step of the grasp force, N, by back substitution."""
    y[m - 1] = step
    for a in range(m - 1):
        y[a] = half[a] - M[m - 1, a] * step
    solve_upper(M, m - 1, y)


@inlined
def sufficient_grasp_force(grasp, grips, M, half, y, slope, forces):
    """
    Return the grasp force s, N, of least effort where it is free, or as friction requires.

    The other internal forces are optimal for s, hence affine in it.
    """
    m, s = grasp.basis_size, grasp.applied_force
    weight, f, p = row_activation(grasp.activation), forces[0], forces[1]
    s = max(grasp.grasp_force, s + grasp.grasp_force_free * half[m - 1] * M[m - 1, m - 1])
    follow_grasp_force(M, m, 1.0, half, slope)
    follow_grasp_force(M, m, 0.0, half, y)
    for a in range(m):
        slope[a] -= y[a]
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            for r in range(3):
                f[r], p[r] = grip.wrench[r], 0.0
                for a in range(m):
                    f[r] += weight * grip.admissible[a, r] * y[a]
                    p[r] += weight * grip.admissible[a, r] * slope[a]
                f[r] -= grasp.applied_force * p[r]
            s = max(s, least_grasp_force(
                grip.friction, grip.inward, f, p, grasp.max_grasp_force))
    return min(s, grasp.max_grasp_force)


@inlined
def limit_step(grasp, grips, y, forces):
    """Scale the change y of the internal forces so that no grip leaves its friction cone."""
    weight, step = row_activation(grasp.activation), 1.0
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            for r in range(3):
                forces[0, r], forces[1, r] = grip.wrench[r], 0.0
                for a in range(grasp.basis_size):
                    forces[1, r] += weight * grip.admissible[a, r] * y[a]
            step = min(step, longest_step(grip.friction, grip.inward, forces[0], forces[1]))
    for a in range(grasp.basis_size):
        y[a] *= grasp.minimum_effort * step


@inlined
def minimise_effort(cycle, robot, constraints, grasping, effort_limits, results, scratch, tau):
    """
    Add the joint forces of the minimum-effort internal forces of all grasps to τ.

    Parameters
    ----------
    cycle : CYCLE record
        ``passive_rows`` is the rank of C and U of `fill_passive_rows`.
    robot : Robot
        Constraints are the first points.
    constraints : array of CONSTRAINT
        ``exerted`` is updated.
    grasping : Grasping
        ``applied_force`` and ``wrench`` are updated.
    effort_limits : (nv,) array
        N m or N.
    results : Results
        ``ACTIVATION`` of the stack is positive for active constraint rows.
    scratch : Scratch
        ``grasps.passive_rows`` are C and U; the rest of ``grasps`` is written.
    tau : (nv,) array
        Joint forces without limits, N m or N.

    """
    nodes, states, points, supports = robot.nodes, robot.states, robot.points, robot.supports
    (grasps, grips), active = grasping, results.stack[ACTIVATION]
    work, passive = scratch.grasps, scratch.grasps.passive_rows
    X, G, M = work.basis, work.gram, work.factor
    count = 6 * constraints.size
    g, row, half, y, slope = work.gradient, work.column, work.half, work.change, work.slope
    for n in range(grasps.size):
        grasp = grasps[n]
        if grasp.minimum_effort == 0.0 or grasp.activation == 0.0:
            continue
        weight = row_activation(grasp.activation)
        effort_gradient(nodes, states, points, supports, count, effort_limits, tau, G, g, row)
        for a in range(grasp.basis_size):
            admissible_force(grasp, grips, active, passive, cycle.passive_rows, count, a, row, half)
            turn_all_rows(grasps, grips, points, count, False, half)
            for r in range(count):
                X[r, a] = weight * half[r]
        epsilon = REGULARISATION / max(grasp.max_grasp_force, 1.0)
        solve_half(X, G, g, count, grasp.basis_size, epsilon * epsilon, grasp.applied_force, M,
                   half, row)
        s = sufficient_grasp_force(grasp, grips, M, half, y, slope, cycle.motion)
        follow_grasp_force(M, grasp.basis_size, s - grasp.applied_force, half, y)
        limit_step(grasp, grips, y, cycle.motion)
        for r in range(count):
            g[r] = 0.0
            for a in range(grasp.basis_size):
                g[r] += X[r, a] * y[a]
        grasp.applied_force += y[grasp.basis_size - 1]
        for r in range(count):
            constraints[r // 6].exerted[r % 6] += g[r]
            row[r] = g[r]
        turn_all_rows(grasps, grips, points, count, True, row)
        add_internal_forces(grasps, grips, row, slope)
        for i in range(nodes.size):
            if drives(nodes, i) and constraint_column(i, states, points, supports, count, row):
                for r in range(count):
                    tau[nodes[i].v_index] += row[r] * g[r]
