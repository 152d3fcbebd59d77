# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Rejection of unknown joint forces along the axes of motion of tasks.

Unknown forces r accelerate the points by ``a_r = J A⁻¹ r``, under constraints by ``J Φ r``, which
has no part of the constraint forces ``J_cᵀ λ`` that r may contain. Tasks exert ``−Λ a_r`` along
axes of motion, ``−J̄ᵀ r`` of the dynamically consistent inverse, [CK00] (8), and nothing against
what r does in the null space. Axes of force control, springs and free axes are left alone. While a
task presses, r has the environment's wrench, its friction and the moment of a contact elsewhere
than at the frame: forces of that task stay as they were before.

Forces of tasks are filtered, not the residual: ``J̄`` of all rows would turn what a filter of joint
forces lacks of a motion in the null space into forces of tasks, and drive that motion.

r balances these forces, as the environment balances those of force control, [K87] (5.5). So they
have a part in efforts and none in the motion, which is that of the law. Tasks of the levels above
compensate for the forces of a level, ``−Y F``, as far as they reject disturbances themselves; what
they exert for that balances r together with F. Other tasks see r and all of these forces.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.data import APPLIED, REJECTING, SCALE
from opspace_control.control.solver.cholesky import (
    factorise,
    factorise_block,
    solve_lower,
    solve_upper,
    solve_upper_block,
    symmetric,
)
from opspace_control.control.solver.semidefinite import solve_semidefinite
from opspace_control.control.stack.disturbance import (
    BOUND,
    FILTERED,
    FOUND,
    GAIN,
    GRASPS,
    OWN_FORCE,
    SOFTNESS,
    UNKNOWN,
    WEIGHT,
    balance_applied,
    rejects_at,
    respond_points,
)
from opspace_control.spatial.dense import dot_product
from opspace_control.tasks.force_law import presses
from opspace_control.tasks.specification_law import motion_share

# Softness of the rows of a level, of the scaled mobility, and proximal steps that they are solved
# in: along a scaled eigenvalue λ, ``(ε / (λ + ε))^K`` of what is unknown is not rejected: 4e-5 of
# it at 0.015, the least of an arm in a usual posture, and 6e-4 at 4e-3, where the law truncates.
# What nearly nothing can move gets no force: without softness one cycle of delay made a hand and a
# point of its wrist oscillate at their bounds. With 1e-3 and four steps both are within the same,
# at 0.1 of one call of Pinocchio's `aba` more for a Panda.
_SOFTNESS, _STEPS = 1e-4, 2
# The same for what levels above leave of a level: redundant rows have a factor, and rounding is
# 1e-7 of the mobility.
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
def bound_force(rejected):
    """
    Shrink a filtered force and moment to their bounds; write what rejects it, their negative.

    What is filtered shrinks, not only what is applied: so it does not take longer to fade, the more
    it was beyond the bounds.
    """
    share, F = 1.0, rejected[FILTERED:]
    for part in range(2):
        f = F[3 * part:3 * part + 3]
        size = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
        if size > rejected[BOUND + part]:
            share = min(share, rejected[BOUND + part] / size)
    for r in range(6):
        F[r] *= share
        rejected[r] = -F[r]


