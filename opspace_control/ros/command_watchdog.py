# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The command watchdog: no command outlives the controller that gave it.

Forward controllers of ros2_control obey their last command for ever. This node stands in front of
one and passes commands on; when they stop, it damps the robot and then commands zero effort.
"""

import contextlib
import math
import time
from collections import ChainMap

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.control import OperationalSpaceController
from opspace_control.control.brake import Brake
from opspace_control.errors import OpspaceError
from opspace_control.model import RobotState
from opspace_control.ros.command_path import command_order, command_topic, when_there
from opspace_control.ros.controller_manager import connect
from opspace_control.ros.conversions import EffortCommand, JointStateReader
from opspace_control.ros.description import RobotDescription
from opspace_control.ros.executor import run
from opspace_control.ros.parameters import NodeParameters
from opspace_control.ros.qos import NEWEST, RELIABLE
from opspace_control.ros.robot import make_model
from opspace_control.ros.warm_up import warm_up
from opspace_control.ros.watchdog_parameters import NODE

_PERIOD = 0.002  # s, between two looks, and between two commands of its own
# Zero is repeated for so long: who keeps to the last command must have got it.
_REST_TIME = 0.1  # s
_COMPLAIN_EVERY = 1.0  # s


class CommandWatchdogNode(Node):
    """
    The node ``opspace_command_watchdog``: takes ``~/commands``, as a forward controller does.

    It has no opinion of the commands but that they are numbers for all joints, and that the next
    one is due. Its own are dissipative: joint damping alone, neither weight nor goals, so that it
    cannot move a robot whatever the model's errors.
    """

    def __init__(self, stop=None, **options):
        super().__init__('opspace_command_watchdog', **options)
        self.parameters = NodeParameters(self)
        self.parameters.declare(NODE)
        self.parameters.check_names()
        self.parameters.accept_changes()
        self._heed_stop = stop.heed if stop else lambda: None
        self._loose = False     # whether the robot is under a command that is not zero
        self._alarm = None      # when the commands stopped
        self._last = 0.0        # when the last one came
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
            'passive_joints': []}, self.parameters))
        controller = OperationalSpaceController(model)
        warm_up(controller, self.get_logger())
        self._joints = joints
        self._reader = JointStateReader(model)
        self._state = RobotState(model, model.neutral(), np.zeros(model.nv))
        self._seen = -math.inf  # when the last good joint state came
        self._brake = Brake(controller)
        self._torque = np.zeros(model.nv)
        self._command = EffortCommand(model, joints)
        self._out = self.create_publisher(
            Float64MultiArray, command_topic(self.parameters), RELIABLE)
        self._states = self.create_subscription(
            JointState, 'joint_states', self._on_joint_state, NEWEST)
        self._in = self.create_subscription(
            Float64MultiArray, '~/commands', self._on_command, NEWEST)
        self.create_timer(_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f'{model.name}: {len(joints)} joints, from {self._in.topic_name} to '
                               f'{self._out.topic_name}.')

    def _on_command(self, message):
        efforts = np.frombuffer(message.data)
        if efforts.size != len(self._joints) or not np.isfinite(efforts).all():
            # It does not count: the next good one is still due.
            self.get_logger().error(
                f'A command is ignored: {len(self._joints)} finite efforts are needed, in the '
                f'order {", ".join(self._joints)}.', throttle_duration_sec=_COMPLAIN_EVERY)
            return
        self._out.publish(message)
        self._last = time.perf_counter()
        self._loose = bool(efforts.any())
        if self._alarm is not None:
            self._alarm = None
            self.get_logger().info('Commands are back and passed on.')

    def _on_joint_state(self, message):
        with contextlib.suppress(OpspaceError):  # the last good one will do
            self._state.update(*self._reader.read(message))
            self._seen = time.perf_counter()

    def _look(self):
        now = time.perf_counter()
        if not self._loose or now - self._last < self.parameters['deadline']:
            return
        if self._alarm is None:
            self._alarm = now
            self.get_logger().error(
                f'No command for {1e3 * (now - self._last):.0f} ms. The robot is damped, then '
                f'released. Look at what publishes {self._in.topic_name}.')
        self._damp(now)

    def _damp(self, now):
        """Command what is left of the damping; when nothing is, zero for a while, and then rest."""
        release_time = self.parameters['release_time']
        elapsed = now - self._alarm
        left = max(0.0, 1.0 - elapsed / release_time) if release_time else 0.0
        self._brake.coast(self._state, now - self._seen, left, self._torque)
        self._out.publish(self._command.write(self._torque))
        self._loose = elapsed < release_time + _REST_TIME

    def leave(self):
        """Do not leave the robot under the last command."""
        if self._alarm is None:
            self._alarm = time.perf_counter()
        while self._loose:
            self._damp(time.perf_counter())
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
