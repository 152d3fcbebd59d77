# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller node: joint states in, effort commands out, goals on topics."""

import functools
import gc
import traceback
from collections import ChainMap

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.command_path import command_order, command_topic, when_there
from opspace_control.ros.control_cycle import ControlCycle
from opspace_control.ros.controller_manager import connect
from opspace_control.ros.controller_parameters import NODE, controller_table
from opspace_control.ros.conversions import COMMAND_TYPES, EffortCommand
from opspace_control.ros.description import RobotDescription
from opspace_control.ros.executor import run
from opspace_control.ros.handover import Handover
from opspace_control.ros.interface import Interface
from opspace_control.ros.parameters import NodeParameters
from opspace_control.ros.qos import NEWEST, RELIABLE
from opspace_control.ros.robot import apply_gains, check_gains, make_controller
from opspace_control.ros.warm_up import warm_up

_WATCH_PERIOD = 0.01  # s


def _transition(step):
    """Make a lifecycle callback out of a step that raises: rclpy would swallow what it says."""
    @functools.wraps(step)
    def callback(self, _state):
        try:
            step(self)
        except OpspaceError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        except Exception:
            self.get_logger().fatal(traceback.format_exc())
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS
    return callback


class ControllerNode(LifecycleNode):
    """
    The managed node ``opspace_controller``.

    Configured, it has a controller with all its code compiled; active, it runs one cycle on each
    joint state. With ``autostart`` it takes both steps by itself as soon as the robot is known.
    Where there is a controller manager, being active includes having been given the joints.

    Parameters
    ----------
    stop : Stop, optional
        Ends what waits for others.
    **options
        Of a LifecycleNode.

    """

    def __init__(self, stop=None, **options):
        super().__init__('opspace_controller', **options)
        self.parameters = NodeParameters(self, self._check_parameters, self._on_change)
        self.parameters.declare(NODE)
        self.parameters.declare(controller_table(self.parameters['tasks']))
        self.parameters.check_names()
        self.parameters.accept_changes()
        self._controller = self._cycle = None
        self._changed = set()  # parameters that are not applied yet
        self._active = False
        self._heed_stop = stop.heed if stop else lambda: None
        self._manager = connect(self, *(self.parameters[name] for name in (
            'controller_manager', 'effort_controller', 'controller_manager_timeout')))
        self._description = RobotDescription(
            self, self.parameters['robot_description'], self.start)

    def start(self):
        """Configure and activate, if that is wanted and all that it takes is there."""
        if not (self.parameters['autostart'] and self._description.text):
            return
        when_there(self, self._manager, self._begin)

    def _begin(self):
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            raise RosInterfaceError('The controller cannot start.',
                                    cure='The reason is in the log.')
        if self.trigger_activate() != TransitionCallbackReturn.SUCCESS:
            self.get_logger().error('The controller stays inactive, until: ros2 lifecycle set '
                                    f'{self.get_fully_qualified_name()} activate')

    @_transition
    def on_configure(self):
        """Build the controller and compile it."""
        if not self._description.text:
            raise RosInterfaceError('The robot is not known yet.',
                                    cure='Start robot_state_publisher, or give robot_description.')
        self._controller, joints = make_controller(self._description.text, ChainMap(
            {'command_joints': command_order(self.parameters, self._manager, self._heed_stop)},
            self.parameters))
        model = self._controller.model
        for warning in model.warnings:
            self.get_logger().warning(warning)
        unlimited = [name for name in joints if np.isinf(
            self._controller.effort_limits[model.dof_index(name)])]
        if unlimited:
            self.get_logger().warning(f'Nothing bounds the effort of {", ".join(unlimited)}: give '
                                      '<limit effort="..."> in the URDF.')
        warm_up(self._controller, self.get_logger())
        kind = COMMAND_TYPES[self.parameters['command_type']]
        self._command = self.create_publisher(
            kind, command_topic(self.parameters), RELIABLE)
        self._cycle = ControlCycle(self._controller, EffortCommand(model, joints, kind),
                                   self._command.publish, self.get_logger())
        self._interface = Interface(self, self._controller, self._cycle, joints, self.parameters,
                                    lambda: self._active)
        self._on_change(self.parameters)
        self._handover = self._manager and Handover(
            self._manager, self._cycle, self._newest_state, self._command, self._heed_stop,
            self.get_logger())
        self._hold = self.create_service(Trigger, '~/hold', self._on_hold)
        held = [name for name, yes in zip(model.dof_names, model.locked, strict=True) if yes]
        self.get_logger().info(
            f'{model.name}: {len(joints)} joints commanded on {self._command.topic_name}, tasks '
            + (', '.join(f'{task.name} ({task.frame})' for task in self._controller.tasks.values())
               or 'none')
            + (f'; held by something else: {", ".join(held)}' if held else ''))

    @_transition
    def on_activate(self):
        """Begin to command: every goal is the present pose until another arrives."""
        self._interface.hold()
        self._cycle.reset()
        # What start-up left behind would be searched for garbage in the middle of control.
        gc.collect()
        gc.freeze()
        self._states = self.create_subscription(
            JointState, 'joint_states', self._cycle.on_joint_state, NEWEST)
        self._watch = self.create_timer(
            _WATCH_PERIOD, self._on_watch, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._active = True
        if self._handover:
            try:
                self._handover.begin()
            except BaseException:
                self._release()
                raise
        self.get_logger().info(f'Active: a cycle on each message of {self._states.topic_name}.')

    @_transition
    def on_deactivate(self):
        """Damp the robot, release it and stop commanding."""
        self._release()

    @_transition
    def on_cleanup(self):
        """Give up the controller."""
        self._interface.destroy()
        self.destroy_service(self._hold)
        self.destroy_publisher(self._command)
        self._controller = self._cycle = None

    @_transition
    def on_shutdown(self):
        """Leave the robot at rest."""
        self._release()

    def leave(self):
        """Leave the robot at rest, whatever happened."""
        self._release()
        if self._manager:
            self._manager.destroy()

    def _on_watch(self):
        self._cycle.watch()
        self._interface.watch()
        if self._handover and self._cycle.recovered:
            self._cycle.recovered = False
            # A controller manager that was away may have come back without us.
            if not self._handover.is_ours():
                self.trigger_deactivate()

    def _release(self):
        if not self._active:
            return
        self._active = False
        self.destroy_timer(self._watch)
        self._cycle.release(take=self._newest_state)
        if self._handover:
            self._handover.end()
        self._command.wait_for_all_acked(Duration(seconds=0.1))
        self.destroy_subscription(self._states)
        self.get_logger().info('The robot is released: zero effort is commanded.')

    def _newest_state(self):
        """Take a joint state outside the executor, which does not run while the robot is damped."""
        with self._states.handle:
            taken = self._states.handle.take_message(JointState, False)
        return taken[0] if taken else None

    def _on_hold(self, _request, response):
        response.success = self._active
        if self._active:
            self._cycle.hold()
        response.message = ('Every goal is now the present pose.' if self._active
                            else 'The controller is not active.')
        return response

    def _check_parameters(self, values, names):
        for task in values['tasks']:
            if any(name.startswith(f'{task}.') for name in names):
                check_gains(task, values)
        for lower, upper in zip(values['limits.workspace_lower'],
                                values['limits.workspace_upper'], strict=True):
            if lower > upper:
                raise RosInterfaceError(
                    f'limits.workspace_lower: {lower:g} is above workspace_upper, {upper:g}')

    def _on_change(self, names):
        if self._cycle is None:
            return
        self._changed.update(names)
        if self._active:
            self._cycle.soon(self._apply_changes)
        else:
            self._apply_changes()

    def _apply_changes(self):
        values = self.parameters
        with self._cycle.ramps.smoothly():
            apply_gains(self._controller, values, self._changed)
        self._cycle.apply(values)
        self._interface.apply(values)
        self._changed.clear()


def make_node(stop):
    """Return the node, started if it is to start by itself."""
    node = ControllerNode(stop)
    node.start()
    return node


def main(arguments=None):
    """Run the controller node until SIGINT or SIGTERM; return the exit code."""
    return run(make_node, arguments)
