# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which limits hold joints: the uppermost level of the stack, made of inequalities.

Which rows are needed is found as in any quadratic program: what is violated is added, what would by
itself go back within its limits is let go of, starting from what was held a cycle ago.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.grasping.load_sharing import plan_loads
from opspace_control.control.hierarchy.handover import bear_leads, give_way_to, miss_what_leads
from opspace_control.control.hierarchy.planes import (
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
from opspace_control.control.hierarchy.stack import (
    COMPLIANT,
    FACTOR_L,
    FORCE,
    GRAM_L,
    HELD,
    LOST,
    MISSED,
    MOVING,
    PUSH,
    REACTION,
    SCALE,
    SPARE,
    WANTED,
    L,
    resolve_tasks,
)
from opspace_control.control.limits.choice import (
    INSISTENCE,
    exchange,
    forget_freed,
    furthest_beyond,
    let_go_of,
    remember,
    take_hold,
)
from opspace_control.control.limits.grip_efforts import (
    bear_grips,
    bear_shares,
    correct_efforts,
    exert_all,
)
from opspace_control.control.limits.held_rows import (
    ADVISED,
    BEARING,
    COLUMN,
    HOLDING,
    WISH,
    WORK,
    couple_rows,
    decompose_rows,
    hold_joints,
    leave_to_constraints,
    solve_rows,
    take_off_held,
)

# Of one cycle; in the second half no joint is let go of any more. If they do not lead to any end,
# once more with the joints held that were nearest to keeping all limits.
SOLUTIONS = 48
# Of these so many may make up for what rows of efforts leave out: `correct_efforts`.
_MENDED = 8


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


@rare
def miss(constrained, rows, mobility, push, coupling, held, missing):
    """
    Write what forces leave missing of the accelerations that tasks ask for, (k,).

    ``push`` (k,) are those of the stack, ``held`` those that hold joints.
    """
    for t in range(push.size):
        missing[t] = 0.0
        if t < constrained:
            continue
        missing[t] = rows[WANTED, t]
        for r in range(constrained, push.size):
            i, j = max(t, r) - constrained, min(t, r) - constrained
            missing[t] -= mobility[i, j] * push[r]
        for w in range(held.size):
            missing[t] -= coupling[w, t] * held[w]


@rare
def insist(constrained, levels, rows, squares, lost, pull):
    """
    Write the forces with which tasks would go on if joints were let go of, (k,).

    What misses because of that, but not what is ``lost`` anyway, (k,), counts by the masses of the
    points.
    """
    for t in range(pull.size):
        pull[t] = 0.0
        if t < constrained or rows[COMPLIANT, t] > 0.0:
            continue
        pull[t] = INSISTENCE * rows[SCALE, t] * rows[SCALE, t] * (rows[MISSED, t] - lost[t])
    for level in range(levels.size - 2, -1, -1):
        for r in range(levels[level], levels[level + 1]):
            for j in range(levels[level + 1], pull.size):
                pull[r] -= squares[L, r, j] * pull[j]


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


@inlined
def find_pulls(exactly, count, room, pull, held, column):
    """Write the forces that hold joints if tasks insist on what they have not got."""
    coupling = room[COUPLING]
    for w in range(count):
        column[w] = 0.0
        for r in range(pull.size):
            column[w] -= coupling[w, r] * pull[r]
    solve_rows(exactly, count, room, column)
    for w in range(count):
        column[w] += held[w]


@rare
def resolve_held(cycle, constrained, levels, count, room, rows, squares, orders, Lambda_inverse,
                 robot):
    """Resolve what joints that are held leave of the stack; return whether they all can be."""
    exactly = decompose_rows(count, room)
    take_off_held(exactly, count, constrained, room, rows[WANTED], Lambda_inverse, squares[L],
                  rows[FORCE])
    resolve_tasks(cycle, constrained, levels, rows, squares, orders, robot)
    return exactly


@rare
def bear_efforts(
        cycle, nodes, states, points, supports, constrained, tasks, grasps, grips, rows, count,
        room, joint_force, tau_null, robot, tau):
    """Write the efforts, (nv,), of the motion advised and of all forces of the stack and limits."""
    exerted = rows[SPARE + 2]
    if grasps is not None and cycle.efforts:
        plan_loads(cycle, grasps, grips, constrained // 6, tasks, points, rows)
    exert_all(constrained if cycle.efforts else 0, grips, rows, exerted)
    for k in range(tau.size):
        tau[k] = tau_null[k]
    give_way_to(robot, exerted, tau)
    push_links(nodes, states, points, supports, exerted, joint_force, rows[SPARE + 1])
    add_holding(count, room, joint_force)
    bear_pushes(nodes, states, joint_force, tau)


@rare
def resolve_within_limits(
        cycle, nodes, states, points, supports, levels, constrained, tasks, grasps, grips, limits,
        effort_limits, a_null, a_led, a, joint_force, tau, room, rows, squares, orders, small,
        Lambda_inverse, robot):
    """
    Resolve the stack once more, joints being held at their limits.

    With W the rows that hold joints, ``M = W A⁻¹ Wᵀ`` and ``C = W A⁻¹ Jᵀ``, of what constraints
    leave of these, tasks find ``Λ⁻¹ − Cᵀ M⁻¹ C`` and ``a* − a_null − Cᵀ M⁻¹ w``; then
    ``λ = M⁻¹ (w − C f)`` holds the joints. These stay in ``room`` for `add_holding`. ``a`` (nv,)
    receives how joints accelerate, ``joint_force`` and ``tau`` (nv,) are scratch; all else is that
    of `limited_cycle`. Limits of efforts take part where the motion decides about these, which is
    `LIMIT.ruled`.
    """
    n, dofs, size = nodes.size, limits.size, rows.shape[1]
    K, vectors, reaction = room[FEELING, :n, :size], room[NUMBERS], rows[REACTION]
    felt, torques, coupling = room[FELT, :, :n], room[TORQUES, :, :dofs], room[COUPLING, :, :size]
    push, pull = rows[SPARE], rows[SPARE + 1]
    tau_null, tau_led = vectors[ADVISED, :dofs], vectors[BEARING, :dofs]
    forget_freed(limits)
    bear_motion(nodes, states, a_null, joint_force, tau_null)
    bear_leads(robot, tau_null)
    for k in range(dofs):
        tau_led[k] = tau_null[k]
    if grasps is not None and cycle.efforts:
        bear_grips(cycle, nodes, states, points, supports, constrained, tasks, grasps, grips, rows,
                   squares[L], joint_force, robot, tau_led)
    nearest, done, mend = math.inf, False, 0
    bent = grasps is not None and cycle.efforts
    for solution in range(SOLUTIONS + 1):
        count = hold_joints(nodes, states, limits, cycle.leads, effort_limits, a_led, tau_led,
                            felt, torques, vectors, robot)
        if grasps is not None and cycle.efforts:
            bear_shares(nodes, states, points, supports, constrained, limits, count, tasks, grasps,
                        grips, rows, small, joint_force, felt, torques)
        couple_rows(nodes, states, count, K, felt, coupling, room[OWN_MOBILITY], vectors)
        leave_to_constraints(
            cycle, count, constrained, rows[SCALE], squares[L], squares[FACTOR_L], squares[GRAM_L],
            orders[0], rows[HELD], rows[WANTED], push, room)
        held, column = vectors[HOLDING, :count], vectors[COLUMN, :count]
        exactly = resolve_held(cycle, constrained, levels, count, room, rows, squares, orders,
                               Lambda_inverse, robot)
        moving_forces(rows, constrained, push)
        find_forces(exactly, count, constrained, room, reaction, push, held)
        push_links(nodes, states, points, supports, push, joint_force, pull)
        add_holding(count, room, joint_force)
        answer_pushes(nodes, states, joint_force, a_led, a)
        miss(constrained, rows, Lambda_inverse, push, coupling, held, rows[MISSED])
        miss_what_leads(robot, rows[MISSED])
        bear_efforts(
            cycle, nodes, states, points, supports, constrained, tasks, grasps, grips, rows, count,
            room, joint_force, tau_null, robot, tau)
        if bent and exactly and mend < _MENDED and 2 * solution < SOLUTIONS and correct_efforts(
                limits, effort_limits, count, tau, tau_led):
            mend += 1
            continue
        insist(constrained, levels, rows, squares, rows[LOST], pull)
        cycle.solutions, cycle.held = solution + 1, count
        if done:
            exchange(limits)  # the next cycle goes on from where the search has got to
            return exactly
        closed = constrained > 0 and cycle.ranks[0] > 0
        beyond = furthest_beyond(nodes, states, limits, effort_limits, closed, room, a, tau,
                                 joint_force, vectors[WORK, :dofs])
        if beyond < nearest:
            nearest = beyond
            remember(limits)
        if 2 * cycle.solutions < SOLUTIONS:
            find_pulls(exactly, count, room, pull, held, column)
            if let_go_of(limits, effort_limits, cycle.ends > 0, room, count, a, tau):
                continue
        done = cycle.solutions == SOLUTIONS
        if done and beyond > nearest:
            exchange(limits)
        elif done or not take_hold(nodes, limits, effort_limits, room, a, tau):
            return exactly


@rare
def exert_borne(cycle, constrained, room, rows):
    """Exert what constraints would bear of the rows that hold joints."""
    for c in range(constrained):
        for w in range(cycle.held):
            t = room[BORNE, w, c] * room[NUMBERS, HOLDING, w]
            rows[FORCE, c] -= t
            rows[REACTION, c] += t


@rare
def add_holding(count, room, force):
    """Add the joint forces of so many rows that hold joints at their limits to force (nv,)."""
    for w in range(count):
        for k in range(force.size):
            force[k] += room[NUMBERS, HOLDING, w] * room[TORQUES, w, k]
