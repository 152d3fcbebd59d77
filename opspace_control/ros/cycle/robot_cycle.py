# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a node knows and does of control cycles, wherever they run."""

import time
from operator import attrgetter

import numpy as np

from opspace_control.ros.cycle.statistics import CycleStatistics
from opspace_control.ros.middleware.conversions import time_message
from opspace_control.ros.parameters.robot import period, set_envelope
from opspace_control.safety.supervisor import NO_TRIP, TRIPS


class RobotCycle:
    """
    The cycles of a Servo, with what a node does between them.

    Parts of the node set the functions that are called: ``move_goals`` and ``observe`` for each
    state, ``feedback`` with its stamp, ``clear_goals``, ``end_plan``.
    """

    def __init__(self, servo, logger):
        self._controller, self._state_input = servo.controller, servo.state
        self._logger = logger
        self.servo = servo
        self.supervisor = servo.supervisor  # the active trip
        self.ramps = servo.ramps  # of gains and activations
        # Commanded before the last state, without those that overcome friction.
        self.exerted = servo.exerted
        self._numbers, self._trip = servo.numbers, servo.supervisor.records['trip']
        self.feedback_period = 0.0  # s, 0 for never
        self.feedback = None        # called with the stamp of the state
        self.simulated_time = lambda: None  # returns the time of /clock, ns, if the node uses it
        self.observe = lambda: None  # called for each accepted state
        self.observes_first = False  # whether before its command, as it may trip; else after it
        self.move_goals = None      # called with the time of the state, ns, before each cycle
        # Makes the present pose every goal; called with whether control was interrupted.
        self.clear_goals = lambda interrupted: servo.controller.hold()
        self.end_plan = lambda reason: False  # ends a plan; returns whether there was one
        self.statistics = CycleStatistics()
        self._work = []
        self._unused = np.zeros(servo.tau.size)

    is_fixed = False  # whether the controller must keep the arrays that it has

    def reset(self):
        """Reset states and trips: the state is unknown until the next one arrives."""
        self.servo.restart(time.perf_counter())
        self._feedback_due = -np.inf
        self.statistics.restart()
        self._dropped = False
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
    commanded = property(attrgetter('servo.tau'),
                         doc='Joint forces last commanded, (nv,), N·m or N.')

    rate_limited = property(lambda cycle: cycle._numbers['rate_limited'].item(),
                            doc='Number of efforts at their rate limit in the last cycle.')

    @property
    def is_paused(self):
        """Whether a simulation pauses: the last state is as new as its clock."""
        return self._state_input.is_paused(
            self.simulated_time(), self._numbers['state_timeout'].item())

    @property
    def fault(self):
        """Name and reason of the active trip; '' without one."""
        trip = self.supervisor.trip
        return f'{trip.name}: {self.supervisor.reason}' if trip else ''

    def soon(self, work):
        """Call ``work()`` after the next command, or at the next `watch`."""
        if work not in self._work:
            self._work.append(work)

    def _give_feedback(self, now, tripped, stamp):
        """Publish feedback for a stamp, ns, and return True, if it is due; else do waiting work."""
        if not self.feedback_period or now < self._feedback_due:
            self._do_work()
            return False
        self._feedback_due = now + self.feedback_period
        if tripped:  # for the feedback of the tasks; these efforts are not sent
            self._controller.compute_torque(self.state, out=self._unused, dt=0.0)
        self.feedback(time_message(stamp))
        return True

    def _do_work(self):
        while self._work:
            self._work.pop()()

    def _report(self, error, before, news):
        """Tell of a fault, if it is ``news``; ``before`` is the number of the trip until now."""
        trip = error.trip
        self._dropped = self.end_plan(f'{trip.name} trips') or self._dropped
        self.supervisor.note(None if before == NO_TRIP else TRIPS[before], str(error))
        if news:
            does = ('damped, then released' if trip.blind else
                    'damped: it complies' if trip.compliant else self.servo.brake.manner)
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
            self.clear_goals(True)
            self._controller.forget_forces()
            goals = 'the present pose as goal; send other goals again'
        self.doubtful = True  # the controller manager may have been away
        self._logger.info(f'{trip.name} is over: control resumes with {goals}.')

    def _not_finite(self, dof, effort):
        """Return the SafetyError of an effort that is not finite."""
        return self.servo.envelope.not_finite(int(dof), float(effort))
