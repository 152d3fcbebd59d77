# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Levels of rows in strict order of priority: lexicographic least squares with bounds.

Each level is solved with the rows of all levels above: what these attain, they keep. What a level
cannot attain is its residual, minimal in the least-squares sense, ``min Σ s_r² / ε_r``.

A level is solved by proximal steps (Rockafellar, SIAM J. Control Optim. 14, 1976; without bounds
iterated Tikhonov regularisation): its softness ε counts from the multipliers of the step before. So
after K steps a direction with the eigenvalue λ has ``(ε / (λ + ε))^K`` of its first residual.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.solver.active_set import improve_active
from opspace_control.control.solver.level_outcome import (
    motion_of,
    settle,
    settle_level,
    skip_level,
    steps_by_residual,
    tighten_bounds,
)
from opspace_control.control.solver.program import (
    ATTAINABLE,
    INACTIVE,
    LASTING,
    PROXIMAL,
    REFUSED,
    ActiveSet,
    Program,
    is_bound,
    unit_of_row,
)
from opspace_control.control.solver.start import start_active

# A level needs no further step once each row's residual is below this part of the row's terms, or
# changed by less than that part of itself in the last step: levels above leave no more of it.
_MET, _STILL = 1e-9, 1e-5

# Where rounding contradicts rows above a level, or its active set comes to no end, the level is
# solved once more, and a row counts as a combination from a part on that is so many times larger.
# Of 1,734 recorded problems one skips a level with 30 and with 1000, five without a second attempt.
_COARSER = 30.0

# Rows of scratch that `solve_levels` takes: two bounds, the softness, the multipliers of a step,
# by how much it changed them, those of the level above, two of an `ActiveSet`, and the two bounds
# of hard rows alone.
LEVEL_SCRATCH = 10


@inlined
def any_refused(active, last):
    """Return whether one of the first rows is refused."""
    refused = 0
    for r in range(last):
        refused += active[r] == REFUSED
    return refused > 0


@rare
def contradicts(program, active, first, last, f_y):
    """
    Return whether one of the first refused rows violates its bound by more than is uncertain.

    They are the rows above a level, or those of the first level itself. What the levels above
    attain keeps all of their bounds. So a row that counts as a combination of active ones, and
    cannot be kept with them, is at its bound but for what they leave of it: the motion does at most
    ``√(dependent G_rr) |q̈ − q̈_ref|_A`` to that. Rows of the first level may contradict each other.
    """
    if not any_refused(active, first):
        return False
    uncertain = math.sqrt(program.dependent) * motion_of(program, last, f_y)
    for r in range(first):
        excess = max(program.lower[r] - f_y[1, r], f_y[1, r] - program.upper[r])
        if active[r] == REFUSED and excess > uncertain * unit_of_row(program.G, r):
            return True
    return False


@rare
def solve_steps(problem, bounds, program, level, current, before, step, f_y):
    """
    Solve a level, whose rows have these ``bounds`` (2, n), by proximal steps.

    Return by how many rows its active set changed, whether that came to an end, and whether a
    residual is left.
    """
    first, last, f, y = problem.first_rows[level], problem.first_rows[level + 1], f_y[0], f_y[1]
    lasting, total, ended, residual = problem.softness[LASTING], 0, True, False
    count = start_active(program, last, current)
    step[:last] = 0.0
    steps = problem.steps[level] if first < last else 1
    for k in range(steps):
        for r in range(first, last):
            shift = (program.softness[r] - lasting[r]) * before[r]
            program.lower[r], program.upper[r] = bounds[0, r] + shift, bounds[1, r] + shift
        count, changes, at_end = improve_active(program, last, current, count, f_y)
        ended = ended and at_end
        total += changes
        residual = moves = False
        remaining = float(steps - 1 - k)
        for r in range(last):
            own = program.softness[r] - lasting[r] if r >= first else 0.0
            last_step, step[r], before[r] = step[r], f[r] - before[r], f[r]
            if own * abs(step[r]) > _MET * program.G[r, r] * abs(f[r]):
                residual = True
                moves = moves or abs(step[r] - last_step) > _STILL * abs(step[r])
            state = current.state[r]
            if is_bound(state):  # the remaining steps would deactivate it
                moves = moves or state * (f[r] + remaining * step[r]) > 0.0
        if not moves:
            break
    for r in range(first, last):
        y[r] -= (program.softness[r] - lasting[r]) * f[r]
    return total, ended, residual


