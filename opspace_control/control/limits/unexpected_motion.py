# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Bounds on accelerations of joints that move otherwise than the law expects.

An acceleration limit bounds the motion of the robot, ``q̈ + ε``: q̈ is that of the law, and ε what
unknown forces add to it which no task compensates, above all friction. It is the difference of the
measured accelerations and those of the law, behind the filter of the observer. Where ε opposes the
motion, the law may accelerate by as much more. Without that, a joint sticks for good whose friction
is more than what its acceleration limit takes, however much the tasks need its motion.

Singular directions take ε into account, too, see `control_direction`: what moves a hand hardly is
no axis of motion along which a task could compensate.

The bounds are not narrowed where ε is in the direction of motion: friction stops a joint faster
than its limit says, and that harms nothing. Limits of position and velocity stay those of the law's
motion, which they bring to rest whatever ε is.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.limits.kinds import ACCELERATION
from opspace_control.control.stack.disturbance import (
    EXPECTED,
    FOUND,
    GRASPS,
    rejects,
)


@inlined
def observe_motion(disturbance, dt, v, a):
    """Filter ε (nv,): v is the velocity of this cycle, a the law's acceleration in the last one."""
    flags = disturbance.flags
    unexpected, last = disturbance.unexpected[0], disturbance.unexpected[1]
    gain, stays = -math.expm1(-disturbance.rate[0] * dt), not rejects(disturbance.tasks)
    for k in range(v.size):
        if stays:
            unexpected[k] = 0.0
        elif flags[FOUND] == GRASPS:
            unexpected[k] -= gain * unexpected[k]
        elif flags[FOUND] != 0 and flags[EXPECTED] != 0:
            unexpected[k] += gain * ((v[k] - last[k]) / dt - a[k] - unexpected[k])
        last[k] = v[k]


@called
def widen_bounds(disturbance, cycle, limits, keeps, v, a):
    """
    Widen the bounds of joints by what their acceleration limits do not leave because of ε.

    v (nv,) is the velocity of this cycle, a (nv,) the law's acceleration in the last one, if that
    found any; this one does if it ``keeps`` limits.
    """
    if disturbance.flags.size > 0:
        observe_motion(disturbance, cycle.dt, v, a)
        disturbance.flags[EXPECTED] = 1 if keeps else 0
        for k in range(limits.size if keeps else 0):
            unexpected, limit = disturbance.unexpected[0, k], limits[k]
            if limit.q_index < 0:
                continue
            if limit.reason[0] == ACCELERATION:
                limit.least -= max(unexpected, 0.0)
            if limit.reason[1] == ACCELERATION:
                limit.greatest -= min(unexpected, 0.0)
