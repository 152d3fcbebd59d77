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
from opspace_control.ros.parameters.robot import period, set_envelope
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import (
    ACCEPT,
    BRAKE,
    BRAKED,
    DECIDE,
    EARLY,
    HOLD,
    RESUME,
    SEND,
    WATCH,
)
from opspace_control.safety.supervisor import NO_TRIP, NUMBER_OF, TRIPS, Recovery


class ControlCycle:
    """
    One control cycle on each joint state, within the safety envelope.

    A violation of the envelope trips: with a known state the robot is held in position, with an
    unknown state damped and then released. An EffortCommand is sent by ``publish``, serialized;
    BaseOdometry, if given, has the state of a floating base.
    """

    def __init__(self, controller, command, publish, logger, odometry=None):
        self._controller = controller
        self._logger = logger
        self._state_input = StateInput(controller.model, odometry)
        self.servo = Servo(controller, self._state_input)
        self.supervisor = self.servo.supervisor  # the active trip
        self.ramps = self.servo.ramps  # of gains and activations
        self.exerted = self.servo.exerted  # commanded, without those that overcome friction
        self._numbers, self._step = self.servo.numbers, self.servo.step
        self._trip, self._dt = self.supervisor.records['trip'], self._numbers['dt']
        self._output = CommandOutput(self.servo, command, publish)
        self.feedback_period = 0.0  # s, 0 for never
        self.feedback = None        # called with the stamp of the state
        self.simulated_time = lambda: None  # returns the time of /clock, ns, if the node uses it
        self.observe = lambda: None  # called after each accepted state, before the next command
        self.move_goals = None      # called with the time of the state, ns, before each cycle
        # Makes the present pose every goal; called with whether control was interrupted.
        self.hold_goals = lambda interrupted: controller.hold()
        self.end_plan = lambda reason: False  # ends a plan; returns whether there was one
        self.statistics = CycleStatistics(controller._cycle)
        self._work = []
        self._unused = np.zeros(controller.model.nv)
        self.reset()

    def reset(self):
        """Reset states and trips: the state is unknown until the next one arrives."""
        self.servo.restart(time.perf_counter())
        self._feedback_due = -np.inf
        self.statistics.restart()
        self._released = self._dropped = False
        self.doubtful = False       # set where another controller may command the joints

    def apply(self, parameters):
        """Apply the present values of the controller node's parameters."""
        self.feedback_period = period(parameters['publish_rate'])
        set_envelope(self.servo, parameters)

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
        fault, before = self._accept(opened, now), self._trip.item()
        done = self._step(DECIDE, now, NUMBER_OF[fault.trip] if fault else NO_TRIP)
        if done == EARLY:
            return
        if done == BRAKED:
            if fault:
                self._report(fault, before)
            elif self._numbers['fault'].item() != NO_TRIP:
                self._report_effort(before)
            self._output.publish()
        else:
            if done == RESUME:
                self._resume(TRIPS[before])
            try:
                self._control(now)
            except SafetyError as error:  # of a goal that moves
                self._step(BRAKE, now, NUMBER_OF[error.trip])
                self._report(error, NO_TRIP)
                self._output.publish()
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
        timeout, before = self._numbers['state_timeout'].item(), self._trip.item()
        time_now = self.simulated_time()
        done = self._step(WATCH, now, float(self._state_input.is_paused(time_now, timeout)))
        fault = self._numbers['fault'].item()
        if fault != NO_TRIP:
            self._report(self._state_input.overdue(TRIPS[fault], now, timeout, time_now), before)
        if done == BRAKED:
            self._output.publish()

    def hold(self):
        """Make the present pose every goal, and acknowledge a trip."""
        self._step(HOLD, time.perf_counter())
        self.hold_goals(self.supervisor.trip is not None)

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

    def _control(self, now):
        """Call the law, and send its efforts within the envelope."""
        self.move_goals(self.time)
        self._controller.compute_torque(self.state, out=self.commanded, dt=self._dt.item())
        if self._step(SEND, now) == BRAKED:
            self._report_effort(NO_TRIP)
        self._output.publish()

    def _take(self, opened, now):
        """Accept a state, or raise a SafetyError."""
        trip = self.supervisor.trip
        if trip and trip.recovery == Recovery.AUTOMATIC and self.supervisor.released(now):
            self._state_input.forget()
        self._state_input.take(opened, now)

    def _tell(self, now, opened):
        """Count a cycle, and publish feedback or do waiting work; not with an unknown state."""
        tripped = self._trip.item() != NO_TRIP
        if tripped and self.supervisor.blind:
            return
        self.statistics.count(now, opened.stamp)
        if self.feedback_period and now >= self._feedback_due:
            self._feedback_due = now + self.feedback_period
            if tripped:  # for the feedback of the tasks; these efforts are not sent
                self._controller.compute_torque(self.state, out=self._unused, dt=0.0)
            self.feedback(time_message(opened.stamp))
        elif self._work:
            self._do_work()

    def _do_work(self):
        while self._work:
            self._work.pop()()

    def _report_effort(self, before):
        """Tell of an effort that is not finite; ``before`` is the trip until now, by number."""
        numbers = self._numbers[0]
        self._report(self.servo.envelope.not_finite(
            int(numbers['dof']), float(numbers['effort'])), before)

    def _report(self, error, before):
        """Tell of a fault once; ``before`` is the number of the trip until now."""
        trip = error.trip
        self._dropped = self.end_plan(f'{trip.name} trips') or self._dropped
        self.supervisor.note(None if before == NO_TRIP else TRIPS[before], str(error))
        if self._numbers['news']:
            does = ('damped, then released' if trip.blind else
                    'damped: it gives way' if trip.gives_way else self.servo.brake.manner)
            then = (' Once the robot is released, ~/hold ends the trip.'
                    if trip.recovery < self.supervisor.least_recovery else '')
            self._logger.error(f'{trip.name}: {error} The robot is {does}. {trip.cure}{then}')
            # The cause of an unexpected motion may be another controller.
            self.doubtful = self.doubtful or not trip.blind

    def _resume(self, trip):
        """Tell that control goes on after a trip, from the present state."""
        goals = 'its goals'
        if self._numbers['renewed'].item() or self._dropped:
            self._dropped = False
            self.hold_goals(True)
            self._controller.forget_forces()
            goals = 'the present pose as goal; send other goals again'
        self.doubtful = True  # the controller manager may have been away
        self._logger.info(f'{trip.name} is over: control resumes with {goals}.')
