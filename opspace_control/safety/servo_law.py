# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The compiled servo: from a state that has come to efforts that may be sent, with trips.

A cycle is two calls around the control law, a kernel of its own: `TAKE`, whose result says whether
the law is called, then `SEND`. Between states `WATCH` looks at their age.
All of it works on arrays and needs no Python.
"""

import math

from opspace_control.compiled import called, kernel
from opspace_control.control.brake_law import gravity_hold
from opspace_control.control.drive_friction import restart_friction
from opspace_control.control.goals import clear_goals, forget_forces
from opspace_control.control.stack.disturbance import (
    apply_torque,
    interrupt_observer,
    restart_observer,
)
from opspace_control.safety.accepted_state import (
    accept,
    compare_with_none,
    overdue,
    restart_state,
)
from opspace_control.safety.envelope import LONGEST_STEP
from opspace_control.safety.ramps import advance_ramps, start_from_zero
from opspace_control.safety.servo_data import (
    ACCEPT,
    BRAKE,
    CONTROL,
    DAMP,
    DECIDE,
    EARLY,
    GRAVITY_HOLD,
    HOLD,
    RESUME,
    SEND,
    TAKE,
    WATCH,
)
from opspace_control.safety.servo_efforts import (
    begin_efforts,
    brake_in_trip,
    clamp_brake,
    clamp_step,
    damp_blind,
)
from opspace_control.safety.state_checks import JUMPED, TOO_FAST, trip_of
from opspace_control.safety.supervisor import (
    EFFORT_NOT_FINITE,
    NO_TRIP,
    NUMBER_OF,
    TIME_BACKWARDS,
    Recovery,
    end_trip,
    fade,
    is_blind,
    is_released,
    record_fault,
    record_good_state,
    recovery_of,
)

_TIME_BACKWARDS, _NOT_FINITE = NUMBER_OF[TIME_BACKWARDS], NUMBER_OF[EFFORT_NOT_FINITE]
_AUTOMATIC = Recovery.AUTOMATIC.value


@called
def note_fault(servo, trip, now):
    """Record a fault, and whether to report it."""
    servo.numbers[0].fault = trip
    servo.numbers[0].news = record_fault(servo.supervisor[0], trip, now)


@called
def trip_and_brake(servo, trip, now):
    """Record a fault, and brake the robot."""
    if trip == _TIME_BACKWARDS:
        compare_with_none(servo.state)
    note_fault(servo, trip, now)
    return brake_in_trip(servo, now)


@called
def accept_next(servo, now, fault):
    """Accept a state, or return its fault; ``fault`` is that of one which cannot be read."""
    numbers, supervisor, inputs = servo.numbers[0], servo.supervisor[0], servo.state.inputs
    trip = supervisor.trip
    if trip != NO_TRIP and recovery_of(trip) == _AUTOMATIC and is_released(supervisor, now):
        compare_with_none(servo.state)
    numbers.verdict = accept(servo.state, now, fault == NO_TRIP)
    numbers.dof = inputs[0].dof if numbers.verdict in (JUMPED, TOO_FAST) else -1
    passive = numbers.dof >= 0 and servo.passive[numbers.dof]
    return trip_of(numbers.verdict, passive, fault)


@called
def resume(servo):
    """
    End the trip, and begin ramps from zero.

    If the robot was released during the trip, every goal is the present pose.
    """
    numbers, supervisor = servo.numbers[0], servo.supervisor[0]
    numbers.renewed = supervisor.released
    end_trip(supervisor)
    if numbers.renewed:
        clear_goals(servo.demand)
        forget_forces(servo.demand)
    restart_observer(servo.demand.disturbance)
    restart_friction(servo.demand.friction)
    start_from_zero(servo.ramps)


@called
def decide(servo, now):
    """Return whether the law is to be called; write its time step, and advance ramps by it."""
    numbers, inputs = servo.numbers[0], servo.state.inputs
    state = inputs[0]
    # A state up to a quarter of a period early counts for this period.
    if now < numbers.due - 0.25 * numbers.period:
        return EARLY
    numbers.due = max(numbers.due + numbers.period, now)
    tripped = servo.supervisor[0].trip != NO_TRIP
    if tripped and (state.clock.repeated or not record_good_state(servo.supervisor[0], now)):
        return brake_in_trip(servo, now)
    if not numbers.begun:
        state.elapsed = 0.0
        if not begin_efforts(servo):
            return trip_and_brake(servo, _NOT_FINITE, now)
    if tripped:
        resume(servo)
    # Stamps may leap: a ramp must not end at once.
    numbers.dt, numbers.leapt = min(state.elapsed, LONGEST_STEP), state.elapsed > LONGEST_STEP
    if numbers.leapt:
        interrupt_observer(servo.demand.disturbance)
    state.elapsed = 0.0
    advance_ramps(servo.ramps, numbers.dt)
    return RESUME if tripped else CONTROL


@called
def send(servo, now):
    """Clamp the efforts of the law, or brake the robot if one is not finite."""
    servo.brake.numbers[0].hold_active = False
    if not clamp_step(servo, servo.numbers[0].dt, now):
        return trip_and_brake(servo, _NOT_FINITE, now)
    friction = servo.demand.friction
    for k in range(servo.tau.size):
        servo.exerted[k] = servo.tau[k] - (friction[k].effort if friction.size > 0 else 0.0)
    apply_torque(servo.demand.disturbance, servo.exerted)
    return CONTROL


@called
def watch(servo, now, paused):
    """Look at the age of the state; brake a robot whose state is not known."""
    numbers, supervisor, inputs = servo.numbers[0], servo.supervisor[0], servo.state.inputs
    trip = overdue(inputs[0], now, numbers.state_timeout, paused)
    if trip != NO_TRIP:
        note_fault(servo, trip, now)
    if not is_blind(supervisor):
        return EARLY
    moves = fade(supervisor, now - supervisor.blind_since) > 0.0
    for k in range(servo.tau.size):
        moves = moves or servo.tau[k] != 0.0
    return brake_in_trip(servo, now) if moves else EARLY


@called
def restart(servo, now):
    """Begin at the steady time ``now``, s, with an unknown state and without a trip."""
    numbers = servo.numbers[0]
    numbers.due, numbers.last_sent, numbers.begun, numbers.rate_limited = -math.inf, now, False, 0
    restart_state(servo.state, now)
    end_trip(servo.supervisor[0])
    servo.brake.numbers[0].hold_active = False
    for k in range(servo.tau.size):
        servo.efforts[k].effort, servo.exerted[k] = math.nan, 0.0
    forget_forces(servo.demand)
    restart_observer(servo.demand.disturbance)
    restart_friction(servo.demand.friction)
    start_from_zero(servo.ramps)


@called
def work_between(servo, work, now, number):
    """Do what is done between cycles."""
    if work == WATCH:
        return watch(servo, now, number > 0.0)
    if work == HOLD:
        supervisor = servo.supervisor[0]
        clear_goals(servo.demand)
        supervisor.acknowledged = supervisor.trip != NO_TRIP
        if supervisor.acknowledged:
            compare_with_none(servo.state)
    else:
        restart(servo, now)
    return EARLY


@kernel
def servo_step(servo, work, now, number):
    """
    Do a part of a cycle, or what is done between cycles; return what comes of it.

    ``now`` is steady time, s. ``number`` is that of a trip, or `NO_TRIP`: with `TAKE` the fault of
    a state which cannot be read. `TAKE` is `ACCEPT`, whose result is the fault of the state, and
    `DECIDE`. With `DECIDE` and `BRAKE` the fault is noted, and the robot is braked. `GRAVITY_HOLD`
    holds it and `DAMP` damps it whatever its trip is, by the ``number`` as scale. With `WATCH` it
    is 1 if a simulation is paused, else 0. `HOLD` makes the present pose every goal and
    acknowledges a trip, `RESTART` begins anew.
    """
    if work == ACCEPT:
        return accept_next(servo, now, int(number))
    servo.numbers[0].news, servo.numbers[0].fault = False, NO_TRIP
    if work in (TAKE, DECIDE, BRAKE):
        fault = accept_next(servo, now, int(number)) if work == TAKE else int(number)
        if fault != NO_TRIP:
            return trip_and_brake(servo, fault, now)
        return brake_in_trip(servo, now) if work == BRAKE else decide(servo, now)
    if work == SEND:
        return send(servo, now)
    if work in (GRAVITY_HOLD, DAMP):
        if work == DAMP:
            damp_blind(servo, number, now)
        else:
            gravity_hold(servo.brake, False, servo.state.last_q, servo.state.last_v, servo.tau)
        return clamp_brake(servo, now)
    return work_between(servo, work, now, number)
