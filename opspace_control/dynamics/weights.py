# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What nodes carry: mass and first moment of all beyond them, what holds it, how that changes."""

import math

from opspace_control.compiled import called, inlined
from opspace_control.dynamics.kinematics import move_with
from opspace_control.spatial.vectors import add_cross_motion


@inlined
def branch_end(nodes, node):
    """Return the number after that of the last node that a node carries, or of itself."""
    end = node + 1
    while end < nodes.size and nodes[end].parent >= node:
        end += 1
    return end


@inlined
def lift(node, states, carried, gravity, moment):
    """
    Write how fast the moment of the weight beyond a node changes as its joint moves, N·m/rad.

    ``t = (M S_v + S_ω × h) × g``, M and h being mass and first moment of all that the node carries.
    """
    S, m = states[node].S, carried[node, 0]
    x = m * S[0] + S[4] * carried[node, 3] - S[5] * carried[node, 2]
    y = m * S[1] + S[5] * carried[node, 1] - S[3] * carried[node, 3]
    z = m * S[2] + S[3] * carried[node, 2] - S[4] * carried[node, 1]
    moment[0] = y * gravity[2] - z * gravity[1]
    moment[1] = z * gravity[0] - x * gravity[2]
    moment[2] = x * gravity[1] - y * gravity[0]


@inlined
def hold_weight(S, mass, h, gravity):
    """Return the effort along S that holds a mass of first moment h: ``−S · [M g; h × g]``."""
    total = 0.0
    for r in range(3):
        x, y = (r + 1) % 3, (r + 2) % 3
        total -= mass * S[r] * gravity[r] + S[3 + r] * (h[x] * gravity[y] - h[y] * gravity[x])
    return total


@inlined
def load_of(node, states, carried, gravity):
    """Return the effort that holds what a node carries, N·m or N."""
    return hold_weight(states[node].S, carried[node, 0], carried[node, 1:4], gravity)


@called
def gather_weights(nodes, states, carried):
    """Write mass and first moment about the root link's origin of all that each node carries."""
    for i in range(nodes.size):
        m = nodes[i].mass
        carried[i, 0] = m
        for r in range(3):
            carried[i, 1 + r] = m * states[i].c[r]
    for i in range(nodes.size - 1, -1, -1):
        parent = nodes[i].parent
        if parent >= 0:
            for r in range(4):
                carried[parent, r] += carried[i, r]


@called
def bend_load(nodes, states, node, carried, gravity, scratch):
    """
    Return how the growth of a load changes in a steady motion, ``q̇ᵀ ∇²|g_k| q̇``, N·m/s² or N/s².

    With `hold_weight` bilinear in S and ``(M, h)`` that is ``(S̈, h) + 2 (Ṡ, ḣ) + (S, ḧ)``. The
    motion is that of `move_node`, without acceleration of any joint; ``scratch`` is (6, 6) or more.
    """
    turning, bending, v, a = scratch[0], scratch[1], scratch[2], scratch[3]
    moving, pulling, S = scratch[4], scratch[5], states[node].S
    for r in range(6):
        turning[r] = bending[r] = moving[r] = pulling[r] = 0.0
    carrier = nodes[node].carrier
    if carrier >= 0:
        V = states[carrier].V
        add_cross_motion(V, S, 1.0, turning)
        add_cross_motion(V, turning, 1.0, bending)
        add_cross_motion(states[carrier].A, S, 1.0, bending)
    for i in range(node, branch_end(nodes, node)):
        move_with(i, states, states[i].c, v, a)
        for r in range(3):
            moving[r] += nodes[i].mass * v[r]
            pulling[r] += nodes[i].mass * a[r]
    mass, h = carried[node, 0], carried[node, 1:4]
    side = math.copysign(1.0, hold_weight(S, mass, h, gravity))
    return side * (hold_weight(bending, mass, h, gravity)
                   + 2.0 * hold_weight(turning, 0.0, moving, gravity)
                   + hold_weight(S, 0.0, pulling, gravity))
