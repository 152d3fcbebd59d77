# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Internal forces between contacts that spare the drives, after those that keep bounds.

With W one over the effort limits and x the change of the wrenches that drives exert at contacts,

``minimise |W (τ + J_cᵀ x)|² + ε |S⁻¹ x|²  subject to  J_cpᵀ x = 0``

so that passive joints, such as a floating base, feel nothing, within the bounds of contact forces
and of efforts. S² are the scales of the rows, which are masses. The program of `improve_active` has
``y = L⁻¹ S⁻¹ x`` with ``L Lᵀ = S J_c W² J_cᵀ S + ε``, and rows ``V = L⁻¹ S c`` for a change c of a
bound's value by x.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.constraints.constraint_law import constraint_column, project_rotation
from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import APPLIED, SCALE
from opspace_control.control.grasping.minimum_effort import drives, effort_gradient
from opspace_control.control.limits.contact_forces import contact_value, weight_of
from opspace_control.control.solver.active_set import improve_active
from opspace_control.control.solver.cholesky import factorise, solve_lower, solve_upper
from opspace_control.control.solver.program import (
    DEPENDENT,
    INACTIVE,
    LASTING,
    ActiveSet,
    Program,
)
from opspace_control.control.solver.start import start_active
from opspace_control.model.nodes import PASSIVE
from opspace_control.spatial.dense import add_scaled, dot_product

# Part of the effort limit of a drive that an internal force as great as the weight costs: near a
# singularity internal forces need hardly any effort and would be unbounded. The table of
# doc/explanation/contact_forces.md has what a third and three times of it do.
_REGULARISATION = 0.1
# Part of a bound, or of the weight, that its value may violate it by.
_ROUNDING = 1e-9


@inlined
def write_scales(data, scale):
    """
    Write the scales S of constraint rows, 0 for those that take no part.

    These are constraints without bounds on their force, and those whose internal forces are
    commanded or planned.
    """
    stack, constraints, grips = data.results.stack, data.demand.constraints, data.grasping.grips
    for c in range(constraints.size):
        left_out = not constraints[c].bounded
        for r in range(6 * c, 6 * c + 6):
            left_out = left_out or stack[APPLIED, r] != 0.0
        for k in range(grips.size):
            left_out = left_out or grips[k].constraint == c
        for r in range(6 * c, 6 * c + 6):
            scale[r] = 0.0 if left_out else stack[SCALE, r]


@inlined
def factorise_cost(data, tau, scale, goal):
    """Write L, and the ``goal`` y of least cost without bounds; return whether L is regular."""
    robot, work, count = data.robot, data.scratch.grasps, 6 * data.demand.constraints.size
    effort_gradient(robot.nodes, robot.states, robot.points, robot.supports, count,
                    data.limits.efforts, tau, work.gram, work.gradient, work.column)
    cost = (_REGULARISATION / weight_of(data.cycle)) ** 2 / data.cycle.least_mobility
    for r in range(count):
        goal[r] = -scale[r] * work.gradient[r]
        for c in range(r + 1):
            work.factor[r, c] = scale[r] * work.gram[r, c] * scale[c] + (cost if r == c else 0.0)
    regular = factorise(work.factor, count)
    solve_lower(work.factor, count, goal)
    return regular


@rare
def add_program_row(data, count, row, lower, upper):
    """Add the row ``l ≤ c x ≤ u`` to a program of so many; c is ``row``. Return how many then."""
    problem, V, work = data.scratch.bounded.problem, data.scratch.bounded.bound_rows.direction, (
        data.scratch.grasps)
    constrained = 6 * data.demand.constraints.size
    for r in range(constrained):
        V[count, r] = work.slope[r] * row[r]
    solve_lower(work.factor, constrained, V[count])
    for k in range(count + 1):
        problem.G[count, k] = problem.G[k, count] = dot_product(V[count], V[k], constrained)
    problem.free[1, count] = dot_product(V[count], work.half, constrained)
    problem.bounds[0, count], problem.bounds[1, count] = lower, upper
    problem.all_softness[LASTING, count], problem.state[0, count] = 0.0, INACTIVE
    return count + 1


@inlined
def add_passive_rows(data, row):
    """Add the rows of passive joints, which no change may reach; return how many there are."""
    robot, count = data.robot, 0
    for i in range(robot.nodes.size):
        if robot.nodes[i].status == PASSIVE and robot.nodes[i].v_index >= 0 and constraint_column(
                i, robot.states, robot.points, robot.supports,
                6 * data.demand.constraints.size, row):
            count = add_program_row(data, count, row, 0.0, 0.0)
    return count


