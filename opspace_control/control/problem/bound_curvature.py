# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Bounds that last where nothing moves, and what their forces do along a motion.

A bound ``y ≥ l`` with the multiplier f exerts ``f ∇y``, which changes with the posture as forces of
tasks do: along v the second derivative of what it does is ``f q̇ᵀ ∇²y q̇``. Of a gravity torque
that may be more than tasks have: where one of 21 N m holds an arm, two joints that turn parts of it
against each other have 39 N m/rad by that, at 0.0047 kg m², and nearly nothing by the tasks.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.limits.kinds import (
    GRAVITY_TORQUE,
    JOINT_ACCELERATION,
    POSITION,
    lasts_at_rest,
    quantity_of,
)
from opspace_control.control.singular.direction_motion import WORK, ZEROS
from opspace_control.dynamics.kinematics import move_node
from opspace_control.dynamics.weights import gravity_torque_second_rate


@rare
def lasts(data, w):
    """Return whether a row's bound is of a posture; those of motions and efforts end with these."""
    bound_rows = data.scratch.bounded.bound_rows
    kind, side = bound_rows.kind[w], 0 if bound_rows.multiplier[w] > 0.0 else 1
    return lasts_at_rest(kind) and (quantity_of(kind) != JOINT_ACCELERATION or (
        data.bounds.joints[bound_rows.dof[w]].reason[side] == POSITION))


@rare
def lasting_share(data):
    """Return which part of the forces of bounds is that of postures, from 0 to 1, by ``f² G``."""
    bound_rows, lasting, total = data.scratch.bounded.bound_rows, 0.0, 0.0
    for w in range(data.cycle.bound_count):
        square = bound_rows.multiplier[w] ** 2 * bound_rows.gram[w, w]
        total += square
        if lasts(data, w):
            lasting += square
    return lasting / total if lasting > 0.0 else 0.0


@inlined
def move_steadily(data):
    """Move the bodies by the velocities of the joints, none of which accelerates."""
    nodes, still = data.robot.nodes, data.scratch.bounded.directions[ZEROS, :data.v.size]
    still[:] = 0.0
    for i in range(nodes.size):
        move_node(nodes, i, data.v, still, data.robot.states)


@rare
def curvature_of_bounds(data):
    """
    Return the second derivative along v of what the forces of bounds do, negative, W/s.

    That of gravity torques: positions of joints have none.
    """
    bound_rows, states, moved, total = (
        data.scratch.bounded.bound_rows, data.robot.states, False, 0.0)
    for w in range(data.cycle.bound_count):
        if bound_rows.kind[w] == GRAVITY_TORQUE and bound_rows.multiplier[w] != 0.0:
            if not moved:
                move_steadily(data)
                moved = True
            total -= bound_rows.multiplier[w] * gravity_torque_second_rate(
                data.robot.nodes, states, data.bounds.joints[bound_rows.dof[w]].node,
                data.scratch.bounded.subtrees, data.cycle.gravity,
                data.scratch.bounded.directions[WORK:])
    return total
