# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The prioritised problem of a cycle: bounds on joints above the tasks, these in their order.

    minimise ½ |q̈ − q̈_ref|²_A  subject to  l ≤ R q̈ ≤ u,  then J_1 q̈ = a_1,  then J_2 q̈ = a_2, …

Its multipliers are forces of bounds and of tasks. ``G = R A⁻¹ Rᵀ``, R being the rows of both, less
constraint reactions, is what a unit multiplier of one row does to the value of another.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.data import (
    ACTIVATION,
    APPLIED,
    COMPLIANT,
    FORCE,
    MOVING,
    REJECTING,
    SCALE,
)
from opspace_control.control.limits.bounds import acceleration_of, bounds_of, unit_of
from opspace_control.control.limits.contact_forces import contact_value
from opspace_control.control.limits.kinds import (
    APPLIED_SHARE,
    FORCE_COMPONENT,
    JOINT_FORCE,
    quantity_of,
)
from opspace_control.control.limits.limit_law import resting_softness
from opspace_control.control.problem.references import NOMINAL, REFERENCE, refer_to_rest
from opspace_control.control.solver.cholesky import symmetric
from opspace_control.control.solver.program import LASTING, PROXIMAL
from opspace_control.control.solver.semidefinite import PIVOT_TOLERANCE
from opspace_control.control.solver.truncation import truncate_level, turn
from opspace_control.control.stack.scaling import level_threshold

# Tasks are as soft as the threshold below which directions are truncated, or this if it is smaller,
# and are solved in so many proximal steps. A direction at four times the threshold is met within
# 3e-6 then, one at the threshold within 4e-3, and a force along one that bounds take away is at
# most eight times what it is at the threshold. With 16 times, the largest step of an effort of a
# UR5 is 82 % instead of 33 %; with four, a direction at four times the threshold keeps 2e-3.
_LEAST_SOFTNESS = 5e-4
PROXIMAL_STEPS = 8


@rare
def select_rows(data):
    """Find the active rows of tasks in the stack, level by level; return their number."""
    problem, stack, levels = data.scratch.bounded.problem, data.results.stack, data.demand.levels
    t = 0
    for level in range(problem.truncated.size):
        problem.levels[level] = t
        if level < levels.size - 1:
            for r in range(levels[level], levels[level + 1]):
                if stack[SCALE, r] > 0.0:
                    problem.task_rows[t] = r
                    t += 1
    problem.levels[problem.truncated.size] = t
    return t


@inlined
def gather_tasks(data, t, resting):
    """Write what joints at rest leave of Λ⁻¹ of the rows of tasks."""
    problem, mobility = data.scratch.bounded.problem, data.results.Lambda_inverse
    response, coupling = data.scratch.bounded.resting_rows.response, (
        data.scratch.bounded.bound_rows.coupling)
    constrained = 6 * data.demand.constraints.size
    for i in range(t):
        r = problem.task_rows[i]
        for j in range(i + 1):
            c = problem.task_rows[j]
            x = symmetric(mobility, r - constrained, c - constrained)
            for w in range(resting):
                x -= coupling[w, r] * response[c, w]
            problem.left[i, j] = problem.left[j, i] = x


@inlined
def threshold_of(data, level):
    """Return the scaled eigenvalue of a level below which directions are truncated."""
    levels = data.demand.levels
    return level_threshold(data.results.stack[ACTIVATION], levels[level], levels[level + 1],
                           data.cycle.singularity_threshold)


@inlined
def proximal_softness(threshold):
    """Return ε, the softness of the proximal steps of scaled rows with this threshold."""
    return max(threshold, _LEAST_SOFTNESS)


@rare
def prepare_level(problem, truncation, level, t, threshold, regular):
    """Truncate a level of the rows of tasks, so many, unless it is regular; write its softness."""
    first, last = problem.levels[level], problem.levels[level + 1]
    n = last - first
    bounds, scale = truncation.bounds, truncation.scale[first:last]
    if regular:
        problem.softness[LASTING, first:last] = 0.0
    else:
        least = truncate_level(
            problem.left, (0, first), scale, threshold, problem.softness[LASTING], bounds,
            truncation.free[:t], truncation.factor, truncation.order, truncation.work)
        problem.truncated[level] = least < threshold
    for i in range(n):
        own = proximal_softness(threshold)
        if problem.truncated[level]:
            for j in range(n):
                problem.vectors[first + i, first + j] = truncation.work[n + i, j]
        else:
            own /= scale[i] ** 2
        problem.softness[PROXIMAL, first + i] = own
        if math.isinf(bounds[0, first + i]):
            problem.softness[LASTING, first + i] = math.inf