@rare
def settle_hard_rows(problem, program, current, before, step, bounds, f_y):
    """
    Write ``bounds`` (2, n) of the first level, whose hard rows contradict each other.

    Hard rows are a level of their own above the soft ones: while it is solved they are soft, too,
    so that none is refused, and ``Σ s_r² / G_rr`` is least. What they attain are their bounds.
    """
    last, lower, upper, soft = (
        problem.first_rows[1], program.lower, program.upper, program.softness)
    for r in range(last):
        before[r], lower[r], upper[r] = 0.0, -math.inf, math.inf
        if not problem.softness[PROXIMAL, r] > 0.0:
            lower[r], upper[r] = problem.bounds[0, r], problem.bounds[1, r]
            soft[r] += ATTAINABLE * max(problem.G[r, r], 0.0)
        bounds[0, r], bounds[1, r] = lower[r], upper[r]
    solve_steps(problem, bounds, program, 0, current, before, step, f_y)
    for r in range(last):
        lower[r], upper[r] = bounds[0, r], bounds[1, r]
    settle(program, current.state, 0, last, f_y)
    tighten_bounds(program, current.state, last, last, step, f_y)
    for r in range(last):
        bounds[0, r], bounds[1, r] = problem.bounds[0, r], problem.bounds[1, r]
        if not problem.softness[PROXIMAL, r] > 0.0:
            bounds[0, r], bounds[1, r] = lower[r], upper[r]
            soft[r] = problem.softness[LASTING, r]


@rare
def refer_to_motion(program, current, active, last, f_y):
    """
    Write multipliers f that keep the first level's bounds from q̈_ref on: its own are from q̈_b on.

    ``active`` (n,) is what became of so many rows there.
    """
    for r in range(last):
        current.state[r] = active[r]
    improve_active(program, last, current, start_active(program, last, current), f_y)


@rare
def solve_levels(problem, solved, active, factor, order, scratch, f_y, residual_steps):
    """
    Solve all levels but so many ``solved`` ones, the highest first.

    Where rounding leaves a level no point that keeps the bounds above it, or lets its active set
    come to no end, it is solved once more, and more rows count as combinations of others. It is
    skipped if that does not help either: the multipliers of the levels above keep their bounds.

    Parameters
    ----------
    problem : Levels
        All levels, and the rows of their problem.
    solved : int
        How many of them an earlier call has solved, as the only ones. It has left what they attain
        in ``scratch`` and ``active``; their rows are as they were, and f_y of them is not read.
    active : (l, n) array of int
        Of each level's solution; see `improve_active`.
    factor, order, scratch : (n, n), (n,) of int, (LEVEL_SCRATCH, n) arrays
        Scratch.
    f_y : (2, n) array
        In: multipliers to begin with, such as those without bounds, which a level keeps as far as
        bounds leave nothing to be chosen. Receives the multipliers f and the values y.
    residual_steps : (l,) array
        Receives `steps_by_residual` of each level alone, infinite for one that is skipped.

    Returns
    -------
    int, bool, int
        By how many rows the active sets changed in all, whether those of all levels that are not
        skipped came to an end, and how many are.

    """
    first_rows, _, G, softness, bounds, free, dependent = problem
    lower, upper, soft, f = scratch[0], scratch[1], scratch[2], f_y[0]
    before, step, above = scratch[3], scratch[6], scratch[7]
    total, ended, levels_skipped = 0, True, 0
    for r in range(first_rows[solved], first_rows[first_rows.size - 1]):
        lower[r], upper[r], soft[r] = bounds[0, r], bounds[1, r], softness[LASTING, r]
        before[r] = f[r]
    for level in range(solved, first_rows.size - 1):
        first, last, own = first_rows[level], first_rows[level + 1], bounds
        for r in range(last):
            above[r] = before[r]
            soft[r] += softness[PROXIMAL, r] if r >= first else 0.0
        current = ActiveSet(active[level], factor, order, scratch[4], scratch[5])
        for part in (dependent, _COARSER * dependent):
            program = Program(G, soft, lower, upper, free[min(level, 1)], first, part)
            if level == 0 and part > dependent:
                own = scratch[8:10]
                settle_hard_rows(problem, program, current, before, step, own, f_y)
            for r in range(last):
                before[r] = above[r]
            changes, at_end, residual = solve_steps(
                problem, own, program, level, current, before, step, f_y)
            total += changes
            contradiction = contradicts(
                program, active[level], first if level > 0 else last, last, f_y)
            if at_end and not contradiction:
                break
        is_left_out = level > 0 and (contradiction or not at_end)
        ended = ended and (at_end or is_left_out)
        for r in range(first, last):
            lower[r], upper[r], soft[r] = own[0, r], own[1, r], softness[LASTING, r]
        residual_steps[level] = math.inf if is_left_out else steps_by_residual(
            softness[PROXIMAL], own, first, last, f_y)
        if is_left_out:
            levels_skipped += 1
            if level == 1:
                refer_to_motion(program, current, active[0], first, f_y)
                for r in range(first):
                    above[r] = f[r]
            skip_level(program, first, last, above, f_y)
            for r in range(last):
                before[r] = f[r]
                active[level, r] = active[level - 1, r] if r < first else INACTIVE
            continue
        settle_level(problem, program, level, active[level], step, residual, f_y)
    return total, ended, levels_skipped
