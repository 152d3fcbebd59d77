# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The bounds of a cycle: how many there are of each kind, and which value each of them bounds.

A bound is ``least ≤ y ≤ greatest``, y being a quantity of `kinds` under accelerations, joint forces
and contact forces. All bounds have a number, kind by kind: `count_numbers`.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.limits.contact_forces import contact_value, weight_of
from opspace_control.control.limits.kinds import (
    ACCELERATION,
    APPLIED_SHARE,
    BRAKING,
    DISTANCE,
    DISTANCE_ACCELERATION,
    EFFORT,
    FORCE_COMPONENT,
    GRAVITY_TORQUE_ACCELERATION,
    JOINT_ACCELERATION,
    JOINT_FORCE,
    KINDS,
    MOTION,
    OTHER_KINDS,
    is_inactive_unless_violated,
    quantity_of,
)
from opspace_control.control.limits.limit_law import is_limited
from opspace_control.spatial.dense import dot_product

ROUNDING = 1e-7  # in the unit of a bound: what violates it by less does not

# Effort limits below this, N m or N, such as that of a joint without a motor, are bounds of this
# size: the two bounds of an effort must differ. The cut makes it the limit itself.
_LEAST_EFFORT = 1e-6


@inlined
def count_bounds(data, kind):
    """Return how many bounds of a kind this cycle has: of near pairs not all that have a number."""
    if quantity_of(kind) == DISTANCE_ACCELERATION:
        return data.robot.collision.count[0]
    return data.limits.numbers[kind + 1] - data.limits.numbers[kind]


@inlined
def bound_number(data, kind, k):
    """Return the number of the k-th bound of a kind: of joint k, of a contact, of near pair k."""
    return data.limits.numbers[kind] + k


@inlined
def kind_of_side(limit, side):
    """Return the kind of the lower (0) or upper (1) bound of a joint's acceleration."""
    return BRAKING if limit.reason[side] == ACCELERATION else MOTION


@inlined
def bounds_of(data, kind, k):
    """Return the least and the greatest value that a bound allows, ±inf where there is none."""
    quantity = quantity_of(kind)
    if quantity == FORCE_COMPONENT:
        bounds = data.scratch.bounded.contacts.bounds
        return bounds[0, k], bounds[1, k]
    if quantity == DISTANCE_ACCELERATION:
        return data.scratch.bounded.distances.least[kind - DISTANCE, k], math.inf
    if quantity == APPLIED_SHARE:
        return 0.0, 1.0
    limit = data.limits.joints[k]
    if quantity not in (JOINT_FORCE, GRAVITY_TORQUE_ACCELERATION, JOINT_ACCELERATION):
        return math.nan, math.nan
    least, greatest = -math.inf, math.inf
    if is_limited(data.robot.nodes, limit):
        if quantity == JOINT_FORCE and limit.determined:
            greatest = max(data.limits.efforts[k], _LEAST_EFFORT)
            least = -greatest
        elif quantity == GRAVITY_TORQUE_ACCELERATION:
            greatest = limit.gravity_bound
        else:
            if kind_of_side(limit, 0) == kind:
                least = limit.least
            if kind_of_side(limit, 1) == kind:
                greatest = limit.greatest
    return least, greatest


@inlined
def is_there(data, kind, k):
    """Return whether there is such a bound at this cycle."""
    least, greatest = bounds_of(data, kind, k)
    return not (math.isinf(least) and math.isinf(greatest))


@inlined
def unit_of(data, kind, k):
    """Return what the values of a bound are measured by."""
    quantity = quantity_of(kind)
    if quantity == FORCE_COMPONENT:
        return weight_of(data.cycle)
    if quantity == DISTANCE_ACCELERATION:
        return data.cycle.distance_braking
    if quantity == APPLIED_SHARE:
        return 1.0
    limit = data.limits.joints[k]
    if quantity == JOINT_FORCE:
        return max(data.limits.efforts[k], _LEAST_EFFORT)
    if quantity == GRAVITY_TORQUE_ACCELERATION:
        return limit.gravity_braking
    return limit.acceleration if quantity == JOINT_ACCELERATION else math.nan


