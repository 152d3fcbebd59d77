# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The dynamically consistent inverse by recursion, the contribution of [WPO15]."""

from opspace_control.compiled import kernel
from opspace_control.model.nodes import LOCKED


@kernel
def response_columns(nodes, states, K, X, A):
    """
    Write ``X = A⁻¹ Jᵀ``: how all joints accelerate under unit wrenches at the points.

    One outward recursion over what the inward one of the inverse inertia left: the joint
    accelerates by ``(K − Uᵀ A_parent) / D``, and carries its body along. ``A`` (n, 6, 6m) is
    scratch for the bodies' accelerations.
    """
    columns = K.shape[1]
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        parent = node.parent
        for k in range(columns):
            x = 0.0
            if node.status != LOCKED:
                x = K[i, k]
                if parent >= 0:
                    for r in range(6):
                        x -= s.U[r] * A[parent, r, k]
                x /= s.D
            for r in range(6):
                A[i, r, k] = s.S[r] * x
                if parent >= 0:
                    A[i, r, k] += A[parent, r, k]
            if node.v_index >= 0:
                X[node.v_index, k] = x