@rare
def prepare_tasks(data, t, resting):
    """
    Write the rows of tasks; of levels that are nearly singular those of eigenvectors.

    These are those of what so many joints at rest at their limits leave of Λ⁻¹, in the metric A.
    The stack's forces, those of the problem without bounds, are what to begin with; where they have
    found the eigenvalues of all levels large enough, no level is looked at again.
    """
    regular = data.cycle.least_eigenvalue > 0.0
    problem, truncation, stack = (
        data.scratch.bounded.problem, data.scratch.bounded.truncation, data.results.stack)
    scale, product = truncation.scale, truncation.product
    compensation = data.scratch.bounded.applied.compensation
    if not regular:
        gather_tasks(data, t, resting)
    for i in range(t):
        r = problem.task_rows[i]
        truncation.bounds[0, i] = truncation.bounds[1, i] = truncation.free[i] = 0.0
        scale[i], problem.start[i] = stack[SCALE, r], (
            stack[FORCE, r] - stack[APPLIED, r] - stack[REJECTING, r] - compensation[r])
    for level in range(problem.truncated.size):
        problem.truncated[level] = False
        if problem.levels[level] < problem.levels[level + 1]:
            prepare_level(
                problem, truncation, level, t, threshold_of(data, level), regular)
        if problem.truncated[level]:
            start_to_eigenvectors(problem.start, problem.vectors, scale, problem.levels[level],
                                  problem.levels[level + 1], product)
    write_gram(data, t)


@rare
def write_gram(data, t):
    """Write the coupling of the rows of tasks, of eigenvectors where levels are truncated."""
    problem, mobility = data.scratch.bounded.problem, data.results.Lambda_inverse
    product, constrained = data.scratch.bounded.truncation.product, (
        6 * data.demand.constraints.size)
    for i in range(t):
        for j in range(i + 1):
            problem.gram[i, j] = problem.gram[j, i] = symmetric(
                mobility, problem.task_rows[i] - constrained, problem.task_rows[j] - constrained)
    for i in range(t):
        levels_to_eigenvectors(problem, problem.gram[i], product)
    for i in range(t):
        levels_to_eigenvectors(problem, problem.gram[:, i], product)


@rare
def start_to_eigenvectors(start, vectors, scale, first, last, product):
    """Replace forces of a level's rows by those along its directions, ``V S⁻¹ f``."""
    for i in range(first, last):
        product[i] = 0.0
        for j in range(first, last):
            product[i] += vectors[i, j] / scale[j] ** 2 * start[j]
    for i in range(first, last):
        start[i] = product[i]


@rare
def levels_to_eigenvectors(problem, x, product):
    """Replace numbers x of rows of tasks by those of eigenvectors where levels are truncated."""
    for level in range(problem.truncated.size):
        if problem.truncated[level]:
            first, last = problem.levels[level], problem.levels[level + 1]
            turn(problem.vectors[first:last, first:last], x[first:last], product)


@rare
def write_bounds(data, count, a, nominal):
    """
    Write the bounds, softness and free values of so many rows of bounds.

    ``a`` (nv,) is the reference acceleration. A joint at rest at its limit stays there, and leaves
    it gradually, unless the problem is the ``nominal`` one, which decides about that.
    """
    problem, bound_rows = data.scratch.bounded.problem, data.scratch.bounded.bound_rows
    for w in range(count):
        k, kind = bound_rows.dof[w], bound_rows.kind[w]
        lower, upper = bounds_of(data, kind, k)
        if not nominal and w < data.cycle.resting_count:
            limit = data.limits.joints[k]
            leave = resting_softness(limit.resting_share[kind]) * unit_of(data, kind, k)
            if limit.side[kind] > 0 and math.isfinite(upper):
                lower = max(lower, upper - leave)
            elif limit.side[kind] < 0 and math.isfinite(lower):
                upper = min(upper, lower + leave)
        if bound_rows.gram[w, w] <= PIVOT_TOLERANCE * bound_rows.mobility[w]:
            lower, upper = -math.inf, math.inf
        problem.bounds[0, w], problem.bounds[1, w] = lower, upper
        problem.all_softness[LASTING, w] = problem.all_softness[PROXIMAL, w] = 0.0
        problem.free[1, w] = free_value(
            data, w, a, NOMINAL if nominal and data.cycle.singular_active else REFERENCE)
    refer_to_rest(data, count, a)


