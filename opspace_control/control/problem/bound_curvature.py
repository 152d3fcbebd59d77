# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Bounds that last where nothing moves, and what their forces do along a motion.

A bound ``y ≥ l`` with the multiplier f exerts ``f ∇y``, which changes with the posture as forces of
tasks do: along v the second derivative of what it does is ``f q̇ᵀ ∇²y q̇``. Of a gravity torque
that may be more than tasks have: where one of 21 N m holds an arm, two joints that turn parts of it
against each other have 39 N m/rad by that, at 0.0047 kg m², and nearly nothing by the tasks.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.limits.bounds import ROUNDING, unit_of
from opspace_control.control.limits.kinds import (
    GRAVITY_TORQUE,
    JOINT_ACCELERATION,
    POSITION,
    lasts_at_rest,
    quantity_of,
)
from opspace_control.control.singular.direction_motion import WORK, ZEROS
from opspace_control.control.solver.cholesky import factorise, solve_lower, solve_upper
from opspace_control.control.solver.program import ATTAINABLE, INACTIVE, LASTING, PROXIMAL
from opspace_control.dynamics.kinematics import move_node
from opspace_control.dynamics.weights import gravity_torque_second_rate


@inlined
def lasts(data, w, force):
    """Return whether a row's bound is of a posture; those of motions and efforts end with these."""
    bound_rows = data.scratch.bounded.bound_rows
    kind, side = bound_rows.kind[w], 0 if force > 0.0 else 1
    return lasts_at_rest(kind) and (quantity_of(kind) != JOINT_ACCELERATION or (
        data.limits.joints[bound_rows.dof[w]].reason[side] == POSITION))


@inlined
def is_at_bound(data, r):
    """Return whether a row is active in the last level, or its value at a bound or beyond it."""
    problem, bound_rows = data.scratch.bounded.problem, data.scratch.bounded.bound_rows
    if problem.state[problem.state.shape[0] - 1, r] != INACTIVE:
        return True
    lower, upper, value = problem.bounds[0, r], problem.bounds[1, r], problem.f_y[1, r]
    slack = 0.0
    if r < data.cycle.bound_count:
        slack = ROUNDING * unit_of(data, bound_rows.kind[r], bound_rows.dof[r])
    return not lower + slack < value < upper - slack


@rare
def oppose_residual(data, level):
    """
    Find the forces of bounds and of levels above that oppose one step's force of a residual.

    ``argmin_g |J_lᵀ s / ε + R_aᵀ g|²_{A⁻¹} + ε₀ Σ G g²``, a being the rows at their bounds. Their
    multipliers in the problem are not unique where levels above contradict bounds. Writes g, (n,)
    the first row of ``scratch``, and returns which part of it, by ``g² G`` of bounds, is that of
    postures, from 0 to 1.
    """
    problem, bounds = data.scratch.bounded.problem, data.cycle.bound_count
    G, factor, order = problem.G, problem.factor, problem.order
    opposing, forces = problem.scratch[0], problem.scratch[1]
    first, last, count = problem.first_rows[level], problem.first_rows[level + 1], 0
    for r in range(first):
        opposing[r] = 0.0
        if is_at_bound(data, r) and G[r, r] > 0.0:
            order[count], forces[count] = r, 0.0
            for i in range(first, last):
                own = problem.all_softness[PROXIMAL, i]
                if math.isfinite(problem.bounds[0, i]):
                    forces[count] -= G[r, i] * (problem.bounds[0, i] - problem.f_y[1, i]) / own
            for k in range(count + 1):
                factor[count, k] = G[r, order[k]]
            factor[count, count] += problem.all_softness[LASTING, r] + ATTAINABLE * G[r, r]
            count += 1
    if count == 0 or not factorise(factor, count):
        return 0.0
    solve_lower(factor, count, forces)
    solve_upper(factor, count, forces)
    lasting = total = 0.0
    for k in range(count):
        r = order[k]
        opposing[r] = forces[k]
        if r < bounds:
            square = forces[k] * forces[k] * G[r, r]
            total += square
            if lasts(data, r, forces[k]):
                lasting += square
    return lasting / total if lasting > 0.0 else 0.0


@inlined
def move_steadily(data):
    """Move the bodies by the velocities of the joints, none of which accelerates."""
    nodes, still = data.robot.nodes, data.scratch.bounded.directions[ZEROS, :data.v.size]
    still[:] = 0.0
    for i in range(nodes.size):
        move_node(nodes, i, data.v, still, data.robot.states)


@rare
def curvature_of_bounds(data):
    """
    Return the second derivative along v of what forces of `oppose_residual` do, negative, W/s.

    That of gravity torques: positions of joints have none.
    """
    bound_rows, states, moved, total = (
        data.scratch.bounded.bound_rows, data.robot.states, False, 0.0)
    opposing = data.scratch.bounded.problem.scratch[0]
    for w in range(data.cycle.bound_count):
        if bound_rows.kind[w] == GRAVITY_TORQUE and opposing[w] != 0.0:
            if not moved:
                move_steadily(data)
                moved = True
            total -= opposing[w] * gravity_torque_second_rate(
                data.robot.nodes, states, data.limits.joints[bound_rows.dof[w]].node,
                data.scratch.bounded.subtrees, data.cycle.gravity,
                data.scratch.bounded.directions[WORK:])
    return total
