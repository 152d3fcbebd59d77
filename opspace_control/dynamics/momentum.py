# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Spatial momentum of the whole robot, which a free-flyer conserves, [JR94] (4.7)."""

import numpy as np

from opspace_control.compiled import kernel
from opspace_control.dynamics.kinematics import move_node, place_node, weigh_node
from opspace_control.dynamics.preparation import prepared


@kernel
def sum_momentum(nodes, q, v, zero, states, h):
    """Write the momentum ``[p; L]`` of all bodies about the root link's origin in O(n)."""
    for r in range(6):
        h[r] = 0.0
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        move_node(nodes, i, v, zero, states)
        weigh_node(nodes, i, states)
        m = nodes[i].mass
        s = states[i]
        V, c, Ic = s.V, s.c, s.Ic
        w0, w1, w2 = V[3], V[4], V[5]
        p0 = m * (V[0] + w1 * c[2] - w2 * c[1])
        p1 = m * (V[1] + w2 * c[0] - w0 * c[2])
        p2 = m * (V[2] + w0 * c[1] - w1 * c[0])
        h[0] += p0
        h[1] += p1
        h[2] += p2
        h[3] += Ic[0, 0] * w0 + Ic[0, 1] * w1 + Ic[0, 2] * w2 + c[1] * p2 - c[2] * p1
        h[4] += Ic[1, 0] * w0 + Ic[1, 1] * w1 + Ic[1, 2] * w2 + c[2] * p0 - c[0] * p2
        h[5] += Ic[2, 0] * w0 + Ic[2, 1] * w1 + Ic[2, 2] * w2 + c[0] * p1 - c[1] * p0


def momentum(model, state, point=(0.0, 0.0, 0.0)):
    """
    Return the spatial momentum ``[p; L]`` (6,) of all moving links, N s and N m s, world axes.

    L is about ``point``, (3,), m, fixed in the world. A free-flyer conserves the momentum without
    gravity and without a force on the base, [JR94] (4.7). [M_pa, M_pp] β of the patent is the
    momentum about the moving base, whose angular part is not conserved.
    """
    nodes, states = prepared(model, state)
    h = np.full(6, np.nan)
    sum_momentum(nodes, state.q, state.v, np.zeros(model.nv), states, h)
    h[3:] += np.cross(model.origin(state) - np.asarray(point, dtype=float), h[:3])
    return h
