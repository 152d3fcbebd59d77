# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which accelerations the limits of a joint's position and velocity leave it.

A joint may move towards a limit at most so fast that it can stop there: the law of a servo that
brakes with a known deceleration, smoothly joined to the limit of velocity far from the end stop and
to a straight line close to it, where a square root would be infinitely steep.
"""

import math

import numpy as np

from opspace_control.compiled import called, inlined
from opspace_control.control.limits.kinds import ACCELERATION, JOINT_KINDS, POSITION, VELOCITY
from opspace_control.dynamics.braking import braking_speed
from opspace_control.model.nodes import ACTIVE

# One degree of freedom, in the order of dof_names: its limits, the bounds of this cycle that follow
# from them, and what the next cycle needs of this one. It is one record because each loop over
# joints uses fields of two of these kinds, which are so in adjacent memory.
LIMIT = np.dtype([
    ('node', np.int64),             # that it moves
    ('q_index', np.int64),          # into q, -1 for a rotation of a quaternion, which has no limits
    ('lower', np.float64),          # rad or m, -inf for none
    ('upper', np.float64),          # rad or m, inf for none
    ('velocity', np.float64),       # rad/s or m/s, inf for none
    ('ordinary_speed', np.float64),  # the same, or of a joint without a limit a usual speed
    ('acceleration', np.float64),   # that the law counts on to brake, rad/s² or m/s²
    ('slow', np.float64),           # speed up to which, and
    ('clear', np.float64),          # distance from its limits from which nothing but ±acceleration
                                    # bounds it: a quick test; rad/s, rad or m/s, m
    ('least', np.float64),          # acceleration that the limits allow at this cycle
    ('greatest', np.float64),
    ('reason', np.int64, (2,)),     # what bounds them: REASONS of the least, of the greatest
    ('gravity_torque', np.float64),   # the greatest that it may have, N·m or N, inf for any
    ('gravity_bound', np.float64),    # second rate of it that this allows at this cycle, and
    ('gravity_braking', np.float64),  # that with which it can be braked, N·m/s² or N/s²
    ('gravity_near', np.bool_),       # whether it is nearly at its limit
    ('determined', np.bool_),         # whether the motion alone determines its effort
    # By kind of limit, JOINT_KINDS of them; 1, -1: against the upper bound, the lower one; 0: none
    ('active_side', np.int64, (JOINT_KINDS,)),
    ('side', np.int64, (JOINT_KINDS,)),     # at which it was pressed last
    # From 0 to 1: singular directions do without a joint at rest at its limit.
    ('resting_share', np.float64, (JOINT_KINDS,)),
], align=True)

# Beyond a limit of position a joint returns at this part of its ordinary speed, or slower.
_RETURN = 0.1


@inlined
def is_limited(nodes, limit):
    """Return whether a joint may have bounds: it has one coordinate, and a drive."""
    return limit.q_index >= 0 and nodes[limit.node].status == ACTIVE


@inlined
def faded(part, on, dt, time):
    """Return a part after dt s of its linear change to 1 (on) or 0, which takes ``time`` s."""
    return min(max(part + (dt if on else -dt) / time, 0.0), 1.0)


@inlined
def resting_softness(share):
    """
    Return by how much a joint may move that rests at its limit by a share, above 0, up to 1.

    In parts of its mobility where singular directions are computed, and of its acceleration limit
    in the problem: were it the same to be at rest for the one and free for the other, a direction
    would become singular, the joint leave its limit, and both begin anew.
    """
    return (1.0 / share - 1.0) ** 3


@inlined
def approached(part, target, dt, time):
    """Return a part after dt s of its change towards a target; from 0 to 1 it takes ``time`` s."""
    return min(max(target, part - dt / time), part + dt / time)


@inlined
def speed_towards(distance, limit, approach):
    """
    Return how fast a joint may go towards a limit of its position, the slope of that, and why.

    s is the `braking_speed`. ``v = (s⁻⁴ + v_max⁻⁴)^(−1/4)`` joins it to the limit of velocity from
    below, so that braking sets in smoothly and on v, too, ``|q̈| ≤ a``, which holds with any
    exponent (derivations.md). With 4 a joint goes by 16 % slower than the lesser of both at most,
    with 2 by 29 %; the change is the more abrupt the greater it is. By the same curve
    `JointLimits.records` tells where nothing but ±a bounds a joint, see `runs_free`.
    """
    fastest = limit.velocity
    if math.isinf(distance):
        return fastest, 0.0, VELOCITY
    s, slope = braking_speed(distance, limit.acceleration, approach)
    if s <= 0.0:
        back = _RETURN * limit.ordinary_speed
        return (s, slope, POSITION) if s > -back else (-back, 0.0, POSITION)
    x = s / fastest
    x *= x
    blend = 1.0 / (1.0 + x * x)
    root = math.sqrt(math.sqrt(blend))
    return s * root, slope * root * blend, POSITION if x < 1.0 else VELOCITY


@called
def bound_acceleration(limit, rate, approach, unexpected, q, v):
    """
    Write the accelerations that the limits of motion allow a joint at position q and velocity v.

    ``q̈ ≤ c (v_+ − v) − v v_+'``, v_+ being `speed_towards` the upper limit at its distance: the
    joint gets no faster than v_+, or returns to it at the rate c; from below in the same way. Never
    more than ``±a`` either, unless it takes more to brake; ``unexpected`` ε leaves as much more
    as it opposes.
    """
    a, reason = limit.acceleration, limit.reason
    up, slope, reason[1] = speed_towards(limit.upper - q, limit, approach)
    greatest, most = rate * (up - v) - slope * v, a + max(-unexpected, 0.0)
    if greatest > most:
        greatest, reason[1] = most, ACCELERATION
    down, slope, reason[0] = speed_towards(q - limit.lower, limit, approach)
    least, most = -rate * (down + v) - slope * v, a + max(unexpected, 0.0)
    if least < -most:
        least, reason[0] = -most, ACCELERATION
    if least > greatest:  # it takes more than a to brake, or the limits are closer than that
        if abs(least) > abs(greatest):
            greatest = least
        else:
            least = greatest
    limit.least, limit.greatest = least, greatest


@inlined
def runs_free(limit, q, v):
    """Return whether nothing but ±acceleration bounds a joint, without working it out."""
    return (abs(v) <= limit.slow and q - limit.lower >= limit.clear
            and limit.upper - q >= limit.clear)


@called
def bound_motion(cycle, limits, unexpected, q, v):
    """
    Write the bounds of the accelerations of all joints, ``least`` and ``greatest``.

    They are wider by ``a (1/keep² − 1)`` while ``keep`` is between 0 and 1. ``unexpected`` are two
    rows, the first ε (nv,) of `observe_motion`, or empty ones.
    """
    wider, observed = 1.0 / (cycle.keep * cycle.keep) - 1.0, unexpected.size > 0
    for k in range(limits.size):
        limit = limits[k]
        if limit.q_index < 0:
            continue
        opposing = unexpected[0, k] if observed else 0.0
        if opposing == 0.0 and runs_free(limit, q[limit.q_index], v[k]):
            limit.greatest, limit.least = limit.acceleration, -limit.acceleration
            limit.reason[0] = limit.reason[1] = ACCELERATION
        else:
            bound_acceleration(limit, cycle.return_rate, cycle.approach_rate, opposing,
                               q[limit.q_index], v[k])
        if wider > 0.0:
            limit.least -= wider * limit.acceleration
            limit.greatest += wider * limit.acceleration


@inlined
def clip_posture(nodes, dofs, limits, posture_share, keep, v, a):
    """
    Clip the posture's accelerations a (nv,) of active joints to the bounds of motion.

    The position term is clipped first, to ``posture_share`` of the acceleration limit, and the
    damping added afterwards: a clipped sum would not damp a posture that cannot be reached.
    """
    wider = 1.0 / (keep * keep) - 1.0
    for k in range(limits.size):
        limit = limits[k]
        if is_limited(nodes, limit):
            damping = dofs[k].kd * (v[k] - dofs[k].velocity)
            most = (posture_share + wider) * limit.acceleration
            a[k] = min(max(a[k] + damping, -most), most) - damping
            a[k] = min(max(a[k], limit.least), limit.greatest)
