# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The command watchdog: no command outlives the controller that gave it.

Forward controllers of ros2_control obey their last command for ever. This node stands in front of
one and passes commands on; when they stop, it takes the motion out of the robot and carries it for
a while, then it releases it.
"""

import contextlib
import time
from collections import ChainMap

from rclpy.node import Node
from sensor_msgs.msg import JointState

from opspace_control.control import OperationalSpaceController
from opspace_control.errors import RosInterfaceError, SafetyError
from opspace_control.ros.commands.command_path import command_order, command_topic, when_there
from opspace_control.ros.commands.controller_manager import connect
from opspace_control.ros.cycle.command_output import CommandOutput
from opspace_control.ros.cycle.odometry import BaseOdometry
from opspace_control.ros.cycle.state_intake import StateIntake
from opspace_control.ros.middleware.description import RobotDescription
from opspace_control.ros.middleware.efforts import COMMAND_TYPES, EffortCommand, EffortReader
from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.middleware.executor import run
from opspace_control.ros.middleware.qos import NEWEST, RELIABLE
from opspace_control.ros.parameters.joints import joint_status
from opspace_control.ros.parameters.node_parameters import NodeParameters
from opspace_control.ros.parameters.robot import make_model
from opspace_control.ros.parameters.watchdog_parameters import NODE
from opspace_control.ros.warm_up import warm_up
from opspace_control.safety.envelope import Envelope

_PERIOD = 0.002  # s, between two looks, and between two commands of its own
# Zero is repeated for so long: who keeps to the last command must have got it.
_REST_TIME = 0.1  # s
_COMPLAIN_EVERY = 1.0  # s


class CommandWatchdogNode(Node):
    """
    The node ``opspace_command_watchdog``: takes ``~/commands``, as a forward controller does.

    It has no opinion of the commands but that they are numbers for all joints, and that the next
    one is due. Its own know no goal: joint damping, and the weight of the robot for a while.
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
        self._loose = False     # whether the robot is under a command that is not zero
        self._alarm = None      # when the commands stopped
        self._release = None    # when the robot began to be released
        self._last = 0.0        # when the last command came
        self._leaving = False
        self._manager = connect(self, *(self.parameters[name] for name in (
            'controller_manager', 'effort_controller', 'controller_manager_timeout')))
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
        kind = COMMAND_TYPES[self.parameters['command_type']]
        self._efforts = EffortReader(joints, kind)
        self._onward = self.create_publisher(kind, command_topic(self.parameters), RELIABLE)
        self._envelope = Envelope(model, controller.effort_limits)
        self._odometry = BaseOdometry(
            model, self.parameters['odom_frame'], self.parameters['frame_prefix'],
            ) if model.floating_base else None
        self._intake = StateIntake(model, self._envelope, self._odometry)
        self._output = CommandOutput(
            controller, self._envelope, self._intake, EffortCommand(model, joints, kind),
            self._onward.publish)
        self._controller, self._joints = controller, joints
        self._apply_parameters()
        if self._odometry:
            self._odometry.listen(self)
        endpoints = Endpoints(self)
        endpoints.listen(JointState, 'joint_states', self._on_joint_state, NEWEST, raw=True)
        self._commands = endpoints.listen(
            kind, '~/commands', self._on_command, NEWEST, raw=True)
        endpoints.repeat(_PERIOD, self._look)
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
        try:
            efforts = self._efforts.read(data)
        except RosInterfaceError as error:
            # It does not count: the next good one is still due.
            self.get_logger().error(f'A command is ignored: {error}',
                                    throttle_duration_sec=_COMPLAIN_EVERY)
            return
        self._onward.publish(data)
        self._last = time.perf_counter()
        self._newest = efforts
        self._loose = bool(efforts.any())
        if self._alarm is not None:
            self._alarm = self._release = None
            self.get_logger().info('Commands are back and passed on.')

    def _on_joint_state(self, data):
        opened = self._intake.open(data)
        if opened is not None:
            with contextlib.suppress(SafetyError):  # the last good one will do, for a while
                self._intake.take(opened, time.perf_counter())

    def _look(self):
        now = time.perf_counter()
        if not self._loose or now - self._last < self.parameters['deadline']:
            return
        if self._alarm is None:
            self._begin_alarm(now)
            does = 'damped and carried' if self._carries(now) else 'damped, then released'
            self.get_logger().error(
                f'No command for {1e3 * (now - self._last):.0f} ms. The robot is {does}. Look at '
                f'what publishes {self._commands.topic_name}.')
        self._brake(now)

    def _begin_alarm(self, now):
        self._alarm = now
        self._output.take_over(self._newest, self._last)

    def _carries(self, now):
        """Return whether the robot is to be carried, and can be: by where it is now."""
        seen = min(self._intake.last_good, self._intake.clock.last_new)
        return (not self._leaving and self._intake.known and self._damping_left(now) > 0.0
                and now - self._alarm < self.parameters['carry_time']
                and now - seen < self.parameters['deadline'])

    def _damping_left(self, now):
        """Return how much of the damping is left of a robot that is being released."""
        if self._release is None:
            return 1.0
        elapsed, release_time = now - self._release, self.parameters['release_time']
        return max(0.0, 1.0 - elapsed / release_time) if release_time else 0.0

    def _brake(self, now):
        """Carry the robot, or command what is left of its damping and at last zero for a while."""
        if self._carries(now):
            self._release = None
            self._output.carry(now)
            return
        if self._release is None:
            self._release = now
        self._output.coast(self._damping_left(now), now)
        rested = now - self._release - self.parameters['release_time']
        self._loose = self._output.torque.any() or rested < _REST_TIME
        if not self._loose:
            self.get_logger().info('The robot is released: zero effort is commanded.')

    def leave(self):
        """Do not leave the robot under the last command."""
        self._leaving = True
        if self._loose and self._alarm is None:
            self._begin_alarm(time.perf_counter())
        while self._loose:
            self._brake(time.perf_counter())
            time.sleep(_PERIOD)
        if self._manager:
            self._manager.destroy()


def make_node(stop):
    """Return the node, started if it has all that it takes."""
    node = CommandWatchdogNode(stop)
    node.start()
    return node


def main(arguments=None):
    """Run the command watchdog node until SIGINT or SIGTERM; return the exit code."""
    return run(make_node, arguments)
