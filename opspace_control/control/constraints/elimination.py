# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Elimination of constraints and passive joints from the inverse inertia of the tasks.

The first rows of the stack are constraints, ``J_c q̈ + J̇_c v = a_c``. They are eliminated from
``L = J A_ff⁻¹ Jᵀ``, of all free joints, and from ``Q = J_p A_pp⁻¹ J_pᵀ``, of the passive ones; the
tasks' inverse inertia is what remains of their difference. Redundant constraint rows are common:
the rank is decided, not assumed.

Both eliminations are steps of one Cholesky factorisation: with ``S L_cc S = F_c F_cᵀ`` each row t
of the tasks has coordinates ``F_t = L_tc S F_c⁻ᵀ``, and ``L_tc L_cc⁺ L_ct = F_t F_tᵀ``. Only
constraint forces, which are not unique where rows are redundant, need the pseudo-inverse:
``L_cc⁺ L_ct f`` is `solve_transposed` of the coordinates ``F_tᵀ f``.
"""

from opspace_control.compiled import called, inlined
from opspace_control.control.data import (
    APPLIED,
    CONSTRAINT_FORCE,
    FACTOR_L,
    FORCE,
    GRAM_L,
    MOVING,
    PASSIVE_RESPONSE,
    REACTION,
    SCALE,
    SPARE,
    L,
    Q,
)
from opspace_control.control.solver.semidefinite import (
    Factor,
    decompose_semidefinite,
    solve_semidefinite,
    solve_transposed,
)
from opspace_control.dynamics.force_propagation import add_block


@inlined
def symmetric(M, r, c):
    """Return an entry of a symmetric matrix of which the lower triangle is given."""
    return M[r, c] if r >= c else M[c, r]


@inlined
def factor_of(cycle, scratch, which):
    """Return the `Factor` of the constraint rows of ``which``, L or Q."""
    squares = scratch.squares
    return Factor(squares[FACTOR_L + 2 * which], squares[GRAM_L + 2 * which],
                  scratch.orders[which], cycle.ranks[which], scratch.rows[SCALE])


@called
def extend_factor(M, factor, carried, count):
    """
    Write the coordinates ``F_c⁻¹ S M_ct`` of the rows after the first ``count``.

    Those of row t are column t of the factor's first rows, which have no entry there. ``carried``
    tells which points are idle.
    """
    F, order, scale = factor.rows, factor.order, factor.scale
    for k in range(factor.sizes[0]):
        pivot = order[k]
        per_pivot = 1.0 / F[pivot, k]
        for e in range(count // 6, M.shape[0] // 6):
            for r in range(6):
                F[k, 6 * e + r] = scale[pivot] * M[6 * e + r, pivot]
            if carried[e].idle:  # these are 0
                continue
            for j in range(k):
                for r in range(6):
                    F[k, 6 * e + r] -= F[pivot, j] * F[j, 6 * e + r]
            for r in range(6):
                F[k, 6 * e + r] *= per_pivot


@called
def add_products(factor, carried, count, sign, M):
    """Add ``sign F_t F_tᵀ`` to the blocks on and below the diagonal of M, for rows of tasks."""
    F = factor.rows
    for e in range(count // 6, M.shape[0] // 6):
        for d in range(count // 6, e + 1):
            if not (carried[e].idle or carried[d].idle):
                for k in range(factor.sizes[0]):
                    add_block(F[k, 6 * e:6 * e + 6], F[k, 6 * d:6 * d + 6], sign, 6 * e, 6 * d, M)


@inlined
def sum_coordinates(factor, carried, count, forces, u):
    """Write the coordinates ``F_tᵀ f`` of forces (k,), those of constraints left out."""
    for k in range(factor.sizes[0]):
        u[k] = 0.0
        for e in range(count // 6, forces.size // 6):
            if not carried[e].idle:
                for r in range(6 * e, 6 * e + 6):
                    u[k] += factor.rows[k, r] * forces[r]


@called
def constraint_reactions(factor, carried, count, forces, u):
    """Write the first ``count`` forces: reactions to those of tasks by L or Q; u is scratch."""
    sum_coordinates(factor, carried, count, forces, u)
    solve_transposed(factor, u, forces[:count])
    for c in range(count):
        forces[c] = -forces[c]


@called
def eliminate_constraints(cycle, carried, scratch, count):
    """
    Eliminate the constraint rows from Λ⁻¹ and from the accelerations of the tasks.

    With ``U = L − Q``, and λ0 the constraint force that keeps passive joints on the reference
    acceleration, ``λ0 = −Q_cc⁺ (J B)_c``:

    ``Λ⁻¹ = (L_tt − L_tc L_cc⁺ L_ct) − (Q_tt − Q_tc Q_cc⁺ Q_ct)``
    ``x_t ← x_t + U_tc λ0 − L_tc z``,   ``z = L_cc⁺ (x_c + U_cc λ0)``

    Parameters
    ----------
    cycle : CYCLE
        Receives the ranks of L_cc and Q_cc. Q counts only if it has passive joints.
    carried : array of POINT
        Tells which points are idle.
    scratch : Scratch
        Of ``squares``, L and Q, lower triangles: the tasks' block of L becomes Λ⁻¹. The factors
        are written, with the coordinates of tasks.
        Of ``rows``, ``PASSIVE_RESPONSE``, ``SCALE``; ``FORCE`` is ``a* − a_hyb``, of constraints
        ``a_c − a_c,hyb``, which become z. Receives λ0 in ``CONSTRAINT_FORCE``, N and N m.
    count : int
        Rows of constraints.

    """
    rows, whole, passive = scratch.rows, scratch.squares[L], scratch.squares[Q]
    x, lambda0, spare = rows[FORCE], rows[CONSTRAINT_FORCE], rows[SPARE]
    factor = factor_of(cycle, scratch, L)
    decompose_semidefinite(whole, count, spare, factor)
    extend_factor(whole, factor, carried, count)
    if cycle.has_passive:
        factor_q = factor_of(cycle, scratch, Q)
        decompose_semidefinite(passive, count, spare, factor_q)
        extend_factor(passive, factor_q, carried, count)
        for c in range(count):
            lambda0[c] = -rows[PASSIVE_RESPONSE, c]
        solve_semidefinite(factor_q, lambda0[:count], spare)
        for p in range(factor.sizes[1]):
            c = factor.order[p]
            for o in range(factor.sizes[1]):
                r = factor.order[o]
                x[r] += (symmetric(whole, r, c) - symmetric(passive, r, c)) * lambda0[c]
            for r in range(count, x.size):
                x[r] += (whole[r, c] - passive[r, c]) * lambda0[c]
        for j in range(count, x.size):
            for i in range(count, j + 1):
                whole[j, i] -= passive[j, i]
        add_products(factor_q, carried, count, 1.0, whole)
    solve_semidefinite(factor, x[:count], spare)
    for j in range(count, x.size):
        for p in range(factor.sizes[1]):
            x[j] -= whole[j, factor.order[p]] * x[factor.order[p]]
    add_products(factor, carried, count, -1.0, whole)


@called
def predict_reactions(cycle, carried, scratch, count):
    """
    Write the constraint reactions λ, and to ``FORCE`` of constraints the wrenches exerted there.

    ``w_c = w_applied − λ0 − Q_cc⁺ Q_ct f``: the last two terms keep passive joints on the motion of
    constraints and posture. λ follows from these, the motion and the task forces f. Applied forces
    that the environment balances move nothing and add nothing to λ. As `eliminate_constraints`,
    of which ``FORCE`` is z of the constraints, and f of the tasks; receives λ in the first
    ``count`` entries of ``REACTION``, N and N m.
    """
    rows, whole, passive = scratch.rows, scratch.squares[L], scratch.squares[Q]
    x, applied, moving, reaction = rows[FORCE], rows[APPLIED], rows[MOVING], rows[REACTION]
    factor, spare, extra, u = factor_of(cycle, scratch, L), rows[SPARE], rows[SPARE + 1], (
        rows[SPARE + 4])
    for j in range(count, x.size):
        spare[j] = x[j] - (applied[j] - moving[j])
    constraint_reactions(factor, carried, count, spare, u)
    for c in range(count):
        reaction[c] = x[c] + spare[c]
    if not cycle.has_passive:
        for c in range(count):
            x[c] = applied[c]
        return
    constraint_reactions(factor_of(cycle, scratch, Q), carried, count, x, u)
    for p in range(factor.sizes[1]):
        c = factor.order[p]
        extra[c] = 0.0
        for o in range(factor.sizes[1]):  # x is −Q_cc⁺ Q_ct f
            d = factor.order[o]
            extra[c] -= (symmetric(whole, c, d) - symmetric(passive, c, d)) * x[d]
        for j in range(count, x.size):
            extra[c] += passive[j, c] * x[j]
    for c in range(count):
        x[c] += applied[c] - rows[CONSTRAINT_FORCE, c]
    solve_semidefinite(factor, extra[:count], u)
    for c in range(count):
        reaction[c] += extra[c]


@called
def bound_reactions(data, multipliers, count, taken):
    """Write the constraint forces (c,) that multipliers f of bounds take away, ``L_cc⁺ C_cᵀ f``."""
    factor, u = factor_of(data.cycle, data.scratch, L), data.scratch.rows[SPARE + 4]
    for k in range(factor.sizes[0]):
        u[k] = 0.0
    for w in range(count):
        if multipliers[w] != 0.0:
            for k in range(factor.sizes[0]):
                u[k] += multipliers[w] * data.scratch.limits.bound_rows.coordinates[w, k]
    solve_transposed(factor, u, taken)
