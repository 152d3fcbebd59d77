# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The matrices J_G, J_D and S of robots with passive joints, column by column, [JR94] 6.

Each column is the result of the hybrid dynamics (5.2), at rest and without gravity, for a unit
acceleration of one active joint, or for a unit force of one passive joint: FIG. 7.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.articulated_body import set_inertia
from opspace_control.dynamics.data import nan_filled, points_on
from opspace_control.dynamics.hybrid_dynamics import (
    add_inertial_force,
    eliminate_passive,
    gather_torques,
    induce_node,
    propagate_passive_force,
    responding_nodes,
    start_passive_inertia,
)
from opspace_control.dynamics.kinematics import move_point, place_node, place_point, weigh_node
from opspace_control.dynamics.preparation import names, prepared
from opspace_control.model.nodes import LOCKED, PASSIVE


@inlined
def solve_unit(nodes, responds, unit, states, a, tau):
    """Write motion and forces, [JR94] (5.2), of the unit input of a node, at rest."""
    for k in range(a.size):
        a[k] = tau[k] = 0.0
    passive = nodes[unit].status == PASSIVE
    (tau if passive else a)[nodes[unit].v_index] = 1.0
    for i in range(nodes.size):
        parent, s = nodes[i].parent, states[i]
        for r in range(6):
            s.A[r] = states[parent].A[r] if parent >= 0 else 0.0
            if i == unit and not passive:
                s.A[r] += s.S[r]
            s.f[r] = 0.0
        add_inertial_force(nodes[i].mass, s.c, s.Ic, s.A, s.f)
        for r in range(6):
            s.z[r] = s.f[r]
    for i in range(nodes.size - 1, -1, -1):
        if responds[i]:
            torque = tau[nodes[i].v_index] if nodes[i].status == PASSIVE else 0.0
            propagate_passive_force(nodes, i, responds, torque, states)
    for i in range(nodes.size):
        if responds[i]:
            induce_node(nodes, i, responds, states, a)
    gather_torques(nodes, tau, a, states, tau)


@kernel
def fill_columns(nodes, responds, q, points, inputs, states, a, tau, hybrid, generalized):
    """
    Write the columns of the unit inputs of some dofs: `solve_hybrid` with inertias computed once.

    ``inputs`` (k,) are nodes of the dofs, neither locked nor mimic; ``states``, and ``a`` and
    ``tau`` (nv,), zero, are scratch. Results are ``hybrid`` (nv, k), forces of active joints,
    accelerations of passive ones and forces of brakes, and ``generalized`` (6m, k), accelerations
    of the points.
    """
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        set_inertia(nodes, i, states)
        start_passive_inertia(i, states)
        for r in range(6):
            states[i].f[r] = states[i].V[r] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        eliminate_passive(nodes, i, responds, tau, a, states)
    for e in range(points.size):
        place_point(points, e, states)
    for column in range(inputs.size):
        solve_unit(nodes, responds, inputs[column], states, a, tau)
        for i in range(nodes.size):
            k = nodes[i].v_index
            if k >= 0:
                hybrid[k, column] = a[k] if nodes[i].status == PASSIVE else tau[k]
        for e in range(points.size):
            move_point(points, e, states)
            for r in range(6):
                generalized[6 * e + r, column] = points[e].a[r]


class HybridInertia(NamedTuple):
    """
    The blocks of the matrix of [JR94] (4.4), with accelerations and forces on either side.

    ``T_a = S_aa β̇_a + S_ap T_p + ...``, ``β̇_p = −S_apᵀ β̇_a + S_pp T_p + ...``: n_a active dofs,
    n_p passive ones, both in the order of ``dof_names``; locked joints do not move.
    """

    S_aa: np.ndarray
    """(n_a, n_a): the inertia of the active joints with passive joints free, M_U of (6.7)."""
    S_ap: np.ndarray
    """(n_a, n_p): −J_Dᵀ, without unit, or a length or its inverse."""
    S_pp: np.ndarray
    """(n_p, n_p): the inverse inertia of the passive joints, all other joints locked."""


def hybrid_inertia(model, state):
    """Return the `HybridInertia` of [JR94] (4.5), (4.13), by recursion in O(n nv)."""
    free = ~model.locked
    S = unit_inputs(model, state, points_on(model, ()), free)[0]
    active = model.active[free]
    return HybridInertia(S[model.active][:, active], S[model.active][:, ~active],
                         S[model.passive][:, ~active])


def generalized_jacobian(model, state, frames):
    """
    Return J_G (6m, n_a) of [JR94] (6.8), accelerations of frames by active joints.

    ``J_G = J_a − J_p A_pp⁻¹ A_pa`` with passive joints free; ``J_Gᵀ f`` are the joint forces that
    exert f at the frames. A column for each dof of ``model.active``, in the order of ``dof_names``;
    without passive joints these are the columns of J.
    """
    if not model.passive.any():
        return model.jacobian(state, frames)[:, model.active]
    return unit_inputs(model, state, points_on(model, names(frames)), model.active)[1]


def disturbance_jacobian(model, state):
    """
    Return J_D (n_p, n_a) of [JR94] (6.9), accelerations of passive joints by active joints.

    ``J_D = −S_apᵀ = −A_pp⁻¹ A_pa``: a row for each dof of ``model.passive``, a column for each of
    ``model.active``, both in the order of ``dof_names``.
    """
    return unit_inputs(model, state, points_on(model, ()), model.active)[0][model.passive]


def unit_inputs(model, state, points, dofs):
    """Return ``hybrid`` and ``generalized`` of `fill_columns` for the dofs of a mask (nv,)."""
    nodes, states = prepared(model, state)
    driven = np.flatnonzero((nodes['status'] != LOCKED) & (nodes['v_index'] >= 0))
    inputs = driven[dofs[nodes['v_index'][driven]]]
    hybrid = nan_filled((model.nv, inputs.size))
    generalized = nan_filled((6 * len(points), inputs.size))
    fill_columns(nodes, responding_nodes(nodes), state.q, points, inputs, states,
                 np.zeros(model.nv), np.zeros(model.nv), hybrid, generalized)
    return hybrid, generalized
