# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The solution of a cycle's prioritised problem: multipliers of bounds, and forces of tasks.

Bounds are hard. Where they contradict each other, a problem of bounds alone widens them first.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.data import APPLIED, FORCE
from opspace_control.control.limits.bound_rows import ROUNDING, unit_of
from opspace_control.control.limits.contact_forces import weight_of
from opspace_control.control.limits.limit_law import BRAKING, CONTACT_FORCE, EFFORT, MOTION
from opspace_control.control.limits.problem import STEPS
from opspace_control.control.solver.levels import OWN, Levels, solve_levels
from opspace_control.control.solver.program import (
    AT_LOWER,
    AT_UPPER,
    INACTIVE,
    REFUSED,
)

# Softness of bounds that cannot all be kept, in parts of a row's own mobility. Efforts stay hard.
# Positions, velocities and gravity torques are softer; positions and velocities of joints whose own
# effort is at its limit give way to these, and the acceleration with which a joint can always brake
# gives way to all of them.
_CONTACT_SOFTNESS, _MOTION_SOFTNESS, _WEAK_SOFTNESS, _BRAKING_SOFTNESS = 1e-8, 1e-6, 1e-4, 1e-3
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

    It ``begin``s with the forces without bounds, or with none. The multipliers are in ``f_y``. If
    an active set came to no end, or multipliers are not finite, the problem counts as unsolved:
    active rows are at their bounds then, others may be beyond theirs, and NaN stays.
    """
    problem, n = data.scratch.limits.problem, count + t
    problem.first_rows[0] = 0
    for level in range(problem.turned.size):
        problem.first_rows[level + 1] = count + problem.levels[level + 1]
        problem.steps[level] = STEPS if begin else 1
    solved = True
    while True:
        if contradictory:
            solved = relax_bounds(data, count)
        start_forces(problem, count, t, begin)
        solved = solve_rows(
            problem, problem.first_rows, problem.steps, problem.state, n) and solved
        if contradictory or not any_refused(problem, count):
            break
        contradictory = True
    if not solved:
        data.cycle.unsolved += 1
    return contradictory


@rare
def solve_rows(problem, first_rows, steps, state, n):
    """Solve levels of the first n rows of the problem; return whether all have been solved."""
    changes = solve_levels(
        Levels(first_rows, steps, problem.G[:n, :n], problem.all_softness[:, :n],
               problem.bounds[:, :n], problem.free[:n], _DEPENDENT),
        state[:, :n], problem.factor[:n, :n], problem.order[:n], problem.scratch[:, :n],
        problem.f_y[:, :n])
    for r in range(n):
        if not math.isfinite(problem.f_y[0, r]):
            return False
    return changes >= 0


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

    Returns whether that problem has been solved. Its rows are soft, those of efforts excepted, so
    the least squares of the residual decide. As tasks it is solved by proximal steps: bounds that
    can be kept are not widened.
    """
    problem, rows = data.scratch.limits.problem, data.scratch.limits.bound_rows
    softness, lower, upper = problem.all_softness[OWN], problem.bounds[0], problem.bounds[1]
    problem.relaxed_rows[1], problem.relaxed_steps[0] = count, STEPS
    for w in range(count):
        kind, problem.f_y[0, w] = rows.kind[w], 0.0
        if kind in (EFFORT, CONTACT_FORCE):
            softness[w] = 0.0 if kind == EFFORT else _CONTACT_SOFTNESS * rows.mobility[w]
            continue
        effort = rows.index[rows.dof[w], EFFORT]
        softness[w] = _BRAKING_SOFTNESS if kind == BRAKING else _MOTION_SOFTNESS
        if kind == MOTION and effort >= 0 and problem.state[0, effort] != INACTIVE:
            softness[w] = _WEAK_SOFTNESS
        softness[w] *= rows.mobility[w]
    solved = solve_rows(
        problem, problem.relaxed_rows, problem.relaxed_steps, problem.relaxed, count)
    for w in range(count):
        y = problem.f_y[1, w]
        slack = ROUNDING * (
            weight_of(data.cycle) if rows.kind[w] == CONTACT_FORCE
            else unit_of(data.bounds.joints[rows.dof[w]], rows.kind[w], 0.0))
        if y > upper[w]:
            upper[w] = y + slack
        elif y < lower[w]:
            lower[w] = y - slack
        softness[w] = 0.0
    return solved


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
