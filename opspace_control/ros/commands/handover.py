# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The joints change hands without the robot falling: commands flow before, meanwhile and after."""

from opspace_control.errors import RosInterfaceError

# So many periods of the controller manager after a command it has certainly been obeyed.
_REST_PERIODS = 5


class Handover:
    """
    Takes the joints from whoever has them in the controller manager, and gives them back.

    All this happens while the node's executor waits, so the control cycle is run here.

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
        Have our forward controller switched on, while the robot is held where it is.

        Without commands it would fall from the moment on in which it is ours.

        Raises
        ------
        RosInterfaceError
            No good joint states come within the manager's timeout, nobody takes the commands, the
            manager refuses, or a trip has to be acknowledged.

        """
        # The first states of hardware that has just been started may be of no use.
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
            self._logger.info(f'Waiting for the node that takes {self._route.topic}: it tells that '
                              'it is not ready.')

    def end(self, release, watched):
        """
        Let the previous controllers have the joints, while zero effort is commanded.

        What has to be asked is asked before that, while the robot is still carried. Where there are
        none, a command watchdog is left the robot: the forward controller stays active.

        Parameters
        ----------
        release : Release
            Takes the motion out of the robot, and lets it go.
        watched : bool
            Whether a command watchdog takes over when commands stop.

        Returns
        -------
        bool
            Whether the robot is released; False if the watchdog has it.

        """
        heir = self._manager.plan_switch_off(release.settle)
        if watched and not heir and self._manager.keeps_joints:
            release.stop()
            self._logger.info('No other controller had the joints: the command watchdog has them '
                              'now.')
            return False
        release.let_go(heir, _REST_PERIODS * self._manager.period)
        try:
            self._manager.switch_off(release.rest)
        except RosInterfaceError as error:
            self._logger.error(f'{error} The joints are not handed back.')
        return True

    def is_ours(self, doubtful):
        """
        Return whether the joints are ours alone; otherwise the log says why not.

        The controller manager is asked only where that is ``doubtful``, or where it tells that
        other controllers are active than before.
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
        """Wait until states are good, or raise the fault if they are not in time."""
        if not self._manager.wait(lambda: self._cycle.known and not self._cycle.fault,
                                  self._follow):
            raise RosInterfaceError(self._cycle.fault or 'No joint state arrives.',
                                    cure='Is joint_state_broadcaster active, and the robot still?')

    def _hold(self):
        """
        Hold the robot where it is; wait for good states as long as there are none.

        A running controller recovers from a gap in the states: that is no reason not to begin.
        """
        self._follow()
        if self._cycle.fault:
            if not self._cycle.supervisor.ends_by_itself:
                raise RosInterfaceError(self._cycle.fault)
            self._await_states()

    def _follow(self):
        """Run a cycle whose goals are where the robot is: it goes nowhere."""
        self._cycle.hold_goals()
        self._run_cycle()

    def _run_cycle(self):
        self._heed()
        data = self._take()
        if data is not None:
            self._cycle.on_joint_state(data)
        self._cycle.watch()
