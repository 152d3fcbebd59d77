# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The command watchdog: it commands the robot when the controller stops sending commands.

Forward controllers of ros2_control keep their last command forever. This node relays commands to
one. When commands stop, it holds the robot in position for ``hold_time``.
Then the previous controllers get the joints; without a controller manager it releases the robot.
"""

import contextlib
import time
from collections import ChainMap

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from opspace_control.control.controller import OperationalSpaceController
from opspace_control.errors import RosInterfaceError, SafetyError
from opspace_control.ros.commands.command_route import command_topic, ready_topic
from opspace_control.ros.commands.hand_back import HandBack
from opspace_control.ros.commands.lost_commands import LostCommands, RunningTime
from opspace_control.ros.commands.manager_client import command_order, connect, when_there
from opspace_control.ros.cycle.command_output import CommandOutput
from opspace_control.ros.cycle.state_input import BaseOdometry, StateInput
from opspace_control.ros.middleware.conversions import simulated_time
from opspace_control.ros.middleware.endpoints import (
    LATCHED,
    NEWEST,
    RELIABLE,
    Endpoints,
    RobotDescription,
    take,
)
from opspace_control.ros.middleware.executor import run
from opspace_control.ros.middleware.joint_messages import COMMAND_TYPES, EffortCommand, EffortReader
from opspace_control.ros.parameters.controller_parameters import WATCHDOG
from opspace_control.ros.parameters.joints import status_of
from opspace_control.ros.parameters.node_parameters import NodeParameters, node_arguments
from opspace_control.ros.parameters.robot import make_model, warm_up
from opspace_control.safety.servo import Servo

_ABOUT = """\
Run the watchdog node, opspace_command_watchdog: it relays effort commands to a forward controller,
and brakes the robot when they stop, until Ctrl-C."""

_PERIOD = 0.002  # s, of supervision, and of its own commands
# Longest time between two checks that counts. When a process is killed while it holds the shared
# memory of Fast DDS, every publisher to it blocks for up to a second.
_LONGEST_STEP = 0.02  # s
_COMPLAIN_EVERY = 1.0  # s


class CommandWatchdogNode(Node):
    """
    The node ``opspace_command_watchdog``: takes ``~/commands``, as a forward controller does.

    Commands must be finite numbers for all joints, and in time; else it holds or damps the robot.
    """

    def __init__(self, stop):
        super().__init__('opspace_command_watchdog')
        self.parameters = NodeParameters(
            self, self._check_status, lambda _: self._apply_parameters())
        self.parameters.declare(WATCHDOG)
        self.parameters.accept_changes()
        self._check_stop = stop.check
        self._controller = None
        self._time = RunningTime(time.perf_counter(), _LONGEST_STEP)
        self._hand_back = connect(self, HandBack)
        # Before anything slow: a controller waits for a starting watchdog.
        self._readiness = self.create_publisher(Bool, ready_topic('~/commands'), LATCHED)
        self._tell(ready=False)
        self._kind = COMMAND_TYPES[self.parameters['command_type']]
        self._onward = self.create_publisher(self._kind, command_topic(self.parameters), RELIABLE)
        self._endpoints = Endpoints(self)
        self._commands = self._endpoints.listen(
            self._kind, '~/commands', self._on_command, NEWEST, raw=True)
        self._description = RobotDescription(self, self.parameters['robot_description'], self.start)
        self.start()

    def start(self):
        """Begin to relay commands, as soon as robot and controller manager are known."""
        if self._description.text:
            when_there(self, self._hand_back, self._begin)

    def _begin(self):
        model, joints = make_model(self._description.text, ChainMap({
            'command_joints': command_order(self.parameters, self._hand_back, self._check_stop),
            }, self.parameters), floating_base=self.parameters['floating_base'])
        controller = OperationalSpaceController(
            model, effort_limits=self.parameters['effort_scale'] * model.effort_limits,
            gravity_compensation=self.parameters['gravity_compensation'])
        warm_up(controller, self.get_logger())
        self._efforts = EffortReader(joints, self._kind)
        self._odometry = BaseOdometry.of(model, self.parameters)
        self._state_input = StateInput(model, self._odometry)
        self._servo = Servo(controller, self._state_input)
        output = CommandOutput(self._servo, EffortCommand(model, joints, self._kind),
                               self._onward.publish)
        self._lost = LostCommands(self.parameters, self._state_input, output, self._hand_back,
                                  joints, self._commands.topic_name, self.get_logger())
        if self._hand_back:
            self._hand_back.note(self._check_stop)
        self._controller, self._joints = controller, joints
        self._apply_parameters()
        if self._odometry:
            self._odometry.listen(self, self._now)
        self._states = self._endpoints.listen(
            JointState, 'joint_states', lambda data: self._on_joint_state(data, self._now()),
            NEWEST, raw=True)
        self._endpoints.repeat(_PERIOD, self._look)
        self.get_logger().info(f'{model.name}: {len(joints)} joints, from '
                               f'{self._commands.topic_name} to {self._onward.topic_name}.')

    def _status(self, values):
        return status_of(self._controller.model, self._joints, values)

    def _check_status(self, values, _names):
        if self._controller:
            self._controller.check_status(*self._status(values))

    def _apply_parameters(self):
        if self._controller:
            self._servo.envelope.set_limits(effort_rate=self.parameters['effort_rate'])
            self._servo.supervisor.release_time = self.parameters['release_time']
            self._controller.set_status(*self._status(self.parameters))
            if self._odometry:
                self._odometry.timeout = self.parameters['deadline']

    def _on_command(self, data):
        if not self._controller:
            return  # it has published that it is not ready
        try:
            efforts = self._efforts.read(data)
        except RosInterfaceError as error:
            # An invalid command does not reset the deadline.
            self.get_logger().error(f'A command is ignored: {error}',
                                    throttle_duration_sec=_COMPLAIN_EVERY)
            return
        self._onward.publish(data)
        self._lost.note(efforts, self._now())

    def _on_joint_state(self, data, now):
        opened = self._state_input.open(data)
        if opened is not None:
            with contextlib.suppress(SafetyError):  # the last good state is used for a while
                self._state_input.take(opened, now)

    def _tell(self, ready):
        self._ready = ready
        self._readiness.publish(Bool(data=ready))

    def _look(self):
        if not self._ready and self._onward.get_subscription_count():
            self._tell(ready=True)
        self._lost.look(self._now())

    def _now(self):
        """Return the present time, s, which stops while a simulation pauses."""
        return self._time.step(time.perf_counter(), simulated_time(self),
                               self._state_input.stamp, self.parameters['deadline'])

    def _steady_now(self):
        """Return the time without /clock, and read topics: no executor does so at the end."""
        now = self._time.step(time.perf_counter(), None, 0, 0.0)
        data = take(self._states)
        if data is not None:
            if self._odometry:
                self._odometry.poll(now)
            self._on_joint_state(data, now)
        return now

    def leave(self):
        """Release the robot, or return its joints, before the process ends."""
        if self._controller:
            self._lost.leave(self._steady_now)
        if self._hand_back:
            self._hand_back.end()


def main(arguments):
    """Run the command watchdog node until SIGINT or SIGTERM; return the exit code."""
    return run(CommandWatchdogNode, node_arguments('command_watchdog', _ABOUT, arguments))
