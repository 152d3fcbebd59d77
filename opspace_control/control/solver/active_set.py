# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A strictly convex quadratic program with bounds on its rows, by a dual active set.

Goldfarb and Idnani, A numerically stable dual method for solving strictly convex quadratic
programs, Mathematical Programming 27 (1983), in the space of the multipliers f:

``minimise ½ |q̈ − q̈_ref|²_A + ½ Σ s_r² / δ_r    subject to    l ≤ R q̈ + s ≤ u``

With ``G = R A⁻¹ Rᵀ`` the rows become ``y = R q̈_ref + (G + diag δ) f``, and the solution has
``l ≤ y ≤ u``, ``f_r > 0`` only where ``y_r = l_r``, ``f_r < 0`` only where ``y_r = u_r``.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.solver.cholesky import (
    append_row,
    delete_row,
    solve_lower,
    solve_upper,
)

# What becomes of a row.
INACTIVE, AT_UPPER, AT_LOWER, EQUALITY, REDUNDANT, REFUSED = 0, 1, -1, 2, 3, 4

# A row counts as violated beyond this part of the terms that its value is the sum of: rounding
# leaves some 1e-15 of them.
VIOLATED = 1e-12
# A row counts as a combination of active ones if less than this part of its diagonal entry is left
# of it: rounding leaves some 1e-15, and what levels attain is known to some 1e-10 of it.
DEPENDENT = 1e-10

# Rows of scratch that `solve_bounded` takes.
SCRATCH = 2
FORCES, COLUMN = 0, 1


@inlined
def is_bound(state):
    """Return whether a row is at one of its bounds, and may leave it."""
    return state in (AT_UPPER, AT_LOWER)


@inlined
def bound_of(lower, upper, state, r):
    """Return the bound that an active row is at."""
    return upper[r] if state == AT_UPPER else lower[r]


@inlined
def eliminate_active(G, softness, factor, order, count, r, column):
    """Write ``L⁻¹ G_Wr`` and return what active rows leave of row r's diagonal entry."""
    pivot = G[r, r] + softness[r]
    for k in range(count):
        column[k] = G[r, order[k]]
    solve_lower(factor, count, column)
    for k in range(count):
        pivot -= column[k] * column[k]
    return pivot


@inlined
def is_dependent(G, softness, r, pivot):
    """Return whether active rows leave nothing but rounding of row r."""
    return not pivot > DEPENDENT * (G[r, r] + softness[r])


@inlined
def drop(factor, order, count, k):
    """Take the k-th row off the active ones."""
    delete_row(factor, count, k)
    for i in range(k, count - 1):
        order[i] = order[i + 1]


@called
def start_active(G, softness, lower, upper, rows, active, factor, order, column):
    """Factorise the equality rows, then the bounds that were active before; return their number."""
    count = 0
    for bounds in (False, True):
        for r in range(rows):
            if bounds != (lower[r] < upper[r]):
                continue
            if bounds and not (is_bound(active[r]) and math.isfinite(
                    bound_of(lower, upper, active[r], r))):
                active[r] = INACTIVE
                continue
            pivot = eliminate_active(G, softness, factor, order, count, r, column)
            if is_dependent(G, softness, r, pivot):
                active[r] = INACTIVE if bounds else REDUNDANT
                continue
            append_row(factor, count, column, pivot)
            if not bounds:
                active[r] = EQUALITY
            order[count] = r
            count += 1
    return count


@called
def solve_active(lower, upper, free, active, factor, order, count, forces):
    """Write the multipliers that put all active rows at their bounds."""
    for k in range(count):
        r = order[k]
        forces[k] = bound_of(lower, upper, active[r], r) - free[r]
    solve_lower(factor, count, forces)
    solve_upper(factor, count, forces)


@called
def restore_signs(lower, upper, free, active, factor, order, count, forces):
    """
    Deactivate bounds, the most wrong first, until all multipliers have their signs.

    Returns the number of rows that stay active, and writes their multipliers.
    """
    while True:
        solve_active(lower, upper, free, active, factor, order, count, forces)
        worst, found = 0.0, -1
        for k in range(count):
            state = active[order[k]]
            if is_bound(state) and state * forces[k] > worst:
                worst, found = state * forces[k], k
        if found < 0:
            return count
        active[order[found]] = INACTIVE
        drop(factor, order, count, found)
        count -= 1


@called
def most_violated(G, softness, lower, upper, free, rows, active, order, count, forces, y):
    """Write the values y of all rows and return the most violated inactive one, or -1."""
    worst, found = 0.0, -1
    for r in range(rows):
        value, size = free[r], abs(free[r])
        for k in range(count):
            t = G[r, order[k]] * forces[k]
            value += t
            size += abs(t)
        y[r] = value
        if active[r] != INACTIVE:
            continue
        bound = upper[r] if value > upper[r] else lower[r]
        violation = abs(value - bound) if value > upper[r] or value < lower[r] else 0.0
        if not violation > VIOLATED * (size + abs(bound)):
            continue
        mobility = G[r, r] + softness[r]
        violation = violation / math.sqrt(mobility) if mobility > 0.0 else math.inf
        if violation > worst:
            worst, found = violation, r
    return found


