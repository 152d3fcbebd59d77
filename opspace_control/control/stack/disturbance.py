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

These forces are applied forces: r balances them, as the environment balances those of force
control, [K87] (5.5). So they have a part in efforts and none in the motion, which is that of the
law.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.data import APPLIED
from opspace_control.control.solver.cholesky import (
    factorise,
    solve_lower,
    solve_upper_block,
)
from opspace_control.control.solver.semidefinite import solve_semidefinite
from opspace_control.dynamics.force_propagation import is_group, is_moving_frame
from opspace_control.dynamics.generalized_momentum import gather_momentum
from opspace_control.dynamics.momentum_observer import (
    APPLIED_TORQUE,
    P_RATE,
    PASSIVE_TORQUE,
    RESIDUAL_TORQUE,
    ROWS,
    P,
    advance_residual,
)
from opspace_control.dynamics.responses import add_acceleration, respond_to_forces
from opspace_control.tasks.force_law import presses
from opspace_control.tasks.specification_law import motion_share

# Of ``Disturbance.flags``.
STARTED, FROZEN, FOUND, EXPECTED = range(4)
# Of ``FOUND``, beside 0 and 1: a grasp is engaged, and what compensates fades.
GRASPS = -1
# Of ``Disturbance.rate``, after the rate itself.
GAIN = 1
# Columns of ``Disturbance.tasks`` from which on bounds and filtered forces are.
BOUND, FILTERED = 6, 8

# Part of a row's mobility that is added to it, so that redundant rows have a factor: the force
# along a direction of scaled eigenvalue λ is wrong by this part of 1/λ.
_DAMPING = 1e-6


@called
def observe_disturbance(disturbance, gravity, cycle, robot, grasps, scratch, v):
    """
    Find the mean unknown joint forces between the last state and that of this cycle.

    Bodies are placed and moved; ``z`` of all nodes is zero before and afterwards. While a grasp is
    engaged the residual has the load, which the law carries already: nothing is found.
    """
    if disturbance.flags.size > 0:
        memory, flags = disturbance.memory, disturbance.flags
        disturbance.rate[GAIN] = -math.expm1(-disturbance.rate[0] * cycle.dt)
        before, flags[FOUND] = flags[STARTED], 0
        if flags[FROZEN] != 0 or not rejects(disturbance.tasks):
            flags[STARTED] = 0
            return
        for g in range(grasps.size):
            if grasps[g].activation > 0.0:
                flags[FOUND], flags[STARTED] = GRASPS, 0
                return
        gather_momentum(robot.nodes, robot.states, gravity, v, memory[P], memory[P_RATE])
        for k in range(v.size):
            memory[PASSIVE_TORQUE, k] = scratch.passive_torque[k] if cycle.has_passive else 0.0
        if advance_residual(robot.nodes, memory[ROWS:], flags, memory, cycle.dt) and (
                before != 0 and cycle.dt > 0.0):
            flags[FOUND] = 1


@inlined
def rejects(tasks):
    """Return whether a task has bounds that let it compensate."""
    largest = 0.0
    for k in range(tasks.shape[0]):
        largest = max(largest, tasks[k, BOUND], tasks[k, BOUND + 1])
    return largest > 0.0


@inlined
def apply_torque(disturbance, tau):
    """Remember the joint forces (nv,) of this cycle for the next one."""
    if disturbance.flags.size > 0:
        for k in range(tau.size):
            disturbance.memory[APPLIED_TORQUE, k] = tau[k]


@called
def interrupt_observer(disturbance):
    """Forget the last state, as after a gap in time; the forces that compensate stay."""
    if disturbance.flags.size > 0:
        disturbance.flags[STARTED] = 0


@called
def restart_observer(disturbance):
    """Begin at zero, as after a time without control."""
    interrupt_observer(disturbance)
    for k in range(disturbance.memory.shape[1]):
        disturbance.memory[RESIDUAL_TORQUE, k] = disturbance.unexpected[0, k] = 0.0
    for k in range(disturbance.tasks.shape[0]):
        for r in range(FILTERED, FILTERED + 6):
            disturbance.tasks[k, r] = 0.0


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
def select_row(k, first, weight, mobility, M, F):
    """
    Write row k of the problem ``M F = a_r``, of tasks' rows from the first on.

    The mobility of a row that compensates in part is inflated as in `regularise_rows`; a row that
    does not has no part.
    """
    i = k - first
    for j in range(i):
        M[i, j] = mobility[k, first + j] if weight > 0.0 and M[j, j] > 0.0 else 0.0
    M[i, i] = mobility[k, k] * (1.0 / (weight * weight) + _DAMPING) if weight > 0.0 else 0.0
    if not M[i, i] > 0.0:
        for j in range(i):
            M[i, j] = 0.0
        M[i, i] = F[i] = 0.0


