# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The solution of a cycle's prioritised problem: multipliers of bounds, and forces of tasks.

Bounds are the first level of it: what they attain alone, the tasks below keep.
"""

import math

from opspace_control.collision.cores import TOUCHING
from opspace_control.compiled import inlined, rare
from opspace_control.control.data import FORCE, RESIDUAL, SCALE, WANTED
from opspace_control.control.limits.bounds import ROUNDING, bound_number, unit_of
from opspace_control.control.limits.kinds import (
    EFFORT,
    JOINT_KINDS,
    PARTING,
    softness_of,
)
from opspace_control.control.problem.applied_forces import reduce_forces
from opspace_control.control.problem.assembly import PROXIMAL_STEPS
from opspace_control.control.problem.effects import start_from_applied
from opspace_control.control.solver.attainable import solve_attainable
from opspace_control.control.solver.levels import solve_levels
from opspace_control.control.solver.program import DEPENDENT, LASTING, PROXIMAL, Levels

# Residual of a direction at the truncation threshold, in parts of its acceleration: that of the
# proximal steps where the levels above leave as much as the softness.
LEAST_RESIDUAL = 0.5 ** PROXIMAL_STEPS

# Softness with which shapes part that touch or overlap. Contradictory rows exert at most 1.64 times
# the force that each takes alone then, 27 times with that of shapes that are at their margin.
_OVERLAPPING = 8.0
# With which such shapes part while tasks are solved, in parts of a row's mobility; at the margin
# with none, in between as the softness of their own level grows. Shapes of one link, or features of
# a face within its margin, may have to part in nearly opposite directions. If both kept what they
# attain as hard rows, they would fix the little by which these differ, with 1e7 N. In proportion to
# the way from the margin to the touch, forces of tasks would keep pairs within their margin. A row
# stands against tasks with what it attains divided by this: with 1e-3 the task of a hand holds it
# in an obstacle, as with the mobility of a joint of 11 mm/rad besides.
_LASTING_SOFTNESS = 1e-4


@inlined
def start_forces(problem, count, t, begin):
    """Write the multipliers to begin with."""
    for r in range(count + t):
        problem.f_y[0, r] = problem.start[r - count] if begin and r >= count else 0.0


@inlined
def write_bound_softness(data, count):
    """
    Write the softness of so many bounds in their own level.

    The steps of a soft row leave a part of its demand. Pairs that part demand as much more, so that
    each attains its bound alone.
    """
    problem, bound_rows, near = (
        data.scratch.bounded.problem, data.scratch.bounded.bound_rows, data.robot.collision.near)
    for w in range(count):
        kind, beside_forces = bound_rows.kind[w], data.cycle.forces_decided
        if data.cycle.has_passive and kind < JOINT_KINDS:
            effort = bound_number(data, EFFORT, bound_rows.dof[w])
            beside_forces = beside_forces or bound_rows.index[effort] >= 0
        softness = softness_of(kind, beside_forces)
        if kind == PARTING:
            margin, distance = data.cycle.distance_margin, near[bound_rows.dof[w]].distance
            least, softness = softness, softness * (_OVERLAPPING / softness) ** min(
                (margin - distance) / max(margin, TOUCHING), 1.0)
            problem.all_softness[LASTING, w] = _LASTING_SOFTNESS * bound_rows.mobility[w] * (
                softness - least) / (_OVERLAPPING - least)
            left = (1.0 + 1.0 / softness) ** -PROXIMAL_STEPS
            problem.bounds[0, w] += left / (1.0 - left) * (
                problem.bounds[0, w] - problem.free[0, w])
        problem.all_softness[PROXIMAL, w] = softness * bound_rows.mobility[w]


@inlined
def levels_of(problem, number):
    """Return so many levels of the problem, from the highest on."""
    return Levels(problem.first_rows[:number + 1], problem.steps, problem.G, problem.all_softness,
                  problem.bounds, problem.free, DEPENDENT)


@rare
def write_levels(problem, count, t, begin):
    """Write the levels of so many bounds and rows of tasks, and the forces to ``begin`` with."""
    problem.first_rows[0], problem.first_rows[1], problem.steps[0] = 0, count, PROXIMAL_STEPS
    for level in range(problem.truncated.size):
        problem.first_rows[level + 2] = count + problem.levels[level + 1]
        problem.steps[level + 1] = PROXIMAL_STEPS
    start_forces(problem, count, t, begin)
    problem.residual_steps[:] = math.inf


@rare
def solve_at_once(data):
    """Solve all levels in one step, unless an earlier problem of this cycle could not be."""
    problem = data.scratch.bounded.problem
    if data.cycle.at_once:
        data.cycle.at_once = solve_attainable(
            levels_of(problem, problem.steps.size), problem.state, problem.factor, problem.order,
            problem.scratch, problem.f_y)
    return data.cycle.at_once


@rare
def solve_next_levels(problem, solved, number):
    """
    Solve so many levels, of which some are ``solved``: the bounds alone first, then the tasks.

    All are solved alike: with fewer steps for the problem that decides which joints rest, joints
    would begin and cease to rest in every other cycle. Returns what `solve_levels` does.
    """
    return solve_levels(
        levels_of(problem, number), solved, problem.state, problem.factor, problem.order,
        problem.scratch, problem.f_y, problem.residual_steps)


@rare
def count_unsolved(data, ended):
    """
    Count a problem as unsolved if it has not ``ended``, or multipliers are not finite.

    Active rows are at their bounds then, others may be beyond theirs, and NaN stays.
    """
    problem, finite = data.scratch.bounded.problem, True
    for r in range(problem.first_rows[problem.steps.size]):
        finite = finite and math.isfinite(problem.f_y[0, r])
    if not (ended and finite):
        data.cycle.unsolved += 1


@inlined
def side_of(problem, w, slack):
    """
    Return at which bound a row is that has a multiplier or violates it: 1, -1, or 0 for none.

    It is the nearest one, for a level above may have left the row as an equality beyond its bounds;
    a row with two equal bounds is at the one that its multiplier keeps. Violations below ``slack``
    do not count.
    """
    lower, upper = problem.bounds[0, w], problem.bounds[1, w]
    force, value = problem.f_y[0, w], problem.f_y[1, w]
    if force == 0.0 and lower - slack <= value <= upper + slack:
        return 0
    nearer = abs(value - lower) - abs(value - upper)
    if nearer == 0.0:
        nearer = -force
    return 1 if nearer > 0.0 else -1


@rare
def record_active(data, count):
    """Record which bounds are active, and what became of so many rows, for the next problem."""
    problem, bound_rows, memory = data.scratch.bounded.problem, data.scratch.bounded.bound_rows, (
        data.memory)
    memory.bound_active[:] = memory.bound_state[:] = 0
    for w in range(count):
        k, kind = bound_rows.dof[w], bound_rows.kind[w]
        side = side_of(problem, w, ROUNDING * unit_of(data, kind, k))
        number = bound_number(data, kind, k)
        if w < data.cycle.resting_count and side != data.limits.joints[k].side[kind]:
            # An equality row, which may pull; what presses the joint is in the nominal problem.
            side = data.limits.joints[k].active_side[kind]
        memory.bound_active[number] = side
        for level in range(problem.state.shape[0]):
            memory.bound_state[level, number] = problem.state[level, w]


@rare
def record_active_sides(data, count):
    """Record the bounds that joints are pressed against in the nominal problem, of so many rows."""
    limits, bound_rows = data.limits.joints, data.scratch.bounded.bound_rows
    for k in range(limits.size):
        for kind in range(JOINT_KINDS):
            limits[k].active_side[kind] = 0
    for w in range(count):
        if bound_rows.kind[w] < JOINT_KINDS:
            limits[bound_rows.dof[w]].active_side[bound_rows.kind[w]] = side_of(
                data.scratch.bounded.problem, w, math.inf)


@rare
def forget_active(data):
    """Record that no bound is active, for the motion without bounds violates none."""
    record_active(data, 0)
    record_active_sides(data, 0)


@rare
def read_forces(data, count):
    """Write the multipliers of the solved problem: of bounds, and the stack's forces of tasks."""
    problem, bound_rows, stack = data.scratch.bounded.problem, data.scratch.bounded.bound_rows, (
        data.results.stack)
    f = problem.f_y[0]
    for w in range(count):
        bound_rows.multiplier[w] = f[w]
    reduce_forces(data, count)
    start_from_applied(data)
    for level in range(problem.truncated.size):
        first, last = problem.levels[level], problem.levels[level + 1]
        for i in range(first, last):
            force = f[count + i]
            if problem.truncated[level]:
                force = 0.0
                for j in range(first, last):
                    force += problem.vectors[j, i] * f[count + j]
            stack[FORCE, problem.task_rows[i]] += force


@rare
def exceeds_residual(data, t):
    """Return whether the residual exceeds that of a direction at the truncation threshold."""
    problem, stack = data.scratch.bounded.problem, data.results.stack
    residual = wanted = 0.0
    for i in range(t):
        r = problem.task_rows[i]
        residual += (stack[SCALE, r] * stack[RESIDUAL, r]) ** 2
        wanted += (stack[SCALE, r] * stack[WANTED, r]) ** 2
    return residual > LEAST_RESIDUAL * LEAST_RESIDUAL * wanted
