# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Levels of rows in strict order of priority: lexicographic least squares with bounds.

Each level is solved with the rows of all levels above: what these attain, they keep. What a level
cannot have it misses in the least-squares sense, weighted by its rows' diagonal entries.
"""

from opspace_control.compiled import called, inlined
from opspace_control.control.solver.active_set import (
    AT_LOWER,
    AT_UPPER,
    EQUALITY,
    SCRATCH,
    solve_bounded_rows,
)

# The least softness of a level's rows while the level itself is solved, in parts of their diagonal
# entries. It decides what counts as attainable: a direction of which the levels above leave less is
# missed. Multipliers of what is missed grow as its reciprocal, and with them rounding: over 1,000
# random problems, a fifth of them with dependent rows, lower levels change what upper ones miss by
# at most 2e-3 of it with 1e-6, 5e-2 with 1e-7 and 0.23 with 1e-8 (at the median 3e-9, 2e-8, 2e-8).
ATTAINABLE = 1e-6

# Rows of scratch that `solve_levels` takes: two bounds and the softness of a level's solution.
LEVEL_SCRATCH = 3 + SCRATCH

# Rows of ``softness``: what stays when levels below are solved, and what does not.
LASTING, OWN = 0, 1


@inlined
def settle(lower, upper, active, own, f, r):
    """Move the bound that row r is at to where the row came to: by what its own softness misses."""
    if active[r] == EQUALITY:
        lower[r] -= own * f[r]
        upper[r] = lower[r]
    elif active[r] == AT_UPPER:
        upper[r] -= own * f[r]
    elif active[r] == AT_LOWER:
        lower[r] -= own * f[r]


@called
def solve_levels(
        G, levels, softness, bounds, free, active, factor, order, scratch, f_y):
    """
    Solve all levels, the highest first.

    Parameters
    ----------
    G : (n, n) array
        ``R A⁻¹ Rᵀ``, symmetric and positive semidefinite.
    levels : (l + 1,) array of int
        First row of each level, the highest first, and the end of the last, n.
    softness : (2, n) array
        LASTING: δ of `truncate_level`, as in `solve_bounded`. OWN: ε, in parts of G's diagonal, by
        which rows of one level share what not all of them can have; at least ATTAINABLE.
    bounds : (2, n) array
        As in `solve_bounded`.
    free : (n,) array
        ``R q̈_ref``.
    active : (l, n) array of int
        Of each level's solution; see `solve_bounded`.
    factor, order, scratch : (n, n), (n,) of int, (LEVEL_SCRATCH, n) arrays
        Scratch.
    f_y : (2, n) array
        Receives the multipliers f and the values y.

    Returns
    -------
    int
        By how many rows the active sets changed in all; negative, minus 1, if one of them came to
        no end.

    """
    lower, upper, soft, f, y = scratch[0], scratch[1], scratch[2], f_y[0], f_y[1]
    rest = scratch[3:]
    total, ended = 0, True
    for r in range(free.size):
        lower[r], upper[r], soft[r] = bounds[0, r], bounds[1, r], softness[LASTING, r]
    for level in range(levels.size - 1):
        first, last = levels[level], levels[level + 1]
        for r in range(first, last):
            soft[r] += max(softness[OWN, r], ATTAINABLE) * G[r, r]
        changes = solve_bounded_rows(
            G, soft, lower, upper, free, last, active[level], factor, order, rest, f, y)
        ended = ended and changes >= 0
        total += changes if changes >= 0 else -changes - 1
        for r in range(first, last):
            if f[r] != 0.0:
                own = soft[r] - softness[LASTING, r]
                settle(lower, upper, active[level], own, f, r)
                y[r] -= own * f[r]
            soft[r] = softness[LASTING, r]
    return total if ended else -total - 1
