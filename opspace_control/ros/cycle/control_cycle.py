# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The control cycle of the node: from a joint state to an effort command, with trips."""

import time
from operator import attrgetter

import numpy as np

from opspace_control.errors import SafetyError
from opspace_control.ros.cycle.command_output import CommandOutput, Release
from opspace_control.ros.cycle.state_input import StateInput
from opspace_control.ros.cycle.statistics import CycleStatistics
from opspace_control.ros.middleware.conversions import time_message
from opspace_control.safety.envelope import Envelope
from opspace_control.safety.ramps import Ramps
from opspace_control.safety.servo import (
    ACCEPT,
    BRAKE,
    BRAKED,
    DECIDE,
    EARLY,
    RESUME,
    SEND,
    Servo,
    servo_step,
)
from opspace_control.safety.supervisor import NO_TRIP, NUMBER_OF, Recovery, Supervisor

# Quantities of `controller.gradual` that ramp up from zero; damping acts at once.
_STARTED_FROM_ZERO = ('activation', 'joints.activation', 'posture.kp')


class ControlCycle:
    """
    One control cycle on each joint state, within the safety envelope.

    A violation of the envelope trips: with a known state the robot is held in position, with an
    unknown state damped and then released. An EffortCommand is sent by ``publish``, serialized;
    BaseOdometry, if given, has the state of a floating base.
    """

    def __init__(self, controller, command, publish, logger, odometry=None):
        model = controller.model
        self._controller = controller
        self._logger = logger
        self.envelope = Envelope(model, controller.effort_limits)  # bounds every command
        self.ramps = Ramps(controller.gradual)                     # of gains and activations
        self._state_input = StateInput(model, odometry)
        self._output = CommandOutput(controller, self.envelope, self._state_input, command, publish)
        # The active trip. A robot that lies does not stand up by itself.
        self.supervisor = Supervisor(least_recovery=Recovery.BEFORE_RELEASE
                                     if self._output.lies_down else Recovery.AUTOMATIC)
        self.state_timeout = 0.05   # s, 0 for never
        self.feedback_period = 0.0  # s, 0 for never
        self.feedback = None        # called with the stamp of the state
        self.simulated_time = lambda: None  # returns the time of /clock, ns, if the node uses it
        self.observe = lambda: None  # called after each accepted state, before the next command
        self.move_goals = None      # called with the time of the state, ns, before each cycle
        # Makes the present pose every goal; called with whether control was interrupted.
        self.hold_goals = lambda interrupted: controller.hold()
        self.end_plan = lambda reason: False  # ends a plan; returns whether there was one
        self.statistics = CycleStatistics(controller)
        self._work = []
        self._numbers, self._passive = self._output.numbers, np.zeros(model.nv, bool)
        self._step = servo_step.bind(
            Servo(self._numbers, self.supervisor.records, self._state_input.memory, self._passive,
                  self.envelope.guards, self._output.brake.arguments, self.commanded),
            0.0, 0.0, 0.0)
        self._unused = np.zeros(model.nv)
        self.exerted = np.zeros(model.nv)  # commanded, without those that overcome friction
        self.reset()

    def reset(self):
        """Reset states and trips: the state is unknown until the next one arrives."""
        now = time.perf_counter()
        self._numbers['due'] = self._feedback_due = -np.inf
        self._state_input.restart(now)
        self._output.restart(now)
        self._numbers['begun'] = False
        self.envelope.restart()
        self.supervisor.restart()
        self.ramps.start_from_zero(*_STARTED_FROM_ZERO)
        self._controller.forget_forces()
        self._controller.disturbance.restart()
        self.exerted[:] = 0.0
        self.statistics.restart()
        self._released = self._dropped = False
        self.doubtful = False       # set where another controller may command the joints

    def apply(self, parameters):
        """Apply the present values of the controller node's parameters."""
        self._numbers['period'] = _period(parameters['update_rate'])
        self.feedback_period = _period(parameters['publish_rate'])
        self.state_timeout = parameters['safety.state_timeout']
        self.supervisor.release_time = parameters['safety.release_time']
        self.ramps.time = parameters['safety.ramp_time']
        passive = self._passive[:] = self._controller.passive
        self.envelope.set_limits(effort_rate=parameters['limits.effort_rate'])
        self._state_input.set_limits(
            passive=passive,
            velocity_scale=np.where(passive, parameters['limits.passive_velocity_scale'],
                                    parameters['limits.velocity_scale']),
            position_jump=parameters['safety.position_jump'])

    state = property(attrgetter('_state_input.state'), doc='The last accepted RobotState.')
    known = property(attrgetter('_state_input.known'), doc='Whether a state was accepted.')
    stamp = property(attrgetter('_state_input.stamp'),
                     doc='Time stamp of the last state, ns, 0 if it had none.')
    time = property(attrgetter('_state_input.time'),
                    doc='Its stamp, ns, or the time of a steady clock if it had none.')
    velocity_limits = property(attrgetter('_state_input.velocity_limits'),
                               doc='Velocities that trip, (nv,), rad/s or m/s.')
    commanded = property(attrgetter('_output.torque'),
                         doc='Joint forces last commanded, (nv,), N·m or N.')

    rate_limited = property(lambda cycle: cycle._numbers['rate_limited'].item(),
                            doc='Number of efforts at their rate limit in the last cycle.')

    @property
    def fault(self):
        """Name and reason of the active trip; '' without one."""
        trip = self.supervisor.trip
        return f'{trip.name}: {self.supervisor.reason}' if trip else ''

    def on_joint_state(self, data):
        """Run one cycle for a JointState, serialized; ignore all else and all after the end."""
        if self._released:
            return
        now = time.perf_counter()
        opened = self._state_input.open(data)
        if opened is None or self._state_input.expects(opened, now):
            return
        fault = self._accept(opened, now)
        before = self.supervisor.trip if fault else None
        done = self._step(DECIDE, now, NUMBER_OF[fault.trip] if fault else NO_TRIP)
        if done == EARLY:
            return
        if done == BRAKED:
            if fault:
                self._report(fault, before)
            self._send_brake()
        else:
            try:
                self._control(now, done == RESUME)
            except SafetyError as error:  # of a goal that moves
                self._trip(error, now)
                self._brake(now)
        self._tell(now, opened)

    def soon(self, work):
        """Call ``work()`` after the next command, or at the next `watch`."""
        if work not in self._work:
            self._work.append(work)

    def watch(self):
        """Check the age of the last state; to be called often, by a steady clock."""
        now = time.perf_counter()
        self._do_work()
        if self._released:
            return
        if self.known and self.state_timeout:
            error = self._state_input.overdue(now, self.state_timeout, self.simulated_time)
            if error:
                self._trip(error, now)
        if self.supervisor.blind and (self.commanded.any() or self.supervisor.damping_left(now)):
            self._brake(now)

    def hold(self):
        """Make the present pose every goal, and acknowledge a trip."""
        self.hold_goals(self.supervisor.trip is not None)
        if self.supervisor.trip:
            self.supervisor.acknowledge()
            self._state_input.forget()

    def end(self, newest):
        """Run no more cycles; return the Release, which reads states by ``newest()``."""
        self._released = True

        def look(now):
            data = newest()
            opened = None if data is None else self._state_input.open(data)
            if opened is not None:
                self._take(opened, now)
        return Release(self._state_input, self._output, self.supervisor, look)

    def _accept(self, opened, now):
        """Accept a state, and observe it; return its SafetyError, None without a fault."""
        state_input = self._state_input
        q, v, fault, joints = state_input.read(opened, now)
        last = state_input.note(opened.stamp, q, v)
        if self._step(ACCEPT, now, NUMBER_OF[fault.trip] if fault else NO_TRIP) == NO_TRIP:
            try:
                self.observe()
            except SafetyError as error:
                return error
            return None
        refusal = state_input.refusal(self._numbers['verdict'].item(), last, fault)
        if refusal is fault:
            state_input.see(joints, now)
        return refusal

    def _control(self, now, resumes):
        """Call the law, and send its efforts within the envelope."""
        if resumes:
            self._resume()
        dt, leapt = self._numbers['dt'].item(), self._numbers['leapt'].item()
        if leapt:
            self._controller.disturbance.interrupt()
        self.ramps.advance(dt)
        self.move_goals(self.time)
        self._controller.compute_torque(self.state, out=self.commanded, dt=dt)
        if self._step(SEND, now, NO_TRIP) == BRAKED:
            numbers = self._numbers[0]
            self._report(self.envelope.not_finite(
                int(numbers['dof']), float(numbers['effort'])), None)
            self._send_brake()
        else:
            self._output.publish()
            self._exert()

    def _take(self, opened, now):
        """Accept a state, or raise a SafetyError."""
        trip = self.supervisor.trip
        if trip and trip.recovery == Recovery.AUTOMATIC and self.supervisor.released(now):
            self._state_input.forget()
        self._state_input.take(opened, now)

    def _tell(self, now, opened):
        """Count a cycle, and publish feedback or do waiting work; not with an unknown state."""
        if self.supervisor.blind:
            return
        self.statistics.count(now, self.stamp)
        if self.feedback_period and now >= self._feedback_due:
            self._feedback_due = now + self.feedback_period
            if self.supervisor.trip:  # for the feedback of the tasks; these efforts are not sent
                self._controller.compute_torque(self.state, out=self._unused, dt=0.0)
            self.feedback(time_message(opened.stamp))
        elif self._work:
            self._do_work()

    def _do_work(self):
        while self._work:
            self._work.pop()()

    def _trip(self, error, now):
        """Stop controlling, not because of a state; report it once."""
        before = self.supervisor.trip
        self._numbers['news'] = self.supervisor.on_fault(error.trip, str(error), now)
        self._report(error, before)

    def _report(self, error, before):
        """Tell of a fault, unless that was done before; ``before`` is the trip until now."""
        trip = error.trip
        self._dropped = self.end_plan(f'{trip.name} trips') or self._dropped
        self.supervisor.note(before, str(error))
        if self._numbers['news']:
            does = ('damped, then released' if trip.blind else
                    'damped: it gives way' if trip.gives_way else self._output.manner)
            then = (' Once the robot is released, ~/hold ends the trip.'
                    if trip.recovery < self.supervisor.least_recovery else '')
            self._logger.error(f'{trip.name}: {error} The robot is {does}. {trip.cure}{then}')
            # The cause of an unexpected motion may be another controller.
            self.doubtful = self.doubtful or not trip.blind

    def _resume(self):
        """Control again from the present state with the present parameters."""
        name = self.supervisor.trip.name
        goals = 'its goals'
        if self.supervisor.resume() or self._dropped:
            self._dropped = False
            self.hold_goals(True)
            self._controller.forget_forces()
            goals = 'the present pose as goal; send other goals again'
        self._controller.disturbance.restart()
        self.ramps.start_from_zero(*_STARTED_FROM_ZERO)
        self.doubtful = True  # the controller manager may have been away
        self._logger.info(f'{name} is over: control resumes with {goals}.')

    def _exert(self):
        """Note what was sent, friction apart: the forces that act until the next state."""
        controller = self._controller
        self.exerted[:] = self.commanded
        if controller.drive_friction:
            self.exerted -= controller.drive_friction.effort
        controller.disturbance.apply(self.exerted)

    def _brake(self, now):
        """Hold the robot in position if its state is known, else damp it."""
        self._step(BRAKE, now, NO_TRIP)
        self._send_brake()

    def _send_brake(self):
        self._output.publish()
        self.exerted[:] = self.commanded


def _period(rate):
    return 1.0 / rate if rate else 0.0
