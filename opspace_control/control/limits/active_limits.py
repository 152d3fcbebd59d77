# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which limits hold joints: the uppermost level of the stack, made of inequalities.

Which rows are needed is found as in any quadratic program: what is violated is added, what would by
itself go back within its limits is let go of, starting from what was held a cycle ago.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.hierarchy.modes import bear_leads, give_way_to
from opspace_control.control.hierarchy.planes import (
    AGAINST,
    BORNE,
    COUPLING,
    FEELING,
    FELT,
    NUMBERS,
    OWN_MOBILITY,
    TORQUES,
)
from opspace_control.control.hierarchy.pushes import (
    answer_pushes,
    bear_motion,
    bear_pushes,
    push_links,
)
from opspace_control.control.hierarchy.resolution import resolve_forces
from opspace_control.control.hierarchy.stack import (
    ASKED,
    COMPLIANT,
    FACTOR,
    FACTOR_L,
    FORCE,
    GRAM_L,
    HELD,
    MISSED,
    MOVING,
    PUSH,
    REACTION,
    SCALE,
    SPARE,
    SPARES,
    USUAL,
    VECTORS,
    WANTED,
    L,
    resolve_tasks,
)
from opspace_control.control.limits.choice import (
    exchange,
    furthest_beyond,
    let_go_of,
    remember,
    take_hold,
)
from opspace_control.control.limits.held_rows import (
    ADVISED,
    HOLDING,
    WISH,
    WORK,
    decompose_rows,
    hold_joints,
    leave_to_constraints,
    solve_rows,
    take_off_held,
)

# Of one cycle; in the second half no joint is let go of any more. If they do not lead to any end,
# once more with the joints held that were nearest to keeping all limits.
SOLUTIONS = 16
# Softness of the lowest level beside limits, in parts of its scaled Λ⁻¹, and how much of that the
# next one above has. Nothing is lost then but by rounding.
_SOFT = 5e-4
_FIRMER = 1e-3
_NOTHING = 1e-12


@inlined
def moving_forces(rows, constrained, push):
    """
    Write the forces of the stack that move the robot: those that nothing outside balances.

    At constraints these are what they bear, and what is exerted for the sake of passive joints.
    """
    for r in range(push.size):
        push[r] = rows[FORCE, r] - (rows[PUSH, r] - rows[MOVING, r])
        if r < constrained:
            push[r] += rows[REACTION, r]


@inlined
def find_forces(exactly, count, constrained, room, reaction, push, held):
    """Write the forces that hold joints, ``λ = M⁻¹ (w − C f)``; constraints bear their part."""
    coupling, vectors = room[COUPLING], room[NUMBERS]
    for w in range(count):
        held[w] = vectors[WISH, w]
        for r in range(constrained, push.size):
            held[w] -= coupling[w, r] * push[r]
    solve_rows(exactly, count, room, held)
    for c in range(constrained):
        for w in range(count):
            reaction[c] -= room[BORNE, w, c] * held[w]
            push[c] -= room[BORNE, w, c] * held[w]


@rare
def soften_tasks(levels, rows, squares):
    """
    Let tasks give way beside limits, the lower the more, as their forces are others than `USUAL`.

    As if something soft were between these and their points: ``L_rr + δ/s²``. So which limits are
    to hold joints is the question of one strictly convex problem, and forces do not jump where the
    answer changes.
    """
    softness = _SOFT
    for level in range(levels.size - 2, -1, -1):
        for r in range(levels[level], levels[level + 1]):
            if rows[SCALE, r] > 0.0:
                soft = softness / (rows[SCALE, r] * rows[SCALE, r])
                squares[L, r, r] += soft
                rows[FORCE, r] += soft * rows[USUAL, r]
        softness *= _FIRMER


@inlined
def motion_of(r, first, offset, mobility, rows):
    """Return how forces of the stack accelerate row r, of those from row ``first`` on."""
    total = 0.0
    for c in range(first, rows.shape[1]):
        force = rows[FORCE, c] - rows[PUSH, c] + (1.0 - rows[COMPLIANT, r]) * rows[MOVING, c]
        total += mobility[max(r, c) - offset, min(r, c) - offset] * force
    return total


@rare
def advise_tasks(exactly, count, constrained, room, rows, mobility):
    """
    Let tasks want what they get without limits, and with the forces of that: WANTED, USUAL.

    But for joints, ``count`` of them, that stand at their ends.
    """
    vectors, coupling = room[NUMBERS], room[COUPLING]
    force, held = rows[FORCE], vectors[HOLDING, :count]
    for w in range(count):
        held[w] = vectors[WISH, w]
    solve_rows(exactly, count, room, held)
    for r in range(constrained, force.size):
        for w in range(count):
            held[w] -= room[AGAINST, r, w] * force[r]
    for r in range(constrained, force.size):
        rows[USUAL, r] = force[r] - rows[PUSH, r]
        rows[WANTED, r] = motion_of(r, constrained, constrained, mobility, rows)
        for w in range(count):
            rows[WANTED, r] += coupling[w, r] * held[w]


