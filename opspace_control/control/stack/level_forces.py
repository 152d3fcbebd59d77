# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Forces of each level of tasks that balance what is unknown, ``Λ J Φ r``; see `rejection`.

Each level has what the levels above leave, and these compensate for its forces, ``−Y F``.
"""

from opspace_control.compiled import called, inlined
from opspace_control.control.data import ACTIVATION, APPLIED, SCALE
from opspace_control.control.solver.cholesky import (
    factorise,
    factorise_block,
    invert_factor,
    solve_inverted,
    solve_upper_block,
    symmetric,
)
from opspace_control.control.stack.disturbance import (
    FILTERED,
    FOUND,
    OWN_FORCE,
    SOFTNESS,
    UNKNOWN,
    WEIGHT,
    balance_applied,
    rejects_at,
    respond_points,
)
from opspace_control.control.stack.scaling import level_threshold
from opspace_control.spatial.dense import dot_product
from opspace_control.tasks.force_law import presses
from opspace_control.tasks.specification_law import motion_share

# Proximal steps that the rows of a level are solved in, and their softness in parts of the law's
# threshold θ of truncation, 4.2e-3 for six axes. ``(ε / (λ + ε))^K`` of what is unknown along a
# scaled eigenvalue λ is not rejected: 2e-4 at 0.015, the least of an arm in a usual posture, and
# 0.012 at θ. Where nothing is left the force is K / ε of it, as in the problem with bounds; eight
# steps at θ leave 5e-6 and 4e-3, and take 0.2 µs more for six axes.
_STEPS = 4
_SOFT_PART = 0.5
# Softness of what levels above leave of a level, of the scaled mobility: redundant rows have a
# factor, and rounding is 1e-7 of the mobility.
_DAMPING = 1e-9


@inlined
def write_mobility(k, first, weight, scale, mobility, M):
    """
    Write row k of the stack to M, of tasks' rows from the first on; weight 0: it takes no part.

    The mobility of a row that compensates in part is inflated as in `regularise_rows`.
    """
    i = k - first
    for j in range(i):
        M[i, j] = mobility[k, first + j] if weight[k] > 0.0 and weight[first + j] > 0.0 else 0.0
    M[i, i] = 1.0
    if weight[k] > 0.0:
        M[i, i] = mobility[k, k] / weight[k] ** 2 + _DAMPING / scale ** 2


@inlined
def write_rows(disturbance, robot, demand, threshold, stack, mobility):
    """
    Write which rows of tasks take part, their softness and mobility, and forces that are known.

    Those of tasks that press, and of all where r is not known, stay as they were before: they have
    no softness. The others have the `level_threshold` of their level.
    """
    first, rows, tasks, levels = (
        6 * demand.constraints.size, disturbance.rows, disturbance.tasks, demand.levels)
    scale = stack[SCALE]
    for level in range(levels.size - 1):
        soft = level_threshold(stack[ACTIVATION], levels[level], levels[level + 1], threshold)
        for e in range(levels[level] // 6, levels[level + 1] // 6):
            record, rejects = robot.points[e].record, rejects_at(robot, e, tasks)
            known = rejects and (disturbance.flags[FOUND] != 1 or presses(
                demand.tasks[record].force))
            for r in range(6):
                k = 6 * e + r
                weight = motion_share(demand.tasks[record], r) if rejects else 0.0
                rows[WEIGHT, k] = weight if scale[k] > 0.0 else 0.0
                rows[SOFTNESS, k] = 0.0
                rows[OWN_FORCE, k] = tasks[record, FILTERED + r] if known else 0.0
                if rows[WEIGHT, k] > 0.0 and not known:
                    rows[SOFTNESS, k] = _SOFT_PART * soft / scale[k] ** 2
                write_mobility(
                    k, first, rows[WEIGHT], scale[k], mobility, disturbance.matrix[0])


@inlined
def solve_level(M, B, begin, end, softness, a, f):
    """
    Write the forces f of a level, of rows ``begin`` to ``end`` of M, those that are not known.

    ``(M + D) f = a + D f`` in proximal steps. M is what the levels above leave of the mobility, a
    of the accelerations; B is scratch. Returns whether M could be factorised.
    """
    n, d, x = end - begin, softness[begin:], f[begin:]
    for i in range(n):
        row = M[begin + i, begin:]
        for j in range(i):
            B[i, j] = row[j] if d[i] > 0.0 and d[j] > 0.0 else 0.0
        B[i, i] = row[i] + d[i] if d[i] > 0.0 else 1.0
        if d[i] == 0.0 and x[i] != 0.0:
            for j in range(n):
                a[begin + j] -= symmetric(M, begin + i, begin + j) * x[i]
    if not factorise(B, n):
        return False
    solution, demand = B[n], B[n + 1]
    invert_factor(B, n, solution)
    for step in range(_STEPS):
        for i in range(n):
            demand[i] = a[begin + i] + (d[i] * solution[i] if step > 0 else 0.0)
            if d[i] == 0.0:
                demand[i] = 0.0
        solve_inverted(B, n, demand, solution)
    for i in range(n):
        if d[i] > 0.0:
            x[i] = solution[i]
    return True


@inlined
def eliminate_level(M, begin, end, count, a, f):
    """
    Factorise the rows of a level, and leave to those below, up to ``count``, what it leaves.

    That is the Schur complement of M, and the accelerations a without what the level's forces f do
    with the compensation of the levels above. Returns whether all pivots are positive.
    """
    for i in range(end, count):
        a[i] -= dot_product(M[i, begin:], f[begin:], end - begin)
    if not factorise_block(M, begin, end, count):
        return False
    for i in range(end, count):
        for j in range(end, i + 1):
            M[i, j] -= dot_product(M[i, begin:], M[j, begin:], end - begin)
    return True


@inlined
def add_compensation(M, first, levels, force, column):
    """Add ``−Y F`` of the levels above to the forces (k,) of all; M is that of `find_forces`."""
    total, count = force[first:], force.size - first
    for level in range(levels.size - 3, -1, -1):
        begin, end = levels[level] - first, levels[level + 1] - first
        for c in range(begin, end):
            column[c] = 0.0
            for i in range(end, count):
                column[c] += M[i, c] * total[i]
        solve_upper_block(M, begin, end, column)
        for c in range(begin, end):
            total[c] -= column[c]


@called
def find_forces(disturbance, cycle, robot, demand, stack, scratch):
    """
    Write ``Λ J Φ r`` of each level of tasks, ``OWN_FORCE``, where r is known.

    Without what balances the ``APPLIED`` forces of force control, as exerted in the last cycle.
    Returns whether the mobility could be factorised; then `add_compensation` has Y.
    """
    first, levels, rows = 6 * demand.constraints.size, demand.levels, disturbance.rows
    M, B, a, f = disturbance.matrix[0], disturbance.matrix[1], rows[UNKNOWN], rows[OWN_FORCE]
    found = disturbance.flags[FOUND] == 1
    if found:
        respond_points(disturbance, robot, first, scratch)
        balance_applied(stack[APPLIED], cycle.force_share, first, scratch.mobility, a)
    else:
        a[:] = 0.0
    write_rows(
        disturbance, robot, demand, cycle.singularity_threshold, stack, scratch.mobility)
    for level in range(levels.size - 1):
        begin, end = levels[level] - first, levels[level + 1] - first
        if found and not solve_level(
                M, B, begin, end, rows[SOFTNESS, first:], a[first:], f[first:]):
            return False
        if level < levels.size - 2 and not eliminate_level(
                M, begin, end, a.size - first, a[first:], f[first:]):
            return False
    return True
