# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Efforts that overcome the friction of drives, beside those of the law.

The law has what the effort limits leave, so the sum is within them. Where friction takes more than
an effort limit, it is cut there, and the law has nothing.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.data import Limits
from opspace_control.dynamics.drive_friction import (
    MOTION_RATE,
    any_friction,
    friction_level,
    overcoming_effort,
)
from opspace_control.model.nodes import ACTIVE


@inlined
def reserve_friction(friction, limits, left, v):
    """
    Return the limits with the effort limits, written to ``left`` (nv,), that friction leaves.

    The ``level`` of dry friction at this velocity is that of `overcoming_effort`.
    """
    for k in range(v.size):
        left[k] = limits.efforts[k]
    for k in range(friction.size):
        friction[k].level = friction_level(friction[k], v[k])
        left[k] = max(left[k] - friction[k].level - friction[k].viscous * abs(v[k]), 0.0)
    return Limits(left, limits.joints, limits.numbers)


@called
def restart_friction(friction):
    """Forget the motion, as after a time without control."""
    for k in range(friction.size):
        friction[k].motion = 0.0


@called
def overcome_friction(cycle, robot, demand, effort_limits, results, v, tau):
    """
    Add the efforts that overcome friction to those of the law, (nv,), and note them.

    They are cut at ``effort_limits`` (nv,), those of the drives.

    The law's accelerations, ``a_joints``, are without the forces that reject disturbances. Drives
    exert them, so what they would move, ``u2`` of `respond_to_stack`, counts, too.
    """
    nodes, friction = robot.nodes, demand.friction
    if not any_friction(friction):
        for k in range(friction.size):
            friction[k].effort = 0.0
        return
    rejects = demand.disturbance.flags.size > 0
    gain = MOTION_RATE * cycle.dt / (1.0 + MOTION_RATE * cycle.dt)
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0 and nodes[i].status == ACTIVE:
            a = results.a_joints[k] + (robot.states[i].u2 if rejects else 0.0)
            effort = overcoming_effort(friction[k], v[k], a, gain)
            if abs(effort) > effort_limits[k]:  # NaN stays
                effort = math.copysign(effort_limits[k], effort)
            friction[k].effort = effort
            tau[k] += effort