@inlined
def solve_program(data, count, x):
    """Write x (6c,) of a program of so many rows; return whether it is solved."""
    bounded, work, constrained = data.scratch.bounded, data.scratch.grasps, x.size
    problem = bounded.problem
    program = Program(problem.G, problem.all_softness[LASTING], problem.bounds[0],
                      problem.bounds[1], problem.free[1], 0, DEPENDENT)
    active = ActiveSet(problem.state[0], problem.factor, problem.order, problem.scratch[0],
                       problem.scratch[1])
    _, _, solved = improve_active(
        program, count, active, start_active(program, count, active), problem.f_y)
    for r in range(constrained):
        x[r] = work.half[r]
    for k in range(count):
        add_scaled(x, problem.f_y[0, k], bounded.bound_rows.direction[k], constrained)
    solve_upper(work.factor, constrained, x)
    for r in range(constrained):
        x[r] *= work.slope[r]
    return solved


@inlined
def range_of_change(value, lower, upper):
    """Return the least and the greatest change that keeps a bound, or what violates it as it is."""
    return min(lower - value, 0.0), max(upper - value, 0.0)


@inlined
def range_is_violated(data, number, changes, low, high, unit):
    """Return whether changes are beyond their range, and the bound of this number has no row."""
    slack = _ROUNDING * unit
    return data.scratch.bounded.bound_rows.index[number] < 0 and not (
        low - slack <= changes <= high + slack)


@rare
def write_contact_row(data, bound, row):
    """Write the row (6c,) of a bound of contact forces: what x changes of its value."""
    contacts, first = data.scratch.bounded.contacts, 6 * (bound // CONTACT_BOUNDS)
    for r in range(6 * data.demand.constraints.size):
        row[r] = 0.0
    for r in range(6):
        row[first + r] = -contacts.direction[bound, r]
    project_rotation(data.robot.points[first // 6].axes[1], row[first:first + 6])


@inlined
def add_violated_contacts(data, count, x):
    """Add rows of bounds of contact forces that x (6c,) violates; return how many there are."""
    contacts, row, weight = data.scratch.bounded.contacts, data.scratch.grasps.column, weight_of(
        data.cycle)
    for bound in range(contacts.direction.shape[0]):
        lower, upper = contacts.bounds[0, bound], contacts.bounds[1, bound]
        if math.isinf(lower) and math.isinf(upper):
            continue  # its direction may never have been written
        low, high = range_of_change(contact_value(contacts, contacts.force, bound), lower, upper)
        if range_is_violated(data, bound, -contact_value(contacts, x, bound), low, high, weight):
            write_contact_row(data, bound, row)
            data.scratch.bounded.bound_rows.index[bound] = count
            count = add_program_row(data, count, row, low, high)
    return count


@inlined
def add_violated_efforts(data, count, x, tau, change):
    """Add rows of efforts that x (6c,) violates; return how many there are. Writes ``change``."""
    robot, limits, row = data.robot, data.limits.efforts, data.scratch.grasps.column
    first = data.scratch.bounded.contacts.direction.shape[0]
    for k in range(change.size):
        change[k] = 0.0
    for i in range(robot.nodes.size):
        if drives(robot.nodes, i) and constraint_column(
                i, robot.states, robot.points, robot.supports, x.size, row):
            k = robot.nodes[i].v_index
            change[k] = dot_product(row, x, x.size)
            low, high = range_of_change(tau[k], -limits[k], limits[k])
            if range_is_violated(data, first + k, change[k], low, high, limits[k]):
                data.scratch.bounded.bound_rows.index[first + k] = count
                count = add_program_row(data, count, row, low, high)
    return count


@rare
def exert_least_effort(data, tau):
    """
    Add to τ (nv,) the part ``CYCLE.least_effort`` of what internal forces of least effort change.

    They fade with ``CYCLE.keep``: without limits there are none. The forces and the exerted
    wrenches of constraints follow. The forces of contacts must be decided: those of the problem are
    the ones that bounds are of.
    """
    cycle, work, constraints, change = data.cycle, data.scratch.grasps, data.demand.constraints, (
        data.scratch.joint_force)
    write_scales(data, work.slope)
    if not factorise_cost(data, tau, work.slope, work.half):
        return
    x = work.change[:6 * constraints.size]
    data.scratch.bounded.bound_rows.index[:] = -1
    count, before = add_passive_rows(data, work.column), -1
    while count > before:
        if not solve_program(data, count, x):
            return
        before, count = count, add_violated_contacts(data, count, x)
        count = add_violated_efforts(data, count, x, tau, change)
    part = cycle.least_effort * cycle.keep
    add_scaled(tau, part, change, tau.size)
    for r in range(x.size):
        constraints[r // 6].exerted[r % 6] += part * x[r]
        constraints[r // 6].force[r % 6] -= part * x[r]