@inlined
def first_to_leave(active, order, count, forces, column, sign):
    """Return the step at which a bound's multiplier comes to zero first, and its place, or -1."""
    step, found = math.inf, -1
    for k in range(count):
        state = active[order[k]]
        # A step takes ``sign * column`` off the forces; bounds keep ``state * force <= 0``.
        if is_bound(state) and state * sign * column[k] < 0.0:
            t = max(-state * forces[k], 0.0) / (-state * sign * column[k])
            if t < step:
                step, found = t, k
    return step, found


@called
def activate(G, softness, lower, upper, y, active, factor, order, count, forces, column, p):
    """
    Bring row p to the bound that it violates, and make it active.

    Bounds whose multipliers would change sign on the way are deactivated. Returns the number of
    active rows and of those deactivated; the first is negative if no step brings the row there.
    """
    state = AT_UPPER if y[p] > upper[p] else AT_LOWER
    sign = -float(state)  # of the row's own multiplier
    missing, changes = abs(y[p] - bound_of(lower, upper, state, p)), 0
    while True:
        pivot = eliminate_active(G, softness, factor, order, count, p, column)
        dependent = is_dependent(G, softness, p, pivot)
        full = math.inf if dependent else missing / pivot
        if not dependent:
            append_row(factor, count, column, pivot)  # does not count yet
        solve_upper(factor, count, column)
        step, leaves = first_to_leave(active, order, count, forces, column, sign)
        if math.isinf(full) and leaves < 0:
            return -count - 1, changes
        if full <= step:
            active[p] = state
            order[count] = p
            return count + 1, changes
        for k in range(count):
            forces[k] -= step * sign * column[k]
        if not dependent:
            missing -= step * pivot
        active[order[leaves]] = INACTIVE
        drop(factor, order, count, leaves)
        for k in range(leaves, count - 1):
            forces[k] = forces[k + 1]
        count -= 1
        changes += 1


@called
def solve_bounded_rows(
        G, softness, lower, upper, free, rows, active, factor, order, scratch, f, y):
    """
    Solve the program of the first ``rows`` rows; see `solve_bounded`.

    Those after them have no multiplier, and y of them is not written.
    """
    forces, column = scratch[FORCES], scratch[COLUMN]
    count = start_active(
        G, softness, lower, upper, rows, active, factor, order, column)
    most, changes = 10 * rows + 10, 0
    while True:
        before = count
        count = restore_signs(lower, upper, free, active, factor, order, count, forces)
        changes += before - count
        p = most_violated(G, softness, lower, upper, free, rows, active, order, count, forces, y)
        if p < 0 or changes >= most:
            break
        count, dropped = activate(
            G, softness, lower, upper, y, active, factor, order, count, forces, column, p)
        changes += dropped + 1
        if count < 0:
            count = -count - 1
            active[p] = REFUSED
    for r in range(f.size):
        f[r] = 0.0
    for k in range(count):
        f[order[k]] = forces[k]
    for k in range(count):  # the others may be infinitely soft
        y[order[k]] += softness[order[k]] * forces[k]
    return -changes - 1 if p >= 0 else changes


@called
def solve_bounded(G, softness, lower, upper, free, active, factor, order, scratch, f, y):
    """
    Solve ``y = y_free + (G + diag δ) f``, ``l ≤ y ≤ u``; f is 0 where y is at no bound.

    A row that contradicts others without softness is refused: it stays violated, the others hold.

    Parameters
    ----------
    G : (n, n) array
        ``R A⁻¹ Rᵀ``, symmetric and positive semidefinite.
    softness : (n,) array
        δ, not negative, in the units of G's diagonal; 0 is hard, a row of inf has no multiplier.
    lower, upper, free : (n,) arrays
        Bounds, ±inf where there are none, equal for equality rows (a lower one above its upper one
        is what both are); and ``R q̈_ref``.
    active : (n,) array of int
        In: the bounds to begin with, AT_UPPER or AT_LOWER, all else is none. Out: what became of
        each row.
    factor, order, scratch : (n, n), (n,) of int, (SCRATCH, n) arrays
        Scratch.
    f, y : (n,) arrays
        Receive the multipliers and the values.

    Returns
    -------
    int
        By how many rows the active set changed. If it came to no end within 10 n + 10 changes,
        minus that number minus 1: all rows but some are within their bounds then.

    """
    return solve_bounded_rows(G, softness, lower, upper, free, f.size, active, factor, order,
                              scratch, f, y)
