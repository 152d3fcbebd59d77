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

from opspace_control.compiled import called, inlined, shared
from opspace_control.control.constraints.passive_mobility import (
    extend_passive_factor,
    find_free_motions,
)
from opspace_control.control.data import (
    APPLIED,
    CONSTRAINT_FORCE,
    FORCE,
    MOVING,
    PASSIVE_RESPONSE,
    REACTION,
    REJECTING,
)
from opspace_control.control.solver.semidefinite import (
    decompose_semidefinite,
    fit_coordinates,
    solve_transposed,
)
from opspace_control.dynamics.force_propagation import is_idle
from opspace_control.spatial.dense import dot_product
from opspace_control.spatial.six import put, six, subtract_three


@inlined
def moving_forces(stack, constrained, moving):
    """
    Write the forces of the stack that move the robot.

    Neither the environment nor unknown forces balance them. At constraints these are the reactions,
    and the forces exerted for passive joints.
    """
    for r in range(0, moving.size, 6):
        balanced = six(stack[APPLIED], r) - six(stack[MOVING], r) + six(stack[REJECTING], r)
        put(moving, r, six(stack[FORCE], r) - balanced)
    for r in range(0, constrained, 6):
        put(moving, r, six(moving, r) + six(stack[REACTION], r))


@inlined
def extend_factor(M, factor, carried, count):
    """
    Write the coordinates ``F_c⁻¹ S M_ct`` of the rows after the first ``count``.

    Those of row t are column t of the factor's first rows, which have no entry there. ``carried``
    tells which points are idle.
    """
    F, order, scale = factor.F, factor.order, factor.scale
    for k in range(factor.sizes[0]):
        pivot = order[k]
        per_pivot = 1.0 / F[pivot, k]
        for e in range(count // 6, M.shape[0] // 6):
            if is_idle(carried[e]):
                put(F[k], 6 * e, 0.0)
                continue
            for r in range(6):
                F[k, 6 * e + r] = M[6 * e + r, pivot]
            numbers = scale[pivot] * six(F[k], 6 * e)
            for j in range(k):
                numbers = numbers - F[pivot, j] * six(F[j], 6 * e)
            put(F[k], 6 * e, per_pivot * numbers)


@inlined
def subtract_products(F, rows, W, free, carried, count, M):
    """
    Subtract ``Wᵀ W + Fᵀ F`` from the blocks on and below M's diagonal, of tasks.

    ``rows`` and ``free`` are the numbers of rows of F and W.
    """
    for e in range(count // 6, M.shape[0] // 6):
        for d in range(count // 6, e + 1):
            if not is_idle(carried[d]):
                for r in range(6 * e + carried[e].begin, 6 * e + carried[e].end, 3):
                    x, y, z = six(M[r], 6 * d), six(M[r + 1], 6 * d), six(M[r + 2], 6 * d)
                    x, y, z = subtract_three(W, free, r, 6 * d, x, y, z)
                    x, y, z = subtract_three(F, rows, r, 6 * d, x, y, z)
                    put(M[r], 6 * d, x)
                    put(M[r + 1], 6 * d, y)
                    put(M[r + 2], 6 * d, z)


@shared
def subtract_by_coordinates(factor, carried, count, u, x):
    """Subtract ``M_tc y`` from x of tasks, y being constraint forces with the coordinates u."""
    for e in range(count // 6, x.size // 6):
        if not is_idle(carried[e]):  # F of others is 0
            numbers = six(x, 6 * e)
            for k in range(factor.sizes[0]):
                numbers = numbers - u[k] * six(factor.F[k], 6 * e)
            put(x, 6 * e, numbers)


@shared
def sum_coordinates(factor, count, forces, u):
    """Write the coordinates ``F_tᵀ f`` of forces (k,), those of constraints left out."""
    for k in range(factor.sizes[0]):
        u[k] = dot_product(factor.F[k, count:], forces[count:], forces.size - count)


@shared
def constraint_reactions(factor, count, forces, u):
    """Write the first ``count`` forces: reactions to those of tasks by L or Q; u is scratch."""
    sum_coordinates(factor, count, forces, u)
    solve_transposed(factor, u, forces[:count])
    for c in range(count):
        forces[c] = -forces[c]


@inlined
def eliminate_constraints(cycle, carried, results, scratch, count):
    """
    Eliminate the constraint rows from Λ⁻¹ and from the accelerations of the tasks.

    λ0 is the constraint force that keeps passive joints on the reference acceleration,
    ``λ0 = −Q_cc⁺ (J B)_c``. Drives exert −λ0, which the reaction z balances:

    ``Λ⁻¹ = (L_tt − L_tc L_cc⁺ L_ct) − (Q_tt − Q_tc Q_cc⁺ Q_ct)``
    ``x_t ← x_t − Q_tc λ0 − L_tc (z − λ0)``,   ``z = λ0 + L_cc⁺ (x_c + (J B)_c)``

    Parameters
    ----------
    cycle : CYCLE
        Q counts only if it has passive joints.
    carried : array of POINT
        Tells which points are idle.
    results : Results
        Of ``stack``, ``PASSIVE_RESPONSE``, ``SCALE``; ``FORCE`` is ``a* − a_hyb``, of constraints
        ``a_c − a_c,hyb``, which become z. Receives λ0 in ``CONSTRAINT_FORCE``, N and N m.
    scratch : Scratch
        ``mobility`` is L, of which the tasks' block becomes Λ⁻¹; ``passive`` is Q. The factors are
        written, with the coordinates of tasks.
    count : int
        Rows of constraints.

    """
    if count == 0 and not cycle.has_passive:
        return
    stack, whole, passive = results.stack, scratch.mobility, scratch.passive
    x, lambda0, factor, free = (
        stack[FORCE], stack[CONSTRAINT_FORCE], scratch.constraint_factor, 0)
    decompose_semidefinite(whole, count, scratch.remaining, factor)
    extend_factor(whole, factor, carried, count)
    if cycle.has_passive:
        factor_q = scratch.passive_factor
        decompose_semidefinite(passive.constrained, count, scratch.remaining, factor_q)
        extend_passive_factor(passive, factor_q, carried, count)
        find_free_motions(passive, factor_q.sizes[0], carried, count)
        for c in range(count):
            lambda0[c] = -stack[PASSIVE_RESPONSE, c]
            x[c] += stack[PASSIVE_RESPONSE, c]
        fit_coordinates(factor_q, lambda0[:count], scratch.coordinates)
        subtract_by_coordinates(factor_q, carried, count, scratch.coordinates, x)
        solve_transposed(factor_q, scratch.coordinates, lambda0[:count])
        free = passive.rows[1]
    fit_coordinates(factor, x[:count], scratch.coordinates)
    subtract_by_coordinates(factor, carried, count, scratch.coordinates, x)
    solve_transposed(factor, scratch.coordinates, x[:count])
    if cycle.has_passive:
        for c in range(count):
            x[c] += lambda0[c]
    subtract_products(
        factor.F, factor.sizes[0], passive.free, free, carried, count, whole)


@inlined
def predict_reactions(cycle, results, scratch, count):
    """
    Write the constraint reactions λ, and to ``FORCE`` of constraints the wrenches exerted there.

    ``w_c = w_applied − λ0 − Q_cc⁺ Q_ct f``: the last two terms keep passive joints on the motion of
    constraints and posture. λ balances them; it follows from z and the task forces f. Applied
    forces that the environment balances move nothing and add nothing to λ. As
    `eliminate_constraints`, of which ``FORCE`` is z of the constraints, and f of the tasks;
    receives ``λ = z − L_cc⁺ L_ct f + Q_cc⁺ Q_ct f`` in the first ``count`` entries of ``REACTION``,
    N and N m.
    """
    if count == 0 and not cycle.has_passive:
        return
    stack, moving, u = results.stack, scratch.moving, scratch.coordinates
    x, applied, reaction = stack[FORCE], stack[APPLIED], stack[REACTION]
    moving_forces(stack, 0, moving)
    constraint_reactions(scratch.constraint_factor, count, moving, u)
    for c in range(count):
        reaction[c] = x[c] + moving[c]
    if not cycle.has_passive:
        for c in range(count):
            x[c] = applied[c]
        return
    constraint_reactions(scratch.passive_factor, count, x, u)
    for c in range(count):
        reaction[c] -= x[c]
        x[c] += applied[c] - stack[CONSTRAINT_FORCE, c]


@called
def bound_reactions(data, multipliers, count, reaction):
    """Write the constraint forces (c,) that multipliers f of bounds take away, ``L_cc⁺ C_cᵀ f``."""
    factor, u = data.scratch.constraint_factor, data.scratch.coordinates
    for k in range(factor.sizes[0]):
        u[k] = 0.0
    for w in range(count):
        if multipliers[w] != 0.0:
            for k in range(factor.sizes[0]):
                u[k] += multipliers[w] * data.scratch.bounded.bound_rows.coordinates[w, k]
    solve_transposed(factor, u, reaction)
