# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The switch of the joints between controllers, with commands before, during and after it."""

from opspace_control.errors import RosInterfaceError

# Periods of the controller manager after which a command has certainly acted.
_REST_PERIODS = 5


class Handover:
    """
    Takes the joints from their present controllers and returns them, by the controller manager.

    The node's executor waits meanwhile, so this class runs the control cycle.

    Parameters
    ----------
    manager : ControllerManager
    cycle : ControlCycle
    take : callable
        Returns the newest JointState, serialized, or None if there is no new one.
    route : CommandRoute
        Of the commands.
    heed : callable
        Raises a RosInterfaceError if the node is to stop.
    logger : rclpy logger

    """

    def __init__(self, manager, cycle, take, route, heed, logger):
        self._manager = manager
        self._cycle = cycle
        self._take = take
        self._route = route
        self._heed = heed
        self._logger = logger

    def begin(self):
        """
        Activate our forward controller while the control cycle keeps the robot in place.

        Without commands the robot would fall as soon as our controller is active.

        Raises
        ------
        RosInterfaceError
            No good joint states come within the manager's timeout, the command topic has no
            subscriber, the manager refuses, or a trip has to be acknowledged.

        """
        # The first states of hardware that has just started may be invalid.
        self._await_states()
        self._await_listeners()
        self._manager.switch_on(self._hold)

    def _await_listeners(self):
        while not self._manager.wait(lambda: self._route.listeners, self._hold):
            if not self._route.relay_starts:
                raise RosInterfaceError(
                    f'No node listens to {self._route.topic}.',
                    cure='Start the node that takes the commands there, or correct command_topic '
                         'or effort_controller.')
            self._logger.info(f'Waiting for the node that takes {self._route.topic}: it is not '
                              'ready.')

    def end(self, release, watched):
        """
        Return the joints to the previous controllers, while zero effort is commanded.

        The manager is asked before that, while the robot is held in position.
        Without previous controllers a command watchdog takes over, and the forward controller stays
        active.

        Parameters
        ----------
        release : Release
            Holds the robot and fades the efforts to zero.
        watched : bool
            Whether a command watchdog takes over when commands stop.

        Returns
        -------
        bool
            Whether the robot is released; False if the watchdog has it.

        """
        taken_over = self._manager.plan_switch_off(release.settle)
        if watched and not taken_over and self._manager.keeps_joints:
            release.stop()
            self._logger.info('No other controller had the joints: the command watchdog has them '
                              'now.')
            return False
        release.fade_out(taken_over, _REST_PERIODS * self._manager.period)
        try:
            self._manager.switch_off(release.rest)
        except RosInterfaceError as error:
            self._logger.error(f'{error} The joints are not returned.')
        return True

    def is_ours(self, doubtful):
        """
        Return whether only our controller commands the joints; otherwise log why not.

        The controller manager is asked only if that is ``doubtful``, or if it publishes a change of
        the active controllers.
        """
        doubtful = self._manager.has_news() or doubtful
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
        self._cycle.hold_goals()
        self._run_cycle()

    def _run_cycle(self):
        self._heed()
        data = self._take()
        if data is not None:
            self._cycle.on_joint_state(data)
        self._cycle.watch()
