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
from opspace_control.dynamics.generalized_momentum import gather_node, start_momentum
from opspace_control.dynamics.momentum_observer import (
    APPLIED_TORQUE,
    P_BEFORE,
    P_RATE,
    RATE_BEFORE,
    RESIDUAL_TORQUE,
    P,
    mean_unknown,
)
from opspace_control.dynamics.responses import pass_inward
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.six import put, six
from opspace_control.spatial.vectors import dot

# Of ``Disturbance.flags``.
STARTED, FROZEN, FOUND, EXPECTED = range(4)
# Of ``FOUND``, beside 0 and 1: a grasp is engaged, and what compensates fades.
GRASPS = -1
# Of ``Disturbance.rate``, after the rate itself.
GAIN, ENERGY = 1, 2
# Columns of ``Disturbance.tasks`` from which on limits and filtered forces are.
GREATEST, FILTERED = 6, 8
# Of ``Disturbance.rows``, for each row of the stack: the share to which it takes part, 1 where it
# has one, its scale, 0 where its force is known, the force of its level, and J A⁻¹ r, then J Φ r.
WEIGHT, PART, UNKNOWN_SCALE, OWN_FORCE, UNKNOWN = range(5)


@inlined
def find_unknown(robot, cycle, gravity, memory, passive_torque, measured, K, v, a):
    """
    Write the mean unknown joint forces r since the last state, and ``J A⁻¹ r`` to the rows a (k,).

    They are those of `MomentumObserver` without a filter. One inward recursion has the momentum
    and the projection u of r on the joints; ``J A⁻¹ r = Σ K_i u_i / D_i``, with K of
    `sum_mobility`. Returns whether all are finite. If they are not ``measured``, since there is
    no last state, they stay.
    """
    nodes, states, p, rate = robot.nodes, robot.states, memory[P], memory[P_RATE]
    frequency, finite = 1.0 / cycle.dt if measured else 0.0, True
    for c in range(0, a.size, 6):
        put(a, c, 0.0)
    for i in range(nodes.size):
        start_momentum(nodes, i, gravity, states)
        put(states[i].z2, 0, 0.0)
    for i in range(nodes.size - 1, -1, -1):
        gather_node(nodes, i, states, v, p, rate)
        node, s, k, u = nodes[i], states[i], nodes[i].v_index, 0.0
        if k >= 0:
            if cycle.has_passive:
                rate[k] += passive_torque[k]
            unknown = mean_unknown(memory, k, frequency)
            if not abs(unknown) < math.inf:
                finite = False
            elif measured:
                memory[RESIDUAL_TORQUE, k] = unknown if node.status != LOCKED else 0.0
            memory[P_BEFORE, k], memory[RATE_BEFORE, k] = p[k], rate[k]
        if robot.needs_inertia[i]:
            if node.status != LOCKED:
                u = (memory[RESIDUAL_TORQUE, k] + dot(s.z2, s.S)) * s.inverse_D
                for c in range(0, a.size, 6):
                    put(a, c, six(a, c) + u * six(K[i], c))
            if node.parent >= 0:
                pass_inward(s, u, s.z2, states[node.parent].z2)
    return finite


@inlined
def observe_disturbance(disturbance, gravity, cycle, robot, grasps, scratch, K, v):
    """
    Find the mean unknown joint forces between the last state and that of this cycle, and J A⁻¹ r.

    Bodies are placed and moved; ``z`` of all nodes is zero before and afterwards. While a grasp is
    engaged the residual has the load, which the law carries already: nothing is found.
    """
    if disturbance.flags.size > 0:
        flags, measured = disturbance.flags, disturbance.flags[STARTED] != 0 and cycle.dt > 0.0
        disturbance.rate[GAIN] = -math.expm1(-disturbance.rate[0] * cycle.dt)
        flags[FOUND] = flags[STARTED] = 0
        if flags[FROZEN] != 0 or not rejects(disturbance.tasks):
            return
        for g in range(grasps.size):
            if grasps[g].activation > 0.0:
                flags[FOUND] = GRASPS
                return
        flags[STARTED] = 1
        if find_unknown(robot, cycle, gravity, disturbance.memory, scratch.passive_torque, measured,
                        K, v, disturbance.rows[UNKNOWN]) and measured:
            flags[FOUND] = 1


@inlined
def rejects(tasks):
    """Return whether a task has limits that let it compensate."""
    largest = 0.0
    for k in range(tasks.shape[0]):
        largest = max(largest, tasks[k, GREATEST], tasks[k, GREATEST + 1])
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
    return is_moving_frame(point, robot.carried[e]) and rejected[point.record, GREATEST] >= 0.0


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
