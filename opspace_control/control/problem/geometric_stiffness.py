# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The geometric stiffness of the forces of tasks, as rotational inertia of links.

A force F of a task at the end of a link, l from its joint, acts on the link as gravity acts on a
pendulum: a rotation ω of the link changes what the task attains along F by ``−ωᵀ K ω``, ``K = F·l
(1 − l lᵀ / l²)``. Where distances take away what the task wants, F is the demand divided by the
softness, and ``√(K / A)`` is a frequency far beyond that of the task: arms swing for good.

This is least squares with a large residual, of which the problem with the metric A is the
Gauss-Newton step. Newton's step counts K. So in the metric of the problem a link has the inertia
``I = max(F·l, 0) (1 − l lᵀ / l²) / k`` more, k being the stiffness of the task: no such frequency
is beyond √k. F are the multipliers of the last cycle, as in sequential quadratic programming, in
proportion to the part of its accelerations that distances take from a level. Joints at rest at
their limits need none of it: singular directions are those that they leave.

``A + J_ωᵀ I J_ω`` takes no row and no eigenvector: it is added to the articulated inertia. The
drives exert ``−J_ωᵀ I α``, α being how the forces of the problem accelerate the links. Robots with
passive joints or constraints have none of it, as their drives cannot, nor have tasks that exert
forces of their own.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.data import (
    ACTIVATION,
    APPLIED,
    FORCE,
    MOVING,
    REJECTING,
    RESIDUAL,
    SCALE,
    WANTED,
)
from opspace_control.control.limits.kinds import DISTANCE
from opspace_control.control.problem.assembly import write_gram
from opspace_control.control.problem.row_projection import couple_row, project_row
from opspace_control.control.problem.solution import LEAST_RESIDUAL
from opspace_control.control.singular.direction_motion import (
    CORRECTION,
    FORCES,
    SINGULAR_FORCE,
    STIFFNESS,
    UNIT_FORCE,
    ZEROS,
)
from opspace_control.control.stack.scaling import copy_mobility, regularise_rows
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.dynamics.link_inertia import (
    add_inertias_by_force,
    oppose_rotations,
    set_inertias,
)
from opspace_control.dynamics.operational_space_inertia import sum_mobility
from opspace_control.dynamics.responses import base_wrench
from opspace_control.spatial.dense import add_scaled


@rare
def stiffen(data, count, t):
    """
    Change the metric of the problem to ``A + J_ωᵀ I J_ω``.

    Λ⁻¹ of tasks, so many rows of bounds, and the coupling of so many rows of tasks become those of
    it.

    What was decided before, which directions are singular and what is their reference acceleration,
    stays that of the metric A.
    """
    robot, scratch, mobility = data.robot, data.scratch, data.scratch.mobility
    set_inertias(robot.nodes, robot.states, robot.needs_inertia, data.memory.link_inertia)
    sum_mobility(
        robot.nodes, robot.states, robot.needs_inertia, robot.carried, robot.crossing,
        robot.coupling, False, mobility, scratch.passive.projection,
        scratch.projection[:robot.nodes.size])
    regularise_rows(mobility, scratch.passive.constrained, 0, data.results.stack[ACTIVATION])
    copy_mobility(data.results.Lambda_inverse, 0, scratch.bounded.unstiffened)
    copy_mobility(mobility, 0, data.results.Lambda_inverse)
    for w in range(count):
        project_row(data, w)
        couple_row(data, w)
    write_gram(data, t)


@rare
def exert_link_inertia(data, a, tau):
    """
    Add to tau (nv,) what drives exert for the inertias of links where the joints accelerate by a.

    The reference motion takes none.
    """
    bounded, robot = data.scratch.bounded, data.robot
    if data.cycle.stiffened:
        oppose_rotations(robot.nodes, robot.states, data.memory.link_inertia, a, bounded.a_ref,
                         bounded.directions[ZEROS, :tau.size], tau)


@rare
def write_effect(data, effect):
    """Write how the forces of distances accelerate the rows of tasks, ``C f_R``, (k,)."""
    bound_rows = data.scratch.bounded.bound_rows
    effect[:] = 0.0
    for w in range(data.cycle.bound_count):
        if bound_rows.kind[w] == DISTANCE:
            add_scaled(effect, bound_rows.multiplier[w], bound_rows.coupling[w], effect.size)


@inlined
def residual_share(stack, effect, correction, first, last):
    """
    Return which part of a level's accelerations distances take from it, from 0 to 1.

    ``effect`` (k,) is of `write_effect`, the ``correction`` (k,) what singular-direction control
    misses.
    """
    residual = wanted = opposed = 0.0
    for r in range(first, last):
        residual += (stack[SCALE, r] * (stack[RESIDUAL, r] - correction[r])) ** 2
        wanted += (stack[SCALE, r] * stack[WANTED, r]) ** 2
        opposed += (stack[SCALE, r] * effect[r]) ** 2
    residual = min(residual, opposed)
    if residual <= LEAST_RESIDUAL * LEAST_RESIDUAL * wanted:
        return 0.0
    return min(math.sqrt(residual / wanted) - LEAST_RESIDUAL, 1.0)


@rare
def add_inertias_of_point(data, e, share):
    """Add the inertias by so much of the force at point e of the stack, and by its reaction."""
    stack, point, directions = data.results.stack, data.robot.points[e], (
        data.scratch.bounded.directions)
    if is_group(point) or point.whole:
        return
    force, wrench, square, stiffness = directions[FORCES, :6], data.scratch.wrench, 0.0, 0.0
    for r in range(6):
        k = 6 * e + r
        force[r] = share * (stack[FORCE, k] - stack[REJECTING, k] - directions[SINGULAR_FORCE, k])
        if r < 3:
            square += force[r] * force[r]
            stiffness += directions[STIFFNESS, k] * force[r] * force[r]
    if not stiffness > 0.0:
        return
    stiffness /= square
    base_wrench(point, force, 0, wrench)
    inertia = data.memory.link_inertia
    nodes, states = data.robot.nodes, data.robot.states
    add_inertias_by_force(nodes, states, point.p, point.frame.node, wrench, stiffness, inertia)
    if point.other.node >= 0:
        for r in range(3):
            wrench[r] = -wrench[r]
        add_inertias_by_force(nodes, states, point.p, point.other.node, wrench, stiffness, inertia)


@inlined
def any_applied(data):
    """Return whether any task exerts a force of its own: its references are of the metric A."""
    stack, compensation = data.results.stack, data.scratch.bounded.applied.compensation
    found = False
    for r in range(stack.shape[1]):
        found = found or stack[APPLIED, r] != 0.0 or stack[MOVING, r] != 0.0 or (
            compensation[r] != 0.0)
    return found


@rare
def write_link_inertia(data):
    """Write the inertias of links for the next cycle, by the forces of this one's problem."""
    levels, directions = data.demand.levels, data.scratch.bounded.directions
    effect = directions[UNIT_FORCE, :data.results.stack.shape[1]]
    data.memory.link_inertia[:] = 0.0
    data.cycle.stiffened = False
    if data.cycle.has_passive or data.demand.constraints.size > 0 or any_applied(data):
        return
    write_effect(data, effect)
    for level in range(levels.size - 1):
        share = residual_share(data.results.stack, effect, directions[CORRECTION],
                               levels[level], levels[level + 1])
        if share > 0.0:
            data.cycle.stiffened = True
            for e in range(levels[level] // 6, levels[level + 1] // 6):
                add_inertias_of_point(data, e, share)