@rare
def free_value(data, w, a, reference):
    """
    Return the value of a row where all multipliers are 0, all forces of force control exerted.

    ``a`` (nv,) is the reference motion, ``reference`` says which, ``REFERENCE`` or ``NOMINAL``.
    """
    bounded, stack = data.scratch.bounded, data.results.stack
    bound_rows, contacts = bounded.bound_rows, bounded.contacts
    k, kind = bound_rows.dof[w], bound_rows.kind[w]
    if quantity_of(kind) == FORCE_COMPONENT:
        return contact_value(contacts, contacts.reference[reference], k)
    if quantity_of(kind) == JOINT_FORCE:
        return bounded.tau_ref[reference, k]
    if quantity_of(kind) == APPLIED_SHARE:
        return 1.0
    free = acceleration_of(data, kind, k, a) + bound_rows.offset[w]
    for r in range(stack.shape[1]):
        moving = stack[MOVING, r] + bounded.applied.compensation[r]
        if moving != 0.0:
            free += bound_rows.coupling[w, r] * moving
    return free


@rare
def write_demands(data, count, t, wanted):
    """
    Write the accelerations of tasks, (k,) of the stack's rows, less those by applied forces.

    All rows below the level of such a force compensate for it, and those of its own as far as they
    are not compliant themselves. Those above do, too; for forces that may be reduced they have done
    it, see `find_reducible_forces`.
    """
    reducible = data.scratch.bounded.applied.force
    problem, stack, levels = data.scratch.bounded.problem, data.results.stack, data.demand.levels
    mobility, constrained = data.results.Lambda_inverse, 6 * data.demand.constraints.size
    demand, columns = problem.bounds[0, count:], stack.shape[1]
    while columns > constrained and stack[APPLIED, columns - 1] == 0.0:
        columns -= 1  # mostly all: no force is applied
    for level in range(levels.size - 1):
        for i in range(problem.levels[level], problem.levels[level + 1]):
            r = problem.task_rows[i]
            demand[i] = wanted[r]
            for c in range(constrained, columns):
                if stack[APPLIED, c] == 0.0:
                    continue
                applied = stack[MOVING, c]
                if c >= levels[level + 1]:
                    applied = stack[APPLIED, c] - data.cycle.force_share * reducible[c]
                elif c >= levels[level]:
                    applied *= 1.0 - stack[COMPLIANT, r]
                demand[i] -= symmetric(mobility, r - constrained, c - constrained) * applied
    levels_to_eigenvectors(problem, demand, data.scratch.bounded.truncation.product)
    for i in range(t):
        upper = demand[i]
        if math.isinf(problem.softness[LASTING, i]):
            demand[i], upper = -math.inf, math.inf
        problem.bounds[1, count + i] = upper
        problem.free[:, count + i] = 0.0


@rare
def write_matrix(data, count, t):
    """Write G of all rows, and the softness of those of tasks."""
    problem, bound_rows = data.scratch.bounded.problem, data.scratch.bounded.bound_rows
    G, soft = problem.G, problem.all_softness
    for w in range(count):
        for x in range(w + 1):
            G[w, x] = G[x, w] = bound_rows.gram[w, x]
        column = G[w, count:]
        for i in range(t):
            column[i] = bound_rows.coupling[w, problem.task_rows[i]]
        levels_to_eigenvectors(problem, column, data.scratch.bounded.truncation.product)
        for i in range(t):
            G[count + i, w] = column[i]
    for i in range(t):
        for j in range(t):
            G[count + i, count + j] = problem.gram[i, j]
        lasting = problem.softness[LASTING, i]
        soft[LASTING, count + i] = 0.0 if math.isinf(lasting) else lasting
        soft[PROXIMAL, count + i] = problem.softness[PROXIMAL, i]
