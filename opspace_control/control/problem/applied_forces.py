# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Forces of force control are reduced where efforts or contact forces reach their limits.

The environment balances them: they take effort, move nothing, and no task needs them to move. So
the problem decides one more unknown, their share s from 0 to 1. It minimises

    ½ |q̈ − q̈_ref|²_A + ½ μ (s − 1)²,    μ = ε wᵀ A⁻¹ w,

and a row's value changes by c s: that of an effort by c = w_k, w being all that drives exert for
these forces (for the reactions of contacts and grips, too), that of a contact force by the reaction
of the contact to them. So a multiplier of one row changes the value of another by ``c c' / μ``
more. Tasks above compensate for forces below, see `resolve_forces`: what they exert for that has
the same share, and moves joints. Forces against disturbances are not reduced: what they balance is
there whatever the drives exert, as the weight is.
"""

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.data import APPLIED
from opspace_control.control.limits.kinds import (
    APPLIED_SHARE,
    FORCE_COMPONENT,
    JOINT_FORCE,
    quantity_of,
)
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.dynamics.responses import project_torques
from opspace_control.spatial.dense import dot_product

# ε: the force is reduced, not the posture, since a force needs its effort for good and a motion of
# the null space reduces it for a moment only. Where a fifth of a force of 200 N has to go,
# this accelerates the null space of an arm by 0.04 to 0.09 rad/s², ten times as much by 0.4 to 0.9
# and a thousand times by 34 to 66. At a tenth of it the condition of the problem's matrix grows.
SHARE_COST = 1e-3
# ``wᵀ A⁻¹ w`` below which there is no force to reduce, N m rad/s².
_NOTHING = 1e-12
# Within this of 1 a force is not reduced.
_ROUNDING = 1e-9


@called
def find_reducible_forces(data):
    """
    Write f_a of tasks, and what tasks above exert to compensate for them; return whether any.

    As `resolve_forces` leaves ``Y`` above the diagonal of the mobility.
    """
    stack, applied, levels = data.results.stack, data.scratch.bounded.applied, data.demand.levels
    columns, first, mobility = (
        stack.shape[1], 6 * data.demand.constraints.size, data.scratch.mobility)
    reducible, forces = False, applied.compensation[:columns]
    for r in range(columns):
        point = data.robot.points[r // 6]
        applied.force[r] = 0.0
        if r >= first and not is_group(point):
            applied.force[r] = data.demand.tasks[point.record].applied_wrench[r % 6]
        forces[r] = applied.force[r]
        reducible = reducible or forces[r] != 0.0
    if reducible:
        for number in range(levels.size - 2, -1, -1):
            last = levels[number + 1]
            for r in range(levels[number], last):
                forces[r] -= dot_product(mobility[r, last:], forces[last:], columns - last)
        for r in range(columns):
            forces[r] -= applied.force[r]
    return reducible


@rare
def set_force_share(data, share):
    """Replace the share of f_a in ``APPLIED`` by another one."""
    applied, stack = data.scratch.bounded.applied, data.results.stack
    for r in range(stack.shape[1]):
        stack[APPLIED, r] += (share - data.cycle.force_share) * applied.force[r]
    data.cycle.force_share = share


@rare
def find_inverse_cost(data):
    """Write 1/μ of this cycle, 0 where no force may be reduced; return whether any may."""
    robot, applied = data.robot, data.scratch.bounded.applied
    projection, power = data.scratch.bounded.bound_rows.response, 0.0
    project_torques(robot.nodes, robot.states, applied.effort, projection)
    for i in range(projection.size):
        if projection[i] != 0.0:
            power += projection[i] ** 2 * robot.states[i].inverse_D
    if power > _NOTHING:
        applied.inverse_cost[0] = 1.0 / (SHARE_COST * power)
    return power > _NOTHING


@inlined
def force_share_rate(data, w):
    """Return c of a row: what its value changes by s."""
    applied, bound_rows = data.scratch.bounded.applied, data.scratch.bounded.bound_rows
    quantity = quantity_of(bound_rows.kind[w])
    if quantity == APPLIED_SHARE:
        return 1.0
    if quantity == JOINT_FORCE:
        return applied.effort[bound_rows.dof[w]]
    if quantity == FORCE_COMPONENT:
        return dot_product(bound_rows.direction[w], applied.reaction, applied.reaction.size)
    return dot_product(
        bound_rows.coupling[w], applied.compensation, data.results.stack.shape[1])


@rare
def couple_force_share(data, w):
    """Write c of a row, and add ``c c' / μ`` to its coupling with those before it, and itself."""
    applied, bound_rows = data.scratch.bounded.applied, data.scratch.bounded.bound_rows
    bound_rows.force_share_rate[w] = 0.0
    if applied.inverse_cost[0] > 0.0:
        bound_rows.force_share_rate[w] = force_share_rate(data, w)
        part = applied.inverse_cost[0] * bound_rows.force_share_rate[w]
        for x in range(w + 1):
            bound_rows.gram[w, x] += part * bound_rows.force_share_rate[x]
        bound_rows.mobility[w] += part * bound_rows.force_share_rate[w]


@rare
def reduce_forces(data, count):
    """Write s by the multipliers of so many bounds, and ``APPLIED`` with s f_a for f_a."""
    applied, bound_rows = data.scratch.bounded.applied, data.scratch.bounded.bound_rows
    if applied.inverse_cost[0] > 0.0:
        lost = -applied.inverse_cost[0] * dot_product(
            bound_rows.multiplier, bound_rows.force_share_rate, count)
        set_force_share(data, 1.0 - min(lost, 1.0) if lost > _ROUNDING else 1.0)
