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

from opspace_control.compiled import inlined, rare
from opspace_control.control.solver.cholesky import append_row, solve_lower, solve_upper
from opspace_control.control.solver.program import (
    AT_LOWER,
    AT_UPPER,
    INACTIVE,
    REFUSED,
    bound_of,
    drop,
    eliminate_active,
    is_bound,
    is_dependent,
    unit_of_row,
)
from opspace_control.control.solver.start import start_active
from opspace_control.spatial.dense import add_scaled

# A row counts as violated beyond this part of the terms that its value is the sum of, each
# multiplier counted by the most that it can do to the row: rounding leaves some 1e-15 of them. With
# multipliers of rows that contradict each other that is more than the motion's part, but rounding
# goes by it: with this part of ``√G_rr |q̈ − q̈_ref|_A`` and 1e-14 of the terms, five of 2,000 random
# problems skip a level instead of one, and bounds are violated by no less.
VIOLATED = 1e-12


@inlined
def write_missing(program, active, count):
    """Write in place of multipliers by what the free values of active rows miss their bounds."""
    for k in range(count):
        r = active.order[k]
        active.forces[k] = bound_of(program, active.state[r], r) - program.free[r]


@rare
def solve_active(program, active, count):
    """Write the multipliers that put all active rows at their bounds."""
    write_missing(program, active, count)
    solve_lower(active.factor, count, active.forces)
    solve_upper(active.factor, count, active.forces)


@inlined
def wrong_part(active, k):
    """Return the multiplier of the k-th active row towards the wrong sign, 0 for an equality."""
    state = active.state[active.order[k]]
    return state * active.forces[k] if is_bound(state) else 0.0


@rare
def restore_signs(program, rows, active, count, several):
    """
    Deactivate bounds until all multipliers have their signs.

    Returns the number of rows that stay active, and writes their multipliers. Each pass deactivates
    the most wrong one; if ``several`` may be wrong, all of them, and the factor is made anew.
    """
    while True:
        solve_active(program, active, count)
        worst, found, wrong = 0.0, -1, 0
        for k in range(count):
            part = wrong_part(active, k)
            if part > 0.0:
                wrong += 1
            if part > worst:
                worst, found = part, k
        if found < 0:
            return count
        if wrong > 1 and several:
            for k in range(count):
                if wrong_part(active, k) > 0.0:
                    active.state[active.order[k]] = INACTIVE
            count = start_active(program, rows, active)
        else:
            active.state[active.order[found]] = INACTIVE
            drop(active, count, found)
            count -= 1


@inlined
def violation(program, y, size, r):
    """Return by how much a value violates a bound of its row, 0 if that may be rounding."""
    lower, upper = program.lower[r], program.upper[r]
    if lower <= y[r] <= upper:
        return 0.0
    bound = upper if y[r] > upper else lower
    terms = abs(program.free[r]) + abs(bound) + unit_of_row(program.G, r) * size
    excess = abs(y[r] - bound)
    return excess if excess > VIOLATED * terms else 0.0


@rare
def find_values(program, rows, active, count, y):
    """Write the values y of all rows; return the size of the terms of the multipliers in them."""
    size = 0.0
    for r in range(rows):
        y[r] = program.free[r]
    for k in range(count):
        r = active.order[k]
        size += unit_of_row(program.G, r) * abs(active.forces[k])
        add_scaled(y, active.forces[k], program.G[r], rows)
    return size


@rare
def most_violated(program, rows, active, size, y):
    """Return the most violated inactive row, or -1."""
    worst, per, found = 0.0, 1.0, -1  # by ``excess² / mobility``
    for r in range(rows):
        if active.state[r] != INACTIVE:
            continue
        excess = violation(program, y, size, r)
        if excess > 0.0:
            mobility, square = max(program.G[r, r] + program.softness[r], 0.0), excess * excess
            if square * per > worst * mobility:
                worst, per, found = square, mobility, r
    return found


@inlined
def first_to_leave(active, count, sign):
    """Return the step at which a bound's multiplier comes to zero first, and its place, or -1."""
    forces, column = active.forces, active.column
    step, found = math.inf, -1
    for k in range(count):
        state = active.state[active.order[k]]
        # A step takes ``sign * column`` off the forces; bounds keep ``state * force <= 0``.
        if is_bound(state) and state * sign * column[k] < 0.0:
            left, rate = max(-state * forces[k], 0.0), -state * sign * column[k]
            if left < step * rate:
                step, found = left / rate, k
    return step, found