@inlined
def acceleration_of(data, kind, k, a):
    """Return the value of a bound on the motion under accelerations a (nv,)."""
    quantity = quantity_of(kind)
    if quantity == JOINT_ACCELERATION:
        return a[k]
    if quantity == GRAVITY_TORQUE_ACCELERATION:
        return dot_product(data.scratch.bounded.gravity_gradient[k], a, a.size)
    if quantity == DISTANCE_ACCELERATION:
        return dot_product(data.scratch.bounded.distances.gradient[k], a, a.size)
    return math.nan


@inlined
def value_of(data, kind, k, x):
    """
    Return the value of a bound.

    ``x`` (nv,) are joint forces where the kind bounds these, else accelerations.
    """
    quantity = quantity_of(kind)
    if quantity == JOINT_FORCE:
        return x[k]
    if quantity == FORCE_COMPONENT:
        contacts = data.scratch.bounded.contacts
        return contact_value(contacts, contacts.force, k)
    return data.cycle.force_share if quantity == APPLIED_SHARE else acceleration_of(
        data, kind, k, x)


@inlined
def is_violated(data, kind, k, x):
    """Return whether a bound is violated beyond rounding, x as in `value_of`; NaN violates it."""
    least, greatest = bounds_of(data, kind, k)
    if math.isinf(least) and math.isinf(greatest):
        return False
    slack = ROUNDING * unit_of(data, kind, k)
    return not least - slack <= value_of(data, kind, k, x) <= greatest + slack


@inlined
def any_is_violated(data, kind, x):
    """Return whether a bound of a kind is violated; a constant kind makes it a short loop."""
    violated = 0
    for k in range(count_bounds(data, kind)):
        violated += is_violated(data, kind, k, x)
    return violated > 0


@inlined
def any_active(data):
    """Return whether a bound was active in the last problem."""
    active = 0
    for number in range(data.memory.bound_active.size):
        active |= data.memory.bound_active[number]
    return active != 0


@rare
def any_active_counts(data):
    """
    Return whether a bound of the last problem's active set may be active though none is violated.

    A motion without bounds that violates none is the solution with them, but for kinds that are not
    `Kind.inactive_unless_violated`, for what joints rest at where directions are singular, and for
    the inertias that links of robots without passive joints may have.
    """
    of_all = data.cycle.singular_active or not data.cycle.has_passive
    for kind in range(KINDS):
        count = count_bounds(data, kind) if of_all or not is_inactive_unless_violated(kind) else 0
        for k in range(count):
            if data.memory.bound_active[bound_number(data, kind, k)] != 0 and is_there(
                    data, kind, k):
                return True
    return False


@called
def any_motion_violated(data, a):
    """Return whether an acceleration violates a bound, of `MOTION` on one side or `BRAKING`."""
    violated = 0
    for k in range(a.size):
        limit = data.limits.joints[k]
        if is_limited(data.robot.nodes, limit):
            slack = ROUNDING * limit.acceleration
            violated += not limit.least - slack <= a[k] <= limit.greatest + slack
    return violated > 0


def any_of_kinds_violated(kinds):
    """Return a compiled function, whether a bound of these kinds is violated: a loop of each."""
    kind, *rest = kinds
    if not rest:
        return inlined(lambda data, a: any_is_violated(data, kind, a))
    of_rest = any_of_kinds_violated(rest)
    return inlined(lambda data, a: any_is_violated(data, kind, a) or of_rest(data, a))


_any_other_violated = any_of_kinds_violated(OTHER_KINDS)


@called
def any_other_violated(data, a):
    """Return whether a bound is violated that is none of a joint's effort or acceleration."""
    return _any_other_violated(data, a)


@called
def any_effort_violated(data, tau):
    """Return whether an effort (nv,) that the motion determines violates its limit."""
    return any_is_violated(data, EFFORT, tau)
