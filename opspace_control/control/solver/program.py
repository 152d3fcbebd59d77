# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Programs with bounds on their rows, and the active rows of one, with their factor."""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.control.solver.cholesky import delete_row, solve_lower
from opspace_control.spatial.dense import dot_product

# What becomes of a row.
INACTIVE, AT_UPPER, AT_LOWER, EQUALITY, REDUNDANT, REFUSED = 0, 1, -1, 2, 3, 4

# A row counts as a combination of active ones if less than this part of its diagonal entry is left
# of it, where a program says nothing else: rounding leaves some 1e-15, and more beside rows that
# are almost combinations themselves. Of 1,734 recorded problems of robots at limits three skip a
# level with 1e-10, two with this one and with 1e-11; but then 26 motions change by more than 1e-8
# of themselves where bounds change by 1e-10, not 17.
DEPENDENT = 3e-11
# The least softness of a level's rows while the level itself is solved, in parts of their diagonal
# entries. It decides what counts as attainable: a direction of which the levels above leave less is
# not. Multipliers of residuals grow as its reciprocal, and with them rounding: over 1,000
# random problems, a fifth of them with dependent rows, lower levels change upper residuals by at
# most 2e-3 of them with 1e-6, 5e-2 with 1e-7 and 0.23 with 1e-8 (at the median 3e-9, 2e-8, 2e-8).
ATTAINABLE = 1e-6

# Rows of ``softness``: what stays when levels below are solved, and what does not.
LASTING, PROXIMAL = 0, 1


class Levels(NamedTuple):
    """A problem of several levels, n rows in all."""

    first_rows: np.ndarray  # (l + 1,) int: first row of each level, the highest first, and the end
    steps: np.ndarray  # (l,) int: proximal steps that each is solved by, one or more
    # (n, n) ``R A⁻¹ Rᵀ``, symmetric and positive semidefinite.
    G: np.ndarray
    # (2, n). LASTING: δ of `truncate_level`, as in `improve_active`. PROXIMAL: ε, in the same
    # units; 0 for a row that is hard, else at least ATTAINABLE of G's diagonal, or in the first
    # level, which has no residuals above it, more than `dependent`.
    softness: np.ndarray
    bounds: np.ndarray  # (2, n): as in `improve_active`
    # (2, n): R q̈_b, which the first level refers to while it is solved, the only one too, and
    # R q̈_ref, which all others refer to.
    free: np.ndarray
    dependent: float  # as in `Program`


class Program(NamedTuple):
    """A program of n rows at most, as in `improve_active`."""

    G: np.ndarray  # (n, n)
    softness: np.ndarray  # (n,) δ
    lower: np.ndarray  # (n,) l
    upper: np.ndarray  # (n,) u
    free: np.ndarray  # (n,): values without multipliers, R q̈_ref or R q̈_b
    first: int  # first row of the level itself; those before it are of the levels above
    dependent: float  # part of a row's diagonal entry that active rows leave at least, as DEPENDENT


class ActiveSet(NamedTuple):
    """The active rows of a program, and scratch."""

    state: np.ndarray  # (n,) int: what became of each row
    factor: np.ndarray  # (n, n): the Cholesky factor of ``G + diag δ`` of the active rows
    order: np.ndarray  # (n,) int: these rows
    forces: np.ndarray  # (n,): their multipliers
    column: np.ndarray  # (n,): scratch


@inlined
def is_bound(state):
    """Return whether a row is at one of its bounds, and may leave it."""
    return state in (AT_UPPER, AT_LOWER)


@inlined
def unit_of_row(G, r):
    """Return ``√G_rr``, by which a row's values are measured; rounding may leave G_rr < 0."""
    return math.sqrt(max(G[r, r], 0.0))


@inlined
def bound_of(program, state, r):
    """Return the bound that an active row is at."""
    return program.upper[r] if state == AT_UPPER else program.lower[r]


@inlined
def begin_state(program, state, r):
    """Return the state that a row begins with: an equality, a finite bound of before, or none."""
    if not program.lower[r] < program.upper[r]:
        return EQUALITY
    return state if is_bound(state) and math.isfinite(bound_of(program, state, r)) else INACTIVE


@inlined
def eliminate_active(program, factor, order, count, r, column):
    """Write ``L⁻¹ G_Wr`` and return what active rows leave of row r's diagonal entry."""
    pivot = program.G[r, r] + program.softness[r]
    for k in range(count):
        column[k] = program.G[r, order[k]]
    solve_lower(factor, count, column)
    return pivot - dot_product(column, column, count)


@inlined
def is_dependent(program, r, pivot):
    """
    Return whether active rows leave nothing but rounding of row r.

    Of a soft row of the level itself they leave its softness, which a larger part than DEPENDENT
    must not make nothing of.
    """
    part = program.dependent
    if r >= program.first and program.softness[r] > 0.0:
        part = min(part, DEPENDENT)
    return not pivot > part * (program.G[r, r] + program.softness[r])


@inlined
def drop(active, count, k):
    """Take the k-th row off the active ones."""
    delete_row(active.factor, count, k)
    for i in range(k, count - 1):
        active.order[i] = active.order[i + 1]
