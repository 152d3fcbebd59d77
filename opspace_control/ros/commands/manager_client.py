# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The client of the controller manager of ros2_control: its services and its activity topic."""

import contextlib
import time

from lifecycle_msgs.msg import State
from rcl_interfaces.srv import GetParameters
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.switching import PreviousControllers, Switch, without_controller
from opspace_control.ros.middleware.conversions import listed
from opspace_control.ros.middleware.endpoints import LATCHED, Endpoints, companion, take

try:  # only in ROS 2 distributions, on no package index
    from controller_manager_msgs.srv import ListControllers, SwitchController
except ImportError:
    ListControllers = SwitchController = None
try:
    from controller_manager_msgs.msg import ControllerManagerActivity
except ImportError:  # before March 2025, or the messages are not installed
    ControllerManagerActivity = None

_POLL = 5e-4  # s
_ASK_AGAIN = 0.5  # s, a request may precede the discovery of the route of its answer
_RETRY = 0.2  # s
_LOOK_PERIOD = 0.2  # s
_USUAL_PERIOD = 0.01  # s, of a manager without update_rate
_LEAVE_TIMEOUT = 1.0  # s, for a manager that hangs while the node ends
_SHORT_TIMEOUT = 1.0  # s, timeout of each step while a process ends or an executor waits


def connect(node, kind, ours='effort_controller'):
    """
    Return a `ManagerClient` of some kind for the parameters of a node; None without a manager.

    The parameter ``ours`` names the controller that it switches.
    If its messages are not installed, a warning is logged once, and there is none either.
    """
    manager, controller, timeout = (node.parameters[name] for name in (
        'controller_manager', ours, 'controller_manager_timeout'))
    if not manager:
        return None
    if ListControllers is None:
        node.get_logger().warning(
            f'controller_manager_msgs is not installed: {controller} must be switched on and off '
            'by hand (or install it, apt: ros-<distro>-controller-manager-msgs).', once=True)
        return None
    return kind(node, manager, controller, timeout)


def when_there(node, manager, then):
    """Call ``then`` as soon as the controller manager is discovered, or at once without one."""
    if manager is None or manager.is_there:
        then()
        return

    def look():
        if manager.is_there:
            endpoints.withdraw()
            then()
    endpoints = Endpoints(node)
    endpoints.repeat(_LOOK_PERIOD, look)
    node.get_logger().info(f'Waiting for the controller manager {manager.name}.')


def command_order(parameters, manager, check_stop):
    """
    Return the joints in the order of the receiver of the command; [] if it is not given.

    A ManagerClient gives the order of its controller; ``check_stop()`` ends the wait by an error.
    If the parameter has another order, or the manager does not answer, a RosInterfaceError is
    raised.
    """
    wanted = parameters['command_joints']
    if manager is None:
        return wanted
    joints = manager.joints(check_stop)
    if wanted and wanted != joints:
        raise RosInterfaceError(
            f'command_joints is {", ".join(wanted)}, but {manager.controller} takes '
            f'{", ".join(joints)}.', cure='Leave command_joints empty, or give that order.')
    return joints


class RefusedError(RosInterfaceError):
    """The controller manager refuses a switch, or would refuse it."""


