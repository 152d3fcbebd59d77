# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller manager of ros2_control: it gives us the joints, and gets them back."""

import time

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.activity import Activity
from opspace_control.ros.commands.manager_services import (
    ListControllers,
    ManagerServices,
    RefusedError,
)
from opspace_control.ros.commands.previous_controllers import PreviousControllers
from opspace_control.ros.commands.questions import Questions
from opspace_control.ros.commands.switching import Switch, rivals, take_over
from opspace_control.ros.middleware.conversions import listed

_RETRY = 0.2  # s
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
    keeps_joints : bool
        Whether our controller was still active when `plan_switch_off` was called last.

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
        # In front of a joint there may be the controller that is commanded through a reference.
        return [joint.rpartition('/')[2] for joint in joints]

    def switch_on(self, meanwhile):
        """
        Make our controller active, and its rivals inactive; return when that is verified.

        Raises
        ------
        RosInterfaceError
            The manager refuses, or does not answer, our hardware is not active, or another
            controller has become active beside ours: then `switch_off` must be called.

        """
        self._activity.news()  # of before, if there was any
        self.check_hardware()
        switch = self._previous.note(self._configured(meanwhile))
        try:
            self._do(switch, meanwhile)
        except RosInterfaceError:
            # The answer may be lost, as DDS has it, and the deed be done.
            if any(take_over(self._services.controllers(meanwhile), self.controller)):
                raise
        self._activity.news()
        self._check(self._services.controllers(meanwhile))
        self.check_hardware()

    def check_hardware(self):
        """
        Raise a RefusedError if our hardware is not active, as far as the manager told.

        It is told when `has_news` is asked. The manager leaves controllers of such hardware active,
        and passes on what they command as soon as it is active again; it activates none.
        """
        if idle := self._activity.idle:
            raise RefusedError(
                f'The hardware {listed(idle)} is not active: it obeys no efforts.',
                controller=self.controller,
                cure=f'ros2 control set_hardware_component_state {idle[0]} active')

    def has_news(self):
        """Return whether the manager tells, since this was asked last, of a switch."""
        return self._activity.news()

    def check(self, meanwhile):
        """
        Ask the manager who commands our joints.

        In little time: nobody else is served meanwhile, and the robot is moving.

        Raises
        ------
        RosInterfaceError
            Our controller is not active any more, another one commands one of its joints beside
            it, or the manager does not answer.

        """
        with self._questions.haste():
            self._check(self._services.controllers(meanwhile))

    def plan_switch_off(self, meanwhile):
        """
        Find out what `switch_off` has to do, while the robot is still controlled.

        Returns
        -------
        bool
            Whether other controllers have the joints afterwards; False if the manager does not
            answer.

        """
        self._return, self._obstacle = Switch([], []), None
        self.keeps_joints = not any(self._previous.undo)
        if self.keeps_joints:
            return False
        try:
            if not self.is_there:
                raise RosInterfaceError('The controller manager has gone.',
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
        Make our controller inactive, and active what was active before, as `plan_switch_off` says.

        What cannot be made active now remains due. A manager that does not answer is left the
        request.

        Raises
        ------
        RosInterfaceError
            It could not be done.

        """
        try:
            if self._obstacle:
                raise self._obstacle
            if self._return.activate:
                self.check_hardware()
            with self._questions.haste():
                self._do(self._return, meanwhile)
        except RefusedError as error:
            self._switch_off_alone(error, meanwhile)
        except RosInterfaceError:
            self._services.leave(self._previous.undo)
            raise
        self._previous.forget()

    def _switch_off_alone(self, error, meanwhile):
        """
        Make our controller inactive, at least; then raise an error that names who is due.

        What ours commanded last must not be obeyed when the hardware is active again.
        """
        due, ours = self._return
        if ours:
            with self._questions.haste():
                self._services.switch_what_can_be(Switch([], ours), meanwhile)
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
                f'{self.controller} is not active any more: another client of the controller '
                'manager has switched it off, or it has failed.', controller=self.controller,
                cure='The log of the controller manager says more.')
        for name, interfaces in rivals(controllers, self.controller).items():
            raise RosInterfaceError(
                f"'{name}' is active beside {self.controller} and commands {listed(interfaces)}: "
                'two controllers cannot have the same joints.', controller=self.controller,
                cure=f"Find out who activates '{name}'. Activating this node again switches it "
                     'off.')

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
        """Switch all or nothing, and say so."""
        if not any(switch):
            return
        self._services.switch(switch, meanwhile)
        self._logger.info('Switched ' + ', '.join(
            f'{state} {listed(names)}' for state, names in zip(('on', 'off'), switch, strict=True)
            if names) + '.')
