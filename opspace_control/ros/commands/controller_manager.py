# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The client of the controller manager of ros2_control, which switches the joints' controllers."""

import time

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.manager_client import (
    Activity,
    ListControllers,
    ManagerServices,
    Questions,
    RefusedError,
)
from opspace_control.ros.commands.switching import (
    PreviousControllers,
    Switch,
    rivals,
    take_over,
    without_controller,
)
from opspace_control.ros.middleware.conversions import listed

_RETRY = 0.2  # s
_USUAL_PERIOD = 0.01  # s, of a manager without update_rate


def connect(node, manager, controller, timeout):
    """
    Return a `ControllerManager`, or None without a manager.

    If its messages are not installed, a warning is logged once and commands are published without
    it.
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

    It waits for answers inside a callback of its node. Every waiting method calls ``meanwhile``
    repeatedly, which keeps the commands going; an exception of it ends the wait.

    Parameters
    ----------
    node : rclpy.node.Node
        Provides namespace, context and logger.
    name : str
        Of the controller manager's node.
    controller : str
        Name of the forward controller of this node, "ours" below.
    timeout : float
        Longest time for each step, s.

    Attributes
    ----------
    period : float
        Of the controller manager's update loop, s, known after `joints`.
    keeps_joints : bool
        Whether our controller was active at the last `plan_switch_off`.

    """

    def __init__(self, node, name, controller, timeout):
        self.name = name
        self.controller = controller
        self._logger = node.get_logger()
        self.period = _USUAL_PERIOD
        self._previous = PreviousControllers(controller)
        self._return, self._obstacle = Switch([], []), None
        self.keeps_joints = False
        self._questions = Questions(node, 'switching', timeout)
        self._services = ManagerServices(self._questions, name, controller)
        self._activity = Activity(self._questions.node, name)

    @property
    def is_there(self):
        """Whether a controller manager has been discovered."""
        return self._services.are_there

    def destroy(self):
        """Withdraw from the network."""
        self._questions.end()

    def mind(self, hardware):
        """Monitor the components of these names, <ros2_control> blocks of the URDF."""
        self._activity.hardware = hardware

    def wait(self, condition, meanwhile):
        """Wait for a condition; return whether it came true within the timeout."""
        return self._questions.wait(condition, meanwhile)

    def joints(self, meanwhile):
        """
        Return the joints of the forward controller, in the order of its commands.

        Waits until it is loaded and configured; reads the manager's period, too.

        Raises
        ------
        RosInterfaceError
            There is no such controller within the timeout, or it does not command efforts.

        """
        ours = self._find(self._configured(meanwhile))
        joints = self._services.joints(meanwhile)
        interfaces = list(ours.required_command_interfaces)
        if not joints or sorted(interfaces) != sorted(f'{joint}/effort' for joint in joints):
            raise RosInterfaceError(
                f'{ours.name} ({ours.type}) commands {listed(interfaces) or "nothing"}, not the '
                f'efforts of {listed(joints) or "joints"}.', controller=ours.name,
                cure='Use forward_command_controller/ForwardCommandController with joints and '
                     'interface_name: effort, or effort_controllers/JointGroupEffortController.')
        if rate := self._services.update_rate(meanwhile):
            self.period = 1.0 / rate
        return [without_controller(joint) for joint in joints]

    def switch_on(self, meanwhile):
        """
        Activate our controller and deactivate its rivals; return when that is verified.

        Raises
        ------
        RosInterfaceError
            The manager refuses, or does not answer, the hardware is not active, or another
            controller of the same joints has become active: then `switch_off` must be called.

        """
        self._activity.news()  # discard earlier changes
        self.check_hardware()
        switch = self._previous.note(self._configured(meanwhile))
        try:
            self._do(switch, meanwhile)
        except RosInterfaceError:
            # DDS may have lost the answer of a switch that was done.
            if any(take_over(self._services.controllers(meanwhile), self.controller)):
                raise
        self._activity.news()
        self._check(self._services.controllers(meanwhile))
        self.check_hardware()

    def check_hardware(self):
        """
        Raise a RefusedError if our hardware was not active at the last `has_news`.

        The manager leaves controllers of inactive hardware active, and passes their commands on as
        soon as the hardware is active again; it activates no controllers of it.
        """
        if idle := self._activity.idle:
            raise RefusedError(
                f'The hardware {listed(idle)} is not active: it ignores efforts.',
                controller=self.controller,
                cure=f'ros2 control set_hardware_component_state {idle[0]} active')

    def has_news(self):
        """Return whether the manager has published a switch since the last call."""
        return self._activity.news()

    def check(self, meanwhile):
        """
        Check by the manager that only our controller commands its joints.

        The timeout is short: the node's executor waits while the robot moves.

        Raises
        ------
        RosInterfaceError
            Our controller is no longer active, another one commands one of its joints, or the
            manager does not answer.

        """
        with self._questions.haste():
            self._check(self._services.controllers(meanwhile))

    def plan_switch_off(self, meanwhile):
        """
        Prepare `switch_off` while the robot is still controlled.

        Returns
        -------
        bool
            Whether other controllers command the joints afterwards; False if the manager does not
            answer.

        """
        self._return, self._obstacle = Switch([], []), None
        self.keeps_joints = not any(self._previous.undo)
        if self.keeps_joints:
            return False
        try:
            if not self.is_there:
                raise RosInterfaceError('The controller manager is gone.',
                                        controller=self.controller)
            with self._questions.haste():
                controllers = self._services.controllers(meanwhile)
        except RosInterfaceError as error:
            self._obstacle = error
            return False
        self._return = self._previous.hand_back(controllers)
        ours = self._find(controllers)
        self.keeps_joints = bool(ours) and ours.state == 'active'
        others = ours and rivals(controllers, self.controller)
        return bool(self._return.activate or others)

    def switch_off(self, meanwhile):
        """
        Deactivate our controller and activate the previous ones, as prepared by `plan_switch_off`.

        Controllers that cannot be activated now remain due. If the manager does not answer, the
        request is sent without waiting.

        Raises
        ------
        RosInterfaceError
            The switch failed.

        """
        try:
            if self._obstacle:
                raise self._obstacle
            if self._return.activate:
                self.check_hardware()
            with self._questions.haste():
                self._do(self._return, meanwhile)
        except RefusedError as error:
            self._deactivate_ours(error, meanwhile)
        except RosInterfaceError:
            self._services.leave(self._previous.undo)
            raise
        self._previous.forget()

    def _deactivate_ours(self, error, meanwhile):
        """
        Deactivate our controller only; then raise an error that names the controllers due.

        Otherwise its last command would act when the hardware is active again.
        """
        due, ours = self._return
        if ours:
            with self._questions.haste():
                self._services.switch_best_effort(Switch([], ours), meanwhile)
        if not due:
            raise error
        raise RosInterfaceError(
            f'{error} So {listed(due)} cannot be activated now.', controller=self.controller,
            cure='They get the joints when this node is activated and deactivated again, or by: '
                 f'ros2 control switch_controllers --activate {" ".join(due)}')

    def _check(self, controllers):
        ours = self._find(controllers)
        if ours is None or ours.state != 'active':
            raise RosInterfaceError(
                f'{self.controller} is no longer active: another client of the controller manager '
                'has switched it off, or it has failed.', controller=self.controller,
                cure='See the log of the controller manager.')
        for name, interfaces in rivals(controllers, self.controller).items():
            raise RosInterfaceError(
                f"'{name}' is active beside {self.controller} and commands {listed(interfaces)}: "
                'two controllers cannot have the same joints.', controller=self.controller,
                cure=f"Find the client that activates '{name}'. Activating this node again "
                     'switches it off.')

    def _configured(self, meanwhile):
        """Return the states of all controllers as soon as ours can be activated."""
        end = time.monotonic() + self._questions.timeout
        while True:
            controllers = self._services.controllers(meanwhile)
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

    def _find(self, controllers):
        return next((each for each in controllers if each.name == self.controller), None)

    def _do(self, switch, meanwhile):
        """Switch all or nothing, and log it."""
        if not any(switch):
            return
        self._services.switch(switch, meanwhile)
        self._logger.info('Switched ' + ', '.join(
            f'{state} {listed(names)}' for state, names in zip(('on', 'off'), switch, strict=True)
            if names) + '.')
