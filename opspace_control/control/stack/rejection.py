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
have a part in efforts and none in the motion, which is that of the law. No level disturbs one
above: a level compensates for the forces of those below, ``−Y F``. What it exerts for that balances
r together with F, and has no part in the motion either.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.data import APPLIED, REJECTING, SCALE
from opspace_control.control.solver.cholesky import (
    factorise,
    solve_lower,
    solve_lower_block,
    solve_upper_block,
    symmetric,
)
from opspace_control.control.solver.semidefinite import solve_semidefinite
from opspace_control.control.stack.disturbance import BOUND, FILTERED, FOUND, GAIN, GRASPS
from opspace_control.dynamics.force_propagation import is_group, is_moving_frame
from opspace_control.dynamics.momentum_observer import RESIDUAL_TORQUE
from opspace_control.dynamics.responses import add_acceleration, respond_to_forces
from opspace_control.spatial.dense import dot_product
from opspace_control.tasks.force_law import presses
from opspace_control.tasks.specification_law import motion_share

# Softness of the rows, of the scaled mobility, and proximal steps that they are solved in: along a
# scaled eigenvalue λ, ``(ε / (λ + ε))^K`` of what is unknown is not rejected: 4e-5 of it at 0.015,
# the least of an arm in a usual posture, and 6e-4 at 4e-3, where the law truncates. What nearly
# nothing can move takes no force: without softness one cycle of delay made a hand and a point of
# its wrist oscillate at their bounds. With 1e-3 and four steps both are within the same, at 0.1 of
# one call of Pinocchio's `aba` more for a Panda.
_SOFTNESS, _STEPS = 1e-4, 2


