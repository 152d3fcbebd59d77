# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What closed chains, contacts and passive joints leave to the tasks.

The first rows of the stack are constraints, ``J_c q̈ + J̇_c v = a_c``. They are eliminated from
``L = J A_ff⁻¹ Jᵀ``, of all free joints, and from ``Q = J_p A_pp⁻¹ J_pᵀ``, of the passive ones; the
tasks' inverse inertia is what remains of their difference. Redundant constraint rows are common:
the rank is decided, not assumed.
"""

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.hierarchy.semidefinite import (
    decompose_semidefinite,
    solve_semidefinite,
)


@inlined
def copy_row(L, row, count, column):
    """Copy the first ``count`` entries of a row of the lower triangle."""
    for c in range(count):
        column[c] = L[row, c]


@inlined
def symmetric(L, r, c):
    """Return an entry of a symmetric matrix of which the lower triangle is given."""
    return L[r, c] if r >= c else L[c, r]


@called
def take_off_row(M, L, j, count, sign, column):
    """Take ``sign M_jc y`` off row j of L, y being M_cc⁺ M_cj, which is kept above M's diagonal."""
    for i in range(count, j + 1):
        for c in range(count):
            L[j, i] -= sign * M[i, c] * column[c]
    for c in range(count):
        M[c, j] = column[c]


@rare
def eliminate_constraints(
        L, Q, count, yields, yielded, scale, F, gram, FQ, gramQ, orders, ranks, held, spare, x):
    """
    Turn L into the tasks' inverse inertia, and their x into what is left to accelerate.

    With ``U = L − Q`` and ``λ0 = −Q_cc⁺ yielded_c``, what constraints bear for passive joints that
    would otherwise not move as the posture advises:

    ``Λ⁻¹ = (L_tt − L_tc L_cc⁺ L_ct) − (Q_tt − Q_tc Q_cc⁺ Q_ct)``
    ``x_t ← x_t + U_tc λ0 − L_tc z``,   ``z = L_cc⁺ (x_c + U_cc λ0)``

    Parameters
    ----------
    L, Q : (k, k) arrays
        Lower triangles. Above the diagonal they receive ``L_cc⁺ L_ct`` and ``Q_cc⁺ Q_ct``; the
        tasks' block of L becomes Λ⁻¹. Q counts only if ``yields``.
    count : int
        Rows of constraints.
    yields : bool
        Whether there are passive joints.
    yielded : (k,) array
        Accelerations that their giving way adds to those of the motion advised, m/s² and rad/s².
    scale : (k,) array
        From `scale_rows`.
    F, gram, FQ, gramQ : (k, k) arrays
        Scratch, for `predict_reactions` too.
    orders, ranks : (2, k), (2,) arrays of int
        Likewise; the ranks of L_cc and Q_cc.
    held : (k,) array
        Receives λ0, N and N m.
    spare : (2, k) array
        Scratch.
    x : (k,) array
        ``a* − a_hyb``; of constraints ``a_c − a_c,hyb``, which become z.

    """
    rows = x.size
    column, work = spare[0], spare[1]
    ranks[0] = decompose_semidefinite(L, scale, count, work, orders[0], F, gram)
    if yields:
        ranks[1] = decompose_semidefinite(Q, scale, count, work, orders[1], FQ, gramQ)
        for r in range(count):
            held[r] = -yielded[r]
        solve_semidefinite(FQ, gramQ, orders[1], ranks[1], scale, count, held, work)
        for r in range(rows):
            for c in range(count):
                x[r] += (symmetric(L, r, c) - symmetric(Q, r, c)) * held[c]
    solve_semidefinite(F, gram, orders[0], ranks[0], scale, count, x, work)
    for j in range(count, rows):
        for c in range(count):
            x[j] -= L[j, c] * x[c]
        copy_row(L, j, count, column)
        solve_semidefinite(F, gram, orders[0], ranks[0], scale, count, column, work)
        take_off_row(L, L, j, count, 1.0, column)
        if yields:
            for i in range(count, j + 1):
                L[j, i] -= Q[j, i]
            copy_row(Q, j, count, column)
            solve_semidefinite(FQ, gramQ, orders[1], ranks[1], scale, count, column, work)
            take_off_row(Q, L, j, count, -1.0, column)


@rare
def predict_reactions(
        L, Q, count, yields, F, gram, orders, ranks, held, scale, push, moving, spare, x, reaction):
    """
    Write the constraint forces λ, and to x of the constraints the wrenches that are exerted there.

    ``w_c = push − λ0 − Q_cc⁺ Q_ct f``, the last two so that passive joints do what constraints and
    posture ask; λ is what these, the motion and the task forces f make the constraints bear. Pushes
    that the environment holds against move nothing, so they add nothing to it.

    Parameters
    ----------
    L, Q, count, yields, F, gram, orders, ranks, held, scale
        From `eliminate_constraints`.
    push, moving : (k,) arrays
        As in `resolve_forces`; the push of a constraint acts between its two links.
    spare : (2, k) array
        Scratch.
    x : (k,) array
        z of the constraints, which becomes the wrenches w_c, and f of the tasks.
    reaction : (k,) array
        Receives λ in its first ``count`` entries, N and N m.

    """
    rows = x.size
    extra, work = spare[0], spare[1]
    for c in range(count):
        reaction[c] = x[c]
        x[c] = push[c]
        if yields:
            x[c] -= held[c]
            for j in range(count, rows):
                x[c] -= Q[c, j] * x[j]
        for j in range(count, rows):
            reaction[c] -= L[c, j] * (x[j] - (push[j] - moving[j]))
    if not yields:
        return
    for c in range(count):
        extra[c] = 0.0
        for j in range(count, rows):
            extra[c] += Q[j, c] * x[j]
        for d in range(count):
            given = push[d] - held[d] - x[d]  # Q_cc⁺ Q_ct f
            extra[c] += (symmetric(L, c, d) - symmetric(Q, c, d)) * given
    solve_semidefinite(F, gram, orders[0], ranks[0], scale, count, extra, work)
    for c in range(count):
        reaction[c] += extra[c]
