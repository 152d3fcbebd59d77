# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a cycle is within the limits of the joints as it is: all that most cycles need."""

import math

from opspace_control.compiled import called
from opspace_control.control.limits.bound_rows import ROUNDING, beyond, is_limited
from opspace_control.control.limits.gravity_torques import is_open_branch
from opspace_control.control.limits.kinds import EFFORT, JOINT_FORCE, KINDS, quantity_of
from opspace_control.control.limits.limit_law import deactivate
from opspace_control.model.nodes import ACTIVE


@called
def begin_limits(cycle, nodes, supports, constraints, limits):
    """
    Write which efforts the motion alone determines, and deactivate limits that do not count.

    It determines those of joints with an open branch beyond them, or of all joints. No limit counts
    while the cycle keeps none. Bounds of gravity torques are withdrawn until they are written anew.
    """
    for k in range(limits.size):
        limit = limits[k]
        limit.gravity_bound = math.inf
        limit.determined = cycle.efforts_determined or is_open_branch(
            nodes, supports, constraints, limit.node)
        for kind in range(KINDS):
            if cycle.kept == 0.0 or nodes[limit.node].status != ACTIVE or (
                    kind == EFFORT and not limit.determined):
                deactivate(limit, kind)


@called
def within_limits(nodes, limits, rates, a):
    """
    Return whether no limit is active, and no acceleration (nv,) goes beyond any.

    Efforts are not known yet: `within_effort_limits` looks at them.
    """
    for k in range(limits.size):
        limit = limits[k]
        if not is_limited(nodes, limit):
            continue
        for kind in range(KINDS):
            if limit.active[kind] != 0 or (quantity_of(kind) != JOINT_FORCE and not (
                    beyond(limit, rates, 0.0, k, kind, a, a) <= ROUNDING)):  # NaN is beyond
                return False
    return True


@called
def within_effort_limits(nodes, limits, rates, effort_limits, tau):
    """Return whether no effort (nv,) that the motion determines passes its limit."""
    for k in range(limits.size):
        if is_limited(nodes, limits[k]) and (
                beyond(limits[k], rates, effort_limits[k], k, EFFORT, tau, tau) > ROUNDING):
            return False
    return True