class ServiceCaller:
    """
    A node with an executor of its own, which works while the executor of another node waits.

    Waiting methods call ``meanwhile()`` repeatedly; an exception of it ends the wait. Each step
    takes up to ``timeout``, s. ``node`` gives namespace, context and logger, and the name, to which
    ``suffix`` is appended.
    """

    def __init__(self, node, suffix, timeout):
        self.timeout = timeout
        self._logger = node.get_logger()
        self.node = companion(node, suffix)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self.node)

    def end(self):
        """Withdraw from the network."""
        self._executor.shutdown()
        self.node.destroy_node()

    @contextlib.contextmanager
    def short_timeout(self):
        """Use a short timeout, for a process that ends or an executor that waits."""
        usual, self.timeout = self.timeout, min(self.timeout, _SHORT_TIMEOUT)
        try:
            yield
        finally:
            self.timeout = usual

    def wait(self, condition, meanwhile):
        """Wait for a condition; return whether it came true within the timeout."""
        end = time.monotonic() + self.timeout
        while not condition():
            if time.monotonic() > end:
                return False
            meanwhile()
            self._executor.spin_once(timeout_sec=_POLL)
        return True

    def call(self, client, request, meanwhile, once=False):
        """
        Return the answer of a service; without ``once`` repeat the request, which may get lost.

        A missing service, or no answer within the timeout, is a RosInterfaceError.
        """
        if not self.wait(client.service_is_ready, meanwhile):
            raise RosInterfaceError(
                f'There is no service {client.service_name}.',
                cure="Start the controller manager (ros2_control_node, or Gazebo's), or set the "
                     "parameter controller_manager to '' if there is none.")
        futures = [client.call_async(request)]
        due = time.monotonic() + _ASK_AGAIN

        def answered():
            nonlocal due
            if not once and time.monotonic() > due:
                futures.append(client.call_async(request))
                due += _ASK_AGAIN
            return any(future.done() for future in futures)
        try:
            if self.wait(answered, meanwhile):
                return next(future.result() for future in futures if future.done())
        finally:
            for future in futures:
                client.remove_pending_request(future)
        raise RosInterfaceError(f'{client.service_name} does not answer within {self.timeout:g} s.',
                                cure='The controller manager hangs or has died: see its log.')


