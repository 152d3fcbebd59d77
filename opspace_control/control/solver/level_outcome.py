# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a level leaves to the levels below: bounds at what it attains, and its residual."""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.solver.program import (
    AT_UPPER,
    EQUALITY,
    REDUNDANT,
    is_bound,
    unit_of_row,
)
from opspace_control.spatial.eigen import smooth_step

# A bound whose multiplier grows in the last step stands against a residual: the levels below must
# not leave it. Without this a level below a contradictory one has a single feasible point, and
# rounding leaves none. Below the first part of the multiplier the bound is free, beyond the second
# one an equality; in between it may be left by a width that changes continuously. With eight steps
# these are eigenvalues of 2.6 and 0.7 of the softness. With an equality from 1e-3 on, at 1.5 of the
# softness, the motion of a level below jumps by all of its demand there.
_FREE, _KEPT = 1e-4, 1e-2
_LEAST = 1e-9  # of the part that is kept: a width beyond any motion

# Slack of bounds that lower levels have beyond what is attained, in parts of the terms of a value:
# rounding. Without it 63 of 850 problems of a trotting quadruped leave a level no point, with 1e-14
# four, with 1e-13 two; but then lower levels of random problems miss by up to 2e-5 of their motion.
_SLACK = 1e-14


@inlined
def motion_of(program, last, f_y):
    """Return ``|q̈ − q̈_ref|_A`` of the multipliers of so many rows, from the level's reference."""
    f, y, square = f_y[0], f_y[1], 0.0
    for r in range(last):
        square += f[r] * (y[r] - program.free[r])
    return math.sqrt(max(square, 0.0))


@rare
def settle(program, active, first, last, f_y):
    """
    Widen the bounds of all rows so far to the values attained; fix the level's equality rows there.

    With as much slack as rounding takes: bounds without an interior point would be contradictions.
    """
    G, lower, upper, f, y = program.G, program.lower, program.upper, f_y[0], f_y[1]
    terms = 0.0
    for r in range(last):
        terms += unit_of_row(G, r) * abs(f[r])
    for r in range(last):
        slack = _SLACK * unit_of_row(G, r) * terms
        if r >= first and active[r] == EQUALITY:
            lower[r] = upper[r] = y[r]
        elif r >= first and active[r] == REDUNDANT:
            lower[r], upper[r] = -math.inf, math.inf
        elif lower[r] < upper[r]:
            lower[r], upper[r] = min(lower[r], y[r] - slack), max(upper[r], y[r] + slack)


@rare
def tighten_bounds(program, active, first, last, step, f_y):
    """
    Narrow the bounds above a level that stand against its residual, at most to equalities.

    The width is measured by ``√G_rr |q̈ − q̈_ref|_A``, the most that the motion can do to a row.
    """
    f, y, motion = f_y[0], f_y[1], motion_of(program, last, f_y)
    for r in range(first):
        if not (is_bound(active[r]) and abs(step[r]) > _FREE * abs(f[r])):
            continue
        kept = smooth_step(
            math.log(abs(step[r]) / (_FREE * abs(f[r]))) / math.log(_KEPT / _FREE))
        width = (1.0 / max(kept, _LEAST) - 1.0) * motion * unit_of_row(program.G, r)
        if active[r] == AT_UPPER:
            program.upper[r] = y[r]
            program.lower[r] = max(program.lower[r], y[r] - width)
        else:
            program.lower[r] = y[r]
            program.upper[r] = min(program.upper[r], y[r] + width)


@rare
def settle_level(problem, program, level, active, step, residual, f_y):
    """Leave the rows of a level and of those above as `settle`, and as `tighten_bounds` says."""
    first, last = problem.first_rows[level], problem.first_rows[level + 1]
    settle(program, active, first, last, f_y)
    if problem.steps[level] > 1 and residual:
        tighten_bounds(program, active, first, last, step, f_y)


@rare
def skip_level(program, first, last, above, f_y):
    """Leave a level's rows without bounds, and take the multipliers (n,) of the levels above."""
    f, y = f_y[0], f_y[1]
    for r in range(first, last):
        program.lower[r], program.upper[r] = -math.inf, math.inf
    for r in range(last):
        f[r] = above[r] if r < first else 0.0
    for r in range(last):
        y[r] = program.free[r]
        for k in range(first):
            y[r] += program.G[r, k] * f[k]


@inlined
def steps_by_residual(own, bounds, first, last, f_y):
    """
    Return ``√(Σ f² ε / Σ s² / ε)`` of a level's equality rows with softness ε, s their residual.

    Each proximal step adds s / ε to f. So it is how many steps make these multipliers, infinite
    where there is no residual.
    """
    force = residual = 0.0
    for r in range(first, last):
        s = bounds[0, r] - f_y[1, r]
        if bounds[0, r] == bounds[1, r] and own[r] > 0.0:
            force += f_y[0, r] * f_y[0, r] * own[r]
            residual += s * s / own[r]
    return math.sqrt(force / residual) if residual > 0.0 else math.inf
