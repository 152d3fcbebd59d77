# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The command watchdog: no command outlives the controller that gave it.

Forward controllers of ros2_control obey their last command for ever. This node stands in front of
one and passes commands on; when they stop, it takes the motion out of the robot and carries it for
a while. Then the previous controllers get the joints back; where it knows no controller manager,
it releases the robot.
"""

import contextlib
import time
from collections import ChainMap

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from opspace_control.control import OperationalSpaceController
from opspace_control.errors import RosInterfaceError, SafetyError
from opspace_control.ros.commands.command_path import (
    command_order,
    command_topic,
    ready_topic,
    when_there,
)
from opspace_control.ros.commands.controller_manager import connect
from opspace_control.ros.commands.hand_back import HandBack
from opspace_control.ros.commands.lost_commands import LostCommands
from opspace_control.ros.cycle.command_output import CommandOutput
from opspace_control.ros.cycle.odometry import BaseOdometry
from opspace_control.ros.cycle.running_time import RunningTime
from opspace_control.ros.cycle.state_intake import StateIntake
from opspace_control.ros.middleware.conversions import simulated_time
from opspace_control.ros.middleware.description import RobotDescription
from opspace_control.ros.middleware.efforts import COMMAND_TYPES, EffortCommand, EffortReader
from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.middleware.executor import run
from opspace_control.ros.middleware.qos import LATCHED, NEWEST, RELIABLE
from opspace_control.ros.node_arguments import node_arguments
from opspace_control.ros.parameters.joints import joint_status
from opspace_control.ros.parameters.node_parameters import NodeParameters
from opspace_control.ros.parameters.robot import make_model
from opspace_control.ros.parameters.watchdog_parameters import NODE
from opspace_control.ros.warm_up import warm_up
from opspace_control.safety.envelope import Envelope

_ABOUT = """\
Run the watchdog node, opspace_command_watchdog: it passes effort commands on to a forward
controller, and brakes the robot when they stop, until Ctrl-C."""

_PERIOD = 0.002  # s, between two looks, and between two commands of its own
_COMPLAIN_EVERY = 1.0  # s


class CommandWatchdogNode(Node):
    """
    The node ``opspace_command_watchdog``: takes ``~/commands``, as a forward controller does.

    It has no opinion of the commands but that they are numbers for all joints, and that the next
    one is due. Its own know no goal: they hold the robot where it was when the commands stopped
    (`Brake.carry`) until the previous controllers have the joints, or for a while.
    """

    def __init__(self, stop=None, **options):
        super().__init__('opspace_command_watchdog', **options)
        self.parameters = NodeParameters(
            self, self._check_status, lambda _: self._apply_parameters())
        self.parameters.declare(NODE)
        self.parameters.check_names()
        self.parameters.accept_changes()
        self._heed_stop = stop.heed if stop else lambda: None
        self._controller = None
        self._time = RunningTime(time.perf_counter())
        manager = [self.parameters[name] for name in (
            'controller_manager', 'effort_controller', 'controller_manager_timeout')]
        self._manager = connect(self, *manager)
        self._hand_back = self._manager and HandBack(self, *manager)
        # Before anything that takes long: a controller waits for a watchdog that starts.
        self._readiness = self.create_publisher(Bool, ready_topic('~/commands'), LATCHED)
        self._tell(ready=False)
        self._kind = COMMAND_TYPES[self.parameters['command_type']]
        self._onward = self.create_publisher(self._kind, command_topic(self.parameters), RELIABLE)
        self._endpoints = Endpoints(self)
        self._commands = self._endpoints.listen(
            self._kind, '~/commands', self._on_command, NEWEST, raw=True)
        self._description = RobotDescription(
            self, self.parameters['robot_description'], self.start)

    def start(self):
        """Begin to pass commands on, as soon as all is there that it takes."""
        if self._description.text:
            when_there(self, self._manager, self._begin)

    def _begin(self):
        model, joints = make_model(self._description.text, ChainMap({
            'command_joints': command_order(self.parameters, self._manager, self._heed_stop),
            }, self.parameters), floating_base=self.parameters['floating_base'])
        controller = OperationalSpaceController(
            model, gravity_compensation=self.parameters['gravity_compensation'])
        warm_up(controller, self.get_logger())
        self._efforts = EffortReader(joints, self._kind)
        self._envelope = Envelope(model, controller.effort_limits)
        self._odometry = BaseOdometry(
            model, self.parameters['odom_frame'], self.parameters['frame_prefix'],
            ) if model.floating_base else None
        self._intake = StateIntake(model, self._envelope, self._odometry)
        output = CommandOutput(
            controller, self._envelope, self._intake, EffortCommand(model, joints, self._kind),
            self._onward.publish)
        self._lost = LostCommands(self.parameters, self._intake, output, self._hand_back, joints,
                                  self._commands.topic_name, self.get_logger())
        if self._hand_back:
            self._hand_back.note(self._heed_stop)
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
        return joint_status(self._controller.model, self._joints, values['passive_joints'],
                            values['locked_joints'])

    def _check_status(self, values, _names):
        if self._controller:
            self._controller.check_status(*self._status(values))

    def _apply_parameters(self):
        if self._controller:
            self._envelope.set_limits(effort_rate=self.parameters['effort_rate'])
            self._controller.set_status(*self._status(self.parameters))
            if self._odometry:
                self._odometry.timeout = self.parameters['deadline']

    def _on_command(self, data):
        if not self._controller:
            return  # it tells that it is not ready
        try:
            efforts = self._efforts.read(data)
        except RosInterfaceError as error:
            # It does not count: the next good one is still due.
            self.get_logger().error(f'A command is ignored: {error}',
                                    throttle_duration_sec=_COMPLAIN_EVERY)
            return
        self._onward.publish(data)
        self._lost.note(efforts, self._now())

    def _on_joint_state(self, data, now):
        opened = self._intake.open(data)
        if opened is not None:
            with contextlib.suppress(SafetyError):  # the last good one will do, for a while
                self._intake.take(opened, now)

    def _tell(self, ready):
        self._ready = ready
        self._readiness.publish(Bool(data=ready))

    def _look(self):
        if not self._ready and self._onward.get_subscription_count():
            self._tell(ready=True)
        self._lost.look(self._now())

    def _now(self):
        """Return the present time, s; it stands still while a simulation pauses."""
        return self._time.step(time.perf_counter(), simulated_time(self),
                               self._intake.clock.stamp, self.parameters['deadline'])

    def _steady_now(self):
        """
        Go on from that time without /clock, which no executor reads when this node ends.

        Nor does one read joint states and odometry, so they are taken here.
        """
        now = self._time.step(time.perf_counter(), None, 0, 0.0)
        with self._states.handle:
            taken = self._states.handle.take_message(JointState, True)
        if taken:
            if self._odometry:
                self._odometry.poll(now)
            self._on_joint_state(taken[0], now)
        return now

    def leave(self):
        """Do not leave the robot under the last command."""
        if self._controller:
            self._lost.leave(self._steady_now)
        if self._manager:
            self._hand_back.end()
            self._manager.destroy()


def make_node(stop):
    """Return the node, started if it has all that it takes."""
    node = CommandWatchdogNode(stop)
    node.start()
    return node


def main(arguments=None):
    """Run the command watchdog node until SIGINT or SIGTERM; return the exit code."""
    return run(make_node, node_arguments('command_watchdog', _ABOUT, arguments))
