# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The client of the controller manager of ros2_control: its services and its activity topic."""

import contextlib
import time

from lifecycle_msgs.msg import State
from rcl_interfaces.srv import GetParameters
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.qos import LATCHED

try:  # only in ROS 2 distributions, on no package index
    from controller_manager_msgs.srv import ListControllers, SwitchController
except ImportError:
    ListControllers = SwitchController = None
try:
    from controller_manager_msgs.msg import ControllerManagerActivity
except ImportError:  # before March 2025, or the messages are not installed
    ControllerManagerActivity = None

_POLL = 5e-4  # s
# A request may precede the discovery of the route of its answer.
_ASK_AGAIN = 0.5  # s
_LEAVE_TIMEOUT = 1.0  # s, for a manager that hangs while the node ends
_HASTE = 1.0  # s, timeout of each step while a process ends or an executor waits


class Questions:
    """
    A node with an executor of its own, which works while the executor of another node waits.

    Parameters
    ----------
    node : rclpy.node.Node
        Provides namespace and context.
    suffix : str
        Appended to the name of ``node`` for the name of the new one.
    timeout : float
        Longest time for each step, s.

    Attributes
    ----------
    node : rclpy.node.Node
        For clients, and for subscriptions that are polled.
    timeout : float
        Present longest time for each step, s.

    """

    def __init__(self, node, suffix, timeout):
        self.timeout = timeout
        # Without the global arguments, which rename every node of the process.
        self.node = Node(
            f'{node.get_name()}_{suffix}', context=node.context, namespace=node.get_namespace(),
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self.node)

    def end(self):
        """Withdraw from the network."""
        self._executor.shutdown()
        self.node.destroy_node()

    @contextlib.contextmanager
    def haste(self):
        """Use a short timeout, for a process that ends or an executor that waits."""
        usual, self.timeout = self.timeout, min(self.timeout, _HASTE)
        try:
            yield
        finally:
            self.timeout = usual

    def wait(self, condition, meanwhile):
        """Wait for a condition, calling ``meanwhile``; return whether it came true in time."""
        end = time.monotonic() + self.timeout
        while not condition():
            if time.monotonic() > end:
                return False
            meanwhile()
            self._executor.spin_once(timeout_sec=_POLL)
        return True

    def ask(self, client, request, meanwhile, once=False):
        """
        Return the answer of a service; without ``once`` repeat the request, which may get lost.

        Raises
        ------
        RosInterfaceError
            There is no such service, or no answer.

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
        raise RosInterfaceError(
            f'{client.service_name} does not answer within {self.timeout:g} s.',
            cure='The controller manager hangs or has died: see its log.')


class RefusedError(RosInterfaceError):
    """The controller manager refuses a switch, or would refuse it."""


class ManagerServices:
    """
    The clients of a controller manager's services.

    Methods call ``meanwhile()`` repeatedly while they wait for an answer; an exception of it ends
    the wait. They raise a RosInterfaceError if no answer comes within the timeout.

    Parameters
    ----------
    questions : Questions
        Has the node of the clients.
    manager : str
        Name of the controller manager's node.
    controller : str
        Name of a controller with parameters of interest.

    """

    def __init__(self, questions, manager, controller):
        self._questions = questions
        node = questions.node
        self._list = node.create_client(ListControllers, f'{manager}/list_controllers')
        self._switch = node.create_client(SwitchController, f'{manager}/switch_controller')
        self._parameters = {name: node.create_client(GetParameters, f'{name}/get_parameters')
                            for name in (manager, _beside(manager, controller))}
        self._manager, self._controller = self._parameters

    @property
    def are_there(self):
        """Whether a controller manager has been discovered."""
        return self._list.service_is_ready()

    def controllers(self, meanwhile):
        """Return a controller_manager_msgs/ControllerState for each loaded controller."""
        return self._questions.ask(self._list, ListControllers.Request(), meanwhile).controller

    def joints(self, meanwhile):
        """Return the value of the controller's parameter ``joints``, [] if it has none."""
        value = self._parameter(self._controller, 'joints', meanwhile)
        return list(value.string_array_value) if value else []

    def update_rate(self, meanwhile):
        """Return the rate of the manager's update loop, Hz, 0 if unknown."""
        value = self._parameter(self._manager, 'update_rate', meanwhile)
        return value.integer_value if value else 0

    def switch(self, switch, meanwhile):
        """Do all of a `Switch` or nothing; raise a RefusedError if the manager refuses it."""
        answer = self._ask_to_switch(switch, SwitchController.Request.STRICT, meanwhile)
        if not answer.ok:
            # Before March 2025 the answer had no message.
            reason = getattr(answer, 'message', '').strip().rstrip('.') or 'it gives no reason'
            raise RefusedError(f'The controller manager refuses to switch: {reason}.',
                               cure='See `ros2 control list_controllers -v` and its log.')

    def switch_best_effort(self, switch, meanwhile):
        """Do the part of a `Switch` that the manager does not refuse."""
        self._ask_to_switch(switch, SwitchController.Request.BEST_EFFORT, meanwhile)

    def leave(self, switch):
        """Request the same without waiting; the manager does it after pending requests."""
        self._switch.call_async(_request(
            switch, SwitchController.Request.BEST_EFFORT, _LEAVE_TIMEOUT))

    def _ask_to_switch(self, switch, strictness, meanwhile):
        # The manager times out first, so that its result is known.
        request = _request(switch, strictness, self._questions.timeout / 2)
        return self._questions.ask(self._switch, request, meanwhile, once=True)

    def _parameter(self, node, name, meanwhile):
        values = self._questions.ask(
            self._parameters[node], GetParameters.Request(names=[name]), meanwhile).values
        return values[0] if values else None


def _request(switch, strictness, timeout):
    return SwitchController.Request(
        activate_controllers=switch.activate, deactivate_controllers=switch.deactivate,
        strictness=strictness, activate_asap=True, timeout=Duration(seconds=timeout).to_msg())


def _beside(manager, name):
    """Return a node's name in the namespace of the manager's."""
    namespace, slash, _ = manager.rpartition('/')
    return f'{namespace}{slash}{name}'


class Activity:
    """
    The active controllers and hardware that the manager publishes.

    Parameters
    ----------
    node : rclpy.node.Node
        No executor needs to spin it.
    manager : str
        Name of the controller manager's node.

    Attributes
    ----------
    hardware : collection of str
        Names of the components of interest.

    """

    def __init__(self, node, manager):
        self.hardware = ()
        self._active = self._known = None  # active controllers: published, and at the last `news`
        self._idle = []  # all hardware that is not active
        self._subscription = ControllerManagerActivity and node.create_subscription(
            ControllerManagerActivity, f'{manager}/activity', self._on_activity, LATCHED)

    def news(self):
        """Return whether the active controllers have changed since the last call."""
        if self._subscription:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(ControllerManagerActivity, False)
            if taken:
                self._on_activity(taken[0])
        known, self._known = self._known, self._active
        return known != self._active

    @property
    def idle(self):
        """Names of the hardware of interest that was not active at the last `news`."""
        if self._idle and not self._subscription.get_publisher_count():
            self._idle = []  # the manager is gone
        return [name for name in self._idle if name in self.hardware]

    def _on_activity(self, message):
        self._active = {each.name for each in message.controllers
                        if each.state.id == State.PRIMARY_STATE_ACTIVE}
        self._idle = [each.name for each in message.hardware_components
                      if each.state.id != State.PRIMARY_STATE_ACTIVE]