@rare
def make_up(exactly, count, cycle, constrained, levels, room, rows, squares, mobility):
    """
    Let tasks have all that they want where no direction is nearly lost because of joints held.

    What their softness has left of it is resolved once more, and ever less of it towards such
    directions; the forces of that are ``USUAL`` from then on.
    """
    force, nothing, left = rows[FORCE], rows[MISSED], rows[USUAL]
    take_off_held(exactly, count, constrained, room, rows[WANTED], mobility, squares[L], left)
    for r in range(constrained, force.size):
        left[r] -= motion_of(r, constrained, 0, squares[L], rows)
        nothing[r] = 0.0
    for r in range(constrained):
        left[r] = nothing[r] = 0.0
    cycle.least_eigenvalue = resolve_forces(
        squares[L], levels, rows[ASKED], nothing, nothing, nothing, cycle.singularity_threshold,
        rows[SCALE], squares[FACTOR], squares[VECTORS], rows[SPARE:SPARE + SPARES], left, None)
    for r in range(constrained, force.size):
        left[r] += force[r] - rows[PUSH, r]


@rare
def resolve_within_limits(
        cycle, nodes, states, points, supports, levels, constrained, limits, effort_limits,
        a_null, a_led, a, joint_force, tau, room, rows, squares, orders, Lambda_inverse, robot):
    """
    Resolve the stack once more, joints being held at their limits.

    Of all motions within limits that one which is nearest to q̈_free, the one without them:
    ``min ‖q̈ − q̈_free‖²_A + Σ ‖S J (q̈ − q̈_free)‖² / δ``, δ being `_SOFT` at the lowest level and
    ever less above; then `make_up`, and on from there.

    With W the rows that hold joints, ``M = W A⁻¹ Wᵀ`` and ``C = W A⁻¹ Jᵀ``, of what constraints
    leave of these, tasks find ``Λ⁻¹ − Cᵀ M⁻¹ C`` and ``J q̈_free − Cᵀ M⁻¹ w``; then
    ``λ = M⁻¹ (w − C f)`` holds the joints. These stay in ``room`` for `add_holding`. ``a`` (nv,)
    receives how joints accelerate, ``joint_force`` and ``tau`` (nv,) are scratch; all else is that
    of `limited_cycle`. Limits of efforts take part where they say what the joints can do: without
    constraints.
    """
    n, dofs, size = nodes.size, limits.size, rows.shape[1]
    K, vectors, reaction = room[FEELING, :n, :size], room[NUMBERS], rows[REACTION]
    felt, torques, coupling = room[FELT, :, :n], room[TORQUES, :, :dofs], room[COUPLING, :, :size]
    push, pull, tau_null = rows[SPARE], rows[SPARE + 1], vectors[ADVISED, :dofs]
    both = constrained == 0
    bear_motion(nodes, states, a_null, joint_force, tau_null)
    bear_leads(robot, tau_null)
    nearest, done, whole = math.inf, False, False
    for solution in range(SOLUTIONS + 1):
        count = hold_joints(nodes, states, limits, cycle.leads, effort_limits, a_led, tau_null, K,
                            felt, torques, coupling, room[OWN_MOBILITY], vectors, robot)
        if constrained > 0:
            leave_to_constraints(
                cycle, count, constrained, rows[SCALE], squares[L], squares[FACTOR_L],
                squares[GRAM_L], orders[0], rows[HELD], rows[WANTED], push, room)
        held = vectors[HOLDING, :count]
        exactly = decompose_rows(count, room)
        take_off_held(exactly, count, constrained, room, rows[WANTED], Lambda_inverse, squares[L],
                      rows[FORCE])
        soften_tasks(levels, rows, squares)
        resolve_tasks(cycle, constrained, levels, _NOTHING, rows, squares, orders, robot)
        moving_forces(rows, constrained, push)
        find_forces(exactly, count, constrained, room, reaction, push, held)
        push_links(nodes, states, points, supports, push, joint_force, pull)
        add_holding(count, room, joint_force)
        answer_pushes(nodes, states, joint_force, a_led, a)
        if both:
            for k in range(dofs):
                tau[k] = tau_null[k]
            give_way_to(robot, rows[FORCE], tau)
            push_links(nodes, states, points, supports, rows[FORCE], joint_force, pull)
            add_holding(count, room, joint_force)
            bear_pushes(nodes, states, joint_force, tau)
        cycle.solutions, cycle.held = solution + 1, count
        for r in range(constrained, push.size):
            rows[MISSED, r] = rows[WANTED, r] - motion_of(
                r, constrained, constrained, Lambda_inverse, rows)
            for w in range(count):
                rows[MISSED, r] -= coupling[w, r] * held[w]
        if done:
            exchange(limits)  # the next cycle goes on from where the search has got to
            return
        beyond = furthest_beyond(nodes, states, limits, effort_limits, both, room, a, tau,
                                 joint_force, vectors[WORK, :dofs])
        if beyond < nearest:
            nearest = beyond
            remember(limits)
        between_ends = cycle.led and cycle.ends > 0
        if 2 * cycle.solutions < SOLUTIONS and let_go_of(
                limits, effort_limits, between_ends, room, count, a, tau):
            continue
        done = cycle.solutions == SOLUTIONS
        if done and beyond > nearest:
            exchange(limits)
        elif done or not take_hold(nodes, limits, effort_limits, both, room, a, tau):
            if done or whole:
                return
            make_up(exactly, count, cycle, constrained, levels, room, rows, squares,
                    Lambda_inverse)
            nearest, whole = math.inf, True


@rare
def add_holding(count, room, force):
    """Add the joint forces of so many rows that hold joints at their limits to force (nv,)."""
    for w in range(count):
        for k in range(force.size):
            force[k] += room[NUMBERS, HOLDING, w] * room[TORQUES, w, k]