@rare
def reactivate(program, active, count, left):
    """
    Make the bounds active again that `activate` has deactivated; return the number of active rows.

    They follow the active rows in ``order``, their states in ``forces``.
    """
    for _ in range(left):
        r = active.order[count]
        pivot = eliminate_active(
            program, active.factor, active.order, count, r, active.column)
        append_row(active.factor, count, active.column, pivot)
        active.state[r] = int(active.forces[count])
        count += 1
    if left > 0:
        solve_active(program, active, count)
    return count


@rare
def activate(program, y, active, count, p):
    """
    Bring row p to the bound that it violates, and make it active.

    Bounds whose multipliers would change sign on the way are deactivated. Returns the number of
    active rows, that of those deactivated, and whether the row is active: not if no step brings it
    there. Then rows and multipliers are as before.
    """
    forces, column = active.forces, active.column
    state = AT_UPPER if y[p] > program.upper[p] else AT_LOWER
    sign = -float(state)  # of the row's own multiplier
    missing, own, changes = abs(y[p] - bound_of(program, state, p)), 0.0, 0
    while True:
        pivot = eliminate_active(program, active.factor, active.order, count, p, column)
        dependent = is_dependent(program, p, pivot)
        full = math.inf if dependent else missing / pivot
        if not dependent:
            append_row(active.factor, count, column, pivot)  # does not count yet
        solve_upper(active.factor, count, column)
        step, leaving = first_to_leave(active, count, sign)
        if math.isinf(full) and leaving < 0:
            return reactivate(program, active, count, changes), 0, False
        step = min(step, full)
        add_scaled(forces, -step * sign, column, count)
        own += step
        if full <= step:
            active.state[p] = state
            active.order[count], forces[count] = p, sign * own
            return count + 1, changes, True
        if not dependent:
            missing -= step * pivot
        r = active.order[leaving]
        left, active.state[r] = float(active.state[r]), INACTIVE
        drop(active, count, leaving)
        for k in range(leaving, count - 1):
            forces[k] = forces[k + 1]
        count -= 1
        changes += 1
        active.order[count], forces[count] = r, left  # for `reactivate`


@rare
def improve_active(program, rows, active, count, f_y):
    """
    Solve ``y = y_free + (G + diag δ) f``, ``l ≤ y ≤ u``; f is 0 where y is at no bound.

    A row that contradicts others without softness is refused: it stays violated, the others hold.
    Active rows combine to it with signs that no motion can change, so no later active set has it.

    Parameters
    ----------
    program : Program
        ``G = R A⁻¹ Rᵀ``, symmetric and positive semidefinite. δ is not negative, in the units of
        G's diagonal; 0 is hard, a row of inf has no multiplier. Bounds are ±inf where there are
        none, equal for equality rows (a lower one above its upper one is what both are).
    rows : int
        The first ones are the problem; those after them have no multiplier, and y of them is not
        written.
    active : ActiveSet
        ``state`` in: the bounds to begin with, AT_UPPER or AT_LOWER, all else is none; out: what
        became of each row. The rest is scratch.
    count : int
        Active rows that `start_active` has factorised, or this function left active.
    f_y : (2, n) array
        Receives the multipliers and the values.

    Returns
    -------
    int, int, bool
        The number of active rows, by how many they changed, and whether that came to an end within
        3 n + 10 changes: if not, some rows are not within their bounds.

    """
    f, y = f_y[0], f_y[1]
    most, changes, several, settled = 3 * rows + 10, 0, True, False
    while not settled:
        before, settled = count, True
        count = restore_signs(program, rows, active, count, several)
        changes += before - count
        several = False  # from here on only rounding makes a sign wrong
        while True:
            size = find_values(program, rows, active, count, y)
            p = most_violated(program, rows, active, size, y)
            if p < 0 or changes >= most:
                break
            settled = False  # the multipliers of all changes are to be found at once
            count, dropped, activated = activate(program, y, active, count, p)
            changes += dropped + 1
            if not activated:
                active.state[p] = REFUSED
        settled = settled or changes >= most
    for r in range(rows):
        f[r] = 0.0
    for k in range(count):  # the others may be infinitely soft
        r = active.order[k]
        f[r] = active.forces[k]
        y[r] += program.softness[r] * f[r]
    return count, changes, p < 0