@inlined
def write_rows(disturbance, robot, demand, scale, mobility):
    """
    Write which rows of tasks take part, their softness and mobility, and forces that are known.

    Those of tasks that press, and of all where r is not known, stay as they were before: they have
    no softness.
    """
    first, rows, tasks = 6 * demand.constraints.size, disturbance.rows, disturbance.tasks
    for e in range(first // 6, robot.points.size):
        record, rejects = robot.points[e].record, rejects_at(robot, e, tasks)
        known = not rejects or disturbance.flags[FOUND] != 1 or presses(
            demand.tasks[record].force)
        for r in range(6):
            k = 6 * e + r
            weight = motion_share(demand.tasks[record], r) if rejects else 0.0
            rows[WEIGHT, k] = weight if scale[k] > 0.0 else 0.0
            rows[SOFTNESS, k] = rows[OWN_FORCE, k] = 0.0
            if rejects and known:
                rows[OWN_FORCE, k] = tasks[record, FILTERED + r]
            elif rows[WEIGHT, k] > 0.0:
                rows[SOFTNESS, k] = _SOFTNESS / scale[k] ** 2
            write_mobility(k, first, rows[WEIGHT], scale[k], mobility, disturbance.matrix[0])


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
    solution = B[n]
    for step in range(_STEPS):
        for i in range(n):
            solution[i] = a[begin + i] + (d[i] * solution[i] if step > 0 else 0.0)
            if d[i] == 0.0:
                solution[i] = 0.0
        solve_lower(B, n, solution)
        solve_upper(B, n, solution)
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
def find_forces(disturbance, share, robot, demand, stack, scratch):
    """
    Write ``Λ J Φ r`` of each level of tasks, ``OWN_FORCE``, where r is known.

    Without what balances the ``APPLIED`` forces of force control, of which the last cycle exerted a
    ``share``. Returns whether the mobility could be factorised; then `add_compensation` has Y.
    """
    first, levels, rows = 6 * demand.constraints.size, demand.levels, disturbance.rows
    M, B, a, f = disturbance.matrix[0], disturbance.matrix[1], rows[UNKNOWN], rows[OWN_FORCE]
    found = disturbance.flags[FOUND] == 1
    if found:
        respond_points(disturbance, robot, first, scratch)
        balance_applied(stack[APPLIED], share, first, scratch.mobility, a)
    else:
        a[:] = 0.0
    write_rows(disturbance, robot, demand, stack[SCALE], scratch.mobility)
    for level in range(levels.size - 1):
        begin, end = levels[level] - first, levels[level + 1] - first
        if found and not solve_level(
                M, B, begin, end, rows[SOFTNESS, first:], a[first:], f[first:]):
            return False
        if level < levels.size - 2 and not eliminate_level(
                M, begin, end, a.size - first, a[first:], f[first:]):
            return False
    return True


@called
def reject_disturbance(disturbance, cycle, robot, demand, results, scratch):
    """
    Write ``−Λ J Φ r`` of tasks, filtered, along their axes of motion, to ``REJECTING``.

    After the elimination of constraints, of which the factor is used, and before the tasks become
    forces. The own force and moment of a task are at most its bounds; beyond them all six
    components shrink. `NO_DISTURBANCE` does nothing.
    """
    if disturbance.flags.size > 0:
        first, tasks = 6 * demand.constraints.size, disturbance.tasks
        found, several, factorised = disturbance.flags[FOUND], demand.levels.size > 2, False
        if found == 1 or several:
            factorised = find_forces(
                disturbance, cycle.force_share, robot, demand, results.stack, scratch)
        gain = disturbance.rate[GAIN] if found == GRASPS or (found == 1 and factorised) else 0.0
        for e in range(first // 6, robot.points.size):
            if rejects_at(robot, e, tasks):  # the forces of idle points are zero
                record, k = robot.points[e].record, 6 * e
                for r in range(6 if gain > 0.0 else 0):  # of tasks that press F is what it was
                    F = 0.0 if found == GRASPS else disturbance.rows[OWN_FORCE, k + r]
                    tasks[record, FILTERED + r] += gain * (F - tasks[record, FILTERED + r])
                bound_force(tasks[record])
                for r in range(6):
                    results.stack[REJECTING, k + r] = tasks[record, r]
        if several and factorised:
            add_compensation(disturbance.matrix[0], first, demand.levels,
                             results.stack[REJECTING], scratch.column)


@inlined
def rejecting_forces(stack, constrained, mobility, scratch):
    """
    Write to ``moving`` the forces that reject disturbances, (k,), with reactions of constraints.

    These are ``−L_cc⁺ L_ct f``, so that the constraints hold.
    """
    moving = scratch.moving
    for r in range(moving.size):
        moving[r] = stack[REJECTING, r]
    if constrained > 0:
        for c in range(constrained):
            moving[c] = 0.0
            for r in range(constrained, moving.size):
                moving[c] -= mobility[r, c] * moving[r]
        solve_semidefinite(scratch.constraint_factor, moving[:constrained], scratch.coordinates)
