# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The dynamically consistent inverse by recursion, the contribution of [WPO15]."""

import numpy as np

from opspace_control.compiled import kernel
from opspace_control.dynamics.data import POINT, nan_filled
from opspace_control.dynamics.operational_space_inertia import inverse_inertia
from opspace_control.dynamics.trunks import plan_propagation
from opspace_control.model.nodes import LOCKED


@kernel
def response_columns(nodes, states, K, X, A):
    """
    Write ``X = A⁻¹ Jᵀ``, the accelerations of all joints under unit wrenches at the points.

    One outward recursion over the results of `sum_mobility` for all nodes: the joint accelerates
    by ``(K − Uᵀ A_parent) / D``. ``A`` (n, 6, 6m) is scratch for the bodies' accelerations.
    """
    columns = X.shape[1]
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


def point_responses(nodes, q, points, supports, states, contacts=None, contact_inertia=None):
    """
    Return ``J A⁻¹ Jᵀ`` (6m, 6m) and ``A⁻¹ Jᵀ`` (nv, 6m) over all joints that are not locked.

    ``points`` (m,) and ``supports`` (n, m) are as `make_points` returns them; ``states`` (n,) is
    scratch. At ``contacts``, (k,) of POINT, inertia is added: ``contact_inertia`` (k, 6), kg or kg
    m², along each of their axes.
    """
    n, columns = nodes.size, 6 * points.size
    plan = plan_propagation(nodes, points, supports)
    contacts = np.empty(0, POINT) if contacts is None else contacts
    contact_inertia = np.empty((0, 6)) if contact_inertia is None else contact_inertia
    K, L = nan_filled((n, 6 * plan[0].size)), nan_filled((columns, columns))
    inverse_inertia(nodes, q, np.ones(n, bool), plan, contacts, contact_inertia, states, K, L)
    X = nan_filled((nodes['v_index'].max(initial=-1) + 1, columns))
    response_columns(nodes, states, K, X, nan_filled((n, 6, columns)))
    return L, X
