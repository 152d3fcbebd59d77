# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a cycle is within the limits of the joints as it is: all that most cycles need."""

import math

from opspace_control.compiled import called
from opspace_control.control.limits.choice import ROUNDING
from opspace_control.control.limits.limit_law import EFFORT, KINDS, let_go_at
from opspace_control.control.limits.loads import carries_alone, growth_of
from opspace_control.model.nodes import ACTIVE


@called
def forget_unfit(nodes, supports, constraints, limits, efforts, driven):
    """
    Let go of joints that are not ours any more, or whose limits do not count.

    An effort is a matter of the motion alone if all ``efforts`` are, or if the joint alone holds
    what is beyond it and no joint is passive.
    """
    for k in range(limits.size):
        limit = limits[k]
        limit.growth = math.inf
        limit.ruled = efforts or (
            driven and carries_alone(nodes, supports, constraints, limit.node))
        for kind in range(KINDS):
            if nodes[limit.node].status != ACTIVE or (kind == EFFORT and not limit.ruled):
                let_go_at(limit, kind)


@called
def within_limits(nodes, limits, loads, a):
    """Return whether no joint is held, and none accelerates beyond its limits, (nv,)."""
    for k in range(limits.size):
        limit = limits[k]
        if limit.q_index < 0 or nodes[limit.node].status != ACTIVE:
            continue
        for kind in range(KINDS):
            if limit.held[kind] != 0:
                return False
        slack = ROUNDING * limit.acceleration
        if not limit.least - slack <= a[k] <= limit.greatest + slack:
            return False
        if limit.growth < math.inf and (
                growth_of(loads[k], a) > limit.growth + ROUNDING * limit.firmness):
            return False
    return True


@called
def let_go_of_joints(limits):
    """Hold no joint."""
    for k in range(limits.size):
        for kind in range(KINDS):
            let_go_at(limits[k], kind)


@called
def note_efforts(nodes, limits, effort_limits, tau):
    """Let joints whose force is about to be cut be held at it from the next cycle on."""
    for k in range(limits.size):
        ours = limits[k].q_index >= 0 and nodes[limits[k].node].status == ACTIVE
        if ours and limits[k].ruled and abs(tau[k]) > effort_limits[k] > 0.0:
            limits[k].held[EFFORT] = 1 if tau[k] > 0.0 else -1
