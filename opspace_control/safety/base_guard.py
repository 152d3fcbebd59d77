# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The check of a floating base's orientation against its angular velocity."""

import math

import numpy as np

from opspace_control.compiled import entry_point, kernel
from opspace_control.spatial.rotations import turn_between

# The orientation of the base at the last state.
BASE_GUARD = np.dtype([
    ('q', np.float64, (7,)),     # pose of the base, only the quaternion [x y z w] counts; NaN: none
    ('w', np.float64, (3,)),     # angular velocity, world axes, rad/s
    ('turn', np.float64, (3,)),  # scratch: from there to the new one, rad
], align=True)


@kernel
def judge_turn(guards, q, v, dt, furthest):
    """
    Accept the orientation of a state, or return that it has jumped, by the rule of `judge_state`.

    ``|φ − (ω + ω') dt/2| ≤ furthest + (|ω| + |ω'|) dt/2``, φ being the rotation vector from the
    last orientation to this one. After a jump the last one is extrapolated by its velocity.
    """
    guard = guards[0]
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
    if math.sqrt(away) > furthest + 0.5 * dt * (math.sqrt(before) + math.sqrt(now)):
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


class BaseGuard:
    """The last orientation of the floating base of a model."""

    def __init__(self, model):
        self._guards = np.zeros(1, BASE_GUARD)
        q, v = model.neutral(), np.zeros(model.nv)
        q.flags.writeable = v.flags.writeable = False  # as those of a RobotState
        self._judge = entry_point(judge_turn, self._guards, q, v, 0.0, math.inf)
        self.forget()

    def forget(self):
        """Forget the last state: the next one is not compared."""
        self._guards['q'] = math.nan
        self._guards['w'] = 0.0

    def jumps(self, state, dt, furthest):
        """Return whether a state, ``dt`` s after the last, is ``furthest`` rad or more off."""
        return self._judge(self._guards, state.q, state.v, dt, furthest)
