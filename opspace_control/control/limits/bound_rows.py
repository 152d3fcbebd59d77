# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The rows of bounds in a cycle: what they bound, and which of them the problem has."""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.limits.applied_forces import couple_share, find_inverse_cost
from opspace_control.control.limits.contact_forces import (
    add_internal,
    passes_contact_bound,
    weight_of,
    write_direction,
)
from opspace_control.control.limits.distances import passes_distance_bound
from opspace_control.control.limits.kinds import (
    CONTACT_FORCE,
    DISTANCE,
    FORCE_SHARE,
    KINDS,
    RESTING_KINDS,
    bounds_of,
    unit_of,
    value_of,
)
from opspace_control.control.limits.row_projection import (
    couple_row,
    leave_row_to_constraints,
    project_row,
)
from opspace_control.model.nodes import ACTIVE

ROUNDING = 1e-7  # in the unit of a limit: what is passed by less is not


@inlined
def is_limited(nodes, limit):
    """Return whether a joint has limits and a drive."""
    return limit.q_index >= 0 and nodes[limit.node].status == ACTIVE


@called
def beyond(limit, rates, effort_limit, k, kind, a, tau):
    """Return by how much a limit of a kind is passed, in its unit; negative within it."""
    lower, upper = bounds_of(limit, kind, effort_limit)
    if math.isinf(lower) and math.isinf(upper):
        return -math.inf
    value = value_of(rates, k, kind, a, tau)
    return max(value - upper, lower - value) / unit_of(limit, kind, effort_limit)


@inlined
def bound_number(memory, kind, k, dofs):
    """
    Return the number of a bound: of joint k, the k-th on contact forces, of near pair k.

    That of the share of applied forces comes before those of near pairs; k does not count.
    """
    if kind == DISTANCE:
        return memory.bound_state.shape[1] - memory.near_pairs.size + k
    if kind == FORCE_SHARE:
        return memory.bound_state.shape[1] - memory.near_pairs.size - 1
    return kind * dofs + k


@rare
def add_row(data, grasping, count, k, kind):
    """
    Add the row of a bound to those of this cycle, so many; return how many there are then.

    It is active where it was so in the last problem.
    """
    bound_rows, state, kept = data.scratch.bounded.bound_rows, data.scratch.bounded.problem.state, (
        data.memory.bound_state)
    number = bound_number(data.memory, kind, k, data.bounds.joints.size)
    bound_rows.dof[count], bound_rows.kind[count], bound_rows.index[number] = k, kind, count
    for level in range(state.shape[0]):
        state[level, count] = kept[level, number]
    if data.cycle.forces_decided:
        write_direction(data, grasping, count)
    project_row(data, grasping, count)
    couple_row(data, count)
    if data.demand.constraints.size > 0:
        leave_row_to_constraints(data, count)
    if data.cycle.forces_decided:
        add_internal(data, count)
    couple_share(data, count)
    return count + 1


@rare
def add_share_row(data, grasping, count):
    """Add the row of the share of forces that may be reduced; return how many there are then."""
    if find_inverse_cost(data):
        for w in range(count):
            couple_share(data, w)
        count = add_row(data, grasping, count, 0, FORCE_SHARE)
    return count


@rare
def begin_rows(data, grasping):
    """
    Write the rows of joints at rest at their limits, then those of the other active limits.

    Returns how many there are of the first, and of all.
    """
    nodes, limits = data.robot.nodes, data.bounds.joints
    index, memory, count = data.scratch.bounded.bound_rows.index, data.memory, 0
    index[:] = -1
    data.scratch.bounded.applied.inverse_cost[0] = 0.0
    for k in range(limits.size):
        for kind in RESTING_KINDS:
            if limits[k].resting_share[kind] > 0.0:
                count = add_row(data, grasping, count, k, kind)
    resting = count
    for k in range(limits.size):
        if not is_limited(nodes, limits[k]):
            continue
        for kind in range(KINDS):
            if limits[k].active[kind] != 0 and (
                    index[bound_number(memory, kind, k, limits.size)] < 0):
                count = add_row(data, grasping, count, k, kind)
    for bound in range(memory.contact_active.size):
        if memory.contact_active[bound] != 0:
            count = add_row(data, grasping, count, bound, CONTACT_FORCE)
    for pair in range(data.robot.collision.count[0]):
        if memory.distance_active[pair] != 0:
            count = add_row(data, grasping, count, pair, DISTANCE)
    return resting, count


@rare
def add_violated(data, grasping, count, a, tau):
    """Add the rows of all limits that are passed and have none yet; return how many there are."""
    nodes, limits, efforts = data.robot.nodes, data.bounds.joints, data.bounds.efforts
    bounded, memory = data.scratch.bounded, data.memory
    index = bounded.bound_rows.index
    for k in range(limits.size):
        if not is_limited(nodes, limits[k]):
            continue
        for kind in range(KINDS):
            if index[bound_number(memory, kind, k, limits.size)] < 0 and beyond(
                    limits[k], bounded.gravity_rates, efforts[k], k, kind, a, tau) > ROUNDING:
                count = add_row(data, grasping, count, k, kind)
    contacts, slack = bounded.contacts, ROUNDING * weight_of(data.cycle)
    for bound in range(memory.contact_active.size):
        if index[bound_number(memory, CONTACT_FORCE, bound, limits.size)] < 0 and (
                passes_contact_bound(contacts, bound, slack)):
            count = add_row(data, grasping, count, bound, CONTACT_FORCE)
    for pair in range(data.robot.collision.count[0]):
        if index[bound_number(memory, DISTANCE, pair, limits.size)] < 0 and (
                passes_distance_bound(
                    bounded.distances, pair, a, ROUNDING * data.cycle.distance_braking)):
            count = add_row(data, grasping, count, pair, DISTANCE)
    return count


@rare
def keep_states(data, count):
    """Keep what became of so many rows, for the next problem."""
    bound_rows, state, kept = data.scratch.bounded.bound_rows, data.scratch.bounded.problem.state, (
        data.memory.bound_state)
    kept[:] = 0
    for w in range(count):
        number = bound_number(
            data.memory, bound_rows.kind[w], bound_rows.dof[w], data.bounds.joints.size)
        for level in range(state.shape[0]):
            kept[level, number] = state[level, w]


@rare
def add_bound_forces(count, bound_rows, force):
    """Add the joint forces of so many rows of bounds to force (nv,)."""
    for w in range(count):
        if bound_rows.force[w] != 0.0:
            for k in range(force.size):
                force[k] += bound_rows.force[w] * bound_rows.torque[w, k]
