# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Rows of the bounds on joints: what a bound's multiplier does to the joints and to the stack.

A bound on the acceleration of joint k is a row ``e_kᵀ q̈``, one on its gravity torque a row
``∇g_kᵀ q̈``, and one on its effort a row ``A_k q̈``, whose multiplier accelerates joint k
alone, with the response of passive joints. Constraints have priority over all of them.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.constraints.elimination import solve_constraints
from opspace_control.control.data import (
    CONSTRAINT_FORCE,
    FACTOR_L,
    GRAM_L,
    SCALE,
    SPARE,
    WANTED,
    L,
)
from opspace_control.control.limits.grip_efforts import add_shares
from opspace_control.control.limits.limit_law import (
    ACCELERATION,
    BRAKING,
    EFFORT,
    GRAVITY_TORQUE,
    KINDS,
    MOTION,
)
from opspace_control.control.singular.direction_motion import FORCES, PASSIVE_MOTION
from opspace_control.control.solver.semidefinite import solve_semidefinite
from opspace_control.dynamics.responses import (
    apply_wrenches,
    passive_response,
    project_forces,
    project_passive_response,
    project_torques,
    project_unit_acceleration,
    project_unit_torque,
)
from opspace_control.model.nodes import ACTIVE

ROUNDING = 1e-7  # in the unit of a limit: what is passed by less is not


@inlined
def bounds_of(limit, kind, effort_limit):
    """Return the least and the greatest value that a limit of a kind allows, ±inf for none."""
    if kind == EFFORT:
        bounded = limit.determined and effort_limit > 0.0
        return (-effort_limit, effort_limit) if bounded else (-math.inf, math.inf)
    if kind == GRAVITY_TORQUE:
        return -math.inf, limit.gravity_bound
    braking = kind == BRAKING
    least = limit.least if (limit.reason[0] == ACCELERATION) == braking else -math.inf
    greatest = limit.greatest if (limit.reason[1] == ACCELERATION) == braking else math.inf
    return least, greatest


@inlined
def unit_of(limit, kind, effort_limit):
    """Return what the values of a limit of a kind are measured by."""
    if kind == EFFORT:
        return effort_limit
    return limit.gravity_braking if kind == GRAVITY_TORQUE else limit.acceleration


@inlined
def value_of(rates, k, kind, a, tau):
    """Return the value of a row under accelerations and joint forces, (nv,) each."""
    if kind == EFFORT:
        return tau[k]
    if kind == GRAVITY_TORQUE:
        total = 0.0
        for j in range(a.size):
            total += rates[k, j] * a[j]
        return total
    return a[k]


@inlined
def is_limited(nodes, limit):
    """Return whether a joint has limits and a drive."""
    return limit.q_index >= 0 and nodes[limit.node].status == ACTIVE


@inlined
def passed_side(limit, rates, effort_limit, k, kind, a, tau):
    """Return at which of its bounds a limit of a kind is passed, 1 or -1."""
    return 1 if value_of(rates, k, kind, a, tau) > bounds_of(limit, kind, effort_limit)[1] else -1


@called
def beyond(limit, rates, effort_limit, k, kind, a, tau):
    """Return by how much a limit of a kind is passed, in its unit; negative within it."""
    lower, upper = bounds_of(limit, kind, effort_limit)
    if math.isinf(lower) and math.isinf(upper):
        return -math.inf
    value = value_of(rates, k, kind, a, tau)
    return max(value - upper, lower - value) / unit_of(limit, kind, effort_limit)


@inlined
def accelerate_constraint(point, states, x, first):
    """Write the accelerations ``B`` of a constraint's links along its rows, own less other."""
    for r in range(6):
        x[first + r] = 0.0
    for node, sign in ((point.frame.node, 1.0), (point.other.node, -1.0)):
        if node < 0:
            continue
        B, p = states[node].B, point.p
        for r in range(3):
            i, j = (r + 1) % 3, (r + 2) % 3
            linear = sign * (B[r] + B[3 + i] * p[j] - B[3 + j] * p[i])
            for d in range(3):
                x[first + d] += point.axes[0, r, d] * linear
                x[first + 3 + d] += point.axes[1, r, d] * sign * B[3 + r]


@rare
def add_constraint_forces(data, torque):
    """
    Add the constraint forces that let passive joints respond to a row only as constraints allow.

    ``m = Q_cc⁺ J_cp r``, r being the `passive_response` to the row's joint forces (nv,).
    """
    robot, stack, singular = data.robot, data.scratch.rows, data.scratch.limits.singular
    nodes, states, dofs = robot.nodes, robot.states, torque.size
    force, wrenches, work = singular[FORCES, :dofs], stack[SPARE + 2], stack[SPARE + 1]
    for k in range(dofs):
        force[k] = torque[k]
    for i in range(nodes.size):
        for r in range(6):
            states[i].z[r] = 0.0
    passive_response(nodes, states, robot.responds, force, singular[PASSIVE_MOTION, :dofs])
    constrained = 6 * data.demand.constraints.size
    for r in range(wrenches.size):
        wrenches[r] = 0.0
    for c in range(data.demand.constraints.size):
        accelerate_constraint(robot.points[c], states, wrenches, 6 * c)
    solve_constraints(data.scratch.squares, data.scratch.orders, data.cycle.ranks, 1,
                      stack[SCALE], constrained, wrenches, work)
    apply_wrenches(nodes, states, robot.points, robot.supports, wrenches, force, work)
    project_forces(nodes, states, force, torque)


