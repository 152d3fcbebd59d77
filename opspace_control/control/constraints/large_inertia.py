# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Contacts as large inertias of their links, [WPO15] (43): the recursions are those of an open chain.

A contact is no row of the stack and nothing is eliminated: with ``I_c`` along its rows the inertia
is ``A' = A + J_cᵀ I_c J_c``, and all that follows from it is that of the contact up to ``1/I_c``,
[WPO15] (60). The reference motion need not respect contacts, so its own motion at them is taken
off: links react to it by ``A'⁻¹ J_cᵀ I_c (a_c − a)``, which is no force of the drives.

``contacts`` is a `LargeInertia`, of no contacts where these are eliminated; None within limits of
joints, where nothing is compiled.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.control.constraints.constraint_law import demand_constraint, place_sole
from opspace_control.control.constraints.elimination import moving_forces
from opspace_control.dynamics.data import nan_filled
from opspace_control.dynamics.force_propagation import unit_wrenches
from opspace_control.dynamics.kinematics import move_point, place_point
from opspace_control.dynamics.operational_space_inertia import add_row_inertia
from opspace_control.dynamics.responses import apply_wrenches, base_wrench, forward_response
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.vectors import dot
from opspace_control.tasks.specification_law import row_activation


class LargeInertia(NamedTuple):
    """Contacts that are large inertias of their links; each has six rows, base axes."""

    constraints: np.ndarray  # (c,) CONSTRAINT
    points: np.ndarray  # (c,) POINT
    inertia: np.ndarray  # (c, 6) I_c of each row, kg and kg m²; 0 without contact
    demand: np.ndarray  # (c, 6) acceleration a_c − a of the contact
    response: np.ndarray  # (c, 6) its acceleration by passive joints
    opposing: np.ndarray  # (c, 6) force that opposes the reference motion
    exerted: np.ndarray  # (c, 6) wrench that the drives exert there
    work: np.ndarray  # (6,) scratch


def large_inertia(records, points):
    """Return the `LargeInertia` of contacts, (c,) of CONSTRAINT and POINT."""
    return LargeInertia(records, points, *np.zeros((5, points.size, 6)), nan_filled(6))


@inlined
def add_row_forces(contacts, e, forces, f):
    """Add the forces (6,) of a contact's rows to a wrench about the root link's origin."""
    W = contacts.points[e].Psi
    for r in range(6):
        for c in range(6):
            f[r] += W[r, c] * forces[c]


@inlined
def moving_node(contacts, e):
    """Return the node of a contact, or -1 if it is open or nothing moves its link."""
    return contacts.points[e].frame.node if contacts.constraints[e].activation > 0.0 else -1


@inlined
def add_inertia(contacts, cycle, states, responds):
    """
    Place contacts and add their inertias to those of their links, of all joints and passive ones.

    On its way in or out a contact has ``w² ε^(1−w)`` of its inertia, w being the weight and ε the
    softness: it goes by magnitudes, from that of a link to that of the other contacts.
    """
    if contacts is not None:
        for e in range(contacts.points.size):
            constraint, point, inertia = (
                contacts.constraints[e], contacts.points[e], contacts.inertia[e])
            inertia[:] = 0.0
            place_point(contacts.points, e, states)
            place_sole(constraint, point)
            node, weight = moving_node(contacts, e), row_activation(constraint.activation)
            if node < 0:
                continue
            for r in range(6):
                if constraint.selected[r] != 0.0:
                    inertia[r] = weight * weight * cycle.contact_softness**-weight / (
                        cycle.least_mobility if r < 3 else cycle.least_turning)
            unit_wrenches(point.p, point.axes, point.Psi)
            add_row_inertia(point.Psi, inertia, states[node].IA)
            if responds[node]:
                add_row_inertia(point.Psi, inertia, states[node].IP)


@inlined
def add_contact_response(contacts, e, states, responds):
    """Add the inertial force of a passive-joint response to ``exerted``; write the acceleration."""
    node, response, exerted = moving_node(contacts, e), contacts.response[e], contacts.exerted[e]
    for r in range(6):
        response[r] = 0.0
        if responds[node]:
            for k in range(6):
                response[r] += contacts.points[e].Psi[k, r] * states[node].B[k]
        contacts.work[r] = contacts.inertia[e, r] * response[r]
        exerted[r] += contacts.work[r]


