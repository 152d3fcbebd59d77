# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The node's side of cycles that run in the plug-in of ros2_control."""

import time

import numpy as np

from opspace_control.errors import ControlError, RosInterfaceError, SafetyError
from opspace_control.ros.cycle.command_output import PERIOD, STILL
from opspace_control.ros.cycle.robot_cycle import RobotCycle
from opspace_control.ros.cycle.state_input import StateInput
from opspace_control.safety.attached_servo import AttachedServo
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import RESUME
from opspace_control.safety.shared_memory import Mode, Request
from opspace_control.safety.supervisor import (
    EFFORT_NOT_FINITE,
    NO_TRIP,
    NUMBER_OF,
    PASSIVE_VELOCITY,
    POSITION_JUMP,
    STATE_INVALID,
    STATE_TIMEOUT,
    TIME_BACKWARDS,
    TIME_STOPPED,
    TRIPS,
    VELOCITY_LIMIT,
)

_WAIT = 0.1  # s, for a cycle: longer than managers take to switch controllers
# Of faults in the plug-in, whose states have gone on since.
_WORDS = {
    STATE_INVALID: 'A position or velocity of the hardware is not finite.',
    TIME_BACKWARDS: 'The time of the controller manager went back.',
    POSITION_JUMP: "'{joint}' jumped.",
    VELOCITY_LIMIT: "'{joint}' is too fast.",
    PASSIVE_VELOCITY: "Passive joint '{joint}' swings too fast: nothing drives it."}


class PluginCycle(RobotCycle):
    """
    The cycles of a plug-in of ros2_control, seen at the rate of the node.

    The ``link`` has the servo's memory. What the node changes between two calls of `step` acts as a
    whole, before one of the next cycles. What trips does so in the plug-in.
    """

    def __init__(self, controller, logger):
        super().__init__(Servo(controller, StateInput(controller.model)), logger)
        self.link = AttachedServo(self.servo)
        self.reset()

    def reset(self):
        """Reset states and trips: the state is unknown until the plug-in has a cycle."""
        super().reset()
        self._released, self._stalled, self._begun = False, False, np.inf
        self.broken = ''  # why it cannot be synchronised any more
        self._before, self._period = NO_TRIP, 1e-3
        self._reasons = {}

    def apply(self, parameters):
        """Apply the present values of the controller node's parameters."""
        super().apply(parameters)
        self._timeout = parameters['safety.node_timeout']
        self._tell_timeout()

    @property
    def is_fixed(self):
        """Whether the controller must keep its arrays: the plug-in has the same."""
        return self.link.memory is not None

    def begin(self, now):
        """Begin with the memory that is attached; the robot holds its present pose."""
        self._begun, self._before = now, self._trip.item()
        self._tell_timeout()
        self.link.memory.beat(now)
        self.send(Request.HOLD)
        self.send(Request.MODE, Mode.RUN)

    @property
    def fault(self):
        """Name and reason of the active trip, or of no cycles; '' without one."""
        if self._stalled:
            return f'{STATE_TIMEOUT.name}: The plug-in has no cycles.'
        return super().fault

    def step(self):
        """Exchange changes with the plug-in, and do what a node does with a new state."""
        now = time.perf_counter()
        if self._released or self.link.memory is None:
            return
        self._plan()
        try:
            if not self.link.synchronise(now):
                return
        except ControlError as error:
            self.broken = str(error)
            return
        entries = self.link.memory.entries()
        if not entries.size:
            return
        self._count(entries)
        self._advance(now)
        self._plan()
        self.link.send_changes()

    def watch(self):
        """Do waiting work, and look whether the plug-in has cycles; to be called often."""
        self._do_work()
        if self._released or self.link.memory is None:
            return
        timeout = max(self._numbers['state_timeout'].item(), _WAIT)
        age = time.perf_counter() - max(self.link.memory.last_cycle(), self._begun)
        stalled = age > timeout and not self._state_input.is_paused(self.simulated_time(), timeout)
        if stalled != self._stalled:
            self._stalled = stalled
            if stalled:
                self.end_plan(f'{STATE_TIMEOUT.name} trips')
                self._logger.error(
                    f'{STATE_TIMEOUT.name}: The plug-in has had no cycle for '
                    f'{1e3 * age:.0f} ms. Is the controller manager alive?')
            else:
                self._logger.info('The plug-in has cycles again.')

    def hold(self):
        """Make the present pose every goal, and acknowledge a trip."""
        self.send(Request.HOLD)
        self.clear_goals(self.supervisor.trip is not None)
        self.link.send_changes()

    def end(self, _newest, _has_subscriber):
        """Follow the cycles no more; return the release of the robot."""
        self._released = True
        return PluginRelease(self.link, self._state_input)

    def send(self, kind, number=0):
        """Send what has changed, and a message; a RosInterfaceError if there is no room for it."""
        if not self.link.tell(kind, number):
            raise RosInterfaceError('The plug-in takes no messages.',
                                    cure='Is the controller manager alive? See its log.')

    def _tell_timeout(self):
        if self.link.memory is not None:
            self.link.memory.frame['timeout'][0] = round(1e9 * self._timeout)

    def _plan(self):
        for task in self._controller._pose_tasks:
            task.plan_target(self._period)

    def _count(self, entries):
        """Count cycles, and tell of their faults."""
        behind = time.time_ns() - time.perf_counter_ns()
        if entries.size > 1:
            self._period = 1e-9 * float(np.diff(entries['time']).mean())
        for entry in entries.tolist():
            at, stamp, result, trip, fault, dof, effort, *law = entry
            self.statistics.count(1e-9 * at, stamp, behind + at - stamp, *law)
            if fault != NO_TRIP:
                self._report(self._error(TRIPS[fault], dof, effort), self._before, True)
            if result == RESUME:
                self._resume(TRIPS[self._before])
            self._before = trip

    def _error(self, trip, dof, effort):
        """Return the SafetyError of a fault of the plug-in."""
        if trip in self._reasons:
            return self._reasons.pop(trip)
        if trip is EFFORT_NOT_FINITE:
            return self._not_finite(dof, effort)
        if trip in (STATE_TIMEOUT, TIME_STOPPED):
            return self._state_input.overdue(
                trip, time.perf_counter(), self._numbers['state_timeout'].item(), None)
        joint = self._controller.model.dof_names[dof] if dof >= 0 else 'base'
        return SafetyError(trip, _WORDS.get(trip, 'The plug-in says so.').format(joint=joint),
                           joint=joint)

    def _advance(self, now):
        """Observe a known state, move goals, and give feedback or do waiting work."""
        tripped = self._trip.item() != NO_TRIP
        if not self.known or (tripped and self.supervisor.blind):
            return
        try:
            self.observe()
            if not tripped:
                self.move_goals(self.time)
        except SafetyError as error:  # a collision, or of a goal that moves
            self._reasons[error.trip] = error
            self.link.tell(Request.TRIP, NUMBER_OF[error.trip])
        if tripped:
            self.link.send_changes()
        if self._give_feedback(now, tripped, self.stamp) and tripped:
            self.link.forget()  # what was computed for the feedback alone


