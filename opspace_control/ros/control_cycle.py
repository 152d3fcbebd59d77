# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From a joint state to an effort command, and what happens when there is no usable state."""

import contextlib
import math
import time

import numpy as np

from opspace_control.control import DAMPING_RATE
from opspace_control.errors import ControlError, OpspaceError
from opspace_control.model import RobotState
from opspace_control.ros.conversions import JointStateReader, nanoseconds
from opspace_control.ros.statistics import CycleStatistics

# Between two commands of a robot that is being released.
_RELEASE_PERIOD = 0.002  # s
# Some periods of a controller manager, 0.01 s if nobody says otherwise.
_REST_TIME = 0.05  # s


class ControlCycle:
    """
    One control cycle on each joint state; damping, then no effort, when states stop or are bad.

    Time is that of the steady clock: a simulation's clock may stop, a robot does not.

    Parameters
    ----------
    controller : OperationalSpaceController
    command : EffortCommand
        The message of the command.
    publish : callable
        Sends it.
    logger : rclpy logger

    """

    def __init__(self, controller, command, publish, logger):
        self._controller = controller
        self._reader = JointStateReader(controller.model)
        self._command = command
        self._publish = publish
        self._logger = logger
        self.state = RobotState(controller.model, self._reader.q, self._reader.v)
        self._coasting = RobotState(controller.model, self._reader.q, self._reader.v)
        self._torque = np.zeros(controller.model.nv)
        self.period = 0.0           # s, shortest time between two cycles
        self.state_timeout = 0.05   # s, 0 for never
        self.release_time = 0.3     # s
        self.feedback_period = 0.0  # s, 0 for never
        self.feedback = None        # called with the stamp of the state
        self.move_goals = None      # called with the stamp of the state, ns, before each cycle
        self.statistics = CycleStatistics(controller)
        self.reset()

    def reset(self):
        """Forget the last state: nothing is known until the next one arrives."""
        self.known = False
        self._last_state = time.perf_counter()
        self._due = self._feedback_due = -np.inf
        self.stamp = 0  # of the last state, ns
        self.statistics.restart()
        self._fault = ''
        self._resting = False
        self.recovered = False      # set after a fault, for who has to look after it

    @property
    def fault(self):
        """Why the robot is not controlled but damped or released at present; '' if it is."""
        return self._fault

    def on_joint_state(self, message):
        """Run one cycle."""
        now = time.perf_counter()
        try:
            self._take(message, now)
            # A quarter of a period early is still this period's turn.
            if now < self._due - 0.25 * self.period:
                return
            self._due = max(self._due + self.period, now)
            self.move_goals(self.stamp)
            self._controller.compute_torque(self.state, out=self._torque)
            if not math.isfinite(self._torque.dot(self._torque)):
                raise ControlError('The computed effort is not finite.')
        except OpspaceError as error:
            self._fail(str(error), now)
            return
        self._publish(self._command.write(self._torque))
        self.statistics.count(now, self.stamp)
        if self._fault:
            self._recover()
        if self.feedback_period and now >= self._feedback_due:
            self._feedback_due = now + self.feedback_period
            self.feedback(message.header.stamp)

    @property
    def commanded(self):
        """Joint forces last commanded, (nv,), N·m or N."""
        return self._torque

    def watch(self):
        """Look at the age of the last state; to be called often, by a steady clock."""
        now = time.perf_counter()
        age = now - self._last_state
        if self._fault:
            self._damp_since(self._fault_time, now)
        elif self.known and self.state_timeout and age > self.state_timeout:
            self._fail(f'No joint state for {1e3 * age:.0f} ms.', now)

    def release(self, take=None):
        """
        Damp the robot, fading to zero effort within ``release_time``, then command zero.

        Parameters
        ----------
        take : callable, optional
            Returns the newest JointState or None; damping follows the true velocity with it.

        """
        start = now = time.perf_counter()
        while self.known and now - start < self.release_time:
            message = take() if take else None
            if message is not None:
                with contextlib.suppress(OpspaceError):  # the last good velocity will do
                    self._take(message, now)
            self._send_damping(1.0 - (now - start) / self.release_time, now)
            time.sleep(_RELEASE_PERIOD)
            now = time.perf_counter()
        # Until whatever passes the commands on has made the zeros its last: it keeps to them.
        start = now
        while now - start < _REST_TIME:
            self.rest()
            time.sleep(_RELEASE_PERIOD)
            now = time.perf_counter()

    def rest(self):
        """Command zero effort."""
        self._send_damping(0.0, 0.0)

    def _take(self, message, now):
        self._reader.read(message)
        self.state.update(self._reader.q, self._reader.v)
        self.stamp = nanoseconds(message.header.stamp)
        self._last_state, self.known = now, True

    def _fail(self, reason, now):
        """Stop controlling, say so once, and damp."""
        if not self._fault:
            self._fault, self._fault_time, self._resting = reason, now, False
            self._logger.error(
                f'{reason} The robot is damped, then released, until joint states are good again; '
                'check what publishes them.')
        self._damp_since(self._fault_time, now)

    def _recover(self):
        self._logger.info('Joint states are good again: control goes on.')
        self._fault = ''
        self.recovered = True

    def _damp_since(self, start, now):
        if self._resting:
            return
        left = 1.0 - (now - start) / self.release_time if self.release_time else 0.0
        self._resting = left <= 0.0
        self._send_damping(max(left, 0.0), now)

    def _send_damping(self, scale, now):
        """Command pure damping; the velocity is what this damping has left of the last one seen."""
        self._torque[:] = 0.0
        if self.known and scale > 0.0:
            left = np.exp((self._last_state - now) * DAMPING_RATE)
            self._coasting.update(self.state.q, self.state.v * left)
            self._controller.damping_torque(self._coasting, out=self._torque)
            self._torque *= scale
        self._publish(self._command.write(self._torque))
