# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The control cycle of the node: from a joint state to an effort command, with trips."""

import time

from opspace_control.errors import SafetyError
from opspace_control.ros.cycle.command_output import CommandOutput, Release
from opspace_control.ros.cycle.robot_cycle import RobotCycle
from opspace_control.ros.cycle.state_input import StateInput
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import (
    ACCEPT,
    BRAKED,
    DECIDE,
    EARLY,
    HOLD,
    RESUME,
    TAKE,
    WATCH,
)
from opspace_control.safety.state_checks import ACCEPTED, UNREADABLE
from opspace_control.safety.supervisor import NO_TRIP, NUMBER_OF, TRIPS


class ControlCycle(RobotCycle):
    """
    One control cycle on each joint state, within the safety envelope.

    A state that cannot be used, a motion beyond its limits or an effort that is not finite trips:
    with a known state the robot is held in position, with an unknown one damped, then released. An
    EffortCommand is sent by ``publish``, serialized; BaseOdometry, if given, has the state of a
    floating base.
    """

    def __init__(self, controller, command, publish, logger, odometry=None):
        super().__init__(Servo(controller, StateInput(controller.model, odometry)), logger)
        self._step = self.servo.step
        self._fault, self._verdict = (self._numbers[name] for name in ('fault', 'verdict'))
        self._law = [controller._cycle[name] for name in (
            'limited', 'unsolved', 'levels_skipped', 'attained', 'least_eigenvalue')]
        self.exerted = self.servo.exerted.copy()
        self._output = CommandOutput(self.servo, command, publish)
        self.reset()

    def reset(self):
        """Reset states and trips: the state is unknown until the next one arrives."""
        super().reset()
        self._released = False

    def on_joint_state(self, data):
        """Run one cycle for a JointState, serialized; ignore all else and all after the end."""
        if self._released:
            return
        now = time.perf_counter()
        opened = self._state_input.open(data)
        if opened is None or self._state_input.expects(opened, now):
            return
        self._before = self._trip.item()
        self.exerted[:] = self.servo.exerted
        fault, work, trip = self._state_input.read(opened, now), TAKE, NO_TRIP
        if fault or self.observes_first:
            work, trip, fault = DECIDE, *self._accept(fault, now)
        try:
            done = self.servo.control(work, now, trip, self._prepare)
        except SafetyError as error:  # of a goal that moves
            fault, done = error, BRAKED
        if done != EARLY:
            if self._fault.item() != NO_TRIP:
                self._report(fault or self._error(), self._before, self._numbers['news'].item())
            self._output.publish()
        if not self.observes_first and self._verdict.item() == ACCEPTED:
            self.observe()
        if done != EARLY:
            self._tell(now, opened)

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
            self._report(self._state_input.overdue(TRIPS[fault], now, timeout, time_now), before,
                         self._numbers['news'].item())
        if done == BRAKED:
            self._output.publish()

    def hold(self):
        """Make the present pose every goal, and acknowledge a trip."""
        self._step(HOLD, time.perf_counter())
        self.clear_goals(self.supervisor.trip is not None)

    def end(self, newest, has_subscriber):
        """
        Run no more cycles; return the Release.

        It reads states by ``newest()``; ``has_subscriber()`` returns whether a node takes commands.
        """
        self._released = True

        def look(now):
            data = newest()
            opened = None if data is None else self._state_input.open(data)
            if opened is not None:
                self._see(self._state_input.read(opened, now), now)
        return Release(self._state_input, self._output, look, has_subscriber)

    def _see(self, fault, now):
        """Accept the state that was read, or not for the fault; return the number of its trip."""
        trip = self._step(ACCEPT, now, NUMBER_OF[fault.trip] if fault else NO_TRIP)
        if self._verdict.item() == UNREADABLE:
            self._state_input.see(fault, now)
        return trip

    def _accept(self, fault, now):
        """Observe a state before its command if it is accepted; return its trip and fault."""
        trip = self._see(fault, now)
        if trip == NO_TRIP and self.observes_first:
            try:
                self.observe()
            except SafetyError as error:
                return NUMBER_OF[error.trip], error
        return trip, fault if self._verdict.item() == UNREADABLE else None

    def _prepare(self, done):
        if done == RESUME:
            self._resume(TRIPS[self._before])
            self._before = NO_TRIP
        self.move_goals(self.time)

    def _tell(self, now, opened):
        """Count a cycle, and publish feedback or do waiting work; not with an unknown state."""
        tripped = self._trip.item() != NO_TRIP
        if tripped and self.supervisor.blind:
            return
        self.statistics.count(now, opened.stamp, time.time_ns() - opened.stamp,
                              *(number.item() for number in self._law))
        self._give_feedback(now, tripped, opened.stamp)

    def _error(self):
        """Return the SafetyError of the state, or of an effort of its cycle that was not finite."""
        verdict, numbers = self._verdict.item(), self._numbers[0]
        return (self._not_finite(numbers['dof'], numbers['effort']) if verdict == ACCEPTED else
                self._state_input.refusal(verdict))
