# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The efforts that the servo sends, compiled: clamping, and the brake."""

import math

from opspace_control.compiled import called
from opspace_control.control.brake_law import damp, gravity_hold, weigh
from opspace_control.safety.envelope import LONGEST_STEP, clamp
from opspace_control.safety.servo_data import BRAKED
from opspace_control.safety.supervisor import fade, is_blind, is_compliant


@called
def clamp_and_note(servo, dt):
    """Clamp the efforts for ``dt``, s; return whether they are finite, else note which is not."""
    numbers = servo.numbers[0]
    limited = clamp(servo.efforts, dt, servo.tau)
    if limited < 0:
        for k in range(servo.tau.size - 1, -1, -1):
            if not math.isfinite(servo.tau[k]):
                numbers.dof, numbers.effort = k, servo.tau[k]
        return False
    numbers.rate_limited = limited
    return True


@called
def clamp_step(servo, dt, now):
    """
    Clamp the efforts for the robot's time ``dt``, s; return whether they are finite.

    If stamps stop for longer than `LONGEST_STEP`, the rate limit uses steady time.
    """
    numbers, state = servo.numbers[0], servo.state.inputs[0]
    if dt == 0.0 and now > state.clock.last_change + LONGEST_STEP and state.last_accepted == now:
        dt = now - numbers.last_sent
    if not clamp_and_note(servo, min(dt, LONGEST_STEP)):
        return False
    numbers.last_sent = now
    return True


@called
def begin_efforts(servo):
    """
    Begin the rate limit of efforts with an estimate of the present ones: those of the weight.

    Returns whether they are finite.
    """
    weigh(servo.brake, servo.state.last_q, servo.tau)
    servo.numbers[0].begun = clamp_and_note(servo, 0.0)
    return servo.numbers[0].begun


@called
def damp_blind(servo, scale, now):
    """Write what damps a robot by its last known state, with ``scale`` of the damping."""
    inputs = servo.state.inputs
    state = inputs[0]
    seen = max(state.last_seen, state.last_accepted)
    damp(servo.brake, now - seen, scale if state.known else 0.0, servo.state.last_q,
         servo.state.last_v, servo.tau)


@called
def clamp_brake(servo, now):
    """Clamp the efforts of a brake; those that are not finite become zero."""
    numbers, inputs = servo.numbers[0], servo.state.inputs
    dt, inputs[0].elapsed = inputs[0].elapsed, 0.0
    if dt == 0.0:
        dt = now - numbers.last_sent
    dt = min(dt, LONGEST_STEP)
    if not clamp_step(servo, dt, now):
        for k in range(servo.tau.size):
            servo.tau[k] = 0.0
        clamp_step(servo, dt, now)
    for k in range(servo.tau.size):
        servo.exerted[k] = servo.tau[k]
    return BRAKED


@called
def brake_in_trip(servo, now):
    """Write what holds the robot in position if its state is known, else what damps it."""
    supervisor, inputs = servo.supervisor[0], servo.state.inputs
    if inputs[0].known and not servo.numbers[0].begun:
        begin_efforts(servo)
    if is_blind(supervisor):
        damp_blind(servo, fade(supervisor, now - supervisor.blind_since), now)
    else:
        gravity_hold(servo.brake, is_compliant(supervisor.trip), servo.state.last_q,
                     servo.state.last_v, servo.tau)
    return clamp_brake(servo, now)
