# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Joints at rest at their limits, and the singularities that they make.

A joint at rest at a limit of its position, or of its gravity torque, moves nothing: a stretched arm
is singular even if the torso could move it further but for its limit. So singular directions are
those of Λ⁻¹ without these joints, and their joint motion w leaves these joints at rest.
"""

import math

from opspace_control.compiled import called, rare
from opspace_control.control.data import DEMANDED, FORCE, SCALE, WANTED
from opspace_control.control.limits.bounds import acceleration_of
from opspace_control.control.limits.kinds import GRAVITY_TORQUE, POSITION, RESTING_KINDS
from opspace_control.control.limits.limit_law import faded, is_limited, resting_softness
from opspace_control.control.problem.assembly import gather_tasks, threshold_of
from opspace_control.control.singular.direction_law import level_neighbourhood
from opspace_control.control.singular.direction_motion import clear_singular_forces
from opspace_control.control.singular.transfer import move_to_reference
from opspace_control.control.solver.cholesky import bound_eigenvalues, factorise
from opspace_control.control.solver.level_inverse import (
    decompose_level,
    rows_of_level,
    solve_level,
)
from opspace_control.control.stack.rows import resolve_tasks

# doc/measurements/constants.md has what others of these change, for 90 goals.
# A joint that goes slower than this part of its ordinary speed is at rest: far above noise of
# velocities. Half and twice of it change the largest step of an effort by a tenth.
_STILL = 0.01
# Time of the change when a joint begins or ceases to rest, s: with half of it the largest step of
# an effort is 18.9 % of its limit, not 13.3, with twice of it 7.6. But then robots rest later.
_TIME = 0.1
# A share of rest, from 0 to 1, whose softness is finite in cycles of any length: one of 1 ms is a
# share of 0.01. No motion changes from a tenth to ten times of it.
_LEAST = 1e-3
# Scaled eigenvalue below which rows cannot all be met: rounding of dependent rows is far below, and
# no motion changes from a tenth to ten times of it.
_THRESHOLD = 1e-5


@called
def find_resting(nodes, limits, allowed, dt, v):
    """
    Find the joints at rest at a limit that they are pressed against.

    Their share of rest changes gradually, so that singular directions are continuous. Returns
    whether any is above 0, fading ones included. Unless it is ``allowed``, none rests.
    """
    found = False
    for k in range(limits.size):
        limit = limits[k]
        for kind in RESTING_KINDS:
            if not (allowed and is_limited(nodes, limit)) or (
                    kind == GRAVITY_TORQUE and math.isinf(limit.gravity_bound)):
                limit.active_side[kind], limit.resting_share[kind] = 0, 0.0
                continue
            side = limit.active_side[kind]
            rests = side != 0 and (limit.gravity_near if kind == GRAVITY_TORQUE else (
                limit.reason[(1 + side) // 2] == POSITION
                and abs(v[k]) <= _STILL * limit.ordinary_speed))
            if rests:
                limit.side[kind] = side
            else:
                limit.active_side[kind] = 0
            limit.resting_share[kind] = faded(limit.resting_share[kind], rests, dt, _TIME)
            found = found or limit.resting_share[kind] > 0.0
    return found


@rare
def regularise_resting(data, count):
    """
    Decompose the Gram matrix of joints at rest, regularised where the share of rest is below 1.

    ``wanted`` receives the accelerations that keep them at rest. Returns the decomposition.
    """
    bound_rows, resting_rows = (
        data.scratch.bounded.bound_rows, data.scratch.bounded.resting_rows)
    limits, gram = data.limits.joints, bound_rows.gram
    first = int(0.0)  # a literal 0 would be a type of its own: one more compilation
    for w in range(count):
        k, kind = bound_rows.dof[w], bound_rows.kind[w]
        softer = 1.0 + resting_softness(max(limits[k].resting_share[kind], _LEAST))
        resting_rows.diagonal[w] = gram[w, w]
        gram[w, w] += (softer - 1.0) * bound_rows.mobility[w]
        resting_rows.level.scale[w] = 1.0 / math.sqrt(bound_rows.mobility[w] * softer)
        resting_rows.wanted[w] = -bound_rows.offset[w] - acceleration_of(
            data, kind, k, data.results.a_null)
        resting_rows.gravity_node[w] = limits[k].node if kind == GRAVITY_TORQUE else -1
    level = rows_of_level(resting_rows.level, first, count)
    decompose_level(gram, first, _THRESHOLD, _THRESHOLD, False, level)
    for w in range(count):
        gram[w, w] = resting_rows.diagonal[w]
    return level


@rare
def respond_at_limits(data, count):
    """Write what the limits of ``count`` joints at rest exert for a unit of each of the forces."""
    bound_rows, resting_rows = (
        data.scratch.bounded.bound_rows, data.scratch.bounded.resting_rows)
    constrained, level = 6 * data.demand.constraints.size, regularise_resting(data, count)
    for c in range(data.results.stack.shape[1]):
        response = resting_rows.response[c, :count]
        for w in range(count):
            response[w] = bound_rows.coupling[w, c] if c >= constrained else 0.0
        if c >= constrained:
            solve_level(level, response)


@rare
def levels_stay_regular(data, count, t):
    """
    Return whether no direction of t rows of tasks is near a singularity that ``count`` joints make.

    As `resolve_tasks` would find it: the factor of what these joints leave of the scaled Λ⁻¹ has
    those of the Schur complements of all levels on its diagonal.
    """
    problem, truncation, stack = (
        data.scratch.bounded.problem, data.scratch.bounded.truncation, data.results.stack)
    factor, scale, levels = truncation.work, stack[SCALE], data.demand.levels
    if not data.cycle.least_eigenvalue > 0.0:
        return False
    gather_tasks(data, t, count)
    for i in range(t):
        for j in range(i + 1):
            factor[i, j] = (scale[problem.task_rows[i]] * problem.left[i, j]
                            * scale[problem.task_rows[j]])
    if not factorise(factor, t):
        return False
    for level in range(levels.size - 1):
        first, last = problem.levels[level], problem.levels[level + 1]
        near = level_neighbourhood(data.scratch.bounded.directions, scale, levels[level],
                                   levels[level + 1], threshold_of(data, level))
        if last > first and not bound_eigenvalues(
                factor[first:last, first:last], last - first, near, truncation.product) >= near:
            return False
    return True


@rare
def resolve_at_limits(data, count):
    """Resolve the stack with the mobility that ``count`` joints at rest leave."""
    coupling, resting_rows = (
        data.scratch.bounded.bound_rows.coupling, data.scratch.bounded.resting_rows)
    left, mobility, stack = data.scratch.mobility, data.results.Lambda_inverse, data.results.stack
    constrained = 6 * data.demand.constraints.size
    for c in range(stack.shape[1]):
        stack[FORCE, c] = stack[WANTED, c]
        response = resting_rows.response[c, :count]
        for w in range(count if c >= constrained else 0):
            stack[FORCE, c] -= resting_rows.wanted[w] * response[w]
        for r in range(c if c >= constrained else stack.shape[1], stack.shape[1]):
            left[r, c] = mobility[r - constrained, c - constrained]
            for w in range(count):
                left[r, c] -= coupling[w, r] * response[w]
    resolve_tasks(
        data.cycle, data.demand, data.results, data.scratch, data)


@rare
def write_reference(data, count, t):
    """
    Write the reference acceleration, with that of singular directions of t rows of tasks.

    ``count`` joints are at rest at their limits and stay there, whatever the sign of their
    multipliers; if no direction is singular, their bounds are as all others. Returns whether the
    stack is resolved anew: its forces are not those of the motion without bounds then.
    """
    cycle, stack, regular = data.cycle, data.results.stack, True
    size = stack.shape[1]
    cycle.resting_count = count
    if count > 0:
        cycle.singular_active, cycle.singular_part = False, 0.0
        respond_at_limits(data, count)
        regular = levels_stay_regular(data, count, t)
        if not regular:
            cycle.singular_control = True
            clear_singular_forces(data.scratch.bounded.directions, size)
            resolve_at_limits(data, count)
        if not cycle.singular_active:
            cycle.resting_count = 0
    for r in range(size):
        stack[DEMANDED, r] = stack[WANTED, r]
    move_to_reference(data, data.scratch.bounded.a_ref)
    return not regular