@inlined
def bound_force(rejected, applied):
    """
    Shrink a filtered force and moment to their bounds, and subtract them from applied ones.

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
        applied[r] += rejected[r]


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
def balance_applied(applied, share, rejected, robot, tasks, scratch, a):
    """
    Add to the accelerations a of tasks' rows those by forces that r balances already.

    These are a share of the ``applied`` forces (k,) of force control, [K87] (5.5), of which the
    environment's reaction is in r, and those that tasks that press have ``rejected`` before.
    """
    balanced, mobility, first = scratch.moving, scratch.mobility, applied.size - a.size
    for k in range(first, applied.size):
        balanced[k] = share * applied[k]
    for e in range(first // 6, robot.points.size):
        if rejects_at(robot, e, rejected) and presses(tasks[robot.points[e].record].force):
            for r in range(6):
                balanced[6 * e + r] += rejected[robot.points[e].record, r]
    for k in range(first, applied.size):
        if balanced[k] != 0.0:
            for i in range(a.size):
                a[i] += mobility[max(first + i, k), min(first + i, k)] * balanced[k]


@called
def find_forces(disturbance, share, robot, demand, applied, scratch):
    """
    Write ``Λ J Φ r`` of the tasks, after the constraints in the last row of the matrix.

    r is without what balances the ``applied`` forces (k,) of force control; the last cycle exerted
    a ``share`` of them. Returns whether Λ⁻¹ could be factorised. All levels above compensate for
    the forces of one, so that of a factor ``C Cᵀ`` of Λ⁻¹ only the blocks of levels are solved
    upwards.
    """
    points, first, levels = robot.points, 6 * demand.constraints.size, demand.levels
    M, F = disturbance.matrix, disturbance.matrix[-1, first:]
    respond_points(disturbance, robot, first, scratch)
    balance_applied(applied, share, disturbance.tasks, robot, demand.tasks, scratch, F)
    for e in range(first // 6, points.size):
        finds = rejects_at(robot, e, disturbance.tasks) and not presses(
            demand.tasks[points[e].record].force)
        for r in range(6):
            weight = motion_share(demand.tasks[points[e].record], r) if finds else 0.0
            select_row(6 * e + r, first, weight, scratch.mobility, M, F)
    for i in range(F.size):
        if M[i, i] == 0.0:
            M[i, i] = 1.0
    if not factorise(M, F.size):
        return False
    solve_lower(M, F.size, F)
    for level in range(levels.size - 1):
        solve_upper_block(M, levels[level] - first, levels[level + 1] - first, F)
    return True


@called
def reject_disturbance(disturbance, cycle, robot, demand, results, scratch):
    """
    Add ``−Λ J Φ r``, filtered, to the applied forces of tasks, along their axes of motion.

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
                disturbance, cycle.force_share, robot, demand, results.stack[APPLIED], scratch)):
            gain = disturbance.rate[GAIN]
        for e in range(first // 6, points.size):
            record, k = points[e].record, 6 * e
            if not (is_group(points[e]) or points[e].whole) and tasks[record, BOUND] >= 0.0:
                if gain > 0.0 and (found == GRASPS or not presses(demand.tasks[record].force)):
                    F = disturbance.matrix[-1, k:k + 6]
                    for r in range(6):
                        tasks[record, FILTERED + r] += gain * (F[r] - tasks[record, FILTERED + r])
                bound_force(tasks[record], results.stack[APPLIED, k:k + 6])


@inlined
def rejecting_forces(demand, robot, scratch, moving):
    """
    Write the forces of the stack, (k,), that reject disturbances, with reactions of constraints.

    These are ``−L_cc⁺ L_ct f``, so that the constraints hold.
    """
    constrained, mobility = 6 * demand.constraints.size, scratch.mobility
    for r in range(moving.size):
        moving[r] = 0.0
    for e in range(constrained // 6, robot.points.size):
        if rejects_at(robot, e, demand.disturbance.tasks):
            for r in range(6):
                moving[6 * e + r] = demand.disturbance.tasks[robot.points[e].record, r]
    if constrained > 0:
        for c in range(constrained):
            for r in range(constrained, moving.size):
                moving[c] -= mobility[r, c] * moving[r]
        solve_semidefinite(scratch.constraint_factor, moving[:constrained], scratch.coordinates)
