# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How joints give way to wrenches on the links, ``A⁻¹ Jᵀ f`` in O(n), without A or J."""

from opspace_control.compiled import inlined
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.vectors import dot


@inlined
def take_wrench(nodes, i, states):
    """
    Inward step: let joint i give way to its force ``u`` and the link's ``z``; hand on the rest.

    ``u + Sᵀ z`` accelerates the joint, ``z − U u / D`` goes on to the parent; needs what
    `eliminate_node` left. Returns ``u² / D``, of which ``fᵀ J A⁻¹ Jᵀ f`` is the sum.
    """
    node, s = nodes[i], states[i]
    gain = 0.0
    if node.status != LOCKED:
        s.u += dot(s.z, s.S)
        gain = s.u / s.D
    if node.parent >= 0:
        outer = states[node.parent].z
        for r in range(6):
            outer[r] += s.z[r] - gain * s.U[r]
    return gain * s.u


@inlined
def respond(nodes, i, states, a):
    """Outward step: write the acceleration of joint i to ``a`` (nv,), that of its body to ``B``."""
    node, s = nodes[i], states[i]
    B = s.B
    for r in range(6):
        B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
    if node.v_index < 0:
        return
    x = 0.0
    if node.status != LOCKED:
        x = (s.u - dot(s.U, B)) / s.D
    a[node.v_index] = x
    for r in range(6):
        B[r] += x * s.S[r]
