# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Elimination of constraints and passive joints from the inverse inertia of the tasks.

The first rows of the stack are constraints, ``J_c q̈ + J̇_c v = a_c``. They are eliminated from
``L = J A_ff⁻¹ Jᵀ``, of all free joints, and from ``Q = J_p A_pp⁻¹ J_pᵀ``, of the passive ones; the
tasks' inverse inertia is what remains of their difference. Redundant constraint rows are common:
the rank is decided, not assumed.
"""

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.data import (
    APPLIED,
    CONSTRAINT_FORCE,
    FACTOR_L,
    FACTOR_Q,
    FORCE,
    GRAM_L,
    GRAM_Q,
    MOVING,
    PASSIVE_RESPONSE,
    REACTION,
    SCALE,
    SPARE,
    L,
    Q,
)
from opspace_control.control.solver.semidefinite import (
    decompose_semidefinite,
    solve_semidefinite,
)


@inlined
def copy_row(M, row, count, column):
    """Copy the first ``count`` entries of a row of the lower triangle."""
    for c in range(count):
        column[c] = M[row, c]


@inlined
def symmetric(M, r, c):
    """Return an entry of a symmetric matrix of which the lower triangle is given."""
    return M[r, c] if r >= c else M[c, r]


@inlined
def multiply_symmetric(M, x, y):
    """Write ``M x`` to y, (n,) each, M being the first n rows of a symmetric matrix."""
    for r in range(x.size):
        y[r] = 0.0
        for c in range(x.size):
            y[r] += symmetric(M, r, c) * x[c]


@called
def take_off_row(M, rest, j, count, sign, column):
    """Subtract ``sign M_jc y`` from row j, y = M_cc⁺ M_cj, and store y above M's diagonal."""
    for i in range(count, j + 1):
        for c in range(count):
            rest[j, i] -= sign * M[i, c] * column[c]
    for c in range(count):
        M[c, j] = column[c]


@rare
def constraint_reactions(M, constrained, forces):
    """Write the first ``constrained`` forces: reactions to those of tasks by L or Q, eliminated."""
    for c in range(constrained):
        forces[c] = 0.0
        for j in range(constrained, forces.size):
            forces[c] -= M[c, j] * forces[j]


@rare
def eliminate_constraints(squares, rows, orders, count, responds, ranks):
    """
    Eliminate the constraint rows from Λ⁻¹ and from the accelerations of the tasks.

    With ``U = L − Q``, and λ0 the constraint force that keeps passive joints on the reference
    acceleration, ``λ0 = −Q_cc⁺ (J B)_c``:

    ``Λ⁻¹ = (L_tt − L_tc L_cc⁺ L_ct) − (Q_tt − Q_tc Q_cc⁺ Q_ct)``
    ``x_t ← x_t + U_tc λ0 − L_tc z``,   ``z = L_cc⁺ (x_c + U_cc λ0)``

    Parameters
    ----------
    squares : (SQUARES, k, k) array
        ``L`` and ``Q``, lower triangles. Above the diagonal they receive ``L_cc⁺ L_ct`` and
        ``Q_cc⁺ Q_ct``; the tasks' block of L becomes Λ⁻¹. Q counts only if ``responds``. The
        factors are scratch, for `predict_reactions` too.
    rows : (ROWS, k) array
        ``PASSIVE_RESPONSE``, ``SCALE``; ``FORCE`` is ``a* − a_hyb``, of constraints
        ``a_c − a_c,hyb``, which become z. Receives λ0 in ``CONSTRAINT_FORCE``, N and N m.
    orders, ranks : (2, k), (2,) arrays of int
        Likewise scratch; and the ranks of L_cc and Q_cc.
    count : int
        Rows of constraints.
    responds : bool
        Whether there are passive joints.

    """
    whole, passive, x = squares[L], squares[Q], rows[FORCE]
    scale, column, work = rows[SCALE], rows[SPARE], rows[SPARE + 1]
    lambda0 = rows[CONSTRAINT_FORCE]
    ranks[0] = decompose_semidefinite(
        whole, scale, count, work, orders[0], squares[FACTOR_L], squares[GRAM_L])
    if responds:
        ranks[1] = decompose_semidefinite(
            passive, scale, count, work, orders[1], squares[FACTOR_Q], squares[GRAM_Q])
        for r in range(count):
            lambda0[r] = -rows[PASSIVE_RESPONSE, r]
        solve_constraints(squares, orders, ranks, 1, scale, count, lambda0, work)
        for r in range(x.size):
            for c in range(count):
                x[r] += (symmetric(whole, r, c) - symmetric(passive, r, c)) * lambda0[c]
    solve_constraints(squares, orders, ranks, 0, scale, count, x, work)
    for j in range(count, x.size):
        for c in range(count):
            x[j] -= whole[j, c] * x[c]
        copy_row(whole, j, count, column)
        solve_constraints(squares, orders, ranks, 0, scale, count, column, work)
        take_off_row(whole, whole, j, count, 1.0, column)
        if responds:
            for i in range(count, j + 1):
                whole[j, i] -= passive[j, i]
            copy_row(passive, j, count, column)
            solve_constraints(squares, orders, ranks, 1, scale, count, column, work)
            take_off_row(passive, whole, j, count, -1.0, column)


@inlined
def solve_constraints(squares, orders, ranks, which, scale, count, x, work):
    """Replace x by ``L_cc⁺ x``, ``which`` being 0, or by ``Q_cc⁺ x``, from their factors."""
    solve_semidefinite(squares[FACTOR_L + 2 * which], squares[GRAM_L + 2 * which], orders[which],
                       ranks[which], scale, count, x, work)


@rare
def predict_reactions(squares, rows, orders, count, responds, ranks):
    """
    Write the constraint reactions λ, and to ``FORCE`` of constraints the wrenches exerted there.

    ``w_c = w_applied − λ0 − Q_cc⁺ Q_ct f``: the last two terms keep passive joints on the motion of
    constraints and posture. λ follows from these, the motion and the task forces f. Applied forces
    that the environment balances move nothing and add nothing to λ.

    Parameters
    ----------
    squares, orders, count, responds, ranks
        From `eliminate_constraints`.
    rows : (ROWS, k) array
        ``FORCE`` is z of the constraints and f of the tasks; receives λ in the first ``count``
        entries of ``REACTION``, N and N m.

    """
    whole, passive, x = squares[L], squares[Q], rows[FORCE]
    applied, moving, reaction = rows[APPLIED], rows[MOVING], rows[REACTION]
    lambda0 = rows[CONSTRAINT_FORCE]
    extra, work = rows[SPARE], rows[SPARE + 1]
    for c in range(count):
        reaction[c] = x[c]
        x[c] = applied[c]
        if responds:
            x[c] -= lambda0[c]
            for j in range(count, x.size):
                x[c] -= passive[c, j] * x[j]
        for j in range(count, x.size):
            reaction[c] -= whole[c, j] * (x[j] - (applied[j] - moving[j]))
    if not responds:
        return
    for c in range(count):
        extra[c] = 0.0
        for j in range(count, x.size):
            extra[c] += passive[j, c] * x[j]
        for d in range(count):
            response = applied[d] - lambda0[d] - x[d]  # Q_cc⁺ Q_ct f
            extra[c] += (symmetric(whole, c, d) - symmetric(passive, c, d)) * response
    solve_constraints(squares, orders, ranks, 0, rows[SCALE], count, extra, work)
    for c in range(count):
        reaction[c] += extra[c]
