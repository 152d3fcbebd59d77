# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From a joint state to an effort command, and what happens when that cannot go on."""

import time

import numpy as np

from opspace_control.errors import SafetyError
from opspace_control.ros.cycle.command_output import CommandOutput
from opspace_control.ros.cycle.release import Release
from opspace_control.ros.cycle.state_intake import StateIntake
from opspace_control.ros.cycle.statistics import CycleStatistics
from opspace_control.ros.middleware.conversions import time_message
from opspace_control.safety.envelope import LONGEST_STEP, Envelope
from opspace_control.safety.ramps import Ramps
from opspace_control.safety.supervisor import Supervisor
from opspace_control.safety.trips import STATE_TIMEOUT, TIME_BACKWARDS, TIME_STOPPED, Ends

# What draws the robot somewhere, of `controller.gradual`: it comes in by and by, damping at once.
_PULLS = ('activation', 'joints.activation', 'posture.kp')


class ControlCycle:
    """
    One control cycle on each joint state, within the safety envelope.

    What does not fit the envelope trips: the robot is damped and carried while its state is known,
    damped and then released while it is not.

    Parameters
    ----------
    controller : OperationalSpaceController
    command : EffortCommand
        The message of the command.
    publish : callable
        Sends it, serialized.
    logger : rclpy logger
    odometry : BaseOdometry, optional
        Knows where a floating base is.

    Attributes
    ----------
    envelope : Envelope
        Bounds every command, whatever its reason.
    supervisor : Supervisor
        Knows what has tripped.
    ramps : Ramps
        Make what is set gradual.
    statistics : CycleStatistics

    """

    def __init__(self, controller, command, publish, logger, odometry=None):
        model = controller.model
        self._controller = controller
        self._logger = logger
        self.envelope = Envelope(model, controller.effort_limits)
        self.supervisor = Supervisor()
        self.ramps = Ramps(controller.gradual)
        self._intake = StateIntake(model, self.envelope, odometry)
        self._output = CommandOutput(controller, self.envelope, self._intake, command, publish)
        self.period = 0.0           # s, shortest time between two cycles
        self.state_timeout = 0.05   # s, 0 for never
        self.feedback_period = 0.0  # s, 0 for never
        self.feedback = None        # called with the stamp of the state
        self.simulated_time = lambda: None  # returns that of /clock, ns, where the node goes by it
        self.move_goals = None      # called with the time of the state, ns, before each cycle
        self.hold_goals = controller.hold  # makes the present pose every goal
        self.drop_plan = lambda reason: False  # ends what goals follow; returns whether they did
        self.statistics = CycleStatistics(controller)
        self._work = []
        self._unused = np.zeros(model.nv)
        self.reset()

    def reset(self):
        """Forget states and trips: nothing is known until the next state arrives."""
        now = time.perf_counter()
        self._due = self._feedback_due = -np.inf
        self._intake.restart(now)
        self._output.restart(now)
        self._begun = False
        self.envelope.restart()
        self.supervisor.restart()
        self.ramps.start_from_zero(*_PULLS)
        self._controller.forget_forces()
        self.statistics.restart()
        self._released = self._dropped = False
        self.doubtful = False       # set where another controller may command the joints

    def apply(self, parameters):
        """Take over the present values of the controller node's parameters."""
        self.period = _period(parameters['update_rate'])
        self.feedback_period = _period(parameters['publish_rate'])
        self.state_timeout = parameters['safety.state_timeout']
        self.supervisor.release_time = parameters['safety.release_time']
        self.ramps.time = parameters['safety.ramp_time']
        passive = self._controller.passive
        self.envelope.set_limits(
            effort_rate=parameters['limits.effort_rate'], passive=passive,
            velocity_scale=np.where(passive, parameters['limits.passive_velocity_scale'],
                                    parameters['limits.velocity_scale']),
            position_jump=parameters['safety.position_jump'])

    @property
    def state(self):
        """The last RobotState that was believed."""
        return self._intake.state

    @property
    def known(self):
        """Whether there was one."""
        return self._intake.known

    @property
    def stamp(self):
        """Time stamp of the last state, ns, 0 if it had none."""
        return self._intake.clock.stamp

    @property
    def time(self):
        """Time of the last state, ns: its stamp, or that of a steady clock if it had none."""
        return self._intake.clock.time

    @property
    def fault(self):
        """Why the robot is not controlled at present: name and reason; '' if it is."""
        trip = self.supervisor.trip
        return f'{trip.name}: {self.supervisor.reason}' if trip else ''

    def on_joint_state(self, data):
        """
        Run one cycle; none any more once the robot is released, whatever is still queued.

        Parameters
        ----------
        data : bytes
            The JointState, serialized; what is none is as good as no message.

        """
        if self._released:
            return
        now = time.perf_counter()
        opened = self._intake.open(data)
        if opened is None or self._intake.expects(opened, now):
            return
        try:
            self._take(opened, now)
            # A quarter of a period early is still this period's turn.
            if now < self._due - 0.25 * self.period:
                return
            self._due = max(self._due + self.period, now)
            if not self._may_control(now):
                self._brake(now)
                self._tell(now, opened)
                return
            if self.supervisor.trip:
                self._resume()
            if not self._begun:
                self._begun = True
                self._output.begin()
            # Stamps may leap: nothing that takes time may be over at once for it.
            dt = min(self._intake.elapsed(), LONGEST_STEP)
            self.ramps.advance(dt)
            self.move_goals(self.time)
            self._controller.compute_torque(self.state, out=self.commanded, dt=dt)
            self._output.send(dt, now)
        except SafetyError as error:
            self._trip(error, now)
            self._brake(now)
        self._tell(now, opened)

    def soon(self, work):
        """Call ``work()`` when there is time: after the next command, or when being watched."""
        if work not in self._work:
            self._work.append(work)

    @property
    def commanded(self):
        """Joint forces last commanded, (nv,), N·m or N."""
        return self._output.torque

    def watch(self):
        """Look at the age of the last state; to be called often, by a steady clock."""
        now = time.perf_counter()
        self._do_work()
        if self._released:
            return
        if self.known and self.state_timeout:
            self._check_age(now)
        if self.supervisor.blind and (self.commanded.any() or self.supervisor.damping_left(now)):
            self._brake(now)

    def hold(self):
        """Make the present pose every goal, and let a trip end that waits for somebody's word."""
        self.hold_goals()
        if self.supervisor.trip:
            self.supervisor.acknowledge()
            self.envelope.forget_state()

    def end(self, take):
        """
        Run no more cycles; return the Release that takes over.

        Parameters
        ----------
        take : callable
            Returns the newest JointState, serialized, or None if there is no new one.

        """
        self._released = True

        def look(now):
            data = take()
            opened = None if data is None else self._intake.open(data)
            if opened is not None:
                self._take(opened, now)
        return Release(self._intake, self._output, self.supervisor, look)

    def _take(self, opened, now):
        """Take a state, or raise a SafetyError if it is not one to go by."""
        trip = self.supervisor.trip
        if trip and trip.ends == Ends.BY_ITSELF and self.supervisor.released(now):
            self.envelope.forget_state()
        self._intake.take(opened, now)

    def _tell(self, now, opened):
        """Count a cycle, and publish feedback or do what waits; not of a robot that is not seen."""
        if self.supervisor.blind:
            return
        self.statistics.count(now, self.stamp)
        if self.feedback_period and now >= self._feedback_due:
            self._feedback_due = now + self.feedback_period
            if self.supervisor.trip:  # the brake knows nothing of tasks; nobody gets these efforts
                self._controller.compute_torque(self.state, out=self._unused, dt=0.0)
            self.feedback(time_message(opened.stamp))
        elif self._work:
            self._do_work()

    def _check_age(self, now):
        """Trip where stamps stand still, or where no state is new; a paused simulation has none."""
        age = now - self._intake.clock.last_new
        if age <= self.state_timeout:
            return
        time_now = self.simulated_time()
        if now - self._intake.last_good <= self.state_timeout:
            self._trip(SafetyError(TIME_STOPPED, 'Joint states arrive, their stamps do not '
                                   'advance: is /clock published?'), now)
        elif not time_now or abs(time_now - self.stamp) > 1e9 * self.state_timeout:
            reason = f'No new joint state for {1e3 * age:.0f} ms.'
            if now - self._intake.last_arrival <= self.state_timeout:
                reason += ' The same one arrives again: ' + (
                    'is /clock published?' if time_now is not None else
                    'has a simulation paused? With use_sim_time that is no fault.')
            self._trip(SafetyError(STATE_TIMEOUT, reason), now)

    def _may_control(self, now):
        """Return whether there is no trip, or whether this state ends it."""
        if self._intake.clock.repeated:
            return not self.supervisor.trip
        return self.supervisor.on_good_state(now)

    def _do_work(self):
        while self._work:
            self._work.pop()()

    def _trip(self, error, now):
        """Stop controlling; say so once."""
        trip = error.trip
        self._dropped = self.drop_plan(f'{trip.name} trips') or self._dropped
        if trip is TIME_BACKWARDS:
            self.envelope.forget_state()
        if self.supervisor.on_fault(trip, str(error), now):
            does = 'damped, then released' if trip.blind else 'damped and carried'
            self._logger.error(f'{trip.name}: {error} The robot is {does}. {trip.cure}')
            # A robot that moves as it should not may be commanded by another controller, too.
            self.doubtful = self.doubtful or not trip.blind

    def _resume(self):
        """Control again, from where the robot is and with what it is given now."""
        name = self.supervisor.trip.name
        goals = 'its goals'
        if self.supervisor.resume() or self._dropped:
            self._dropped = False
            self.hold_goals()
            self._controller.forget_forces()
            goals = 'the present pose as goal; send others again'
        self.ramps.start_from_zero(*_PULLS)
        self.doubtful = True  # the controller manager may have been away
        self._logger.info(f'{name} is over: control goes on with {goals}.')

    def _brake(self, now):
        """Take the motion out of the robot, with what is known of it."""
        if self.supervisor.blind:
            self._output.coast(self.supervisor.damping_left(now), now)
        else:
            self._output.carry(now)


def _period(rate):
    return 1.0 / rate if rate else 0.0
