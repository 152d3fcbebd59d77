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
            There are no joint states, nobody takes the commands, or the manager refuses.

        """
        # The first states of hardware that has just been started may be of no use.
        if not self._manager.wait(lambda: self._cycle.known and not self._cycle.fault,
                                  self._follow):
            raise RosInterfaceError(self._cycle.fault or 'No joint state arrives.',
                                    cure='Is joint_state_broadcaster active, and the robot still?')
        if not self._manager.wait(lambda: self._route.listeners, self._hold):
            raise RosInterfaceError(f'Nobody listens to {self._route.topic}.',
                                    cure='Correct command_topic or effort_controller.')
        self._manager.switch_on(self._hold)

    def end(self, release):
        """
        Let the controllers of before have the joints, while zero effort is commanded.

        What has to be asked is asked before that, while the robot is still carried.

        Parameters
        ----------
        release : Release
            Takes the motion out of the robot, and lets it go.

        """
        heir = self._manager.has_heirs(release.settle)
        release.let_go(heir, _REST_PERIODS * self._manager.period)
        try:
            self._manager.switch_off(self._cycle.rest)
        except RosInterfaceError as error:
            self._logger.error(f'{error} The joints are not handed back.')

    def is_ours(self, doubtful):
        """
        Return whether the joints are still ours; otherwise the log says why.

        The controller manager is asked only where that is ``doubtful``, or it has told so itself.
        """
        may_be_off = self._manager.may_be_switched_off() or doubtful
        try:
            self._manager.check_hardware()
            if not may_be_off:
                return True
            if self._manager.is_still_switched_on(self._run_cycle):
                return True
            self._logger.error(f'{self._manager.controller} is not active any more: somebody has '
                               'switched it off, or it has failed.')
        except RosInterfaceError as error:
            self._logger.error(str(error))
        return False

    def _hold(self):
        """Hold the robot where it is; that it cannot be is an error."""
        self._follow()
        if self._cycle.fault:
            raise RosInterfaceError(self._cycle.fault)

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
