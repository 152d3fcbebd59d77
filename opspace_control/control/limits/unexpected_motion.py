# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Accelerations of joints that the law does not expect: what friction takes of their motion.

An acceleration limit bounds the motion of the robot, ``q̈ + ε``: q̈ is that of the law, and ε what
unknown forces add to it which no task compensates, above all friction. It is the difference of the
measured accelerations and those of the law, behind the filter of the observer. A bound ±a is wider
by as much of ε as opposes motion towards it, `bound_acceleration`. Without that, a joint sticks for
good whose friction is more than what its acceleration limit takes, however much the tasks need its
motion. Limits of position and velocity stay those of the law's motion, which they bring to rest
whatever ε is.

What holds a joint may be an obstacle or a hand as well. So ε is at most what a part of the joint's
effort limit accelerates, by its articulated-body inertia: a joint that is blocked is pressed with
no more than that beside its acceleration limit, and when it is released it is as much faster, for
as long as the filter takes.

Singular directions take ε into account, too, see `control_direction`: what moves a hand hardly is
no axis of motion along which a task could compensate.
"""

import math

from opspace_control.compiled import called
from opspace_control.control.stack.disturbance import EXPECTED, FOUND, GAIN, GRASPS, rejects

# Part of an effort limit that ε may take. Two joints of Talos at rest at their limits, friction
# being 3 %, leave a hand turned by 4.2 degrees with 0.15, by 0.25 degrees with 0.3 and 0.5.
FRICTION_SHARE = 0.3


@called
def observe_motion(disturbance, cycle, robot, limits, limits_apply, v, a):
    """
    Filter ε (nv,), for the next cycle's bounds.

    v (nv,) is the velocity of this cycle, a (nv,) the law's acceleration in the last one, if that
    found any; this one does if ``limits_apply``. Where there is none, in grasps, and where
    efforts were cut, so that the robot did not move as the law demanded, ε decays.
    """
    flags = disturbance.flags
    if flags.size == 0:
        return
    unexpected, last = disturbance.unexpected[0], disturbance.unexpected[1]
    gain, frequency = disturbance.rate[GAIN], 1.0 / cycle.dt
    measured = flags[EXPECTED] != 0 and flags[FOUND] != 0 and flags[FOUND] != GRASPS and (
        cycle.limited == 0 and rejects(disturbance.tasks))
    for k in range(v.size):
        new = frequency * (v[k] - last[k]) - a[k] if measured else 0.0
        if not abs(new) < math.inf:
            new = 0.0
        most = FRICTION_SHARE * limits.efforts[k] * robot.states[limits.joints[k].node].inverse_D
        if not math.isfinite(most):
            most = 0.0
        unexpected[k] = min(max(unexpected[k] + gain * (new - unexpected[k]), -most), most)
        last[k] = v[k]
    flags[EXPECTED] = 1 if limits_apply else 0
