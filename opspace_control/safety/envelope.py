# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The safety envelope: checks of states, and bounds of efforts."""

import math

import numpy as np

from opspace_control.compiled import kernel
from opspace_control.errors import SafetyError
from opspace_control.safety.supervisor import (
    EFFORT_NOT_FINITE,
    PASSIVE_VELOCITY,
    POSITION_JUMP,
    VELOCITY_LIMIT,
)
from opspace_control.spatial.rotations import turn_between

# Longest time step for the rate limit of efforts, s, however late a cycle is.
LONGEST_STEP = 0.01

# One degree of freedom, in the order of dof_names.
GUARD = np.dtype([
    ('q_index', np.int64),           # into q, -1 for a rotation of a quaternion
    ('turns_freely', np.bool_),      # a rotation without position limits: its encoder may wrap
    ('effort_limit', np.float64),    # N m or N, inf for none
    ('effort_rate', np.float64),     # N m/s or N/s, inf for none
    ('velocity_limit', np.float64),  # rad/s or m/s, inf for none
    ('position_jump', np.float64),   # rad or m, inf for never
    ('q', np.float64),               # of the last state, rad or m; NaN: there is none
    ('v', np.float64),               # rad/s or m/s
    ('effort', np.float64),          # sent last, N m or N; NaN: none was
], align=True)

# The orientation of the base at the last state.
BASE_GUARD = np.dtype([
    ('q', np.float64, (7,)),     # pose of the base, only the quaternion [x y z w] counts; NaN: none
    ('w', np.float64, (3,)),     # angular velocity, world axes, rad/s
    ('turn', np.float64, (3,)),  # scratch: from there to the new one, rad
], align=True)


@kernel
def judge_state(guards, q, v, dt):
    """
    Accept a state that is ``dt`` s later than the last one, or return the dof that violates it.

    Returns 0 if accepted; ``k + 1`` if dof k jumped: its velocities v of before and v' of now do
    not explain its position, ``|q' − q − (v + v') dt/2| > jump + (|v| + |v'|) dt/2``, modulo whole
    turns of a rotation without limits; ``−(k + 1)`` if it is too fast. Without a last state there
    is no jump. After a jump the last position is extrapolated by the velocity, so a jump neither
    becomes valid by waiting, nor does its end count as another jump.
    """
    verdict = 0
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
            verdict = k + 1
            guard.q += moved
        else:
            guard.q = q[guard.q_index]
        guard.v = v[k]
    if verdict == 0:
        for k in range(guards.size - 1, -1, -1):
            if abs(v[k]) > guards[k].velocity_limit:
                verdict = -(k + 1)
    return verdict


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


@kernel
def bound_efforts(guards, dt, tau):
    """
    Clip ``tau`` at its limits and at the rate limit for ``dt`` s, and store it.

    Returns the number of efforts at the rate limit, or −1, storing nothing, if one is not finite.
    """
    for k in range(tau.size):
        if not math.isfinite(tau[k]):
            return -1
    rate_limited = 0
    for k in range(tau.size):
        guard = guards[k]
        effort = min(max(tau[k], -guard.effort_limit), guard.effort_limit)
        step = guard.effort_rate * dt
        if effort - guard.effort > step:
            effort = guard.effort + step
            rate_limited += 1
        elif guard.effort - effort > step:
            effort = guard.effort - step
            rate_limited += 1
        tau[k] = guard.effort = effort
    return rate_limited


class BaseGuard:
    """The last orientation of the floating base of a model."""

    def __init__(self, model):
        self._guards = np.zeros(1, BASE_GUARD)
        self._q, self._v = model.neutral(), np.zeros(model.nv)
        self._judge = judge_turn.bind(self._guards, self._q, self._v, 0.0, math.inf)
        self.forget()

    def forget(self):
        """Forget the last state: the next one is not compared."""
        self._guards['q'] = math.nan
        self._guards['w'] = 0.0

    def jumps(self, state, dt, furthest):
        """Return whether a state, ``dt`` s after the last, is ``furthest`` rad or more off."""
        self._q[:], self._v[:] = state.q, state.v
        return bool(self._judge(dt, furthest))


