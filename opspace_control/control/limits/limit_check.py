# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a cycle is within the limits of the joints as it is: all that most cycles need."""

from opspace_control.compiled import called
from opspace_control.control.limits.active_limits import ROUNDING
from opspace_control.control.limits.held_rows import EFFORT, MOTION
from opspace_control.model.nodes import ACTIVE


@called
def forget_unfit(nodes, limits, both):
    """Let go of joints that are not ours any more, or whose efforts are not; count afresh."""
    for k in range(limits.size):
        limit = limits[k]
        limit.freed[MOTION] = limit.freed[EFFORT] = 0
        if nodes[limit.node].status != ACTIVE:
            limit.motion = limit.effort = 0
        if not both:
            limit.effort = 0


@called
def within_limits(nodes, limits, a):
    """Return whether no joint is held, and none accelerates beyond its limits, (nv,)."""
    for k in range(limits.size):
        limit = limits[k]
        if limit.q_index < 0 or nodes[limit.node].status != ACTIVE:
            continue
        if limit.motion != 0 or limit.effort != 0:
            return False
        slack = ROUNDING * limit.acceleration
        if not limit.least - slack <= a[k] <= limit.greatest + slack:
            return False
    return True


@called
def let_go_of_joints(limits):
    """Hold no joint."""
    for k in range(limits.size):
        limits[k].motion = limits[k].effort = 0


@called
def note_efforts(nodes, limits, effort_limits, tau):
    """Let joints whose force is about to be cut be held at it from the next cycle on."""
    for k in range(limits.size):
        if limits[k].q_index >= 0 and nodes[limits[k].node].status == ACTIVE and (
                abs(tau[k]) > effort_limits[k] > 0.0):
            limits[k].effort = 1 if tau[k] > 0.0 else -1
