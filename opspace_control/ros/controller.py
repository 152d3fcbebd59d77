# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller node: joint states in, effort commands out, goals on topics."""

import gc
import time
import traceback
from functools import partial, wraps

from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.commands.manager_client import when_there
from opspace_control.ros.commands.rivals import Rivals
from opspace_control.ros.configuration import Configuration
from opspace_control.ros.middleware import executor
from opspace_control.ros.middleware.endpoints import Endpoints, RobotDescription
from opspace_control.ros.parameters.controller_parameters import NODE, table_of
from opspace_control.ros.parameters.node_parameters import NodeParameters, node_arguments
from opspace_control.ros.parameters.task_blocks import check_task, make_grasp, read_payload
from opspace_control.ros.routes import ROUTES

_ABOUT = """\
Run the controller node, opspace_controller: efforts for the joints of a robot, one command for each
joint state, until Ctrl-C."""

_WATCH_PERIOD = 0.01  # s
_REST_TIME = 0.05  # s, of zero effort: a forward controller keeps its last command


def _transition(step):
    """Make a lifecycle callback of a step that raises, and log its error, which rclpy does not."""
    @wraps(step)
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

    In state inactive its controller is compiled; in state active it runs one cycle on each joint
    state. With ``autostart`` it makes both transitions as soon as the robot is known. With a
    controller manager, activation includes the switch of the joints. A `Stop` ends waits.
    """

    def __init__(self, stop):
        super().__init__('opspace_controller')
        self._born = time.monotonic()
        executor.refuse_impossible_transitions(self)
        self.parameters = NodeParameters(self, self._check_parameters, self._on_change)
        self.parameters.declare(NODE)
        self.parameters.declare(table_of(
            {**dict.fromkeys(self.parameters.given), **self.parameters}))
        self.parameters.accept_changes()
        self._configuration = None
        self._active = False
        self._stop = stop
        self._route = ROUTES[self.parameters['route']](self, stop.check)
        self._manager = self._route.manager
        self._description = RobotDescription(self, self.parameters['robot_description'], self.start)
        self.start()

    def start(self):
        """Configure and activate with ``autostart``, as soon as robot and manager are there."""
        if not (self.parameters['autostart'] and self._description.text):
            return
        when_there(self, self._manager, self._begin)

    def _begin(self):
        if not executor.is_unconfigured(self):
            return  # a client has made the transition
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            self._stop.fail(RosInterfaceError('The controller cannot start.',
                                              cure='See the log for the reason.'))
        elif (self.trigger_activate() != TransitionCallbackReturn.SUCCESS
              and not self._end_beside_namesakes()):
            self.get_logger().error('The controller stays inactive, until: ros2 lifecycle set '
                                    f'{self.get_fully_qualified_name()} activate')

    @_transition
    def on_configure(self):
        """Build the controller and compile it."""
        if not self._description.text:
            raise RosInterfaceError('The robot is not known yet.',
                                    cure='Start robot_state_publisher, or give robot_description.')
        self._rivals = Rivals(self, *self._route.topics(), self._born)
        self._rivals.refuse_namesakes()
        made = self._configuration = Configuration(
            self, self._description.text, self._route, lambda: self._active)
        if self._manager:
            self._manager.hardware = made.hardware
        self._handover = self._route.handover(made)

    @_transition
    def on_activate(self):
        """Begin to command: every goal is the present pose until a goal arrives."""
        made = self._configuration
        self._rivals.refuse()
        made.interface.hold()
        made.cycle.reset()
        gc.collect()  # garbage collection must not scan the objects of the start during control
        gc.freeze()
        if made.odometry:
            made.odometry.listen(self)
        self._endpoints = Endpoints(self)
        where = self._route.listen(self._endpoints, made.cycle)
        self._endpoints.repeat(_WATCH_PERIOD, self._on_watch)
        made.commands.open()
        self._rivals.begin(time.perf_counter())
        self._active = True
        if self._handover:
            try:
                self._handover.begin()
            except BaseException:
                self._release()
                raise
        self.get_logger().info(f'Active: a cycle {where}.')

    def leave(self):
        """Release the robot before the process ends."""
        self._release()
        if self._manager:
            self._manager.end()

    def _on_watch(self):
        made = self._configuration
        cycle, interface, commands = made.cycle, made.interface, made.commands
        cycle.watch()
        interface.watch()
        if fault := commands.fault(time.perf_counter()):
            self.get_logger().error(
                f'{fault} The robot is damped, then released. Restart the node that takes the '
                f'commands, then: ros2 lifecycle set {self.get_fully_qualified_name()} activate')
            self.trigger_deactivate()
            return
        if not commands.had_subscriber:
            interface.hold()  # a new subscriber must not start with old goals
        # The controller manager may have been restarted without our forward controller, may have
        # deactivated it, or may have activated another one of the same joints.
        if self._handover and not self._handover.is_limited():
            self.trigger_deactivate()
            return
        try:
            self._rivals.check(time.perf_counter())
        except RosInterfaceError as error:
            self.get_logger().error(f'{error} This controller leaves the joints to it.')
            self._release(joints_commanded=True)
            self.trigger_deactivate()
            self._end_beside_namesakes()

    def _end_beside_namesakes(self):
        """End, and return True, if another node has the same name: transitions may reach either."""
        try:
            self._rivals.refuse_namesakes()
        except RosInterfaceError as error:
            self._stop.fail(error)
            return True
        return False

    def _release(self, joints_commanded=False):
        """Release the robot; ``joints_commanded`` by another node already."""
        if not self._active:
            return
        self._active = False
        cycle, commands = self._configuration.cycle, self._configuration.commands
        self._configuration.interface.end_plan('the controller is no longer active')
        release = cycle.end(self._route.newest, lambda: commands.has_subscriber)
        watched = (self._handover and not joints_commanded and cycle.known
                   and commands.is_watched(release.settle))
        commands.direct = True
        released = True
        if self._handover:
            released = self._handover.end(release, watched)
        else:
            release.fade_out(joints_commanded, rest_time=_REST_TIME)
        commands.close()
        self._endpoints.withdraw()
        if self._configuration.odometry:
            self._configuration.odometry.ignore()
        if released:
            self.get_logger().info('The robot is released: zero effort is commanded.')

    def _destroy(self):
        """Destroy the controller; the node may be configured again."""
        made, self._configuration = self._configuration, None
        if made:
            made.destroy()

    def _release_and_destroy(self):
        self._release()
        self._destroy()

    on_deactivate, on_cleanup = _transition(_release), _transition(_destroy)
    on_shutdown = on_error = _transition(_release_and_destroy)

    def _check_parameters(self, values, names):
        blocks = {name.partition('.')[0] for name in names}
        for kind, check in (('tasks', partial(check_task, changed=names)), ('grasps', make_grasp),
                            ('payloads', read_payload)):
            for name in filter(blocks.__contains__, values[kind]):
                check(name, values)
        for lower, upper in zip(values['limits.workspace_lower'],
                                values['limits.workspace_upper'], strict=True):
            if lower > upper:
                raise RosInterfaceError(
                    f'limits.workspace_lower: {lower:g} is above workspace_upper, {upper:g}')
        if self._configuration:
            self._configuration.check(values, names)

    def _on_change(self, names):
        if self._active:
            self._configuration.apply_soon(names)
        elif self._configuration:
            self._configuration.apply(names)


def main(arguments):
    """Run the controller node until SIGINT or SIGTERM; return the exit code."""
    return executor.run(ControllerNode, node_arguments('controller', _ABOUT, arguments))
