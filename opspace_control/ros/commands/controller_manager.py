# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The switch of the joints by the controller manager of ros2_control, and back, without a gap."""

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.manager_client import ManagerClient, RefusedError
from opspace_control.ros.commands.switching import Switch, activation_of, rivals
from opspace_control.ros.middleware.conversions import listed


class ControllerManager(ManagerClient):
    """The client that switches the joints; ``meanwhile`` keeps the commands going during waits."""

    suffix = 'switching'
    keeps_joints = False  # whether our controller was active at the last `plan_switch_off`
    _return, _obstacle = Switch([], []), None

    def switch_on(self, meanwhile):
        """
        Activate our controller and deactivate its rivals; return when that is verified.

        If the manager refuses, the hardware is not active, or another controller of the same joints
        has become active, a RosInterfaceError is raised; then `switch_off` must be called.
        """
        self.has_news()  # discard earlier changes
        self.check_hardware()
        switch = self._previous.note(self._configured(meanwhile))
        try:
            self._do(switch, meanwhile)
        except RosInterfaceError:
            # DDS may have lost the answer of a switch that was done.
            if any(activation_of(
                    self.controllers(meanwhile), self.controller, self.preceded)):
                raise
        self.has_news()
        self._check(self.controllers(meanwhile))
        self.check_hardware()

    def check_hardware(self):
        """
        Raise a RefusedError if our hardware was not active at the last `has_news`.

        The manager leaves controllers of inactive hardware active, and passes their commands on as
        soon as the hardware is active again; it activates no controllers of it.
        """
        if idle := self.idle:
            raise RefusedError(f'The hardware {listed(idle)} is not active: it ignores efforts.',
                               controller=self.controller,
                               cure=f'ros2 control set_hardware_component_state {idle[0]} active')

    def check(self, meanwhile):
        """
        Raise a RosInterfaceError unless our controller is active, and no other one has its joints.

        The timeout is short: the node's executor waits while the robot moves.
        """
        with self.short_timeout():
            self._check(self.controllers(meanwhile))

    def plan_switch_off(self, meanwhile):
        """
        Prepare `switch_off` while the robot is still controlled.

        Returns whether other controllers command the joints afterwards; False without an answer.
        """
        self._return, self._obstacle = Switch([], []), None
        self.keeps_joints = not any(self._previous.undo)
        if self.keeps_joints:
            return False
        try:
            if not self.is_there:
                raise RosInterfaceError('The controller manager is gone.',
                                        controller=self.controller)
            with self.short_timeout():
                controllers = self.controllers(meanwhile)
        except RosInterfaceError as error:
            self._obstacle = error
            return False
        self._return = self._previous.hand_back(controllers)
        ours = self.ours(controllers)
        self.keeps_joints = bool(ours) and ours.state == 'active'
        return bool(self._return.activate or (
            ours and rivals(controllers, self.controller, self.preceded)))

    def switch_off(self, meanwhile):
        """
        Deactivate our controller and activate the previous ones, as prepared by `plan_switch_off`.

        Controllers that cannot be activated now remain due. If the manager does not answer, the
        request is sent without waiting. A failed switch is a RosInterfaceError.
        """
        try:
            if self._obstacle:
                raise self._obstacle
            if self._return.activate:
                self.check_hardware()
            with self.short_timeout():
                self._do(self._return, meanwhile)
        except RefusedError as error:
            self._deactivate_ours(error, meanwhile)
        except RosInterfaceError:
            self.request_switch(self._previous.undo)
            raise
        self._previous.forget()

    def _deactivate_ours(self, error, meanwhile):
        """
        Deactivate our controller only; then raise an error that names the controllers due.

        Otherwise its last command would act when the hardware is active again.
        """
        due, ours = self._return
        if ours:
            with self.short_timeout():
                self.deactivate(ours, meanwhile)
        if not due:
            raise error
        raise RosInterfaceError(
            f'{error} So {listed(due)} cannot be activated now.', controller=self.controller,
            cure='They get the joints when this node is activated and deactivated again, or by: '
                 f'ros2 control switch_controllers --activate {" ".join(due)}')

    def _check(self, controllers):
        ours = self.ours(controllers)
        if ours is None or ours.state != 'active':
            raise RosInterfaceError(
                f'{self.controller} is no longer active: another client of the controller manager '
                'has switched it off, or it has failed.', controller=self.controller,
                cure='See the log of the controller manager.')
        for name, interfaces in rivals(controllers, self.controller, self.preceded).items():
            raise RosInterfaceError(
                f"'{name}' is active beside {self.controller} and commands {listed(interfaces)}: "
                'two controllers cannot have the same joints.', controller=self.controller,
                cure=f"Find the client that activates '{name}'. Activating this node again "
                     'switches it off.')

    def _do(self, switch, meanwhile):
        """Switch all or nothing, and log it."""
        if not any(switch):
            return
        self.switch(switch, meanwhile)
        self._logger.info('Switched ' + ', '.join(
            f'{state} {listed(names)}' for state, names in zip(('on', 'off'), switch, strict=True)
            if names) + '.')


