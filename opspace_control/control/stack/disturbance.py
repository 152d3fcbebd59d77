# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Unknown joint forces in each cycle, and what they do to the points of the stack.

`rejection` has the law of the forces that reject them.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.solver.cholesky import symmetric
from opspace_control.control.solver.semidefinite import solve_semidefinite
from opspace_control.dynamics.force_propagation import is_moving_frame
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
from opspace_control.dynamics.responses import accelerate_rows

# Of ``Disturbance.flags``.
STARTED, FROZEN, FOUND, EXPECTED = range(4)
# Of ``FOUND``, beside 0 and 1: a grasp is engaged, and what compensates fades.
GRASPS = -1
# Of ``Disturbance.rate``, after the rate itself.
GAIN, ENERGY = 1, 2
# Columns of ``Disturbance.tasks`` from which on bounds and filtered forces are.
BOUND, FILTERED = 6, 8
# Of ``Disturbance.rows``, for each row of the stack: the share to which it takes part, 1 where it
# has one, its scale, 0 where its force is known, the force of its level, and J A⁻¹ r, then J Φ r.
WEIGHT, PART, UNKNOWN_SCALE, OWN_FORCE, UNKNOWN = range(5)


@called
def observe_disturbance(disturbance, gravity, cycle, robot, grasps, scratch, K, v):
    """
    Find the mean unknown joint forces between the last state and that of this cycle, and J A⁻¹ r.

    Bodies are placed and moved, K is that of `sum_mobility`; ``z`` of all nodes is zero before and
    afterwards. While a grasp is engaged the residual has the load, which the law carries already:
    nothing is found.
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
            accelerate_rows(robot.nodes, robot.states, robot.needs_inertia,
                            memory[RESIDUAL_TORQUE], K, disturbance.rows[UNKNOWN])


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
    for k in range(ENERGY, disturbance.rate.size):  # none where there is no observer
        disturbance.rate[k] = 0.0
    for k in range(disturbance.memory.shape[1]):
        disturbance.memory[RESIDUAL_TORQUE, k] = disturbance.unexpected[0, k] = 0.0
    for k in range(disturbance.tasks.shape[0]):
        for r in range(FILTERED, FILTERED + 6):
            disturbance.tasks[k, r] = 0.0


@inlined
def rejects_at(robot, e, rejected):
    """Return whether the task of a point compensates for disturbances."""
    point = robot.points[e]
    return is_moving_frame(point, robot.carried[e]) and rejected[point.record, BOUND] >= 0.0


@inlined
def leave_constraints(scratch, constrained, a):
    """Eliminate constraints, the first rows, from accelerations (k,) of the stack's rows."""
    if constrained > 0:
        factor, mobility = scratch.constraint_factor, scratch.mobility
        solve_semidefinite(factor, a[:constrained], scratch.coordinates)
        for j in range(constrained, a.size):
            for p in range(factor.sizes[1]):
                a[j] -= mobility[j, factor.order[p]] * a[factor.order[p]]


@inlined
def balance_applied(applied, share, constrained, mobility, a):
    """
    Add to accelerations a (k,) of tasks' rows those by forces that r balances already.

    These are a share of the ``applied`` forces (k,) of force control, [K87] (5.5), of which the
    environment's reaction is in r.
    """
    for k in range(constrained, a.size):
        if applied[k] != 0.0:
            for i in range(constrained, a.size):
                a[i] += share * applied[k] * symmetric(mobility, i, k)
