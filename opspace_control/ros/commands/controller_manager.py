# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller manager of ros2_control: it gives us the joints, and gets them back."""

import time

from rcl_interfaces.srv import GetParameters
from rclpy.duration import Duration

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.activity import Activity
from opspace_control.ros.commands.questions import Questions
from opspace_control.ros.commands.switching import Switch, give_back, take_over
from opspace_control.ros.middleware.conversions import listed

try:
    from controller_manager_msgs.srv import ListControllers, SwitchController
except ImportError:  # it is on no package index, only in ROS 2 distributions
    ListControllers = SwitchController = None

_RETRY = 0.2  # s
_LEAVE_TIMEOUT = 1.0  # s, for a manager that hangs while we must go
_USUAL_PERIOD = 0.01  # s, of a manager that does not tell its own


def connect(node, manager, controller, timeout):
    """
    Return a `ControllerManager`, or None where there is none to talk to.

    Where its messages are not installed, that is said once and commands are published all the same.
    """
    if not manager:
        return None
    if ListControllers is None:
        node.get_logger().warning(
            f'controller_manager_msgs is not installed: {controller} must be switched on and off '
            'by hand (or install it, apt: ros-<distro>-controller-manager-msgs).', once=True)
        return None
    return ControllerManager(node, manager, controller, timeout)