_REST_PERIODS = 5  # periods of the controller manager after which a command has certainly acted


class Handover:
    """
    Takes the joints from their present controllers and returns them, by a ControllerManager.

    The node's executor waits meanwhile, so this class runs the ControlCycle, whose commands go over
    a CommandRoute. ``take()`` returns the newest JointState, serialized, or None if there is no new
    one; ``check_stop()`` raises a RosInterfaceError if the node is to stop.
    """

    def __init__(self, manager, cycle, take, route, check_stop, logger):
        self._manager, self._cycle, self._route = manager, cycle, route
        self._take, self._check_stop, self._logger = take, check_stop, logger

    def begin(self):
        """
        Activate our forward controller while the control cycle keeps the robot in place.

        Without commands the robot would fall as soon as our controller is active. If no good joint
        states come within the manager's timeout, the command topic has no subscriber, the manager
        refuses, or a trip has to be acknowledged, a RosInterfaceError is raised.
        """
        self._await_states()  # the first states of hardware that has just started may be invalid
        while not self._manager.wait(lambda: self._route.listeners, self._hold):
            if not self._route.relay_starts:
                raise RosInterfaceError(
                    f'No node listens to {self._route.topic}.',
                    cure='Start the node that takes the commands there, or correct command_topic '
                         'or effort_controller.')
            self._logger.info(f'Waiting for the node that takes {self._route.topic}: it is not '
                              'ready.')
        self._manager.switch_on(self._hold)

    def end(self, release, watched):
        """
        Return the joints to the previous controllers, while a Release commands zero effort.

        The manager is asked before that, while the robot is held in position. Without previous
        controllers a command watchdog takes over if commands are ``watched``, and the forward
        controller stays active. Returns whether the robot is released; False if the watchdog has
        it.
        """
        joints_commanded = self._manager.plan_switch_off(release.settle)
        if watched and not joints_commanded and self._manager.keeps_joints:
            release.stop()
            self._logger.info('No other controller had the joints: the command watchdog has them '
                              'now.')
            return False
        release.fade_out(joints_commanded, _REST_PERIODS * self._manager.period)
        try:
            self._manager.switch_off(release.rest)
        except RosInterfaceError as error:
            self._logger.error(f'{error} The joints are not returned.')
        return True

    def is_limited(self):
        """
        Return whether only our controller commands the joints; otherwise log why not.

        The controller manager is asked only if that is doubtful to the cycle, or if it publishes a
        change of the active controllers.
        """
        doubtful = self._manager.has_news() or self._cycle.doubtful
        self._cycle.doubtful = False
        try:
            self._manager.check_hardware()
            if doubtful:
                self._manager.check(self._run_cycle)
        except RosInterfaceError as error:
            self._logger.error(str(error))
            return False
        return True

    def _await_states(self):
        """Wait until states are good, or raise the fault after the timeout."""
        if not self._manager.wait(lambda: self._cycle.known and not self._cycle.fault,
                                  self._follow):
            raise RosInterfaceError(self._cycle.fault or 'No joint state arrives.',
                                    cure='Is joint_state_broadcaster active, and the robot still?')

    def _hold(self):
        """
        Keep the robot in place; wait for good states if there are none.

        A gap in the states is no failure: a running controller recovers from it.
        """
        self._follow()
        if self._cycle.fault:
            if not self._cycle.supervisor.may_resume:
                raise RosInterfaceError(self._cycle.fault)
            self._await_states()

    def _follow(self):
        """Run a cycle with the present pose as every goal."""
        self._cycle.clear_goals(True)
        self._run_cycle()

    def _run_cycle(self):
        self._check_stop()
        data = self._take()
        if data is not None:
            self._cycle.on_joint_state(data)
        self._cycle.watch()
