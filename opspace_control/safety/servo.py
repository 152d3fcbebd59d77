# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The servo, compiled: from a state that has come to efforts that may be sent, with trips.

A cycle is two calls with the control law between them: `ACCEPT` and `DECIDE`, whose result says
whether the law is to be called, then `SEND`. All of it works on arrays and needs no Python.
"""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import called, kernel
from opspace_control.control.brake_law import Braking, damp, gravity_hold, weigh
from opspace_control.safety.accepted_state import (
    JUMPED,
    NO_STATE,
    TOO_FAST,
    TURNED,
    WENT_BACKWARDS,
    StateMemory,
    accept,
    compare_with_none,
)
from opspace_control.safety.envelope import LONGEST_STEP, bound
from opspace_control.safety.supervisor import (
    EFFORT_NOT_FINITE,
    NO_TRIP,
    NUMBER_OF,
    PASSIVE_VELOCITY,
    POSITION_JUMP,
    STATE_INVALID,
    TIME_BACKWARDS,
    VELOCITY_LIMIT,
    Recovery,
    fade,
    gives_way,
    is_blind,
    is_released,
    record_fault,
    record_good_state,
    recovery_of,
)

# What a call does.
ACCEPT, DECIDE, SEND, BRAKE = range(4)
# What comes of the others: too early for a cycle; the law is to be called, or its efforts may be
# sent; the same, after a trip; the efforts are those of the brake.
EARLY, CONTROL, RESUME, BRAKED = range(4)

_TIME_BACKWARDS, _INVALID, _JUMP = (
    NUMBER_OF[trip] for trip in (TIME_BACKWARDS, STATE_INVALID, POSITION_JUMP))
_VELOCITY, _PASSIVE, _NOT_FINITE = (
    NUMBER_OF[trip] for trip in (VELOCITY_LIMIT, PASSIVE_VELOCITY, EFFORT_NOT_FINITE))
_AUTOMATIC = Recovery.AUTOMATIC.value

SERVO = np.dtype([
    ('period', np.float64),     # shortest time between two cycles, s
    ('due', np.float64),        # steady time of the next cycle, s
    ('begun', np.bool_),        # whether efforts have a beginning, from gravity torques
    ('last_sent', np.float64),  # steady time of the last efforts, s
    ('dt', np.float64),         # the robot's time since the last cycle, `LONGEST_STEP` at most, s
    ('leapt', np.bool_),        # whether it was longer
    ('verdict', np.int64),      # about the state
    ('news', np.bool_),         # whether a fault of this call is to be reported
    ('rate_limited', np.int64),  # efforts at their rate limit
    ('dof', np.int64),          # of an effort that was not finite
    ('effort', np.float64),     # which it was
], align=True)


class Servo(NamedTuple):
    """What a servo reads and writes."""

    numbers: np.ndarray     # SERVO, one
    supervisor: np.ndarray  # SUPERVISOR, one
    state: StateMemory
    passive: np.ndarray     # (nv,) of bool: joints without a drive
    efforts: np.ndarray     # (nv,) of EFFORT_GUARD
    brake: Braking
    tau: np.ndarray         # (nv,), N·m or N: written by the law, then bounded


@called
def trip_of(servo, verdict, fault):
    """Return the number of the trip of a verdict about a state, whose own ``fault`` may be one."""
    if verdict == WENT_BACKWARDS:
        return _TIME_BACKWARDS
    if verdict == NO_STATE:
        return _INVALID
    if verdict in (JUMPED, TURNED):
        return _JUMP
    if verdict == TOO_FAST:
        return _PASSIVE if servo.passive[servo.state.inputs[0].dof] else _VELOCITY
    return fault


@called
def note_fault(servo, trip, now):
    """Record a fault, and whether to report it."""
    servo.numbers[0].news = record_fault(servo.supervisor[0], trip, now)


@called
def bound_step(servo, dt, now):
    """
    Bound the efforts for the robot's time ``dt``, s; return whether they are finite.

    If stamps stop for longer than `LONGEST_STEP`, the rate limit uses steady time.
    """
    numbers, state = servo.numbers[0], servo.state.inputs[0]
    if dt == 0.0 and now > state.clock.last_new + LONGEST_STEP and state.last_good == now:
        dt = now - numbers.last_sent
    limited = bound(servo.efforts, min(dt, LONGEST_STEP), servo.tau)
    if limited < 0:
        for k in range(servo.tau.size - 1, -1, -1):
            if not math.isfinite(servo.tau[k]):
                numbers.dof, numbers.effort = k, servo.tau[k]
        return False
    numbers.rate_limited, numbers.last_sent = limited, now
    return True


@called
def brake_and_bound(servo, now):
    """Write what holds the robot in position if its state is known, else what damps it."""
    numbers, supervisor = servo.numbers[0], servo.supervisor[0]
    inputs, q, v = servo.state.inputs, servo.state.last_q, servo.state.last_v
    state = inputs[0]
    if is_blind(supervisor):
        scale = fade(supervisor, now - supervisor.blind_since) if state.known else 0.0
        seen = max(state.last_seen, state.last_good)
        damp(servo.brake, now - seen, scale, q, v, servo.tau)
    else:
        gravity_hold(servo.brake, gives_way(supervisor.trip), q, v, servo.tau)
    dt, state.elapsed = state.elapsed, 0.0
    if dt == 0.0:
        dt = now - numbers.last_sent
    dt = min(dt, LONGEST_STEP)
    if not bound_step(servo, dt, now):
        for k in range(servo.tau.size):
            servo.tau[k] = 0.0
        bound_step(servo, dt, now)


@called
def accept_next(servo, now, fault):
    """Accept a state, or note its fault; ``fault`` is that of one which cannot be read."""
    numbers, supervisor = servo.numbers[0], servo.supervisor[0]
    trip = supervisor.trip
    if trip != NO_TRIP and recovery_of(trip) == _AUTOMATIC and is_released(supervisor, now):
        compare_with_none(servo.state)
    numbers.verdict = accept(servo.state, now, fault == NO_TRIP)
    return trip_of(servo, numbers.verdict, fault)


@called
def decide(servo, now):
    """Return whether the law is to be called, and write its time step."""
    numbers, state = servo.numbers[0], servo.state.inputs[0]
    # A state up to a quarter of a period early counts for this period.
    if now < numbers.due - 0.25 * numbers.period:
        return EARLY
    numbers.due = max(numbers.due + numbers.period, now)
    tripped = servo.supervisor[0].trip != NO_TRIP
    if tripped and (state.clock.repeated or not record_good_state(servo.supervisor[0], now)):
        brake_and_bound(servo, now)
        return BRAKED
    if not numbers.begun:  # the rate limit of efforts begins with an estimate of the present ones
        numbers.begun, state.elapsed = True, 0.0
        weigh(servo.brake, servo.state.last_q, servo.tau)
        numbers.rate_limited = bound(servo.efforts, 0.0, servo.tau)
    # Stamps may leap: a ramp must not end at once.
    numbers.dt, numbers.leapt = min(state.elapsed, LONGEST_STEP), state.elapsed > LONGEST_STEP
    state.elapsed = 0.0
    return RESUME if tripped else CONTROL


@kernel
def servo_step(servo, work, now, fault):
    """
    Do a part of a cycle: `ACCEPT`, `DECIDE`, `SEND` or `BRAKE`; return what came of it.

    ``now`` is steady time, s. ``fault`` is the number of a trip, or `NO_TRIP`: with `ACCEPT` that
    of a state which cannot be read; the result is that of the state. With `DECIDE` it is noted, and
    the robot is braked.
    """
    numbers, trip = servo.numbers[0], int(fault)
    if work == ACCEPT:
        return accept_next(servo, now, trip)
    numbers.news = False
    if work == BRAKE:
        brake_and_bound(servo, now)
        return BRAKED
    if work == DECIDE:
        if trip == NO_TRIP:
            return decide(servo, now)
    else:
        servo.brake.numbers[0].hold_begun = False
        if bound_step(servo, numbers.dt, now):
            return CONTROL
        trip = _NOT_FINITE
    if trip == _TIME_BACKWARDS:
        compare_with_none(servo.state)
    note_fault(servo, trip, now)
    brake_and_bound(servo, now)
    return BRAKED
