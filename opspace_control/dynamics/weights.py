# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity torques of joints, and their rates, from mass and first moment of each subtree."""

import math

from opspace_control.compiled import called, inlined
from opspace_control.dynamics.kinematics import move_with
from opspace_control.spatial.vectors import add_cross_motion


@inlined
def branch_end(nodes, node):
    """Return the index after the last node of a node's subtree."""
    end = node + 1
    while end < nodes.size and nodes[end].parent >= node:
        end += 1
    return end


@inlined
def lift(node, states, subtrees, gravity, moment):
    """
    Write the rate of the moment of a subtree's weight by the motion of its joint, N·m/rad, (3,).

    ``t = (M S_v + S_ω × h) × g``, M and h being mass and first moment of the node's subtree.
    """
    S, m = states[node].S, subtrees[node, 0]
    x = m * S[0] + S[4] * subtrees[node, 3] - S[5] * subtrees[node, 2]
    y = m * S[1] + S[5] * subtrees[node, 1] - S[3] * subtrees[node, 3]
    z = m * S[2] + S[3] * subtrees[node, 2] - S[4] * subtrees[node, 1]
    moment[0] = y * gravity[2] - z * gravity[1]
    moment[1] = z * gravity[0] - x * gravity[2]
    moment[2] = x * gravity[1] - y * gravity[0]


@inlined
def gravity_torque_along(S, mass, h, gravity):
    """Return the gravity torque along S of a mass with first moment h: ``−S · [M g; h × g]``."""
    total = 0.0
    for r in range(3):
        x, y = (r + 1) % 3, (r + 2) % 3
        total -= mass * S[r] * gravity[r] + S[3 + r] * (h[x] * gravity[y] - h[y] * gravity[x])
    return total


@inlined
def gravity_torque_of(node, states, subtrees, gravity):
    """Return the gravity torque of a node's joint, N·m or N."""
    return gravity_torque_along(states[node].S, subtrees[node, 0], subtrees[node, 1:4], gravity)


@called
def gather_weights(nodes, states, subtrees):
    """Write mass and first moment, about the root link's origin, of each node's subtree, (n, 4)."""
    for i in range(nodes.size):
        m = nodes[i].mass
        subtrees[i, 0] = m
        for r in range(3):
            subtrees[i, 1 + r] = m * states[i].c[r]
    for i in range(nodes.size - 1, -1, -1):
        parent = nodes[i].parent
        if parent >= 0:
            for r in range(4):
                subtrees[parent, r] += subtrees[i, r]


@called
def gravity_torque_second_rate(nodes, states, node, subtrees, gravity, scratch):
    """
    Return the second rate of a gravity torque in a steady motion, N·m/s² or N/s².

    ``q̇ᵀ ∇²|g_k| q̇``: `gravity_torque_along` is bilinear in S and ``(M, h)``, so it is ``(S̈, h) +
    2 (Ṡ, ḣ) + (S, ḧ)``. The motion is that of `move_node`, without acceleration of any joint;
    ``scratch`` is (6, 6) or more.
    """
    S, S_dot, S_ddot, v, a = states[node].S, scratch[0], scratch[1], scratch[2], scratch[3]
    h_dot, h_ddot = scratch[4], scratch[5]
    for r in range(6):
        S_dot[r] = S_ddot[r] = h_dot[r] = h_ddot[r] = 0.0
    carrier = nodes[node].carrier
    if carrier >= 0:
        V = states[carrier].V
        add_cross_motion(V, S, 1.0, S_dot)
        add_cross_motion(V, S_dot, 1.0, S_ddot)
        add_cross_motion(states[carrier].A, S, 1.0, S_ddot)
    for i in range(node, branch_end(nodes, node)):
        move_with(i, states, states[i].c, v, a)
        for r in range(3):
            h_dot[r] += nodes[i].mass * v[r]
            h_ddot[r] += nodes[i].mass * a[r]
    mass, h = subtrees[node, 0], subtrees[node, 1:4]
    side = math.copysign(1.0, gravity_torque_along(S, mass, h, gravity))
    return side * (gravity_torque_along(S_ddot, mass, h, gravity)
                   + 2.0 * gravity_torque_along(S_dot, 0.0, h_dot, gravity)
                   + gravity_torque_along(S, 0.0, h_ddot, gravity))
