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
from opspace_control.control.hierarchy.stack import resolve_tasks
from opspace_control.control.hierarchy.structures import (
    BORNE,
    COMPLIANT,
    COUPLING,
    FORCE,
    LOST,
    MISSED,
    MOVING,
    NUMBERS,
    PUSH,
    REACTION,
    SCALE,
    SPARE,
    TORQUES,
    WANTED,
    L,
)
from opspace_control.control.hierarchy.transfer import add_response_to, bear_leads, miss_what_leads
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
from opspace_control.dynamics.responses import (
    apply_wrenches,
    forward_response,
    motion_torques,
    project_forces,
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
def miss(data, push, held, missing):
    """
    Write what forces leave missing of the accelerations that tasks ask for, (k,).

    ``push`` (k,) are those of the stack, ``held`` those that hold joints.
    """
    constrained, mobility = 6 * data.demand.constraints.size, data.scratch.Lambda_inverse
    wanted, coupling = data.scratch.rows[WANTED], data.scratch.room[COUPLING]
    for t in range(push.size):
        missing[t] = 0.0
        if t < constrained:
            continue
        missing[t] = wanted[t]
        for r in range(constrained, push.size):
            i, j = max(t, r) - constrained, min(t, r) - constrained
            missing[t] -= mobility[i, j] * push[r]
        for w in range(held.size):
            missing[t] -= coupling[w, t] * held[w]


@rare
def insist(data, lost, pull):
    """
    Write the forces with which tasks would go on if joints were let go of, (k,).

    What misses because of that, but not what is ``lost`` anyway, (k,), counts by the masses of the
    points.
    """
    rows, levels = data.scratch.rows, data.demand.levels
    for t in range(pull.size):
        pull[t] = 0.0
        if t < 6 * data.demand.constraints.size or rows[COMPLIANT, t] > 0.0:
            continue
        pull[t] = INSISTENCE * rows[SCALE, t] * rows[SCALE, t] * (rows[MISSED, t] - lost[t])
    for level in range(levels.size - 2, -1, -1):
        for r in range(levels[level], levels[level + 1]):
            for j in range(levels[level + 1], pull.size):
                pull[r] -= data.scratch.squares[L, r, j] * pull[j]


@inlined
def find_forces(data, exactly, count, push, held):
    """Write the forces that hold joints, ``λ = M⁻¹ (w − C f)``; constraints bear their part."""
    room, reaction = data.scratch.room, data.scratch.rows[REACTION]
    constrained = 6 * data.demand.constraints.size
    for w in range(count):
        held[w] = room[NUMBERS, WISH, w]
        for r in range(constrained, push.size):
            held[w] -= room[COUPLING, w, r] * push[r]
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
def resolve_held(data, count):
    """Resolve what joints that are held leave of the stack; return whether they all can be."""
    exactly = decompose_rows(count, data.scratch.room)
    take_off_held(data, exactly, count)
    resolve_tasks(data.cycle, data.demand, data.scratch, data)
    return exactly


@rare
def bear_efforts(data, grasping, count, tau_null, tau):
    """Write the efforts, (nv,), of the motion advised and of all forces of the stack and limits."""
    robot, rows, force = data.robot, data.scratch.rows, data.scratch.joint_force
    exerted, constraints = rows[SPARE + 2], data.demand.constraints.size
    if grasping is not None and data.cycle.efforts:
        plan_loads(data.cycle, grasping, constraints, data.demand.tasks, robot.points, rows)
    exert_all(6 * constraints if data.cycle.efforts else 0, grasping, rows, exerted)
    for k in range(tau.size):
        tau[k] = tau_null[k]
    add_response_to(data, exerted, tau)
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, exerted, force,
               rows[SPARE + 1])
    add_holding(count, data.scratch.room, force)
    project_forces(robot.nodes, robot.states, force, tau)


@rare
def resolve_within_limits(data, grasping, a_led, tau):
    """
    Resolve the stack once more, joints being held at their limits.

    With W the rows that hold joints, ``M = W A⁻¹ Wᵀ`` and ``C = W A⁻¹ Jᵀ``, of what constraints
    leave of these, tasks find ``Λ⁻¹ − Cᵀ M⁻¹ C`` and ``a* − a_null − Cᵀ M⁻¹ w``; then
    ``λ = M⁻¹ (w − C f)`` holds the joints. These stay in ``room`` for `add_holding`. ``a_task``
    (nv,) receives how joints accelerate, ``a_led`` (nv,) is the motion advised, ``tau`` (nv,)
    scratch. Limits of efforts take part where the motion decides about these, `LIMIT.ruled`.
    """
    cycle, robot, demand, bounds, scratch, _ = data
    nodes, states, limits, efforts = robot.nodes, robot.states, bounds.joints, bounds.efforts
    rows, room, a, force = scratch.rows, scratch.room, scratch.a_task, scratch.joint_force
    vectors, dofs = room[NUMBERS], limits.size
    push, pull, constrained = rows[SPARE], rows[SPARE + 1], 6 * demand.constraints.size
    tau_null, tau_led = vectors[ADVISED, :dofs], vectors[BEARING, :dofs]
    forget_freed(limits)
    motion_torques(nodes, states, scratch.a_null, force, tau_null)
    bear_leads(data, tau_null)
    for k in range(dofs):
        tau_led[k] = tau_null[k]
    if grasping is not None and cycle.efforts:
        bear_grips(data, grasping, tau_led)
    nearest, done, mend = math.inf, False, 0
    bent = grasping is not None and cycle.efforts
    for solution in range(SOLUTIONS + 1):
        count = hold_joints(data, cycle.leads, a_led, tau_led)
        if grasping is not None and cycle.efforts:
            bear_shares(data, grasping, count)
        couple_rows(data, count)
        leave_to_constraints(data, count)
        held, column = vectors[HOLDING, :count], vectors[COLUMN, :count]
        exactly = resolve_held(data, count)
        moving_forces(rows, constrained, push)
        find_forces(data, exactly, count, push, held)
        apply_wrenches(nodes, states, robot.points, robot.supports, push, force, pull)
        add_holding(count, room, force)
        forward_response(nodes, states, force, a_led, a)
        miss(data, push, held, rows[MISSED])
        miss_what_leads(data, rows[MISSED])
        bear_efforts(data, grasping, count, tau_null, tau)
        if bent and exactly and mend < _MENDED and 2 * solution < SOLUTIONS and correct_efforts(
                limits, efforts, count, tau, tau_led):
            mend += 1
            continue
        insist(data, rows[LOST], pull)
        cycle.solutions, cycle.held = solution + 1, count
        if done:
            exchange(limits)  # the next cycle goes on from where the search has got to
            return exactly
        closed = constrained > 0 and cycle.ranks[0] > 0
        beyond = furthest_beyond(data, closed, tau, vectors[WORK, :dofs])
        if beyond < nearest:
            nearest = beyond
            remember(limits)
        if 2 * cycle.solutions < SOLUTIONS:
            find_pulls(exactly, count, room, pull, held, column)
            if let_go_of(limits, efforts, cycle.ends > 0, room, count, a, tau):
                continue
        done = cycle.solutions == SOLUTIONS
        if done and beyond > nearest:
            exchange(limits)
        elif done or not take_hold(nodes, limits, efforts, room, a, tau):
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
