# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Forces of tasks that the environment balances: a part of the efforts, none of the motion.

Those of force control, f_a, are reduced where efforts reach their limits, before any task or the
posture gives way: the problem decides one more unknown, their share s, from 0 to 1. It minimises

    ½ |q̈ − q̈_ref|²_A + ½ μ (s − 1)²,    μ = ε wᵀ A⁻¹ w,    w = Jᵀ f_a

and the row of the effort of joint k is ``A_k q̈ + w_k s``. So a multiplier of one row changes the
value of another by ``w_k w_l / μ`` more. Forces against disturbances are not reduced: what they
balance is there whatever the drives exert, as the weight is.
"""

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.data import APPLIED, MOVING
from opspace_control.control.limits.kinds import EFFORT, FORCE_SHARE
from opspace_control.control.singular.transfer import add_efforts
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.dynamics.responses import project_torques

# ε: the force gives way, not the posture, since a force needs its effort for good and a motion of
# the null space relieves a drive for a moment only. Where a fifth of a force of 200 N has to go,
# this accelerates the null space of an arm by 0.04 to 0.09 rad/s², ten times as much by 4 to 9. At
# a tenth rounding begins to count: the condition of the problem's matrix grows from there on.
COST = 1e-3


@inlined
def reduces_forces(applied):
    """Return whether this cycle's problem may reduce the forces of force control."""
    return applied.mobility[0] > 0.0


@rare
def add_balanced_efforts(data, tau):
    """Add ``Jᵀ (f' − f'_moving)`` of tasks to τ (nv,), s being 1."""
    stack, exerted = data.results.stack, data.scratch.exerted
    balanced = False
    for r in range(exerted.size):
        exerted[r] = 0.0
        if r >= 6 * data.demand.constraints.size:
            exerted[r] = stack[APPLIED, r] - stack[MOVING, r]
            balanced = balanced or exerted[r] != 0.0
    if balanced:
        add_efforts(data, exerted, tau)


@called
def find_reducible(data):
    """Write f_a, w and 1/μ of this cycle; 1/μ is 0 where no force may be reduced."""
    robot, stack, applied = data.robot, data.results.stack, data.scratch.bounded.applied
    rejected, first = data.demand.disturbance.tasks, 6 * data.demand.constraints.size
    applied.mobility[0], reducible = 0.0, False
    for r in range(stack.shape[1]):
        point = robot.points[r // 6]
        applied.force[r] = 0.0
        if r >= first:
            applied.force[r] = stack[APPLIED, r] - stack[MOVING, r]
            if rejected.shape[0] > 0 and not (is_group(point) or point.whole):
                applied.force[r] -= rejected[point.record, r % 6]
            reducible = reducible or applied.force[r] != 0.0
    if reducible:
        applied.effort[:] = 0.0
        add_efforts(data, applied.force, applied.effort)
        projection, power = data.scratch.bounded.bound_rows.response, 0.0
        project_torques(robot.nodes, robot.states, applied.effort, projection)
        for i in range(projection.size):
            if projection[i] != 0.0:
                power += projection[i] ** 2 / robot.states[i].D
        if power > 0.0:
            applied.mobility[0] = 1.0 / (COST * power)


@inlined
def share_coefficient(applied, kind, k):
    """Return what a row's value changes by s: of an effort w_k, of s itself 1."""
    if kind == EFFORT:
        return applied.effort[k]
    return 1.0 if kind == FORCE_SHARE else 0.0


@rare
def add_share(data, w):
    """Add ``c_w c_x / μ`` to the coupling of a row with those before it, c by s."""
    applied, bound_rows = data.scratch.bounded.applied, data.scratch.bounded.bound_rows
    if reduces_forces(applied):
        own = share_coefficient(applied, bound_rows.kind[w], bound_rows.dof[w])
        for x in range(w + 1):
            bound_rows.gram[w, x] += applied.mobility[0] * own * share_coefficient(
                applied, bound_rows.kind[x], bound_rows.dof[x])


@rare
def reduce_forces(data, count):
    """Write s by the multipliers of so many bounds, and ``APPLIED`` with s f_a for f_a."""
    applied, bound_rows, cycle = (
        data.scratch.bounded.applied, data.scratch.bounded.bound_rows, data.cycle)
    if reduces_forces(applied):
        before, total = cycle.force_share, 0.0
        for w in range(count):
            total += bound_rows.force[w] * share_coefficient(
                applied, bound_rows.kind[w], bound_rows.dof[w])
        cycle.force_share = min(max(1.0 + applied.mobility[0] * total, 0.0), 1.0)
        for r in range(applied.force.size):
            data.results.stack[APPLIED, r] += (cycle.force_share - before) * applied.force[r]
