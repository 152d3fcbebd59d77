# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Ground contact by a large inertia, the approximation of [WPO15]: no elimination, no rank.

What a contact holds is given so much inertia that nothing can accelerate it, and the recursions of
the open chain do the rest at their own cost. First order in ``1/I_c`` until rounding wins; the
exact way, which also takes links that hold each other, is `closed_chain`.
"""

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics import kinematics
from opspace_control.dynamics.articulated_body import set_inertia
from opspace_control.dynamics.consistent_inverse import response_columns
from opspace_control.dynamics.kinematics import place_node, place_point, weigh_node
from opspace_control.dynamics.operational_space import (
    OperationalSpace,
    invert_inverse_inertia,
)
from opspace_control.dynamics.operational_space_inertia import propagate_inward, unit_wrenches
from opspace_control.dynamics.preparation import names, placed, prepared
from opspace_control.dynamics.workspace import make_points, poisoned
from opspace_control.errors import ModelError

# Of each row that a contact holds, kg or kg m²: half of the digits go to either error.
CONTACT_INERTIA = 1e7


@inlined
def add_contact_inertia(contacts, e, held, nodes, states):
    """
    Add the inertia of contact e to that of its body: ``IA += Σ_r I_c,r w_r w_rᵀ``.

    ``w_r`` is the unit wrench along row r of the contact, in its axes, about the root link's
    origin; ``held`` (6,) has the ``I_c`` of each row. It has no weight: gravity does not see it.
    """
    contact = contacts[e]
    for r in range(3):
        for c in range(3):
            contact.axes[0, r, c] = contact.axes[1, r, c] = contact.R[r, c]
    W = contact.Psi
    unit_wrenches(contact.p, contact.axes, 1.0, W)
    IA = states[contact.frame.node].IA
    for row in range(6):
        for r in range(6):
            for c in range(6):
                IA[r, c] += held[row] * W[r, row] * W[c, row]


@kernel
def contact_inverse_inertia(nodes, q, supports, states, points, contacts, held, K, Lambda_inverse):
    """
    Write Λ⁻¹ and ``K`` like `inverse_inertia`, with the contacts' inertia added, [WPO15] (43).

    Contacts on what never moves are left out; ``held`` (k, 6) is ``I_c`` of each contact's rows.
    """
    n = nodes.size
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        set_inertia(nodes, i, states)
    for e in range(contacts.size):
        place_point(contacts, e, nodes, states)
        if contacts[e].frame.node >= 0:
            add_contact_inertia(contacts, e, held[e], nodes, states)
    propagate_inward(nodes, supports, states, points, K, Lambda_inverse)


def contact_space(model, state, frames, contacts, contact_inertia=CONTACT_INERTIA):
    """
    Return the operational-space dynamics of the named frames while links stand on the ground.

    Parameters
    ----------
    model : RobotModel
        The robot; its passive joints count as free and driven, as in [WPO15] a floating base does.
    state : RobotState
        Made for this model.
    frames : sequence of str
        m frame names, at least one; one name alone will do.
    contacts : sequence of Closure
        With the ground: none has another link.
    contact_inertia : float
        I_c of each row that is held, kg or kg m².

    Returns
    -------
    OperationalSpace
        Λ⁻¹ is good to some ``1/contact_inertia``. Where contacts take directions from a frame Λ is
        what little they leave them, and goes to infinity.

    Raises
    ------
    StateError
        If the state is another model's.
    ModelError
        For an unknown frame, or none; a contact between links; an inertia that is not positive.

    """
    frames = names(frames)
    _check(model, frames, contacts, contact_inertia)
    nodes, states, points, supports = placed(model, state, frames)
    held_points, _ = make_points(model, [contact.frame for contact in contacts])
    for frame, contact in zip(held_points['frame'], contacts, strict=True):
        frame['position'] += frame['rotation'] @ contact.position
        frame['rotation'] = frame['rotation'] @ contact.rotation
    held = contact_inertia * np.array([contact.held for contact in contacts],
                                      float).reshape(-1, 6)
    n, columns = nodes.size, 6 * len(frames)
    K, L = poisoned((n, columns)), poisoned((columns, columns))
    contact_inverse_inertia(nodes, state.q, supports, states, points, held_points, held, K, L)
    X = poisoned((model.nv, columns))
    response_columns(nodes, states, K, X, poisoned((n, 6, columns)))
    inertia, rank = invert_inverse_inertia(L, 1.0 / model.nodes['mass'].sum())
    J_bar = X @ inertia
    jacobian, bias = model.jacobian(state, frames), model.bias_acceleration(state, frames)
    free = ~model.locked
    return OperationalSpace(
        frames=frames,
        jacobian=jacobian,
        bias_acceleration=bias,
        generalized_jacobian=jacobian[:, free],
        inverse_inertia=L,
        inertia=inertia,
        dynamically_consistent_inverse=J_bar,
        coriolis=J_bar.T @ (model.bias_force(state)
                            + _contact_bias(model, state, contacts, held_points, held))
        - inertia @ bias,
        gravity=J_bar.T @ model.gravity(state),
        rank=rank,
        active=free,
    )


def _contact_bias(model, state, contacts, points, held):
    """Return ``J_cᵀ I_c J̇_c v``, (nv,): what keeps the inertia from being led astray by v."""
    nodes, states = prepared(model, state)
    kinematics.move(nodes, state.q, state.v, np.zeros(model.nv), states, points)
    _, supports = make_points(model, [contact.frame for contact in contacts])
    J = poisoned((6 * len(points), model.nv))
    kinematics.fill_jacobian(nodes, states, points, supports, J)
    force = np.zeros(6 * len(points))
    for e, point in enumerate(points):
        axes = np.kron(np.eye(2), point['R'])
        force[6 * e:6 * e + 6] = axes @ (held[e] * (axes.T @ point['a']))
    return J.T @ force


def _check(model, frames, contacts, contact_inertia):
    if not frames:
        raise ModelError('No frame is named, so there is no operational space.',
                         cure=f"Name one or more links, such as '{model.frame_names[-1]}'.")
    for contact in contacts:
        if contact.other is not None:
            raise ModelError(f"'{contact.frame}' is held by '{contact.other}', not by the ground.",
                             cure='Use closed_chain for links that hold each other.',
                             name=contact.other)
    if not 0.0 < contact_inertia < np.inf:
        raise ModelError(f'A contact inertia of {contact_inertia} cannot be used.',
                         cure='Give a positive number; 1e7 is usual.', value=contact_inertia)
