# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The servo of a controller: a whole cycle, from a state to efforts that may be sent."""

import math

import numpy as np

from opspace_control.control.brake import Brake
from opspace_control.control.saved import named_numbers
from opspace_control.errors import SafetyError
from opspace_control.safety.accepted_state import AcceptedState
from opspace_control.safety.envelope import Envelope
from opspace_control.safety.ramps import Ramps
from opspace_control.safety.servo_data import (
    BRAKE,
    BRAKED,
    CONTROL,
    HOLD,
    RESTART,
    RESUME,
    SEND,
    SERVO,
    TAKE,
    WATCH,
    ServoData,
)
from opspace_control.safety.servo_law import servo_step
from opspace_control.safety.supervisor import NO_TRIP, NUMBER_OF, TRIPS, Recovery, Supervisor

# Quantities of `controller.gradual` that ramp up from zero; damping acts at once.
_FROM_ZERO = ('activation', 'joints.activation', 'posture.kp')
_TRIP_NUMBERS = np.arange(len(TRIPS))


class Servo:
    """
    The cycle of a controller within a safety envelope, with trips; steady times, in s.

    A state that cannot be used, a motion beyond its limits or an effort that is not finite trips: a
    robot of known state is held in position, one of unknown state is damped, then released. Good
    states end a trip, of some kinds after `hold` only. Other efforts are bounded by the envelope.

    Parameters
    ----------
    controller : OperationalSpaceController
        With the disturbance observer and the drive friction that it is to have.
    state : AcceptedState, optional
        The last accepted state of its robot; a new one if not given.

    Attributes
    ----------
    controller : OperationalSpaceController
    state : AcceptedState
    envelope : Envelope
        Clamps every command.
    supervisor : Supervisor
        The active trip. A robot on legs does not stand up by itself.
    brake : Brake
    ramps : Ramps
        Of the numbers of ``controller.gradual``.
    numbers : (1,) array of SERVO
    tau : (nv,) array
        Efforts to be sent, N·m or N, in the order of ``model.dof_names``.
    exerted : (nv,) array
        These, without those that overcome drive friction.

    """

    kernel = servo_step

    def __init__(self, controller, state=None):
        model = controller.model
        self.controller = controller
        self.state = AcceptedState(model) if state is None else state
        self.envelope = Envelope(model, controller.effort_limits)
        self.brake = Brake(controller)
        self.supervisor = Supervisor(least_recovery=Recovery.BEFORE_RELEASE
                                     if self.brake.lies_down else Recovery.AUTOMATIC)
        self.ramps = Ramps(controller.gradual, from_zero=_FROM_ZERO)
        self.numbers, self._passive = np.zeros(1, SERVO), controller.passive.copy()
        self.numbers['due'] = -np.inf
        self._driven = ~(controller.passive | controller.locked)
        self.tau, self.exerted = np.zeros((2, model.nv))
        self._arguments, self._step = None, None

    @property
    def data(self):
        """The arrays of the servo, and those of its controller that it uses, a `ServoData`."""
        return ServoData(
            self.numbers, self.supervisor.records, self.state.memory, self._passive,
            self.envelope.guards, self.brake.arguments, self.controller._arguments.demand,
            self.ramps.data, self.tau, self.exerted)

    def named(self):
        """Yield the name and the numbers of what a program reads and writes of a saved servo."""
        data, model = self.data, self.controller.model
        for name, records in (('servo', data.numbers), ('supervisor', data.supervisor),
                              ('state', data.state.inputs)):
            yield from named_numbers(name, records)
        for name in ('q', 'v', 'last_q', 'last_v'):
            yield f'state.{name}', getattr(data.state, name)
        for name in ('tau', 'exerted'):
            yield f'servo.{name}', getattr(data, name)
        # In memory that stays: it is compared with that of a block.
        self._driven[:] = ~(self.controller.passive | self.controller.locked)
        first = 0
        if model.floating_base:
            first = 6
            yield 'base.pose', data.state.q[:7]
            yield 'base.twist', data.state.v[:6]
        for k, name in enumerate(model.dof_names[first:], first):
            yield f'driven.{name}', self._driven[k:k + 1]
            yield f'servo.tau.{name}', data.tau[k:k + 1]
            yield f'state.v.{name}', data.state.v[k:k + 1]
            if model.q_index[k] >= 0:
                yield f'state.q.{name}', data.state.q[model.q_index[k]:][:1]
        for k, trip in enumerate(TRIPS):
            yield f'trip.{trip.name}', _TRIP_NUMBERS[k:k + 1]

    def set(self, *, period=0.0, state_timeout=0.05, release_time=0.3, ramp_time=0.5,
            effort_rate=math.inf, velocity_scale=math.inf, position_jump=math.inf):
        """
        Set the envelope, from the next state on.

        ``period``, s, is the shortest time between two cycles. A state older than
        ``state_timeout``, s, trips, 0 for never; within ``release_time``, s, a robot of unknown
        state is damped before it is released; ``ramp_time``, s, is that of `Ramps`, which begin
        from zero with control. ``effort_rate``, 1/s, is the change of an effort in a
        second, in multiples of its limit. ``velocity_scale`` and ``position_jump`` are those of
        `AcceptedState.set_limits`. The present passive joints of the controller count.
        """
        self.numbers['period'], self.numbers['state_timeout'] = period, state_timeout
        self.supervisor.release_time, self.ramps.time = release_time, ramp_time
        self._passive[:] = self.controller.passive
        self.envelope.set_limits(effort_rate=effort_rate)
        self.state.set_limits(velocity_scale=velocity_scale, position_jump=position_jump,
                              passive=self._passive)

    def restart(self, now):
        """
        Begin at the steady time ``now``: the state is unknown, and there is no trip.

        Goals stay, which `hold` ends; activations and the posture's stiffness ramp up from zero.
        """
        self.step(RESTART, now)
        self.state.restart(now)
        self.supervisor.restart()

    def continue_from(self, tau, now):
        """Continue from the efforts (nv,) of another node, sent at the steady time ``now``, s."""
        self.state.elapsed()
        self.brake.forget()
        self.envelope.restart()
        self.tau[:] = tau
        self.envelope.clamp(self.tau, 0.0)
        self.numbers['last_sent'], self.numbers['begun'] = now, True

    def step(self, work, now, number=NO_TRIP):
        """Do a part of a cycle: ``work``, ``number`` and the result are those of `servo_step`."""
        if self._arguments is not self.controller._arguments:
            self._arguments, self._step = self.controller._arguments, servo_step.partial(
                self.data, 0.0, 0.0, 0.0)
        return self._step(work, now, number)

    def cycle(self, stamp, q, v, now, fault=NO_TRIP):
        """
        Do a whole cycle for a state that has come: `CONTROL`, `RESUME` or `BRAKED`, or `EARLY`.

        After all but the last ``tau`` has the efforts to send. ``stamp``, ns, 0 for none, is that
        of the state q (nq,) and v (nv,), None with the ``fault`` of one that cannot be read, the
        number of a trip.
        """
        self.state.note(stamp, q, v)
        return self.control(TAKE, now, fault)

    def control(self, work, now, fault=NO_TRIP, prepare=lambda done: None):
        """
        Do what follows a state that was noted; result as of `cycle`.

        ``work`` is `TAKE`, or `DECIDE` for one that is accepted, or not for the ``fault``.
        ``prepare(done)`` is called before the law, with `CONTROL` or `RESUME`; a SafetyError of it
        trips, and is raised.
        """
        done = self.step(work, now, fault)
        if done not in (CONTROL, RESUME):
            return done
        try:
            prepare(done)
        except SafetyError as error:
            self.step(BRAKE, now, NUMBER_OF[error.trip])
            raise
        self.controller.compute_torque(
            self.state.state, out=self.tau, dt=self.numbers['dt'].item())
        return BRAKED if self.step(SEND, now) == BRAKED else done

    def watch(self, now, paused=False):
        """
        Look at the age of the state, often: `BRAKED` if ``tau`` is to be sent, else `EARLY`.

        In a ``paused`` simulation states may be old.
        """
        return self.step(WATCH, now, float(paused))

    def hold(self):
        """Make the pose of the next cycle every goal, and acknowledge a trip."""
        self.controller.hold()
        self.step(HOLD, 0.0)