class ControllerManager:
    """
    The client of a controller manager.

    It waits for answers inside a callback of the node it serves. What must not stop meanwhile,
    above all the commands, is done by ``meanwhile``, a callable that every waiting method calls
    again and again; what it raises ends the waiting.

    Parameters
    ----------
    node : rclpy.node.Node
        Whose namespace, context and logger are used.
    name : str
        Of the controller manager's node.
    controller : str
        Name of the forward controller that takes our commands.
    timeout : float
        Longest time for each step, s.

    Attributes
    ----------
    period : float
        Of the controller manager's update loop, s, once the joints have been asked for.

    """

    def __init__(self, node, name, controller, timeout):
        self.name = name
        self.controller = controller
        self._logger = node.get_logger()
        self.period = _USUAL_PERIOD
        self._taken = self._return = self._obstacle = None
        self._questions = Questions(node, 'switching', timeout)
        own = self._questions.node
        self._list = own.create_client(ListControllers, f'{name}/list_controllers')
        self._switch = own.create_client(SwitchController, f'{name}/switch_controller')
        self._get_parameters = own.create_client(
            GetParameters, f'{_beside(name, controller)}/get_parameters')
        self._get_own_parameters = own.create_client(GetParameters, f'{name}/get_parameters')
        self._activity = Activity(own, name, controller)

    @property
    def is_there(self):
        """Whether a controller manager has been discovered."""
        return self._list.service_is_ready()

    def destroy(self):
        """Withdraw from the network."""
        self._questions.end()

    def mind(self, hardware):
        """Regard the components of these names, <ros2_control> blocks of the URDF, as ours."""
        self._activity.hardware = hardware

    def wait(self, condition, meanwhile):
        """Return whether a condition came true in time."""
        return self._questions.wait(condition, meanwhile)

    def joints(self, meanwhile):
        """
        Return the joints of the forward controller, in the order of its commands.

        Waits until it is loaded and configured; asks for the manager's period too.

        Raises
        ------
        RosInterfaceError
            There is no such controller in time, or it does not command efforts.

        """
        ours = self._find(self._configured(meanwhile))
        answer = self._questions.ask(
            self._get_parameters, GetParameters.Request(names=['joints']), meanwhile)
        joints = list(answer.values[0].string_array_value) if answer.values else []
        interfaces = list(ours.required_command_interfaces)
        if not joints or sorted(interfaces) != sorted(f'{joint}/effort' for joint in joints):
            raise RosInterfaceError(
                f'{ours.name} ({ours.type}) commands {listed(interfaces) or "nothing"}, not the '
                f'efforts of {listed(joints) or "joints"}.', controller=ours.name,
                cure='Use forward_command_controller/ForwardCommandController with joints and '
                     'interface_name: effort, or effort_controllers/JointGroupEffortController.')
        answer = self._questions.ask(
            self._get_own_parameters, GetParameters.Request(names=['update_rate']), meanwhile)
        if answer.values and answer.values[0].integer_value > 0:
            self.period = 1.0 / answer.values[0].integer_value
        # In front of a joint there may be the controller that is commanded through a reference.
        return [joint.rpartition('/')[2] for joint in joints]

    def switch_on(self, meanwhile):
        """
        Make our controller active, and its rivals inactive; return when that is verified.

        Raises
        ------
        RosInterfaceError
            The manager refuses, or does not answer, or our hardware is not active: then
            `switch_off` must be called.

        """
        self._activity.news()  # of before, if there was any
        self.check_hardware()
        self._taken = take_over(self._configured(meanwhile), self.controller)
        try:
            self._do(self._taken, meanwhile)
        except RosInterfaceError:
            # The answer may be lost, as DDS has it, and the deed be done.
            if any(take_over(self._controllers(meanwhile), self.controller)):
                raise
        if not self.is_switched_on(meanwhile):
            raise RosInterfaceError(
                f'{self.controller} is not active although the controller manager said so.',
                controller=self.controller, cure='The log of the controller manager says why.')
        self._activity.news()
        self.check_hardware()

    def check_hardware(self):
        """
        Raise a RosInterfaceError if our hardware is not active, as far as the manager told.

        It is told when `may_be_switched_off` is asked. The manager leaves controllers of such
        hardware active, and passes on what they command as soon as it is active again.
        """
        if idle := self._activity.idle:
            raise RosInterfaceError(
                f'The hardware {listed(idle)} is not active: it obeys no efforts.',
                controller=self.controller,
                cure=f'ros2 control set_hardware_component_state {idle[0]} active')

    def is_switched_on(self, meanwhile):
        """Return whether our controller is active; raise a RosInterfaceError if nobody answers."""
        ours = self._find(self._controllers(meanwhile))
        return ours is not None and ours.state == 'active'

    def is_still_switched_on(self, meanwhile):
        """Do the same in little time: nobody else is served meanwhile, and the robot is moving."""
        with self._questions.haste():
            return self.is_switched_on(meanwhile)

    def may_be_switched_off(self):
        """Return whether there is news, since this was asked last, that our controller is off."""
        return self._activity.news()

    def has_heirs(self, meanwhile):
        """Return whether others get the joints by `switch_off`; False if nobody answers."""
        self._return, self._obstacle = Switch([], []), None
        if not self._taken or not any(self._taken):
            return False
        try:
            if not self.is_there:
                raise RosInterfaceError('The controller manager has gone.',
                                        controller=self.controller)
            with self._questions.haste():
                self._return = give_back(
                    self._controllers(meanwhile), self.controller, self._taken)
        except RosInterfaceError as error:
            self._obstacle = error
        return bool(self._return.activate)

    def switch_off(self, meanwhile):
        """
        Make active what was active before, as `has_heirs` has found out.

        A manager that does not answer is left the request.

        Raises
        ------
        RosInterfaceError
            It could not be done.

        """
        taken, self._taken = self._taken, None
        try:
            if self._obstacle:
                raise self._obstacle
            with self._questions.haste():
                self._do(self._return, meanwhile)
        except RosInterfaceError:
            # Whatever it is still doing for us, this comes after it.
            self._switch.call_async(_request(
                taken.deactivate, taken.activate, SwitchController.Request.BEST_EFFORT,
                _LEAVE_TIMEOUT))
            raise

    def _configured(self, meanwhile):
        """Return the states of all controllers as soon as ours can be activated."""
        end = time.monotonic() + self._questions.timeout
        while True:
            controllers = self._controllers(meanwhile)
            ours = self._find(controllers)
            if ours and ours.state in ('inactive', 'active'):
                return controllers
            pause = time.monotonic() + _RETRY
            if pause > end:
                break
            self._questions.wait(lambda pause=pause: time.monotonic() > pause, meanwhile)
        there = listed([controller.name for controller in controllers]) or 'none'
        raise RosInterfaceError(
            f"The controller '{self.controller}' is {ours.state}." if ours else
            f"The controller manager has no controller '{self.controller}'; it has {there}.",
            controller=self.controller,
            cure=f'Load and configure it: ros2 run controller_manager spawner {self.controller} '
                 '--inactive')

    def _controllers(self, meanwhile):
        return self._questions.ask(self._list, ListControllers.Request(), meanwhile).controller

    def _find(self, controllers):
        return next((each for each in controllers if each.name == self.controller), None)

    def _do(self, switch, meanwhile):
        if not any(switch):
            return
        # The manager gives up first, so that it is known what it did.
        answer = self._questions.ask(self._switch, _request(
            *switch, SwitchController.Request.STRICT, self._questions.timeout / 2), meanwhile,
            once=True)
        if not answer.ok:
            # Before March 2025 the answer had no message.
            reason = getattr(answer, 'message', '').strip().rstrip('.') or 'it does not say why'
            raise RosInterfaceError(
                f'The controller manager refuses to switch: {reason}.', controller=self.controller,
                cure='`ros2 control list_controllers -v` and its log say more.')
        self._logger.info('Switched ' + ', '.join(
            f'{state} {listed(names)}' for state, names in zip(('on', 'off'), switch, strict=True)
            if names) + '.')


def _request(activate, deactivate, strictness, timeout):
    return SwitchController.Request(
        activate_controllers=activate, deactivate_controllers=deactivate, strictness=strictness,
        activate_asap=True, timeout=Duration(seconds=timeout).to_msg())


def _beside(manager, name):
    """Return a node's name in the namespace of the manager's."""
    namespace, slash, _ = manager.rpartition('/')
    return f'{namespace}{slash}{name}'