class Envelope:
    """
    The check of all states before control, and the bound of all efforts after it.

    ``effort_limits`` (nv,) are in N·m or N, inf for none; ``rate_limited`` is the number of joints
    at the rate limit in the last cycle.
    """

    def __init__(self, model, effort_limits):
        self._model = model
        self._guards = np.zeros(model.nv, GUARD)
        self._guards['q_index'] = model.q_index
        self._guards['turns_freely'] = model.turns_freely
        self._guards['effort_limit'] = effort_limits
        self._base = BaseGuard(model) if model.floating_base else None
        self.set_limits()
        self.restart()
        self._q, self._v, self._tau = model.neutral(), *np.zeros((2, model.nv))
        self._bound = bound_efforts.bind(self._guards, 0.0, self._tau)
        self._judge = judge_state.bind(self._guards, self._q, self._v, 0.0)

    def set_limits(self, *, effort_rate=math.inf, velocity_scale=math.inf, position_jump=math.inf,
                   passive=None):
        """
        Set the bounds, from the next cycle on.

        ``effort_rate``, 1/s, is the change of an effort in a second, and ``velocity_scale``, a
        number or (nv,), the velocity that trips, in multiples of the robot's limits.
        ``position_jump``, rad or m, is the distance of a joint from its extrapolated position that
        trips. ``passive`` (nv,) are joints without a drive; those of the model if not given.
        """
        guards = self._guards
        self._passive = self._model.passive if passive is None else passive
        guards['effort_rate'] = _times(effort_rate, guards['effort_limit'])
        guards['velocity_limit'] = _times(velocity_scale, self._model.velocity_limits)
        guards['position_jump'] = self._position_jump = position_jump

    @property
    def velocity_limits(self):
        """Velocities that trip, (nv,), rad/s or m/s."""
        return self._guards['velocity_limit'].copy()

    def restart(self):
        """Forget the last state and the last efforts."""
        self.forget_state()
        self.forget_efforts()

    def forget_efforts(self):
        """Forget the last efforts: the rate limit does not apply to the next ones."""
        self._guards['effort'] = math.nan
        self.rate_limited = 0

    def forget_state(self):
        """Forget the last state: the robot may have been moved."""
        self._guards['q'] = math.nan
        if self._base:
            self._base.forget()
        self._elapsed = 0.0

    def elapse(self, dt):
        """Add ``dt``, s, to the time since the last accepted state."""
        self._elapsed += dt

    def accept(self, state):
        """
        Accept a state, compared with the last accepted one, or raise a SafetyError.

        POSITION_JUMP: the state is refused; VELOCITY_LIMIT, PASSIVE_VELOCITY: a joint is too fast.
        """
        dt, self._elapsed = self._elapsed, 0.0
        self._q[:], self._v[:] = state.q, state.v
        verdict = self._judge(dt)
        turned = self._base and self._base.jumps(state, dt, self._position_jump)
        if verdict > 0:
            raise self._jump(verdict - 1, state)
        if turned:
            raise SafetyError(POSITION_JUMP, "The orientation of 'base' jumped.", joint='base')
        if verdict < 0:
            raise self._overspeed(-verdict - 1, state)

    def bound(self, tau, dt):
        """
        Bound efforts (nv,), N·m or N, in place: by the limits, then by the rate of change.

        ``|Δτ| ≤ effort_rate · limit · min(dt, LONGEST_STEP)`` between calls ``dt`` s apart. A
        SafetyError EFFORT_NOT_FINITE leaves the efforts unchanged; they must not be sent.
        """
        self._tau[:] = tau
        rate_limited = self._bound(min(dt, LONGEST_STEP))
        if rate_limited < 0:
            k = int(np.flatnonzero(~np.isfinite(tau))[0])
            joint = self._model.dof_names[k]
            raise SafetyError(EFFORT_NOT_FINITE, f"The effort of '{joint}' became {tau[k]}.",
                             joint=joint, value=float(tau[k]))
        tau[:], self.rate_limited = self._tau, rate_limited

    def _jump(self, k, state):
        guard, joint = self._guards[k], self._model.dof_names[k]
        now = float(state.q[guard['q_index']])
        return SafetyError(
            POSITION_JUMP, f"'{joint}' jumped to {now:.3f}; its velocity has led it to "
            f"{guard['q']:.3f}.", joint=joint, value=now)

    def _overspeed(self, k, state):
        joint, speed = self._model.dof_names[k], float(state.v[k])
        if self._passive[k]:
            return SafetyError(
                PASSIVE_VELOCITY, f"Passive joint '{joint}' swings at {speed:.2f}, its limit is "
                f"{self._guards[k]['velocity_limit']:.2f}: nothing drives it.",
                joint=joint, value=speed)
        return SafetyError(
            VELOCITY_LIMIT, f"'{joint}' moves at {speed:.2f}, its limit is "
            f"{self._guards[k]['velocity_limit']:.2f}.", joint=joint, value=speed)


def _times(factor, limits):
    """Return ``factor * limits``; infinite limits stay infinite, also times zero."""
    return np.where(np.isfinite(limits) & np.isfinite(factor), factor * limits, math.inf)
