# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Clients of the services of a controller manager of ros2_control."""

from rcl_interfaces.srv import GetParameters
from rclpy.duration import Duration

from opspace_control.errors import RosInterfaceError

try:
    from controller_manager_msgs.srv import ListControllers, SwitchController
except ImportError:  # only in ROS 2 distributions, on no package index
    ListControllers = SwitchController = None

_LEAVE_TIMEOUT = 1.0  # s, for a manager that hangs while the node ends


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