@rare
def project_row(data, w):
    """Write the joint forces of a row's unit multiplier, and their projection on the joints."""
    nodes, states = data.robot.nodes, data.robot.states
    limits, memory = data.bounds.joints, data.scratch.limits
    rows, singular, dofs = memory.bound_rows, memory.singular, limits.size
    k, kind = rows.dof[w], rows.kind[w]
    torque, projection = rows.torque[w], rows.projection[w]
    if kind == GRAVITY_TORQUE:
        for j in range(dofs):
            torque[j] = memory.gravity_rates[k, j]
        project_torques(nodes, states, torque, projection)
    elif kind == EFFORT:
        project_unit_acceleration(nodes, limits[k].node, states, projection, torque)
        if data.cycle.has_passive:
            if data.cycle.ranks[1] > 0:
                add_constraint_forces(data, torque)
            project_passive_response(nodes, states, data.robot.responds, singular[FORCES, :dofs],
                                     singular[PASSIVE_MOTION, :dofs], projection, torque)
            if data.cycle.ranks[1] > 0:
                project_torques(nodes, states, torque, projection)
    else:
        project_unit_torque(nodes, limits[k].node, states, projection)
        torque[:] = 0.0
        torque[k] = 1.0


@rare
def couple_row(data, w):
    """Write the coupling of a row with the rows before it, with itself and with the stack."""
    rows, K, states = data.scratch.limits.bound_rows, data.scratch.limits.projection, (
        data.robot.states)
    gram, coupling, response = rows.gram[w], rows.coupling[w], rows.response
    coupling[:] = 0.0
    for i in range(states.size):
        response[i] = rows.projection[w, i] / states[i].D if rows.projection[w, i] != 0.0 else 0.0
        if response[i] != 0.0:
            for r in range(coupling.size):
                coupling[r] += response[i] * K[i, r]
    for x in range(w + 1):
        t = 0.0
        for i in range(states.size):
            t += response[i] * rows.projection[x, i]
        gram[x] = t
    rows.mobility[w], rows.offset[w] = gram[w], 0.0


@rare
def leave_row_to_constraints(data, w):
    """
    Subtract the constraint reactions from a row: constraints have priority over all rows.

    As in `eliminate_constraints`, these rows having no part in Q: ``M − C_c L_cc⁺ C_cᵀ``,
    ``C_t − C_c L_cc⁺ L_ct``, and ``−C_c (λ0 − z)`` on top of its value.
    """
    stack, squares, rows = data.scratch.rows, data.scratch.squares, data.scratch.limits.bound_rows
    constrained = 6 * data.demand.constraints.size
    reaction, coupling = rows.reaction[w], rows.coupling
    for c in range(constrained):
        reaction[c] = coupling[w, c]
        before = stack[CONSTRAINT_FORCE, c] if data.cycle.has_passive else 0.0
        rows.offset[w] -= coupling[w, c] * (before - stack[WANTED, c])
    solve_semidefinite(squares[FACTOR_L], squares[GRAM_L], data.scratch.orders[0],
                       data.cycle.ranks[0], stack[SCALE], constrained, reaction, stack[SPARE])
    for x in range(w + 1):
        for c in range(constrained):
            rows.gram[w, x] -= coupling[x, c] * reaction[c]
    for t in range(constrained, stack.shape[1]):
        for c in range(constrained):
            coupling[w, t] -= reaction[c] * squares[L, t, c]


@rare
def add_row(data, grasping, count, k, kind, side):
    """Add the row of a limit to those of this cycle, so many; return how many there are then."""
    rows, limit = data.scratch.limits.bound_rows, data.bounds.joints[k]
    rows.index[k, kind] = count
    rows.dof[count], rows.kind[count] = k, kind
    project_row(data, count)
    if grasping is not None and data.cycle.efforts_determined and kind == EFFORT:
        add_shares(data, grasping, count, limit.node)
    couple_row(data, count)
    if data.demand.constraints.size > 0:
        leave_row_to_constraints(data, count)
    data.scratch.limits.problem.state[:, count] = side
    data.scratch.limits.problem.relaxed[0, count] = side
    return count + 1


@rare
def begin_rows(data, grasping):
    """
    Write the rows of joints at rest at their limits, then those of the other active limits.

    Returns how many there are of the first, and of all.
    """
    nodes, limits = data.robot.nodes, data.bounds.joints
    index, count = data.scratch.limits.bound_rows.index, 0
    index[:] = -1
    for k in range(limits.size):
        for kind in (MOTION, GRAVITY_TORQUE):
            if limits[k].resting_share[kind] > 0.0:
                count = add_row(data, grasping, count, k, kind, limits[k].active[kind])
    resting = count
    for k in range(limits.size):
        if not is_limited(nodes, limits[k]):
            continue
        for kind in range(KINDS):
            if limits[k].active[kind] != 0 and index[k, kind] < 0:
                count = add_row(data, grasping, count, k, kind, limits[k].active[kind])
    return resting, count


@rare
def add_violated(data, grasping, count, a, tau):
    """Add the rows of all limits that are passed and have none yet; return how many there are."""
    nodes, limits, efforts = data.robot.nodes, data.bounds.joints, data.bounds.efforts
    memory = data.scratch.limits
    for k in range(limits.size):
        if not is_limited(nodes, limits[k]):
            continue
        for kind in range(KINDS):
            if memory.bound_rows.index[k, kind] < 0 and beyond(
                    limits[k], memory.gravity_rates, efforts[k], k, kind, a, tau) > ROUNDING:
                count = add_row(data, grasping, count, k, kind, passed_side(
                    limits[k], memory.gravity_rates, efforts[k], k, kind, a, tau))
    return count


@rare
def add_bound_forces(count, rows, force):
    """Add the joint forces of so many rows of bounds to force (nv,)."""
    for w in range(count):
        if rows.force[w] != 0.0:
            for k in range(force.size):
                force[k] += rows.force[w] * rows.torque[w, k]