class ManagerClient(ServiceCaller):
    """
    The services of a controller manager, its activity, and the previous controllers of the joints.

    ``name`` is that of the controller manager's node, ``controller`` that of the forward controller
    of the joints, "ours". Every method that asks the manager raises a RosInterfaceError as `ask`
    does.
    """

    suffix = ''  # of the node
    preceded = False  # whether other controllers may command references of ours

    def __init__(self, node, name, controller, timeout):
        super().__init__(node, self.suffix, timeout)
        self.name, self.controller = name, controller
        self.period = _USUAL_PERIOD  # of the manager's update loop, s, known after `joints`
        self.hardware = ()  # names of the <ros2_control> blocks to monitor
        self._previous = PreviousControllers(controller, self.preceded)
        self._list_client = self.node.create_client(ListControllers, f'{name}/list_controllers')
        self._switch_client = self.node.create_client(SwitchController, f'{name}/switch_controller')
        namespace, slash, _ = name.rpartition('/')
        self._controller_node = f'{namespace}{slash}{controller}'  # beside the manager's
        self._manager_parameters, self._controller_parameters = (
            self.node.create_client(GetParameters, f'{owner}/get_parameters')
            for owner in (name, self._controller_node))
        self._active = self._known = None  # active controllers: published, and at the last `news`
        self._idle = []  # all hardware that is not active
        self._activity = ControllerManagerActivity and self.node.create_subscription(
            ControllerManagerActivity, f'{name}/activity', self._on_activity, LATCHED)

    @property
    def is_there(self):
        """Whether a controller manager has been discovered."""
        return self._list_client.service_is_ready()

    def controllers(self, meanwhile):
        """Return a controller_manager_msgs/ControllerState for each loaded controller."""
        return self.call(self._list_client, ListControllers.Request(), meanwhile).controller

    def ours(self, controllers):
        """Return the state of our controller, None if it is not loaded."""
        return next((each for each in controllers if each.name == self.controller), None)

    def switch(self, switch, meanwhile):
        """Do all of a `Switch` or nothing; raise a RefusedError if the manager refuses it."""
        answer = self._ask_to_switch(switch, SwitchController.Request.STRICT, meanwhile)
        if not answer.ok:
            # Before March 2025 the answer had no message.
            reason = getattr(answer, 'message', '').strip().rstrip('.') or 'it gives no reason'
            raise RefusedError(f'The controller manager refuses to switch: {reason}.',
                               cure='See `ros2 control list_controllers -v` and its log.')

    def joints(self, meanwhile):
        """
        Return the joints of our controller, in the order of its commands.

        Waits until it is loaded and configured; reads the manager's period, too. If that does not
        happen within the timeout, or it does not command efforts, a RosInterfaceError is raised.
        """
        ours = self.ours(self._configured(meanwhile))
        value = self._parameter(self._controller_parameters, 'joints', meanwhile)
        joints = list(value.string_array_value) if value else []
        interfaces = list(ours.required_command_interfaces)
        if not joints or sorted(interfaces) != sorted(f'{joint}/effort' for joint in joints):
            raise RosInterfaceError(
                f'{ours.name} ({ours.type}) commands {listed(interfaces) or "nothing"}, not the '
                f'efforts of {listed(joints) or "joints"}.', controller=ours.name,
                cure='Use forward_command_controller/ForwardCommandController with joints and '
                     'interface_name: effort, or effort_controllers/JointGroupEffortController.')
        rate = self._parameter(self._manager_parameters, 'update_rate', meanwhile)
        if rate and rate.integer_value:
            self.period = 1.0 / rate.integer_value
        return [without_controller(joint) for joint in joints]

    def _configured(self, meanwhile):
        """Return the states of all controllers as soon as ours can be activated."""
        end = time.monotonic() + self.timeout
        while True:
            controllers = self.controllers(meanwhile)
            ours = self.ours(controllers)
            if ours and ours.state in ('inactive', 'active'):
                return controllers
            pause = time.monotonic() + _RETRY
            if pause > end:
                break
            self.wait(lambda pause=pause: time.monotonic() > pause, meanwhile)
        there = listed([controller.name for controller in controllers]) or 'none'
        raise RosInterfaceError(
            f"The controller '{self.controller}' is {ours.state}." if ours else
            f"The controller manager has no controller '{self.controller}'; it has {there}.",
            controller=self.controller,
            cure=f'Load and configure it: ros2 run controller_manager spawner {self.controller} '
                 '--inactive')

    def deactivate(self, names, meanwhile):
        """Deactivate those of these controllers for which the manager does not refuse it."""
        self._ask_to_switch(Switch([], names), SwitchController.Request.BEST_EFFORT, meanwhile)

    def request_switch(self, switch):
        """Request a `Switch` without waiting; the manager does it after pending requests."""
        self._switch_client.call_async(_request(
            switch, SwitchController.Request.BEST_EFFORT, _LEAVE_TIMEOUT))

    def has_news(self):
        """Return whether the manager has published other active controllers since the last call."""
        if self._activity and (message := take(self._activity)):
            self._on_activity(message)
        known, self._known = self._known, self._active
        return known != self._active

    @property
    def idle(self):
        """Names of monitored hardware that was not active at the last `has_news`."""
        if self._idle and not self._activity.get_publisher_count():
            self._idle = []  # the manager is gone
        return [name for name in self._idle if name in self.hardware]

    def _on_activity(self, message):
        self._active = {each.name for each in message.controllers
                        if each.state.id == State.PRIMARY_STATE_ACTIVE}
        self._idle = [each.name for each in message.hardware_components
                      if each.state.id != State.PRIMARY_STATE_ACTIVE]

    def _ask_to_switch(self, switch, strictness, meanwhile):
        # The manager times out first, so that its result is known.
        request = _request(switch, strictness, self.timeout / 2)
        return self.call(self._switch_client, request, meanwhile, once=True)

    def _parameter(self, client, name, meanwhile):
        values = self.call(client, GetParameters.Request(names=[name]), meanwhile).values
        return values[0] if values else None


def _request(switch, strictness, timeout):
    return SwitchController.Request(
        activate_controllers=switch.activate, deactivate_controllers=switch.deactivate,
        strictness=strictness, activate_asap=True, timeout=Duration(seconds=timeout).to_msg())
