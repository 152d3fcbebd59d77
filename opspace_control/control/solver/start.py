# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The factor of the rows that a program begins with: equality rows, and bounds active before."""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.solver.cholesky import solve_upper
from opspace_control.control.solver.program import (
    EQUALITY,
    INACTIVE,
    REDUNDANT,
    begin_state,
    is_bound,
    is_dependent,
    unit_of_row,
)
from opspace_control.spatial.dense import dot_product

# What is left of a row is rounding up to this part of the terms that it is the difference of. Of
# levels that equality rows leave nothing of, it is 1e-12 of them at most, of all others more. Were
# it not, a bound on a joint's acceleration of a Talos that stands would be violated by 5e-3 rad/s².
# From 1e-13 to 1e-11 the same levels are skipped, and bounds are violated by no more.
_NOISE = 1e-12
# The terms are computed only where less than this part is left: they are seldom so much larger.
_DOUBTFUL = 1e-3


@inlined
def left_of(program, active, i, k):
    """Return what the first k factorised rows leave of the i-th one's diagonal entry."""
    r, row = active.order[i], active.factor[i]
    return program.G[r, r] + program.softness[r] - dot_product(row, row, k)


@rare
def is_fixed(program, active, i, k):
    """
    Return whether the first k rows, hard equality rows, leave nothing of a row but rounding.

    Rounding is a part of ``(√G_rr + Σ |c_j| √G_jj)²``, with c the row's combination of them.
    """
    r, c = active.order[i], active.forces
    left = left_of(program, active, i, k) - program.softness[r]
    if left > _DOUBTFUL * program.G[r, r]:
        return False
    for j in range(k):
        c[j] = active.factor[i, j]
    solve_upper(active.factor, k, c)
    terms = unit_of_row(program.G, r)
    for j in range(k):
        terms += abs(c[j]) * unit_of_row(program.G, active.order[j])
    return not left > max(program.dependent * program.G[r, r], _NOISE * terms * terms)


@rare
def leave_fixed(program, active, count, k):
    """
    Leave out the level's own soft rows that the first k rows fix; return how many rows remain.

    Their multipliers would move nothing: the first k rows would cancel them, but for rounding of
    the residual times the number of steps by the softness.
    """
    i = k
    while i < count:
        r = active.order[i]
        if r >= program.first and active.state[r] == EQUALITY and is_fixed(program, active, i, k):
            active.state[r] = REDUNDANT
            count = leave_out(active, count, i, k)
        else:
            i += 1
    return count


@rare
def start_active(program, rows, active):
    """
    Factorise equality rows, then the bounds that were active before; return their number.

    Hard equality rows are first: what they leave of a soft one tells whether it is fixed.
    """
    state, order, factor, count = active.state, active.order, active.factor, 0
    for r in range(rows):
        state[r] = begin_state(program, state[r], r)
        if state[r] == EQUALITY and not program.softness[r] > 0.0:
            order[count] = r
            count += 1
    hard = count
    for bounds in (False, True):
        for r in range(rows):
            if is_bound(state[r]) if bounds else (
                    state[r] == EQUALITY and program.softness[r] > 0.0):
                order[count] = r
                count += 1
    k = 0
    while k < count:  # by columns: the rows below do not wait for each other
        if k == hard and k > 0:
            count = leave_fixed(program, active, count, k)
            hard = -1
            continue
        pivot = left_of(program, active, k, k)
        r, column = order[k], factor[k]
        if is_dependent(program, r, pivot):
            state[r] = REDUNDANT if state[r] == EQUALITY else INACTIVE
            hard -= k < hard
            count = leave_out(active, count, k, k)
            continue
        column[k] = 1.0 / math.sqrt(pivot)
        for i in range(k + 1, count):
            left = program.G[r, order[i]] - dot_product(factor[i], column, k)
            factor[i, k] = left * column[k]
        k += 1
    return count


@rare
def leave_out(active, count, i, k):
    """Move the rows after the i-th, of which the first k columns are written, up by one."""
    for n in range(i + 1, count):
        active.order[n - 1] = active.order[n]
        for j in range(k):
            active.factor[n - 1, j] = active.factor[n, j]
    return count - 1
