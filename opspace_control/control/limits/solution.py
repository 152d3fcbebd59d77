# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The solution of a cycle's prioritised problem: multipliers of bounds, and forces of tasks.

Bounds are hard. Where they contradict each other, a problem of bounds alone widens them first.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.data import APPLIED, FORCE
from opspace_control.control.limits.bound_rows import ROUNDING, unit_of
from opspace_control.control.limits.limit_law import BRAKING, EFFORT, MOTION
from opspace_control.control.limits.problem import STEPS
from opspace_control.control.solver.active_set import solve_bounded
from opspace_control.control.solver.levels import LASTING, Levels, solve_levels
from opspace_control.control.solver.program import (
    AT_LOWER,
    AT_UPPER,
    INACTIVE,
    REFUSED,
    ActiveSet,
    Program,
)

# Softness of bounds that cannot all be kept, in parts of a row's own mobility. Efforts stay hard.
# Positions, velocities and gravity torques are softer; positions and velocities of joints whose own
# effort is at its limit give way to these, and the acceleration with which a joint can always brake
# gives way to all of them.
_MOTION_SOFTNESS, _WEAK_SOFTNESS, _BRAKING_SOFTNESS = 1e-6, 1e-4, 1e-3
# Bounds that other rows leave less of than this, in parts of their own, contradict them or follow
# from them: `relax_bounds` knows what can be attained to some 1e-10 of it.
_DEPENDENT = 1e-8


@inlined
def start_forces(problem, count, t, begin):
    """Write the multipliers to begin with."""
    for r in range(count + t):
        problem.f_y[0, r] = problem.start[r - count] if begin and r >= count else 0.0


@rare
def solve_problem(data, count, t, begin, contradictory):
    """
    Solve the problem of so many bounds and rows of tasks; return whether bounds are contradictory.

    It ``begin``s with the forces without bounds, or with none. The multipliers are in ``f_y``.
    """
    problem, n = data.scratch.limits.problem, count + t
    problem.first_rows[0] = 0
    for level in range(problem.turned.size):
        problem.first_rows[level + 1] = count + problem.levels[level + 1]
        problem.steps[level] = STEPS if begin else 1
    while True:
        if contradictory:
            relax_bounds(data, count)
        start_forces(problem, count, t, begin)
        solve_all_levels(problem, n)
        if contradictory or not any_refused(problem, count):
            return contradictory
        contradictory = True


@rare
def solve_all_levels(problem, n):
    """Solve the levels of the problem of so many rows."""
    solve_levels(
        Levels(problem.first_rows, problem.steps, problem.G[:n, :n], problem.all_softness[:, :n],
               problem.bounds[:, :n], problem.free[:n], _DEPENDENT),
        problem.state[:, :n], problem.factor[:n, :n], problem.order[:n], problem.scratch[:, :n],
        problem.f_y[:, :n])


@inlined
def any_refused(problem, count):
    """Return whether one of so many bounds contradicts others."""
    refused = 0
    for w in range(count):
        refused += problem.state[0, w] == REFUSED
    return refused > 0


@rare
def relax_bounds(data, count):
    """
    Widen bounds that cannot all be kept to what a problem of bounds alone attains.

    Its rows are soft, those of efforts excepted, so the least squares of the residual decide.
    """
    problem, rows = data.scratch.limits.problem, data.scratch.limits.bound_rows
    # Parts of two-dimensional arrays as in `solve_levels`: the solver is compiled once.
    softness, state = problem.all_softness[:, :count][LASTING], problem.relaxed[:, :count][0]
    bounds, scratch = problem.bounds[:, :count], problem.scratch[:, :count]
    lower, upper = bounds[0], bounds[1]
    for w in range(count):
        kind, effort = rows.kind[w], rows.index[rows.dof[w], EFFORT]
        if kind == EFFORT:
            softness[w] = 0.0
            continue
        softness[w] = _BRAKING_SOFTNESS if kind == BRAKING else _MOTION_SOFTNESS
        if kind == MOTION and effort >= 0 and problem.state[0, effort] != INACTIVE:
            softness[w] = _WEAK_SOFTNESS
        softness[w] *= rows.mobility[w]
    solve_bounded(
        Program(problem.G[:count, :count], softness, lower, upper, problem.free[:count],
                _DEPENDENT),
        ActiveSet(state, problem.factor[:count, :count], problem.order[:count], scratch[0],
                  scratch[1]),
        problem.f_y[:, :count])
    for w in range(count):
        y = problem.f_y[1, w] - softness[w] * problem.f_y[0, w]
        slack = ROUNDING * unit_of(data.bounds.joints[rows.dof[w]], rows.kind[w], 0.0)
        if y > upper[w]:
            upper[w] = y + slack
        elif y < lower[w]:
            lower[w] = y - slack
        softness[w] = 0.0


@inlined
def side_of(problem, w):
    """Return at which bound a row is at any of the levels: 1, -1, or 0 for none."""
    for level in range(problem.turned.size):
        if problem.state[level, w] in (AT_UPPER, AT_LOWER):
            return problem.state[level, w]
    return 0


@rare
def read_forces(data, count):
    """Write the multipliers of the solved problem: of bounds, and the stack's forces of tasks."""
    problem, rows, stack = data.scratch.limits.problem, data.scratch.limits.bound_rows, (
        data.scratch.rows)
    f, turned = problem.f_y[0], problem.scratch[0]
    for w in range(count):
        rows.force[w] = f[w]
    for r in range(6 * data.demand.constraints.size, stack.shape[1]):
        stack[FORCE, r] = stack[APPLIED, r]
    for level in range(problem.turned.size):
        first, last = problem.levels[level], problem.levels[level + 1]
        for i in range(first, last):
            turned[i] = f[count + i]
            if problem.turned[level]:
                turned[i] = 0.0
                for j in range(first, last):
                    turned[i] += problem.vectors[j, i] * f[count + j]
            stack[FORCE, problem.task_rows[i]] += turned[i]