class PluginRelease:
    """Has the plug-in release the robot, with the methods of a `Release`."""

    def __init__(self, link, state_input):
        self._link, self._state_input = link, state_input
        self._mode = None

    def settle(self):
        """Hold the robot in position; to be called often."""
        self._be(Mode.GRAVITY_HOLD)
        self.rest()

    def stop(self):
        """Hold the robot until it rests, for the release time at most; return the time."""
        start = now = time.perf_counter()
        release_time = self._link.servo.supervisor.release_time
        while now - start < release_time:
            self._be(Mode.GRAVITY_HOLD)
            if self._look(now) and abs(self._state_input.state.v).max() < STILL:
                break
            now = self._pause()
        return now

    def fade_out(self, joints_commanded, _rest_time):
        """Damp the robot, fading to zero effort; hold it if another node commands it."""
        if joints_commanded:
            self.stop()
            return
        memory, end = self._link.memory, time.perf_counter() + 1.0 + (
            self._link.servo.supervisor.release_time)
        self._be(Mode.RELEASE)
        while self._runs() and memory.mode != Mode.RELEASED and time.perf_counter() < end:
            memory.beat(self._pause())

    def rest(self):
        """Give a sign of life only: the plug-in holds the robot, or gives no effort."""
        if self._runs():
            self._link.memory.beat(time.perf_counter())

    def _be(self, mode):
        if mode != self._mode and self._runs() and self._link.memory.send(Request.MODE, mode):
            self._mode = mode

    def _runs(self):
        return self._link.memory is not None and self._link.memory.active

    def _look(self, now):
        return self._runs() and self._link.synchronise(now)

    def _pause(self):
        time.sleep(PERIOD)
        return time.perf_counter()
