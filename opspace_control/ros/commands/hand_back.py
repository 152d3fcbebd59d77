# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Returns the joints to the previous controllers after commands have stopped."""

from concurrent.futures import ThreadPoolExecutor

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands import switching
from opspace_control.ros.commands.manager_client import ManagerClient, RefusedError
from opspace_control.ros.middleware.conversions import listed

# Hardware may become active at any time; a manager before March 2025 does not publish switches.
_RETRY = 1.0  # s


class HandBack(ManagerClient):
    """
    The client of a controller manager for a node that does not take the joints itself.

    The process that took them may be dead, so the previous controllers come from the manager, which
    is asked after every switch, in a thread of its own: only `note` and `end` wait for it.

    An attempt is one strict switch, and only if every joint in question has a controller then.
    Until the manager confirms it, and if it refuses, the effort controller stays active.
    """

    suffix = 'hand_back'

    def __init__(self, node, *manager):
        super().__init__(node, *manager)
        self._thread, self._job = ThreadPoolExecutor(1), None
        self._news = self._wanted = self._ended = self._done = self._tried = False
        self._due = 0.0       # steady time of the next attempt
        self._said = ''       # why the last attempt failed
        self._failed = None   # the switch that failed after deactivation
        self._open = None     # the switch that the manager has not answered

    @property
    def previous(self):
        """Names of the known previous controllers."""
        return list(self._previous.undo.activate)

    @property
    def done(self):
        """Whether an attempt has ended with the forward controller inactive."""
        return self._wanted and self._done

    @property
    def tried(self):
        """Whether an attempt has ended, successful or not, since the first `attempt`."""
        return self._tried and not self._busy

    def note(self, meanwhile):
        """Return the `controllers`, and keep the previous ones up to date."""
        controllers = self.controllers(meanwhile)
        self._previous.note(controllers)
        return controllers

    def look(self, begins=False):
        """
        Keep the previous controllers up to date; to be called often.

        ``begins`` is whether a node begins to send commands: a manager before March 2025 does not
        publish switches, but a controller sends commands before it has the joints.
        """
        self._news |= self.has_news() or begins
        if self._news and not self._busy and not self._wanted:  # an attempt asks, too
            self._news = False
            self._start(self._learn)

    def attempt(self, joints, now):
        """Start an attempt to return ``joints`` at ``now``, s, unless one was just made."""
        if not self._wanted:
            self._wanted, self._done = True, False
            self._due = now
        if not self._busy and not self._done and (self._news or now >= self._due):
            self._news, self._due, self._tried = False, now + _RETRY, True
            self._start(self._try, set(joints))

    def cancel(self):
        """Make no more attempts: commands are back. A pending request may still succeed."""
        self._wanted, self._tried, self._said = False, False, ''
        self._failed = self._open = None

    def end(self):
        """Withdraw from the network."""
        self._ended = True
        self._thread.shutdown()
        super().end()

    @property
    def _busy(self):
        """Whether the manager is being asked."""
        return self._job is not None and not self._job.done()

    def _start(self, task, *arguments):
        if self._job:
            self._job.result()  # raises an unexpected exception of the last task
        self._job = self._thread.submit(task, *arguments)

    def _check_ended(self):
        if self._ended:
            raise RosInterfaceError('The node was told to stop.')

    def _learn(self):
        try:
            self.note(self._check_ended)
        except RosInterfaceError as error:
            if not self._ended:
                self._logger.warning(f'{error} The previous controllers may have changed.')

    def _try(self, joints):
        try:
            self._switch(joints)
        except RosInterfaceError as error:
            if str(error) != self._said and self._wanted:
                self._said = str(error)
                self._logger.error(f'The joints are not returned: {error}')

    def _switch(self, joints):
        if not self.is_there:
            raise RosInterfaceError('The controller manager is gone.')
        controllers = self.note(self._check_ended)
        ours = self.ours(controllers)
        if ours is None or ours.state != 'active':
            if self._open and self._switch_on_again(self._open):
                raise RosInterfaceError(
                    'the switch, which the controller manager has not answered, left them without '
                    f'a controller. So {self.controller} is active again.')
            self._done = True
            commanding = switching.rivals(controllers, self.controller) if ours else ()
            self._logger.error(f'{self.controller} is no longer active: '
                               f'{listed(sorted(commanding)) or "no controller"} has its joints.')
            return
        self._open = None
        switch = self._previous.hand_back(controllers)
        for each in controllers:
            if each.name in switch.activate:
                each.state = 'active'
        after = switching.rivals(controllers, self.controller)
        missing = sorted(joints - {
            switching.without_controller(switching.joint_of(interface))
            for interfaces in after.values() for interface in interfaces})
        if missing:
            candidates = [each.name for each in controllers
                          if each.state == 'inactive' and joints <= set(map(
                              switching.without_controller, switching.commanded_joints([each])))]
            raise RosInterfaceError(
                f'no previous controller of {listed(missing)} is known, or can be activated.',
                controller=self.controller,
                cure='Let another controller have the joints: ros2 control switch_controllers '
                     f'--deactivate {self.controller} --activate '
                     + (' or '.join(candidates) or 'CONTROLLER'))
        if not self._wanted or switch == self._failed:
            return
        names = listed(sorted(switch.activate or after))
        self._logger.warning(f'Switching the joints to {names}.')
        self._open = switch
        try:
            self.switch(switch, self._check_ended)
        except RefusedError:
            self._switch_on_again(switch)
            raise
        self._open = None
        self._done = True
        self._logger.warning(f'{names} has the joints; {self.controller} is inactive.')

    def _switch_on_again(self, switch):
        """
        Reactivate ours if a switch failed after deactivation; return whether it did.

        The switch is not requested again. Nothing is done if a controller has the joints.
        """
        undo = switching.activation_of(self.note(self._check_ended), self.controller)
        inactive = bool(undo.activate and not undo.deactivate)
        if inactive:
            self._failed = switch
            self.switch(undo, self._check_ended)
        self._open = None
        return inactive
