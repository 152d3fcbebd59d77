# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Ground contact approximated by a large inertia, [WPO15]: no elimination, no rank decision.

A large inertia is added along the constrained directions, and the recursions of the open chain are
used at their own cost. The error is of first order in ``1/I_c`` until rounding dominates. The exact
method, which also takes constraints between links, is `closed_chain`.
"""

import numpy as np

from opspace_control.dynamics.closed_chain import ConstraintRows
from opspace_control.dynamics.operational_space import OperationalSpace, invert_inverse_inertia
from opspace_control.dynamics.operational_space_inertia import point_responses
from opspace_control.dynamics.preparation import moved, point_names
from opspace_control.errors import ModelError

# Of each constrained row, kg or kg m²: truncation and rounding then cost half of the digits each.
CONTACT_INERTIA = 1e7


def contact_space(model, state, frames, contacts, contact_inertia=CONTACT_INERTIA):
    """
    Return the `OperationalSpace` of m frames, at least one, with links in contact with the ground.

    ``contacts`` is a sequence of `Closure` without another link, else it raises a ModelError.
    ``contact_inertia`` is the positive I_c of each constrained row, kg or kg m². Passive joints are
    treated as driven, as [WPO15] treats a floating base.

    Λ⁻¹ has a relative error of about ``1/contact_inertia``. Λ grows with ``contact_inertia`` in
    directions that the contacts constrain. ``rank`` counts the other directions: those whose
    kinetic energy is more in the robot than in the contact inertia.
    """
    frames = point_names(model, frames)
    _check(contacts, contact_inertia)
    nodes, states, points, supports = moved(model, state, frames)
    rows = ConstraintRows(model, state, (), contacts)
    for frame, contact in zip(rows.points['frame'], contacts, strict=True):
        frame['rotation'] = frame['rotation'] @ contact.rotation
    I_c = contact_inertia * np.array([contact.constrained for contact in contacts],
                                     float).reshape(-1, 6)
    L, X = point_responses(nodes, state.q, points, supports, states, rows.points, I_c)
    inertia, rank = invert_inverse_inertia(L, 1.0 / model.nodes['mass'].sum())
    J_bar = X @ inertia
    J_c, bias_c = rows.jacobian, rows.bias
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
        # The contact inertia has a Coriolis term of its own.
        coriolis=J_bar.T @ (model.bias_force(state) + J_c.T @ (I_c.ravel() * bias_c))
        - inertia @ bias,
        gravity=J_bar.T @ model.gravity(state),
        rank=rank - _constrained_directions(np.sqrt(I_c.ravel())[:, None] * (J_c @ X), inertia),
        active=free,
    )


def _constrained_directions(response, inertia):
    """
    Return the number of directions of the frames that the contacts constrain.

    ``Λ⁻¹ = Xᵀ A X + Xᵀ J_cᵀ I_c J_c X``: a unit impulse at the frames gives energy to the robot and
    to the contact inertia. The eigenvalues of the second part, relative to Λ⁻¹, are 1 for a
    constrained direction and 0 for a free one, both up to the ratio of the robot's inertia to I_c.
    ``response`` (6k, 6m) is ``I_c^½ J_c X``, ``inertia`` (6m, 6m) is Λ.
    """
    return int((np.linalg.eigvalsh(response @ inertia @ response.T) > 0.5).sum())


def _check(contacts, contact_inertia):
    for contact in contacts:
        if contact.other is not None:
            raise ModelError(f"The contact of '{contact.frame}' is with '{contact.other}', not the "
                             'ground.', cure='Use closed_chain for constraints between links.',
                             name=contact.other)
    if not 0.0 < contact_inertia < np.inf:
        raise ModelError(f'A contact inertia of {contact_inertia} cannot be used.',
                         cure='Give a positive number; 1e7 is usual.', value=contact_inertia)