@inlined
def write_point_acceleration(point, states, a):
    """Write the acceleration ``B`` at a point, less that of the other body, along its axes."""
    for r in range(6):
        a[r] = 0.0
    if point.frame.node >= 0:
        add_acceleration(states[point.frame.node].B, point.p, 1.0, a)
    if point.other.node >= 0:
        add_acceleration(states[point.other.node].B, point.p, -1.0, a)
    for part in range(0, 6, 3):
        axes, x, y, z = point.axes[part // 3], a[part], a[part + 1], a[part + 2]
        for r in range(3):
            a[part + r] = axes[0, r] * x + axes[1, r] * y + axes[2, r] * z


@inlined
def select_row(k, first, weight, softness, mobility, M):
    """
    Write row k of the problem ``M F = a_r``, of tasks' rows from the first on.

    The mobility of a row that compensates in part is inflated as in `regularise_rows`; one of no
    ``softness`` does not compensate, and has no part.
    """
    i = k - first
    for j in range(i):
        M[i, j] = mobility[k, first + j] if softness > 0.0 and M[-2, first + j] > 0.0 else 0.0
    M[i, i] = mobility[k, k] / (weight * weight) + softness if softness > 0.0 else 1.0
    M[-2, k] = softness


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
def rejects_at(robot, e, rejected):
    """Return whether the task of a point compensates for disturbances."""
    point = robot.points[e]
    return is_moving_frame(point, robot.carried[e]) and rejected[point.record, BOUND] >= 0.0


@called
def respond_points(disturbance, robot, constrained, scratch):
    """Write ``J Φ r`` of the stack's rows, (k,); constraints are eliminated from those of tasks."""
    points, a, mobility = robot.points, disturbance.matrix[-1], scratch.mobility
    respond_to_forces(
        robot.nodes, robot.states, robot.needs_inertia, disturbance.memory[RESIDUAL_TORQUE])
    for k in range(a.size):
        a[k] = 0.0
    for e in range(points.size):
        if is_moving_frame(points[e], robot.carried[e]):
            write_point_acceleration(points[e], robot.states, a[6 * e:6 * e + 6])
    if constrained > 0:
        factor = scratch.constraint_factor
        solve_semidefinite(factor, a[:constrained], scratch.coordinates)
        for j in range(constrained, a.size):
            for p in range(factor.sizes[1]):
                a[j] -= mobility[j, factor.order[p]] * a[factor.order[p]]


@inlined
def balance_applied(applied, share, scratch, a):
    """
    Add to the accelerations a of tasks' rows those by forces that r balances already.

    These are a share of the ``applied`` forces (k,) of force control, [K87] (5.5), of which the
    environment's reaction is in r.
    """
    mobility, first = scratch.mobility, applied.size - a.size
    for k in range(first, applied.size):
        if applied[k] != 0.0:
            for i in range(a.size):
                a[i] += share * applied[k] * symmetric(mobility, first + i, k)


@inlined
def find_pressing(disturbance, robot, tasks, first, last, force):
    """
    Write the forces with which tasks that press reject, of rows first to last of the stack.

    They stay as they were before. Returns whether any is not zero.
    """
    found = False
    for e in range(first // 6, last // 6):
        pressing = rejects_at(robot, e, disturbance.tasks) and presses(
            tasks[robot.points[e].record].force)
        for r in range(6):
            i = 6 * e - first + r
            force[i] = disturbance.tasks[robot.points[e].record, r] if pressing else 0.0
            found = found or force[i] != 0.0
    return found


@inlined
def balance_pressing(M, mobility, constrained, first, last, force, above, a):
    """
    Add to the accelerations a what forces of the rows first to last do, with their compensation.

    Of the rows above these keep what they do: they compensate by ``−Y F``, see
    `complete_rejection`. M has the factor of these rows.
    """
    n, m = first - constrained, last - first
    for i in range(n):
        above[i] = 0.0
        for k in range(m):
            above[i] += mobility[first + k, constrained + i] * force[k]
    solve_lower(M, n, above)
    for i in range(n, a.size):
        for k in range(m):
            if force[k] != 0.0:
                a[i] += symmetric(mobility, constrained + i, first + k) * force[k]
        a[i] -= dot_product(M[i], above, n)


@inlined
def solve_proximal(M, first, levels, a):
    """
    Replace accelerations a of tasks' rows by the forces of each level, in proximal steps.

    M has the factor C of Λ⁻¹ with softness D. Each step solves a level for its own forces f,
    ``C_ℓℓ C_ℓℓᵀ f = a_ℓ + D f``; the levels below see what they do, with the compensation above.
    """
    softness, x, n = M[-2, first:], M[-3, first:], a.size
    for level in range(levels.size - 1):
        begin, end = levels[level] - first, levels[level + 1] - first
        for step in range(_STEPS):
            for i in range(begin, end):
                own = softness[i] * x[i] if step > 0 else 0.0
                x[i] = a[i] + own if softness[i] > 0.0 else 0.0
            solve_lower_block(M, begin, end, x)
            if step == _STEPS - 1:
                for i in range(end, n):
                    a[i] -= dot_product(M[i, begin:], x[begin:], end - begin)
            solve_upper_block(M, begin, end, x)
    for i in range(n):
        a[i] = x[i]


@called
def find_forces(disturbance, share, robot, demand, stack, scratch):
    """
    Write ``Λ J Φ r`` of the tasks, after the constraints in the last row of the matrix.

    r is without what balances the ``applied`` forces (k,) of force control; the last cycle exerted
    a ``share`` of them. Returns whether Λ⁻¹ could be factorised.
    """
    points, first, levels = robot.points, 6 * demand.constraints.size, demand.levels
    M, tasks, scale = disturbance.matrix, disturbance.tasks, stack[SCALE]
    a = M[-1, first:]
    respond_points(disturbance, robot, first, scratch)
    balance_applied(stack[APPLIED], share, scratch, a)
    for e in range(first // 6, points.size):
        finds = rejects_at(robot, e, tasks) and not presses(demand.tasks[points[e].record].force)
        for k in range(6 * e, 6 * e + 6):
            weight = motion_share(demand.tasks[points[e].record], k - 6 * e) if finds else 0.0
            used = weight > 0.0 and scale[k] > 0.0
            select_row(k, first, weight, _SOFTNESS / scale[k] ** 2 if used else 0.0,
                       scratch.mobility, M)
    if not factorise(M, a.size):
        return False
    for level in range(levels.size - 1):
        begin, end = levels[level], levels[level + 1]
        if find_pressing(disturbance, robot, demand.tasks, begin, end, scratch.moving):
            balance_pressing(M, scratch.mobility, first, begin, end, scratch.moving,
                             scratch.column, a)
    solve_proximal(M, first, levels, a)
    return True


@called
def reject_disturbance(disturbance, cycle, robot, demand, results, scratch):
    """
    Write ``−Λ J Φ r`` of tasks, filtered, along their axes of motion, to ``REJECTING``.

    After the elimination of constraints, of which the factor is used, and before the tasks become
    forces. The force and the moment of a task are at most its bounds; beyond them all six
    components shrink. `NO_DISTURBANCE` does nothing.
    """
    if disturbance.flags.size > 0:
        points, first, tasks = robot.points, 6 * demand.constraints.size, disturbance.tasks
        gain, found = 0.0, disturbance.flags[FOUND]
        if found == GRASPS:
            disturbance.matrix[-1, :] = 0.0
        if found == GRASPS or (found != 0 and find_forces(
                disturbance, cycle.force_share, robot, demand, results.stack, scratch)):
            gain = disturbance.rate[GAIN]
        for e in range(first // 6, points.size):
            record, k = points[e].record, 6 * e
            if not (is_group(points[e]) or points[e].whole) and tasks[record, BOUND] >= 0.0:
                if gain > 0.0 and (found == GRASPS or not presses(demand.tasks[record].force)):
                    F = disturbance.matrix[-1, k:k + 6]
                    for r in range(6):
                        tasks[record, FILTERED + r] += gain * (F[r] - tasks[record, FILTERED + r])
                bound_force(tasks[record])
                for r in range(6):
                    results.stack[REJECTING, k + r] = tasks[record, r]


@inlined
def complete_rejection(mobility, levels, force):
    """
    Add to forces against disturbances (k,) what levels above compensate for them, ``−Y F``.

    ``mobility`` has Y above the diagonal, as `resolve_forces` leaves it.
    """
    for number in range(levels.size - 2, -1, -1):
        last = levels[number + 1]
        for r in range(levels[number], last):
            force[r] -= dot_product(mobility[r, last:], force[last:], force.size - last)


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
