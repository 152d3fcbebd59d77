# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The generalized momentum ``p = A v`` and its rate by recursion, in O(n), without A or Ȧ.

``p_k = S_kᵀ h_k`` with the spatial momentum ``h_k = Σ I_i V_i`` of all bodies that joint k carries
(Featherstone, Rigid Body Dynamics Algorithms, 2.11, 5.3). By Newton and Euler the rate of h_k is
the force through the joint plus the weight w_k of these bodies, and the axis moves with the body
that carries it, ``Ṡ_k = V_carrier × S_k``. So

    ṗ_k = τ_k + Ṡ_kᵀ h_k + S_kᵀ w_k,

and the last two terms are ``Cᵀ v − g`` of [DM03], ``Cᵀ v = Ȧ v − b``: no acceleration occurs. Each
row holds for its own joint, whatever acts on the others.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.center_of_mass import add_force
from opspace_control.dynamics.hybrid_dynamics import add_inertial_force
from opspace_control.dynamics.kinematics import place_node, weigh_node, write_velocity
from opspace_control.dynamics.preparation import GRAVITY, prepared
from opspace_control.spatial.six import add_six, put
from opspace_control.spatial.vectors import dot


@inlined
def start_momentum(nodes, i, gravity, states):
    """Write the momentum of body i to ``z``, and its weight to ``B``."""
    m, s = nodes[i].mass, states[i]
    for r in range(6):
        s.z[r] = s.B[r] = 0.0
    add_inertial_force(m, s.c, s.Ic, s.V, s.z)
    add_force(s.c, m * gravity[0], m * gravity[1], m * gravity[2], s.B)


@inlined
def power_of_axis(V, S, h):
    """Return ``(V × S)ᵀ h``: of an axis S that a body of velocity V carries, and a momentum h."""
    return (h[0] * (V[4] * S[2] - V[5] * S[1] + V[1] * S[5] - V[2] * S[4])
            + h[1] * (V[5] * S[0] - V[3] * S[2] + V[2] * S[3] - V[0] * S[5])
            + h[2] * (V[3] * S[1] - V[4] * S[0] + V[0] * S[4] - V[1] * S[3])
            + h[3] * (V[4] * S[5] - V[5] * S[4]) + h[4] * (V[5] * S[3] - V[3] * S[5])
            + h[5] * (V[3] * S[4] - V[4] * S[3]))


@inlined
def gather_node(nodes, i, states, v, p, rate):
    """Inward step of `gather_momentum` for node i; its ``z`` is zero afterwards."""
    node, s = nodes[i], states[i]
    if node.v_index >= 0:
        p[node.v_index] = dot(s.z, s.S) + node.armature * v[node.v_index]
        rate[node.v_index] = dot(s.B, s.S)
        if node.carrier >= 0:
            rate[node.v_index] += power_of_axis(states[node.carrier].V, s.S, s.z)
    if node.parent >= 0:
        add_six(states[node.parent].z, s.z)
        add_six(states[node.parent].B, s.B)
    put(s.z, 0, 0.0)


@called
def gather_momentum(nodes, states, gravity, v, p, rate):
    """
    Write ``p = A v`` and ``rate = Cᵀ v − g``, (nv,) each, of bodies that are placed and moved.

    An inward recursion; ``gravity`` (3,) is in m/s². ``z`` of all nodes is zero afterwards, ``B``
    is scratch. Locked joints count as they move in v.
    """
    for i in range(nodes.size):
        start_momentum(nodes, i, gravity, states)
    for i in range(nodes.size - 1, -1, -1):
        gather_node(nodes, i, states, v, p, rate)


@called
def sum_generalized_momentum(nodes, q, v, gravity, states, p, rate):
    """Write the results of `gather_momentum`; ``states`` is scratch."""
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        write_velocity(nodes, i, v, states)
    gather_momentum(nodes, states, gravity, v, p, rate)


@kernel
def fill_generalized_momentum(nodes, q, v, gravity, states, p, rate):
    """Write the results of `sum_generalized_momentum`."""
    sum_generalized_momentum(nodes, q, v, gravity, states, p, rate)


class GeneralizedMomentum(NamedTuple):
    """The momentum of all joints and its rate under no joint force, (nv,) each."""

    momentum: np.ndarray
    """``p = A v``, N m s or N s."""
    rate: np.ndarray
    """``ṗ − τ = Cᵀ v − g``, N m or N."""


def generalized_momentum(model, state):
    """
    Return the `GeneralizedMomentum` of a state, in O(n), [DM03].

    ``ṗ = τ + Cᵀ v − g`` with ``Cᵀ v = Ȧ v − b``; of a floating base the rows are those of its
    velocity ``[v; ω]``, world axes. Gravity is 9.81 m/s² along -z.
    """
    nodes, states = prepared(model, state)
    p, rate = np.full((2, model.nv), np.nan)
    fill_generalized_momentum(nodes, state.q, state.v, GRAVITY.copy(), states, p, rate)
    return GeneralizedMomentum(p, rate)
