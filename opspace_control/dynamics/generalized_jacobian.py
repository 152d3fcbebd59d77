# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The matrices J_G, J_D and S of robots with passive joints, column by column, [JR94] 6.

At zero velocity the inertias of (4.8) are computed once. Each column is then the result of (5.2)
for a unit acceleration of one active joint, or for a unit force of one passive joint: FIG. 7.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.articulated_body import body_inertia, propagate_inertia
from opspace_control.dynamics.data import make_points, nan_filled
from opspace_control.dynamics.hybrid_dynamics import free_joint
from opspace_control.dynamics.kinematics import (
    place_node,
    place_point,
    weigh_node,
    write_motion,
)
from opspace_control.dynamics.preparation import names, prepared
from opspace_control.model.nodes import LOCKED, PASSIVE
from opspace_control.spatial.vectors import dot


@inlined
def excite(nodes, k, states):
    """
    Inward recursion (5.2a) of [JR94] for the unit input of node k.

    ``z`` and ``u`` are zero except at nodes from k to the root.
    """
    for i in range(nodes.size):
        states[i].u = 0.0
        for r in range(6):
            states[i].z[r] = 0.0
    s = states[k]
    if nodes[k].status == PASSIVE:
        s.u = 1.0
    else:
        for r in range(6):
            s.z[r] = dot(s.IP[r], s.S)
    i = k
    while i >= 0:
        s = states[i]
        gain = 0.0
        if nodes[i].status == PASSIVE:
            s.u -= dot(s.z, s.S)
            gain = s.u / s.DP
        parent = nodes[i].parent
        if parent >= 0:
            for r in range(6):
                states[parent].z[r] = s.z[r] + gain * s.UP[r]
        i = parent


@inlined
def respond(nodes, k, states, answer):
    """
    Outward recursion (5.2b) of [JR94] after `excite`.

    ``answer`` (n,) receives forces of active joints and accelerations of passive ones, the unknown
    side of (4.4); ``B`` of each node the acceleration of its body.
    """
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        B = s.B
        for r in range(6):
            B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        if node.status == PASSIVE:
            x = (s.u - dot(s.UP, B)) / s.DP
            answer[i] = x
        else:
            x = 1.0 if i == k else 0.0
            answer[i] = dot(s.z, s.S) + node.armature * x
            for r in range(6):
                answer[i] += s.S[r] * dot(s.IP[r], B)
        for r in range(6):
            B[r] += x * s.S[r]


@kernel
def fill_columns(nodes, q, states, points, inputs, answer, hybrid, generalized):
    """
    Write the columns of the unit inputs of some dofs.

    ``points`` (m,) are frames whose accelerations are wanted; ``inputs`` (k,) are nodes of the
    dofs, neither locked nor mimic; ``states`` and ``answer`` (n,) are scratch. Results are
    ``hybrid`` (nv, k), forces of active joints, accelerations of passive ones and forces of brakes,
    and ``generalized`` (6m, k), accelerations of the points.
    """
    n = nodes.size
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        body_inertia(nodes[i].mass, states[i].c, states[i].Ic, states[i].IP)
    for i in range(n - 1, -1, -1):
        inverse_DP = free_joint(nodes, i, states)
        if nodes[i].parent >= 0:
            propagate_inertia(states[i].IP, states[i].UP, inverse_DP, states[nodes[i].parent].IP)
    for e in range(points.size):
        place_point(points, e, nodes, states)
    for column in range(inputs.size):
        excite(nodes, inputs[column], states)
        respond(nodes, inputs[column], states, answer)
        for i in range(n):
            if nodes[i].v_index >= 0:
                hybrid[nodes[i].v_index, column] = answer[i]
        for e in range(points.size):
            node = points[e].frame.node
            if node < 0:
                for r in range(6):
                    generalized[6 * e + r, column] = 0.0
            else:
                write_motion(states[node].B, points[e].p, generalized, 6 * e, column)


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
    S = unit_inputs(model, state, make_points(model, ())[0], free)[0]
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
    return unit_inputs(model, state, make_points(model, names(frames))[0], model.active)[1]


def disturbance_jacobian(model, state):
    """
    Return J_D (n_p, n_a) of [JR94] (6.9), accelerations of passive joints by active joints.

    ``J_D = −S_apᵀ = −A_pp⁻¹ A_pa``: a row for each dof of ``model.passive``, a column for each of
    ``model.active``, both in the order of ``dof_names``.
    """
    return unit_inputs(model, state, make_points(model, ())[0], model.active)[0][model.passive]


def unit_inputs(model, state, points, dofs):
    """Return ``hybrid`` and ``generalized`` of `fill_columns` for the dofs of a mask (nv,)."""
    nodes, states = prepared(model, state)
    driven = np.flatnonzero((nodes['status'] != LOCKED) & (nodes['v_index'] >= 0))
    inputs = driven[dofs[nodes['v_index'][driven]]]
    hybrid = nan_filled((model.nv, inputs.size))
    generalized = nan_filled((6 * len(points), inputs.size))
    fill_columns(nodes, state.q, states, points, inputs, nan_filled(nodes.size), hybrid,
                 generalized)
    return hybrid, generalized
