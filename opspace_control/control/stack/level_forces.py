# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Forces of each level of tasks that balance what is unknown, ``Λ J Φ r``; see `rejection`.

Each level has what the levels above leave, and these compensate for its forces, ``−Y F``.
"""

import math

from opspace_control.compiled import inlined
from opspace_control.control.data import ACTIVATION, APPLIED, SCALE
from opspace_control.control.solver.cholesky import factorise_block, solve_upper_block, symmetric
from opspace_control.control.stack.disturbance import (
    FILTERED,
    FOUND,
    OWN_FORCE,
    PART,
    UNKNOWN,
    UNKNOWN_SCALE,
    WEIGHT,
    balance_applied,
    leave_constraints,
    rejects_at,
)
from opspace_control.control.stack.scaling import level_threshold
from opspace_control.spatial.dense import dot_product
from opspace_control.spatial.six import combine_rows, put, six
from opspace_control.tasks.force_law import presses
from opspace_control.tasks.specification_law import motion_share

# Proximal steps that the rows of a level are solved in, and their softness in parts of the law's
# threshold θ of truncation, 4.2e-3 for six axes. ``(ε / (λ + ε))^K`` of what is unknown along a
# scaled eigenvalue λ is not rejected: 2e-4 at 0.015, the least of an arm in a usual posture, and
# 0.012 at θ. Where nothing is left the force is K / ε of it, as in the problem with bounds; eight
# steps at θ leave 5e-6 and 4e-3, for twice as many products.
_STEPS = 4
_SOFT_PART = 0.5
# Softness of what levels above leave of a level, of the scaled mobility: redundant rows have a
# factor, and rounding is 1e-7 of the mobility.
_DAMPING = 1e-9


@inlined
def write_rows(disturbance, robot, demand, stack):
    """
    Write which rows of tasks take part, the scale of those to solve, and forces that are known.

    Forces of tasks that press, and of all where r is not known, stay as they were before.
    """
    rows, tasks, scale = disturbance.rows, disturbance.tasks, stack[SCALE]
    for e in range(demand.constraints.size, robot.points.size):
        record, rejects = robot.points[e].record, rejects_at(robot, e, tasks)
        known = rejects and (disturbance.flags[FOUND] != 1 or presses(demand.tasks[record].force))
        for r in range(6):
            k = 6 * e + r
            takes_part = rejects and scale[k] > 0.0
            rows[WEIGHT, k] = motion_share(demand.tasks[record], r) if takes_part else 0.0
            rows[PART, k] = 1.0 if rows[WEIGHT, k] > 0.0 else 0.0
            rows[UNKNOWN_SCALE, k] = 0.0 if known else rows[PART, k] * scale[k]
            rows[OWN_FORCE, k] = tasks[record, FILTERED + r] if known else 0.0


@inlined
def write_mobility(rows, first, mobility, M):
    """
    Write the mobility of the rows that take part, from the first on; of others the identity.

    That of a row that compensates in part is inflated as in `regularise_rows`. The blocks on the
    diagonal are complete, those above it are not written.
    """
    part, weight = rows[PART, first:], rows[WEIGHT, first:]
    for i in range(part.size):
        row = mobility[first + i, first:]
        for c in range(0, i + 1, 6):
            put(M[i], c, part[i] * six(row, c) * six(part, c))
        if weight[i] < 1.0:
            M[i, i] = row[i] / weight[i] ** 2 if weight[i] > 0.0 else 1.0


@inlined
def invert_shifted(H, n):
    """
    Replace ``A + 1`` by ``A⁻¹ + 1``, 1 being the identity, in the first n rows, a multiple of six.

    By the elimination of Gauss and Jordan without a choice of pivots, as A is symmetric: where the
    identity is added, the step of a pivot needs no exception in its column. Returns whether all
    pivots are positive.
    """
    for k in range(n):
        if not 1.0 < H[k, k] < math.inf:
            return False
        per_pivot = 1.0 / (H[k, k] - 1.0)
        for c in range(0, n, 6):
            put(H[k], c, per_pivot * six(H[k], c))
        for i in range(n):
            if i != k:
                factor = H[i, k]
                for c in range(0, n, 6):
                    put(H[i], c, six(H[i], c) - factor * six(H[k], c))
    return True


@inlined
def solve_level(M, H, begin, end, softness, scale, a, f):
    """
    Write the forces f of a level, of rows ``begin`` to ``end`` of M, those that are not known.

    ``(M + D) f = a + D f`` in proximal steps, D being the softness ε of the scaled mobility. M is
    what the levels above leave of the mobility, a of the accelerations; H is scratch. Returns
    whether ``M + D`` could be inverted.
    """
    n, S, F = end - begin, scale[begin:], f[begin:]
    wanted, step_demand, x = H[n], H[n + 1], H[n + 2]
    for i in range(n):
        for c in range(0, i + 1, 6):
            put(H[i], c, S[i] * six(M[begin + i], begin + c) * six(S, c))
        for j in range(i - i % 6):
            H[j, i] = H[i, j]
        H[i, i] += 1.0 + softness + _DAMPING
        if F[i] != 0.0:  # known
            for j in range(n):
                a[begin + j] -= symmetric(M, begin + i, begin + j) * F[i]
    if not invert_shifted(H, n):
        return False
    for c in range(0, n, 6):
        put(wanted, c, six(S, c) * six(a, begin + c))
        put(x, c, 0.0)
    for _ in range(_STEPS):
        for c in range(0, n, 6):
            put(step_demand, c, six(wanted, c) + softness * six(x, c))
        for c in range(0, n, 6):
            numbers = -1.0 * six(step_demand, c)
            for j in range(0, n, 6):
                numbers = numbers + combine_rows(H, j, c, step_demand, j)
            put(x, c, numbers)
    for c in range(0, n, 6):
        put(F, c, six(F, c) + six(S, c) * six(x, c))
    return True


@inlined
def eliminate_level(M, begin, end, part, scale, a, f):
    """
    Factorise the rows of a level, and leave to those below what it leaves.

    That is the Schur complement of M, and the accelerations a without what the level's forces f do
    with the compensation of the levels above. Returns whether all pivots are positive.
    """
    count = part.size
    for i in range(begin, end):
        if part[i] > 0.0:
            M[i, i] += _DAMPING / scale[i] ** 2
    for i in range(end, count):
        a[i] -= dot_product(M[i, begin:], f[begin:], end - begin)
    if not factorise_block(M, begin, end, count):
        return False
    for i in range(end, count):
        for j in range(end, i - i % 6 + 6):
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


@inlined
def find_forces(disturbance, cycle, robot, demand, stack, scratch):
    """
    Write ``Λ J Φ r`` of each level of tasks, ``OWN_FORCE``, where r is known.

    Without what balances the ``APPLIED`` forces of force control, as exerted in the last cycle.
    Returns whether the mobility could be factorised; then `add_compensation` has Y.
    """
    first, levels, rows = 6 * demand.constraints.size, demand.levels, disturbance.rows
    M, H, a, f = disturbance.matrix[0], disturbance.matrix[1], rows[UNKNOWN], rows[OWN_FORCE]
    found, scale = disturbance.flags[FOUND] == 1, stack[SCALE]
    if found:
        leave_constraints(scratch, first, a)
        balance_applied(stack[APPLIED], cycle.force_share, first, scratch.mobility, a)
    else:
        a[:] = 0.0
    write_rows(disturbance, robot, demand, stack)
    write_mobility(rows, first, scratch.mobility, M)
    for level in range(levels.size - 1):
        begin, end = levels[level] - first, levels[level + 1] - first
        softness = _SOFT_PART * level_threshold(
            stack[ACTIVATION], levels[level], levels[level + 1], cycle.singularity_threshold)
        if found and not solve_level(
                M, H, begin, end, softness, rows[UNKNOWN_SCALE, first:], a[first:], f[first:]):
            return False
        if level < levels.size - 2 and not eliminate_level(
                M, begin, end, rows[PART, first:], scale[first:], a[first:], f[first:]):
            return False
    return True
