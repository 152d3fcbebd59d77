# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The rows of bounds in a cycle: what they bound, and which of them the problem has."""

from opspace_control.compiled import inlined, rare
from opspace_control.control.limits.bounds import (
    any_effort_violated,
    any_motion_violated,
    any_other_violated,
    bound_number,
    count_bounds,
    is_there,
    is_violated,
)
from opspace_control.control.limits.kinds import (
    DISTANCE,
    FORCE_SHARE,
    JOINT_ACCELERATION,
    JOINT_FORCE,
    KINDS,
    RESTING_KINDS,
    is_in_every_problem,
    quantity_of,
)
from opspace_control.control.problem.applied_forces import couple_force_share, find_inverse_cost
from opspace_control.control.problem.contact_rows import add_internal, write_direction
from opspace_control.control.problem.row_projection import (
    couple_row,
    project_on_constraints,
    project_row,
)
from opspace_control.dynamics.trunks import project_trunks
from opspace_control.spatial.dense import add_scaled


@rare
def add_row(data, count, k, kind):
    """
    Add the row of a bound to those of this cycle, so many; return how many there are then.

    It is active where it was so in the last problem.
    """
    bound_rows, state, kept = data.scratch.bounded.bound_rows, data.scratch.bounded.problem.state, (
        data.memory.bound_state)
    number = bound_number(data, kind, k)
    bound_rows.dof[count], bound_rows.kind[count], bound_rows.index[number] = k, kind, count
    for level in range(state.shape[0]):
        state[level, count] = kept[level, number]
    if data.cycle.forces_decided:
        write_direction(data, count)
    project_row(data, count)
    couple_row(data, count)
    if data.demand.constraints.size > 0:
        project_on_constraints(data, count)
    if data.cycle.forces_decided:
        add_internal(data, count)
    couple_force_share(data, count)
    return count + 1


@rare
def add_share_row(data, count):
    """Add the row of the share of forces that may be reduced; return how many there are then."""
    if find_inverse_cost(data):
        for w in range(count):
            couple_force_share(data, w)
        count = add_row(data, count, 0, FORCE_SHARE)
    return count


@rare
def begin_rows(data):
    """
    Write the rows of joints at rest at their limits; return how many there are.

    The rows of a problem are the first that need the projections on joints of trunks.
    """
    limits, count, robot = data.limits.joints, 0, data.robot
    project_trunks(robot.nodes, robot.carried, robot.points.size, data.scratch.projection)
    data.scratch.bounded.bound_rows.index[:] = -1
    data.scratch.bounded.applied.inverse_cost[0] = 0.0
    for k in range(limits.size):
        for kind in RESTING_KINDS:
            if limits[k].resting_share[kind] > 0.0:
                count = add_row(data, count, k, kind)
    return count


@inlined
def is_overlap(data, kind, k):
    """
    Return whether a bound is that shapes which overlap come no nearer; each problem has its row.

    The level of the bounds trades ways to part for each other, and would make a pair deeper that
    the motion with tasks does not.
    """
    return kind == DISTANCE and data.robot.collision.near[k].distance < 0.0


@inlined
def any_overlap(data):
    """Return whether shapes overlap that are to part."""
    found = False
    for k in range(count_bounds(data, DISTANCE)):
        found = found or (is_overlap(data, DISTANCE, k) and is_there(data, DISTANCE, k))
    return found


@rare
def add_active(data, count):
    """
    Add the rows of the other bounds that were active in the last problem; return the count of all.

    Pairs within their margin are all in it: what one wishes for is more than its bound, so that an
    effort would depend on whether it has been asked. So are the bounds of all joints' accelerations
    where shapes overlap: the level of the bounds alone, or a step of it, may be at one of these
    that the motion with tasks does not violate. That of the share of applied forces waits for these
    forces: `add_share_row`.
    """
    overlap = any_overlap(data)
    index, active = data.scratch.bounded.bound_rows.index, data.memory.bound_active
    for kind in range(KINDS):
        always = is_in_every_problem(kind) or (overlap and quantity_of(kind) == JOINT_ACCELERATION)
        for k in range(count_bounds(data, kind) if kind != FORCE_SHARE else 0):
            number = bound_number(data, kind, k)
            needed = active[number] != 0 or always or is_overlap(data, kind, k)
            if index[number] < 0 and needed and is_there(data, kind, k):
                count = add_row(data, count, k, kind)
    return count


@inlined
def may_be_violated(kind, efforts, motion, other):
    """Return of bounds of efforts, of joints' accelerations and of all else what a kind is of."""
    quantity = quantity_of(kind)
    if quantity == JOINT_FORCE:
        return efforts
    return motion if quantity == JOINT_ACCELERATION else other


@rare
def add_violated(data, count, a, tau):
    """
    Add the rows of all bounds that are violated and have none yet; return how many there are.

    ``a`` and ``tau`` (nv,) are accelerations and joint forces.
    """
    index = data.scratch.bounded.bound_rows.index
    efforts, motion, other = (
        any_effort_violated(data, tau), any_motion_violated(data, a), any_other_violated(data, a))
    if not (efforts or motion or other):
        return count
    for kind in range(KINDS):
        if may_be_violated(kind, efforts, motion, other):
            x = tau if quantity_of(kind) == JOINT_FORCE else a
            for k in range(count_bounds(data, kind)):
                if index[bound_number(data, kind, k)] < 0 and is_violated(data, kind, k, x):
                    count = add_row(data, count, k, kind)
    return count


@rare
def add_first(data, count, reducible, violated, tau):
    """
    Add the rows that the first solution has beside those of joints at rest; return the count.

    They are those of active bounds, and of the share of forces that are ``reducible``. Where there
    is none that solution would be about the motion without bounds. If that has ``violated`` some,
    their rows are added at once: ``a_joints`` and the contact forces are of this motion, and
    ``tau`` (nv,) is 0.
    """
    begin, count = count, add_active(data, count)
    if reducible:
        count = add_share_row(data, count)
    if count == begin and violated:
        count = add_violated(data, count, data.results.a_joints, tau)
    return count


@rare
def add_bound_forces(count, bound_rows, force):
    """Add the joint forces of so many rows of bounds to force (nv,)."""
    for w in range(count):
        if bound_rows.multiplier[w] != 0.0:
            add_scaled(force, bound_rows.multiplier[w], bound_rows.torque[w], force.size)