@inlined
def demand_contacts(contacts, cycle, states, responds):
    """
    Write the forces of contacts that oppose the reference motion, ``I_c (a_c − a)``.

    The response of passive joints to this motion leaves contacts where they are; the wrenches that
    this takes are exerted by the drives, and no part of those forces.
    """
    if contacts is not None:
        for e in range(contacts.points.size):
            constraint, demand = contacts.constraints[e], contacts.demand[e]
            contacts.exerted[e, :] = 0.0
            if moving_node(contacts, e) < 0:
                constraint.error[:] = 0.0
                continue
            move_point(contacts.points, e, states)
            demand_constraint(constraint, contacts.points, e, cycle.origin, states, responds,
                              cycle.R, demand, contacts.response[e])
            add_contact_response(contacts, e, states, responds)
            add_row_forces(contacts, e, contacts.work, states[moving_node(contacts, e)].f)


@inlined
def exert_contacts(contacts, states, responds):
    """Add the commanded internal wrenches to the links and to what the stack's forces propagate."""
    if contacts is not None:
        for e in range(contacts.points.size):
            node = moving_node(contacts, e)
            if node < 0:
                continue
            constraint, arm, work = (
                contacts.constraints[e], contacts.constraints[e].arm, contacts.work)
            weight = row_activation(constraint.activation)
            for r in range(6):
                work[r] = weight * constraint.internal_wrench[r]
            for r in range(3):
                i, j = (r + 1) % 3, (r + 2) % 3
                work[3 + r] -= arm[i] * work[j] - arm[j] * work[i]
            for r in range(6):
                contacts.exerted[e, r] += work[r]
            if responds[node]:
                add_row_forces(contacts, e, work, states[node].z)
            else:
                add_row_forces(contacts, e, work, states[node].f)


@inlined
def respond_contacts(contacts, states, responds):
    """Add the inertial forces of the passive-joint response to the stack's forces."""
    if contacts is not None:
        for e in range(contacts.points.size):
            if moving_node(contacts, e) >= 0:
                add_contact_response(contacts, e, states, responds)


@inlined
def correct_reference(contacts, nodes, states, K, x):
    """Subtract from the accelerations x, (k,), those by what opposes the reference motion."""
    if contacts is not None and contacts.points.size > 0:
        for i in range(nodes.size):
            states[i].z[:] = 0.0
        for e in range(contacts.points.size):
            node = moving_node(contacts, e)
            if node >= 0:
                for r in range(6):  # without the part that the drives exert
                    contacts.opposing[e, r] = contacts.inertia[e, r] * (
                        contacts.demand[e, r] + contacts.response[e, r])
                add_row_forces(contacts, e, contacts.opposing[e], states[node].z)
        for i in range(nodes.size - 1, -1, -1):
            s = states[i]
            if nodes[i].status != LOCKED:
                u = dot(s.z, s.S) * s.inverse_D
                for r in range(6):
                    s.z[r] -= s.U[r] * u
                for t in range(x.size):
                    x[t] -= K[i, t] * u
            for r in range(6):
                if nodes[i].parent >= 0:
                    states[nodes[i].parent].z[r] += s.z[r]
                s.z[r] = 0.0


@inlined
def predict_contacts(contacts, robot, results, scratch):
    """Write the forces of contacts, ``λ = I_c (a_c − a)`` of the motion by all forces."""
    if contacts is not None and contacts.points.size > 0:
        nodes, states, moving = robot.nodes, robot.states, scratch.moving
        moving_forces(results.stack, 0, moving)
        apply_wrenches(nodes, states, robot.points, robot.supports, moving, scratch.joint_force,
                       contacts.work)
        for e in range(contacts.points.size):
            node = moving_node(contacts, e)
            if node >= 0:
                add_row_forces(contacts, e, contacts.opposing[e], states[node].z)
        forward_response(nodes, states, scratch.joint_force, results.a_null, results.a_joints)
        for e in range(contacts.points.size):
            point, constraint, node = contacts.points[e], contacts.constraints[e], moving_node(
                contacts, e)
            constraint.force[:] = 0.0
            constraint.exerted[:] = 0.0
            if node < 0:
                continue
            for r in range(6):
                a = contacts.demand[e, r] - contacts.response[e, r]
                for k in range(6):
                    a -= point.Psi[k, r] * states[node].B[k]
                contacts.work[r] = contacts.inertia[e, r] * a
            base_wrench(point, contacts.work, 0, constraint.force)
            base_wrench(point, contacts.exerted[e], 0, constraint.exerted)
