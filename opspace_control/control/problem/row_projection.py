# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What the multiplier of a bound's row does to the joints, to other rows and to the stack.

A bound on the acceleration of joint k is a row ``e_kᵀ q̈``, one on its gravity torque a row ``∇g_kᵀ
q̈``, and one on its effort a row ``A_k q̈``, whose multiplier accelerates joint k alone, with the
joint's part in planned grip forces, which follow the motion; that of a row on contact forces
accelerates passive joints alone. One on a distance is a row ``∇dᵀ q̈``. Joint forces of rows on
efforts, contact forces and distances include the response of passive joints, so that none of these
exerts a force. The row of the share of applied forces has no joint forces; `couple_force_share`
couples it with the others. Constraints have priority over all rows.
"""

import math

from opspace_control.compiled import rare
from opspace_control.control.constraints.constraint_law import constraint_response
from opspace_control.control.data import CONSTRAINT_FORCE, WANTED
from opspace_control.control.limits.kinds import (
    APPLIED_SHARE,
    DISTANCE_ACCELERATION,
    FORCE_COMPONENT,
    GRAVITY_TORQUE_ACCELERATION,
    JOINT_ACCELERATION,
    JOINT_FORCE,
    quantity_of,
)
from opspace_control.control.problem.grip_efforts import add_share_gradient
from opspace_control.control.singular.direction_motion import FORCES, PASSIVE_MOTION
from opspace_control.control.solver.semidefinite import (
    find_coordinates,
    solve_semidefinite,
)
from opspace_control.dynamics.passive_responses import passive_response, project_passive_response
from opspace_control.dynamics.responses import (
    apply_wrenches,
    clear_wrenches,
    project_forces,
    project_torques,
    project_unit_acceleration,
    project_unit_torque,
)
from opspace_control.spatial.dense import add_scaled, dot_product


@rare
def add_constraint_forces(data, direction, torque):
    """
    Add the constraint forces that let passive joints respond to a row only as constraints allow.

    ``m = Q_cc⁺ (J_cp r − d)``, r being the `passive_response` to the row's joint forces (nv,), and
    d (k,) how constraint forces change the row's value.
    """
    robot, scratch, directions = data.robot, data.scratch, data.scratch.bounded.directions
    nodes, states, dofs = robot.nodes, robot.states, torque.size
    force, reaction = directions[FORCES, :dofs], scratch.response_reaction
    for k in range(dofs):
        force[k] = torque[k]
    clear_wrenches(states)
    passive_response(nodes, states, robot.responds, force, directions[PASSIVE_MOTION, :dofs])
    constrained = 6 * data.demand.constraints.size
    for r in range(constrained, reaction.size):
        reaction[r] = 0.0
    for c in range(data.demand.constraints.size):
        constraint_response(robot.points[c], robot.responds, states, reaction[6 * c:6 * c + 6])
    if data.cycle.forces_decided:
        for r in range(constrained):
            reaction[r] -= direction[r]
    solve_semidefinite(scratch.passive_factor, reaction[:constrained], scratch.coordinates)
    apply_wrenches(nodes, states, robot.points, robot.supports, reaction, force, scratch.wrench)
    project_forces(nodes, states, force, torque)


@rare
def project_row(data, w):
    """Write the joint forces of a row's unit multiplier, and their projection on the joints."""
    nodes, states = data.robot.nodes, data.robot.states
    limits, bounded = data.limits.joints, data.scratch.bounded
    bound_rows, directions, dofs = bounded.bound_rows, bounded.directions, limits.size
    k, quantity = bound_rows.dof[w], quantity_of(bound_rows.kind[w])
    torque, projection = bound_rows.torque[w], bound_rows.projection[w]
    if quantity == GRAVITY_TORQUE_ACCELERATION:
        for j in range(dofs):
            torque[j] = bounded.gravity_gradient[k, j]
        project_torques(nodes, states, torque, projection)
    elif quantity in (JOINT_FORCE, FORCE_COMPONENT, DISTANCE_ACCELERATION):
        if quantity == JOINT_FORCE:
            project_unit_acceleration(nodes, limits[k].node, states, projection, torque)
            add_share_gradient(data, w, limits[k].node)
        elif quantity == DISTANCE_ACCELERATION:
            for j in range(dofs):
                torque[j] = bounded.distances.gradient[k, j]
            project_torques(nodes, states, torque, projection)
        else:
            torque[:] = projection[:] = 0.0
        if data.cycle.has_passive:
            if data.scratch.passive_factor.sizes[0] > 0:
                add_constraint_forces(data, bound_rows.direction[w], torque)
            project_passive_response(nodes, states, data.robot.responds, directions[FORCES, :dofs],
                                     directions[PASSIVE_MOTION, :dofs], projection, torque)
        # An effort row is of A, its response of the metric.
        if (data.cycle.stiffened and quantity == JOINT_FORCE) or (
                data.cycle.has_passive and data.scratch.passive_factor.sizes[0] > 0):
            project_torques(nodes, states, torque, projection)
    elif quantity == JOINT_ACCELERATION:
        project_unit_torque(nodes, limits[k].node, states, projection)
        torque[:] = 0.0
        torque[k] = 1.0
    else:
        torque[:] = projection[:] = 0.0 if quantity == APPLIED_SHARE else math.nan


@rare
def couple_row(data, w):
    """Write the coupling of a row with the rows before it, with itself and with the stack."""
    bound_rows, K, states = data.scratch.bounded.bound_rows, data.scratch.projection, (
        data.robot.states)
    gram, coupling, projection = bound_rows.gram[w], bound_rows.coupling[w], bound_rows.projection
    response, n = bound_rows.response, states.size
    coupling[:] = 0.0
    for i in range(n):
        response[i] = 0.0
        if projection[w, i] != 0.0:  # NaN stays
            response[i] = projection[w, i] * states[i].inverse_D
            add_scaled(coupling, response[i], K[i], coupling.size)
    for x in range(w + 1):
        gram[x] = dot_product(projection[x], response, n)
    bound_rows.mobility[w], bound_rows.offset[w] = gram[w], 0.0


@rare
def project_on_constraints(data, w):
    """
    Subtract the constraint reactions from a row: constraints have priority over all rows.

    As in `eliminate_constraints`, these rows having no part in Q: ``M − C_c L_cc⁺ C_cᵀ``,
    ``C_t − C_c L_cc⁺ L_ct``, and ``−C_c (λ0 − z)`` on top of its value.
    """
    stack, bound_rows = data.results.stack, data.scratch.bounded.bound_rows
    factor, constrained = data.scratch.constraint_factor, 6 * data.demand.constraints.size
    u, coupling = bound_rows.coordinates[w], bound_rows.coupling[w]
    for c in range(constrained):
        before = stack[CONSTRAINT_FORCE, c] if data.cycle.has_passive else 0.0
        bound_rows.offset[w] -= coupling[c] * (before - stack[WANTED, c])
    find_coordinates(factor, coupling, u)
    for k in range(factor.sizes[0]):
        for x in range(w + 1):
            bound_rows.gram[w, x] -= u[k] * bound_rows.coordinates[x, k]
        add_scaled(coupling[constrained:], -u[k], factor.F[k, constrained:],
                   stack.shape[1] - constrained)
