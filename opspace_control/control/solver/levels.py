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

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, rare
from opspace_control.control.solver.active_set import improve_active, start_active
from opspace_control.control.solver.program import (
    AT_LOWER,
    AT_UPPER,
    EQUALITY,
    ActiveSet,
    Program,
    bound_of,
    is_bound,
)

# The least softness of a level's rows while the level itself is solved, in parts of their diagonal
# entries. It decides what counts as attainable: a direction of which the levels above leave less is
# given up. Multipliers of residuals grow as its reciprocal, and with them rounding: over 1,000
# random problems, a fifth of them with dependent rows, lower levels change upper residuals by at
# most 2e-3 of them with 1e-6, 5e-2 with 1e-7 and 0.23 with 1e-8 (at the median 3e-9, 2e-8, 2e-8).
ATTAINABLE = 1e-6
# A level whose residuals are below this part of the terms of its rows needs no further step.
_MET = 1e-11

# A bound whose multiplier grows by more than this part of itself in the last step stands against a
# residual: the levels below must not leave it. Where a level is met it grows by less than 2e-6 if
# eigenvalues are four times the softness. Without this a level below a contradictory one has a
# single feasible point, and rounding leaves none.
_GROWS = 1e-3

# Rows of scratch that `solve_levels` takes: two bounds, the softness, the multipliers of a step
# and by how much it changed them, and two of an `ActiveSet`.
LEVEL_SCRATCH = 7

# Rows of ``softness``: what stays when levels below are solved, and what does not.
LASTING, OWN = 0, 1


@inlined
def settle(lower, upper, active, r, value):
    """Move the bound that row r is at to the value that it attains."""
    if active[r] in (EQUALITY, AT_LOWER):
        lower[r] = value
    if active[r] in (EQUALITY, AT_UPPER):
        upper[r] = value


class Levels(NamedTuple):
    """A problem of several levels, n rows in all."""

    first_rows: np.ndarray  # (l + 1,) int: first row of each level, the highest first, and the end
    steps: np.ndarray  # (l,) int: proximal steps that each is solved by, one or more
    # (n, n) ``R A⁻¹ Rᵀ``, symmetric and positive semidefinite.
    G: np.ndarray
    # (2, n). LASTING: δ of `truncate_level`, as in `solve_bounded`. OWN: ε, in the same units; 0
    # for a row that is hard, else at least ATTAINABLE of G's diagonal.
    softness: np.ndarray
    bounds: np.ndarray  # (2, n): as in `solve_bounded`
    free: np.ndarray  # (n,) R q̈_ref
    dependent: float  # as in `Program`


@rare
def solve_levels(problem, active, factor, order, scratch, f_y):
    """
    Solve all levels, the highest first.

    Parameters
    ----------
    problem : Levels
        All levels, and the rows of their problem.
    active : (l, n) array of int
        Of each level's solution; see `solve_bounded`.
    factor, order, scratch : (n, n), (n,) of int, (LEVEL_SCRATCH, n) arrays
        Scratch.
    f_y : (2, n) array
        In: multipliers to begin with, such as those without bounds, which a level keeps as far as
        bounds leave nothing to be chosen. Receives the multipliers f and the values y.

    Returns
    -------
    int
        By how many rows the active sets changed in all; negative, minus 1, if one of them came to
        no end.

    """
    first_rows, steps, G, softness, bounds, free, dependent = problem
    lower, upper, soft, f, y = scratch[0], scratch[1], scratch[2], f_y[0], f_y[1]
    before, step, program = scratch[3], scratch[6], Program(G, soft, lower, upper, free, dependent)
    total, ended = 0, True
    for r in range(free.size):
        lower[r], upper[r], soft[r] = bounds[0, r], bounds[1, r], softness[LASTING, r]
        before[r] = f[r]
    for level in range(first_rows.size - 1):
        first, last = first_rows[level], first_rows[level + 1]
        for r in range(first, last):
            soft[r] += softness[OWN, r]
        current = ActiveSet(active[level], factor, order, scratch[4], scratch[5])
        count = start_active(program, last, current)
        for _ in range(steps[level] if first < last else 1):
            for r in range(first, last):
                shift = (soft[r] - softness[LASTING, r]) * before[r]
                lower[r], upper[r] = bounds[0, r] + shift, bounds[1, r] + shift
            count, changes = improve_active(program, last, current, count, f_y)
            ended = ended and changes >= 0
            total += changes if changes >= 0 else -changes - 1
            met = True
            for r in range(last):
                step[r], before[r] = f[r] - before[r], f[r]
                own = soft[r] - softness[LASTING, r]
                met = met and own * abs(step[r]) <= _MET * G[r, r] * abs(f[r])
            if met:
                break
        for r in range(first, last):
            lower[r], upper[r] = bounds[0, r], bounds[1, r]
            y[r] -= (soft[r] - softness[LASTING, r]) * f[r]
            if softness[OWN, r] > 0.0:
                settle(lower, upper, active[level], r, y[r])
            soft[r] = softness[LASTING, r]
        for r in range(last if steps[level] > 1 else 0):
            if is_bound(active[level, r]) and abs(step[r]) > _GROWS * abs(f[r]):
                lower[r] = upper[r] = bound_of(program, active[level, r], r)
    return total if ended else -total - 1
