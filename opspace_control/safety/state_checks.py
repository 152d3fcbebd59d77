# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled checks of a state: finite numbers, unit quaternions, jumps; what they trip."""

import math

import numpy as np

from opspace_control.compiled import called
from opspace_control.model.state import NORM_TOLERANCE
from opspace_control.safety.supervisor import (
    NO_TRIP,
    NUMBER_OF,
    PASSIVE_VELOCITY,
    POSITION_JUMP,
    STATE_INVALID,
    TIME_BACKWARDS,
    VELOCITY_LIMIT,
)
from opspace_control.spatial.rotations import turn_between

# Verdicts about a state, and their trips; that of an unreadable one is the fault of its message.
(ACCEPTED, WENT_BACKWARDS, UNREADABLE, NO_STATE, JUMPED, TURNED, TOO_FAST) = range(7)
_TRIP_OF = tuple(NUMBER_OF.get(trip, NO_TRIP) for trip in (
    None, TIME_BACKWARDS, None, STATE_INVALID, POSITION_JUMP, POSITION_JUMP, VELOCITY_LIMIT))
_PASSIVE = NUMBER_OF[PASSIVE_VELOCITY]

# The state of one degree of freedom, in the order of dof_names.
STATE_GUARD = np.dtype([
    ('q_index', np.int64),           # into q, -1 for a rotation of a quaternion
    ('turns_freely', np.bool_),      # a rotation without position limits: its encoder may wrap
    ('velocity_limit', np.float64),  # rad/s or m/s, inf for none
    ('position_jump', np.float64),   # rad or m, inf for never
    ('q', np.float64),               # of the last state, rad or m; NaN: there is none
    ('v', np.float64),               # rad/s or m/s
], align=True)

# The orientation of the base at the last state.
BASE_GUARD = np.dtype([
    ('furthest', np.float64),    # a turn that is no jump, rad
    ('q', np.float64, (7,)),     # pose of the base, only the quaternion [x y z w] counts; NaN: none
    ('w', np.float64, (3,)),     # angular velocity, world axes, rad/s
    ('turn', np.float64, (3,)),  # scratch: from there to the new one, rad
], align=True)


@called
def trip_of(verdict, passive, fault):
    """
    Return the number of the trip of a verdict.

    ``passive`` tells whether the joint that it is about has no drive, ``fault`` is the number of
    the trip of an unreadable state, or `NO_TRIP`.
    """
    if verdict == TOO_FAST and passive:
        return _PASSIVE
    trip = _TRIP_OF[verdict]
    return fault if trip == NO_TRIP else trip


@called
def judge_position(guards, q, v, dt):
    """
    Accept positions that are ``dt`` s later than the last ones, or return the dof that jumped.

    Returns −1 if accepted, else the first dof k whose velocities v of before and v' of now do not
    explain its position, ``|q' − q − (v + v') dt/2| > jump + (|v| + |v'|) dt/2``, modulo whole
    turns of a rotation without limits. Without a last state there is no jump. After a jump the
    last position is extrapolated by the velocity, so a jump neither becomes valid by waiting, nor
    does its end count as another jump.
    """
    jumped = -1
    for k in range(guards.size - 1, -1, -1):
        guard = guards[k]
        if guard.q_index < 0:
            continue
        moved = 0.5 * dt * (guard.v + v[k])
        doubt = 0.5 * dt * (abs(guard.v) + abs(v[k]))
        jump = q[guard.q_index] - guard.q - moved
        if guard.turns_freely:
            jump -= 2.0 * math.pi * math.floor(jump / (2.0 * math.pi) + 0.5)
        if abs(jump) > guard.position_jump + doubt:
            jumped = k
            guard.q += moved
        else:
            guard.q = q[guard.q_index]
        guard.v = v[k]
    return jumped


@called
def judge_turn(guard, q, v, dt):
    """
    Accept the orientation of a base, or return that it has jumped, by `judge_position`'s rule.

    ``|φ − (ω + ω') dt/2| ≤ furthest + (|ω| + |ω'|) dt/2``, φ being the rotation vector from the
    last orientation to this one. After a jump the last one is extrapolated by its velocity.
    """
    last, w, turn = guard.q, guard.w, guard.turn
    turn_between(q, last, 3, turn, 0)
    away = before = now = 0.0
    for r in range(3):
        turned = 0.5 * dt * (w[r] + v[3 + r])
        away += (turn[r] - turned) ** 2
        before += w[r] * w[r]
        now += v[3 + r] * v[3 + r]
        turn[r] = turned
        w[r] = v[3 + r]
    if math.sqrt(away) > guard.furthest + 0.5 * dt * (math.sqrt(before) + math.sqrt(now)):
        x, y, z, s = last[3], last[4], last[5], last[6]
        a, b, c = 0.5 * turn[0], 0.5 * turn[1], 0.5 * turn[2]
        # To first order: the norm's error does not change an angle.
        last[3] += a * s + b * z - c * y
        last[4] += b * s + c * x - a * z
        last[5] += c * s + a * y - b * x
        last[6] -= a * x + b * y + c * z
        return True
    for r in range(3, 7):
        last[r] = q[r]
    return False


@called
def normalise_state(q, v, quaternions):
    """Return whether numbers are a state: finite, with quaternions of unit norm, exactly then."""
    for numbers in (q, v):
        for k in range(numbers.size):
            if not math.isfinite(numbers[k]):
                return False
    for k in range(quaternions.size):
        first, norm = quaternions[k], 0.0
        for r in range(4):
            norm += q[first + r] * q[first + r]
        norm = math.sqrt(norm)
        if abs(norm - 1.0) > NORM_TOLERANCE:
            return False
        for r in range(4):
            q[first + r] /= norm
    return True
