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
from opspace_control.dynamics.hybrid_dynamics import add_inertial_force
from opspace_control.dynamics.kinematics import place_node, weigh_node
from opspace_control.dynamics.preparation import GRAVITY, prepared
from opspace_control.spatial.vectors import add_cross_motion, add_wrench, dot


@inlined
def move_body(nodes, i, v, states):
    """Write the spatial velocity of body i, [CK00] (17), its momentum to ``f``, weight to ``z``."""
    node, s = nodes[i], states[i]
    rate = v[node.v_index] if node.v_index >= 0 else 0.0
    for r in range(6):
        s.V[r] = rate * s.S[r]
        if node.parent >= 0:
            s.V[r] += states[node.parent].V[r]
        s.f[r] = s.z[r] = 0.0
    add_inertial_force(node.mass, s.c, s.Ic, s.V, s.f)


@called
def sum_generalized_momentum(nodes, q, v, gravity, states, p, rate):
    """
    Write ``p = A v`` and ``rate = Cᵀ v − g``, (nv,) each: an outward and an inward recursion.

    ``gravity`` (3,) is in m/s²; ``states`` is scratch. Locked joints count as they move in v.
    """
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        move_body(nodes, i, v, states)
        weight = states[i].B
        for r in range(3):
            weight[r], weight[r + 3] = nodes[i].mass * gravity[r], 0.0
        add_wrench(states[i].c, weight, states[i].z)
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        if node.v_index >= 0:
            S_dot = s.B
            for r in range(6):
                S_dot[r] = 0.0
            if node.carrier >= 0:
                add_cross_motion(states[node.carrier].V, s.S, 1.0, S_dot)
            p[node.v_index] = dot(s.f, s.S) + node.armature * v[node.v_index]
            rate[node.v_index] = dot(s.f, S_dot) + dot(s.z, s.S)
        if node.parent >= 0:
            outer = states[node.parent]
            for r in range(6):
                outer.f[r] += s.f[r]
                outer.z[r] += s.z[r]


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


def generalized_momentum(model, state, gravity=None):
    """
    Return the `GeneralizedMomentum` of a state, in O(n), [DM03].

    ``ṗ = τ + Cᵀ v − g`` with ``Cᵀ v = Ȧ v − b``; of a floating base the rows are those of its
    velocity ``[v; ω]``, world axes. ``gravity`` (3,), m/s², is 9.81 along -z if not given.
    """
    nodes, states = prepared(model, state)
    p, rate = np.full((2, model.nv), np.nan)
    gravity = np.array(GRAVITY if gravity is None else gravity, float)
    fill_generalized_momentum(nodes, state.q, state.v, gravity, states, p, rate)
    return GeneralizedMomentum(p, rate)
