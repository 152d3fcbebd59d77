# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Inverse operational-space inertia by force propagation, [CK00] Table 1, in O(n + m²).

From its results an outward recursion gives the dynamically consistent inverse, [WPO15].

The recursion propagates the unit wrenches of a point towards the root as far as the first body that
several points have in common. From there it propagates the unit wrenches on that body, once for
all of these points: `trunks`.
"""

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.articulated_body import eliminate_node, set_inertia
from opspace_control.dynamics.data import FLOATING, POINT, nan_filled
from opspace_control.dynamics.force_propagation import (
    clear_point,
    cross_node,
    cross_passively,
    is_group,
    is_idle,
    start_propagation,
    store_projection,
    unit_wrenches,
)
from opspace_control.dynamics.kinematics import place_node, place_point, weigh_node
from opspace_control.dynamics.trunks import (
    join_trunks,
    plan_propagation,
    project_trunks,
    project_trunks_passively,
)
from opspace_control.model.nodes import LOCKED, PASSIVE


@inlined
def start_all(carried, m, states, passively):
    """Write the unit wrenches at the points, and those on the bodies of the trunks."""
    for e in range(m, carried.size):
        for r in range(3):
            carried[e].p[r] = states[carried[e].frame.node].p[r]
    for e in range(carried.size):
        if is_idle(carried[e]):
            if carried[e].cleared == 0:
                clear_point(carried[e])
            continue
        start_propagation(carried[e], passively)


@inlined
def clear(carried, m, mobility, coupling):
    """
    Set the sums to zero, of the mobility also what `pass_on` writes above the diagonal.

    Nothing is added to rows of idle points, so that they stay what they are set to once.
    """
    for e in range(m):
        idle = is_idle(carried[e])
        if not (idle and carried[e].cleared == 1):
            for r in range(6 * e, 6 * e + 6):
                mobility[r, :] = 0.0
        carried[e].cleared = 1 if idle else 0
    for r in range(coupling.shape[0]):
        coupling[r, :6 * m + r - r % 6 + 6] = 0.0


@inlined
def couple_floating(carried, m, L):
    """
    Write Λ⁻¹ of centres of mass of floating robots, on and below the diagonal: no joint turns.

    A unit force along an axis e of one accelerates all bodies by ``e / m``, so linear rows of all
    points, but not those relative to another link, and nothing else.
    """
    for e in range(m):
        for d in range(m if carried[e].whole == FLOATING and not is_idle(carried[e]) else 0):
            point, later, first = carried[d], max(d, e), min(d, e)
            if is_idle(point) or is_group(point) or point.begin > 0 or point.other.node >= 0:
                continue
            for r in range(3):
                for c in range(3):
                    along = 0.0
                    for k in range(3):
                        along += carried[later].axes[0, k, r] * carried[first].axes[0, k, c]
                    L[6 * later + r, 6 * first + c] = along / carried[e].mass


@inlined
def sum_products(nodes, states, needs_inertia, carried, crossing, coupling, passively, L, P, K):
    """
    Inward recursion over placed bodies and points: write Λ⁻¹ of the points.

    ``states`` has the poses of the bodies and their inertias IA; ``needs_inertia`` (n,) is of
    `nodes_in_inertia`; ``carried`` and ``crossing`` are of `plan_propagation`, as is ``coupling``,
    scratch.

    On and below the diagonal L (6m, 6m) is ``J A⁻¹ Jᵀ`` over all joints that are not locked. With
    ``passively`` P (nv, 6b) has a row for each passive joint, inwards, so that over these joints
    ``Q = J_p A_pp⁻¹ J_pᵀ = Pᵀ P``; their number is returned. The first 6m columns of K, (n, 6b or
    more) or empty, receive the points' unit wrenches projected on each joint; entries of joints
    that do not support a point are not written, and those of joints of trunks by `project_trunks`
    alone. Of idle points, and of rows that a point has not, all is 0.
    """
    m, row, centers = L.shape[0] // 6, 0, False
    for e in range(m):
        centers = centers or carried[e].whole not in (0, FLOATING)
    start_all(carried, m, states, passively)
    clear(carried, m, L, coupling)
    for i in range(nodes.size - 1, -1, -1):
        if not needs_inertia[i]:
            continue
        eliminate_node(nodes, i, states)
        cross_node(nodes, i, crossing, states, carried, L, coupling)
        if K.size > 0:
            store_projection(nodes, i, crossing, states, carried, K)
        if passively and (centers or nodes[i].status == PASSIVE):
            row = cross_passively(nodes, i, crossing, states, carried, P, row)
    if carried.size > m:
        join_trunks(carried, L, coupling)
        if passively:
            project_trunks_passively(carried, m, P, row)
    couple_floating(carried, m, L)
    return row


@inlined
def sum_mobility(nodes, states, needs_inertia, carried, crossing, coupling, passively, L, P, K):
    """Do as `sum_products`, and write the projections on joints of trunks to K as well."""
    rows = sum_products(
        nodes, states, needs_inertia, carried, crossing, coupling, passively, L, P, K)
    if K.size > 0:
        project_trunks(nodes, carried, L.shape[0] // 6, K)
    return rows


@inlined
def add_row_inertia(W, inertia, total):
    """Add inertias (6,) along unit wrenches W, by column, to a spatial inertia (6, 6)."""
    for row in range(6):
        for r in range(6):
            for c in range(6):
                total[r, c] += inertia[row] * W[r, row] * W[c, row]


@inlined
def add_contact_inertia(contacts, e, inertia, states):
    """
    Add the inertia of contact e to that of its body: ``IA += Σ_r I_c,r w_r w_rᵀ``.

    ``w_r`` is the unit wrench along row r of the contact, in its axes, about the root link's
    origin; ``inertia`` (6,) is ``I_c``, kg or kg m². It has no weight.
    """
    contact = contacts[e]
    for r in range(3):
        for c in range(3):
            contact.axes[0, r, c] = contact.axes[1, r, c] = contact.R[r, c]
    W = contact.Psi
    unit_wrenches(contact.p, contact.axes, W)
    add_row_inertia(W, inertia, states[contact.frame.node].IA)


@kernel
def inverse_inertia(nodes, q, needs_inertia, plan, contacts, contact_inertia, states, K,
                    Lambda_inverse):
    """
    Write Λ⁻¹ of [CK00] (30), both halves, and the unit wrenches projected on each joint, K.

    Parameters are those of `sum_products`, with the ``plan`` of `plan_propagation`. For K, which is
    used for J̄, every node needs its inertia. ``contact_inertia`` (k, 6) is added at contacts on
    moving links, [WPO15] (43).
    """
    carried, crossing, coupling = plan[0], plan[1], plan[2]
    m = Lambda_inverse.shape[0] // 6
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        if needs_inertia[i]:
            weigh_node(nodes, i, states)
            set_inertia(nodes, i, states)
    for e in range(contacts.size):
        place_point(contacts, e, states)
        if contacts[e].frame.node >= 0:
            add_contact_inertia(contacts, e, contact_inertia[e], states)
    for e in range(m):
        place_point(carried, e, states)
    K[:] = 0.0
    sum_mobility(nodes, states, needs_inertia, carried, crossing, coupling, False, Lambda_inverse,
                 Lambda_inverse, K)
    for e in range(m):
        for d in range(e + 1):
            for r in range(6):
                for c in range(6 if d < e else r):
                    Lambda_inverse[6 * d + c, 6 * e + r] = Lambda_inverse[6 * e + r, 6 * d + c]


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
                x *= s.inverse_D
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
