# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
All levels in one step, where all of them can be met.

Levels differ from rows of one program only by what some of them do not attain. Where the active
rows leave enough of each other, no level has a residual: the solution is that of

``minimise ½ |q̈ − q̈_ref|²_A    subject to    l ≤ R q̈ ≤ u``

with the rows of all levels. Its active bounds are found as by Hintermüller, Ito and Kunisch, The
primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 13 (2002): in each
pass all bounds whose multipliers have the wrong sign leave, and all that are violated enter.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.solver.active_set import (
    find_values,
    violation,
    write_missing,
    wrong_part,
)
from opspace_control.control.solver.cholesky import (
    factorise,
    inverse_trace,
    solve_lower,
    solve_upper,
)
from opspace_control.control.solver.program import (
    AT_LOWER,
    AT_UPPER,
    ATTAINABLE,
    EQUALITY,
    INACTIVE,
    LASTING,
    PROXIMAL,
    ActiveSet,
    Program,
    begin_state,
)

# A level counts as met if its proximal steps would leave less than this part of any residual.
_RESIDUAL = 1e-8
# So many passes at most, each of which makes the factor anew. Of 762 problems that have such a
# solution, of a Talos whose hands go to random poses, 540 take one pass, two passes find 712, four
# and sixteen find all.
_PASSES = 4


@rare
def begin_attainable(problem, program, rows, per_unit, state):
    """
    Write the states to begin with and the reciprocal units of rows, the roots of their softness.

    Returns whether all rows may be met: none has a softness that stays, and equalities are finite.
    """
    for r in range(rows):
        unit = max(problem.softness[PROXIMAL, r], ATTAINABLE * program.G[r, r])
        per_unit[r] = 1.0 / math.sqrt(unit) if unit > 0.0 else math.nan
        state[r] = begin_state(program, state[r], r)
        if program.softness[r] > 0.0 or (
                state[r] == EQUALITY and not math.isfinite(program.lower[r])):
            return False
    return True


@inlined
def eigenvalue_to_meet(steps):
    """Return the least eigenvalue, in units of the softness, that so many steps meet a level at."""
    return _RESIDUAL ** (-1.0 / steps) - 1.0


@rare
def factorise_levels(problem, per_unit, active):
    """
    Factorise the active rows of all levels in their order, in units of their softness.

    Returns their number, 0 if there is none, or if levels and bounds above leave one of the levels
    too little to be met.
    The blocks on the factor's diagonal are factors of what they leave.
    """
    factor, order, first_rows, count = active.factor, active.order, problem.first_rows, 0
    steps = problem.steps[0]
    for level in range(1, first_rows.size - 1):
        steps = max(steps, problem.steps[level])
    for r in range(first_rows[first_rows.size - 1]):
        if active.state[r] != INACTIVE:
            order[count] = r
            for k in range(count + 1):
                factor[count, k] = per_unit[r] * problem.G[r, order[k]] * per_unit[order[k]]
            count += 1
    if not factorise(factor, count, eigenvalue_to_meet(steps)):  # a smaller pivot would not do
        return 0
    begin = end = 0
    for level in range(first_rows.size - 1):
        while end < count and order[end] < first_rows[level + 1]:
            end += 1
        if not inverse_trace(factor[begin:end, begin:end], end - begin, active.column) * (
                eigenvalue_to_meet(problem.steps[level])) <= 1.0:
            return 0
        begin = end
    return count


@rare
def enter_violated(program, rows, active, size, y):
    """Make all inactive rows active whose values y violate a bound; return their number."""
    entered = 0
    for r in range(rows):
        if active.state[r] == INACTIVE and violation(program, y, size, r) > 0.0:
            active.state[r] = AT_UPPER if y[r] > program.upper[r] else AT_LOWER
            entered += 1
    return entered


@rare
def leave_wrong(active, count):
    """Make all of ``count`` active bounds inactive whose multipliers are wrong; return how many."""
    left = 0
    for k in range(count):
        if wrong_part(active, k) > 0.0:
            active.state[active.order[k]] = INACTIVE
            left += 1
    return left


@rare
def solve_attainable(problem, active, factor, order, scratch, f_y):
    """
    Solve all levels at once if all can be met.

    Parameters
    ----------
    problem, active, factor, order, scratch, f_y
        As in `solve_levels`. Bounds are active to begin with where they are so at the last level,
        or where the multipliers to begin with violate them. In the end all levels have one state.

    Returns
    -------
    bool
        Whether they are solved; if not, ``active`` and ``f_y`` are as before, but for the values.

    """
    levels, f, y = problem.first_rows.size - 1, f_y[0], f_y[1]
    rows = problem.first_rows[levels]
    state, before, per_unit = active[levels - 1], scratch[0], scratch[1]
    current = ActiveSet(state, factor, order, scratch[2], scratch[3])
    program = Program(problem.G, problem.softness[LASTING], problem.bounds[0], problem.bounds[1],
                      problem.free[1], 0, problem.dependent)
    for r in range(rows):
        before[r] = float(state[r])
    solved, count = False, 0
    if begin_attainable(problem, program, rows, per_unit, state):
        for r in range(rows):
            if f[r] != 0.0:
                order[count], current.forces[count] = r, f[r]
                count += 1
        size = find_values(program, rows, current, count, y)
        enter_violated(program, rows, current, size, y)
        for _ in range(_PASSES):
            count = factorise_levels(problem, per_unit, current)
            if count == 0:
                break
            solve_in_units(program, per_unit, current, count)
            size = find_values(program, rows, current, count, y)
            solved = leave_wrong(current, count) + enter_violated(
                program, rows, current, size, y) == 0
            if solved:
                break
    if not solved:
        for r in range(rows):
            state[r] = int(before[r])
        return False
    for r in range(rows):
        f[r] = 0.0
        for level in range(levels - 1):
            active[level, r] = state[r]
    for k in range(count):
        f[order[k]] = current.forces[k]
    return True


@inlined
def solve_in_units(program, per_unit, active, count):
    """Write the multipliers that put all active rows at their bounds, by `factorise_levels`."""
    order, forces = active.order, active.forces
    write_missing(program, active, count)
    for k in range(count):
        forces[k] *= per_unit[order[k]]
    solve_lower(active.factor, count, forces)
    solve_upper(active.factor, count, forces)
    for k in range(count):
        forces[k] *= per_unit[order[k]]
