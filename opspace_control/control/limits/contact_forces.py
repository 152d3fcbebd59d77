# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The bounds of the forces of contacts at a cycle."""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.constraints.contact_bounds import (
    CONTACT_BOUNDS,
    NORMAL,
    write_contact_bounds,
)
from opspace_control.tasks.specification_law import row_activation

_STANDARD_GRAVITY = 9.81  # m/s²: forces of contacts are measured by the weight of the robot


@inlined
def contact_bounds_apply(constraints):
    """Return whether some contact's force has bounds."""
    bounded = False
    for c in range(constraints.size):
        bounded = bounded or (constraints[c].activation > 0.0 and constraints[c].bounded)
    return bounded


@inlined
def weight_of(cycle):
    """Return the weight of the robot, N."""
    return _STANDARD_GRAVITY / cycle.least_mobility


@rare
def bound_contacts(cycle, robot, constraints, contacts, small):
    """
    Write the bounds of all contacts; open ones have none.

    The least normal force fades in with the stiffness of the contact, ``1/Γ``, see
    `regularise_rows`: so the acceleration ``Γ f_min`` that it takes does not grow without limit.
    """
    for c in range(constraints.size):
        first, last = c * CONTACT_BOUNDS, (c + 1) * CONTACT_BOUNDS
        bounds = contacts.bounds[:, first:last]
        if cycle.forces_decided and constraints[c].bounded and constraints[c].activation > 0.0:
            write_contact_bounds(constraints[c], robot.points[c].R, small[0],
                                 contacts.direction[first:last], bounds)
            weight = row_activation(constraints[c].activation)
            bounds[0, NORMAL] *= weight * weight
        else:
            bounds[0], bounds[1] = -math.inf, math.inf


@inlined
def contact_value(contacts, force, bound):
    """Return the value of a bound, counted over all contacts, under forces (6c,)."""
    first, value = 6 * (bound // CONTACT_BOUNDS), 0.0
    for r in range(6):
        value += contacts.direction[bound, r] * force[first + r]
    return value
