# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The route of efforts through the plug-in of ros2_control, which this node configures."""

import hashlib
import os
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from opspace_control import library
from opspace_control.errors import ControlError, RosInterfaceError
from opspace_control.ros.commands.controller_manager import ControllerManager, Handover
from opspace_control.ros.commands.switching import upstream
from opspace_control.safety.shared_memory import Mode, Request

try:  # only in ROS 2 distributions, on no package index
    from controller_manager_msgs.srv import ConfigureController, LoadController, UnloadController
except ImportError:
    ConfigureController = LoadController = UnloadController = None


class PluginManager(ControllerManager):
    """
    The client that configures and switches the controller of the plug-in, "ours".

    Other controllers may command its references, the goals of tasks.
    """

    preceded = True

    def __init__(self, node, name, controller, timeout):
        super().__init__(node, name, controller, timeout)
        self._services = {kind: self.node.create_client(kind, f'{name}/{verb}_controller')
                          for kind, verb in ((LoadController, 'load'), (UnloadController, 'unload'),
                                             (ConfigureController, 'configure'))}
        self._setter = self.node.create_client(
            SetParameters, f'{self._controller_node}/set_parameters')

    def state(self, meanwhile):
        """Return the state of our controller, '' if it is not loaded."""
        ours = self.ours(self.controllers(meanwhile))
        return ours.state if ours else ''

    def configure(self, values, meanwhile):
        """Configure our controller anew, with these values of parameters; it is not active."""
        state = self.state(meanwhile)
        if state == 'inactive':  # it has read its files already
            self._ask(UnloadController, meanwhile)
            state = ''
        if not state:
            self._ask(LoadController, meanwhile)
        request = SetParameters.Request(parameters=[
            Parameter(name, _type_of(value), value).to_parameter_msg()
            for name, value in values.items()])
        for result in self.call(self._setter, request, meanwhile).results:
            if not result.successful:
                raise RosInterfaceError(
                    f'{self.controller} refuses its parameters: {result.reason}',
                    controller=self.controller,
                    cure='Its type is to be opspace_controller/OperationalSpaceController.')
        self._ask(ConfigureController, meanwhile)

    def leave(self, meanwhile):
        """Deactivate our controller, and those that command its references."""
        names = [self.controller]
        with suppress(RosInterfaceError):
            names = upstream(self.controllers(meanwhile), names)
        self.deactivate(names, meanwhile)

    def _ask(self, kind, meanwhile):
        if not self.call(self._services[kind], kind.Request(name=self.controller), meanwhile,
                         once=True).ok:
            verb = kind.__name__.removesuffix('Controller').lower()
            raise RosInterfaceError(
                f"The controller manager cannot {verb} '{self.controller}'.",
                controller=self.controller,
                cure='Its log says why. Build and source native/ros2_control, and give the manager '
                     f'{self.controller}.type: opspace_controller/OperationalSpaceController.')


def _type_of(value):
    return Parameter.Type.STRING if isinstance(value, str) else Parameter.Type.STRING_ARRAY


class PluginCommands:
    """
    The way of efforts through the plug-in: its memory, as long as this node is active.

    It has what a CommandRoute has for the node.
    """

    had_subscriber, direct, timeout = True, False, 0.0

    def __init__(self, node, cycle):
        self._cycle, self._controller = cycle, node.parameters['plugin.name']
        self._values = {name: node.parameters[f'plugin.{name}']
                        for name in ('sensors', 'base', 'imu')}
        self.topic = f"the plug-in '{self._controller}'"
        self._logger = node.get_logger()
        self._name = f'{node.get_fully_qualified_name()} {node.context.get_domain_id()}'

    @property
    def memory(self):
        """Path of the memory that is shared with the plug-in: a name for each robot and node."""
        folder = Path('/dev/shm')
        name = hashlib.sha256(f'{self._name} {os.getuid()}'.encode()).hexdigest()[:16]
        return str((folder if folder.is_dir() else Path(tempfile.gettempdir())) / f'opspace-{name}')

    def attach(self, manager, meanwhile):
        """
        Attach to the plug-in; configure it before, unless it is active.

        An active one is that of an earlier process of this node. An OpspaceError says what is
        wrong with it.
        """
        link, active = self._cycle.link, manager.state(meanwhile) == 'active'
        if not active:
            with self._files(link) as (block, kernels):
                manager.configure({
                    'block': block, 'library': kernels, 'memory': self.memory, **self._values},
                    meanwhile)
        try:
            if link.attach(self.memory):
                self._logger.info(f'{self._controller} goes on: this node has found it active.')
        except ControlError as error:
            if not active:
                raise
            raise RosInterfaceError(
                f'{self._controller} is active, but not with the memory of this node: {error}',
                controller=self._controller,
                cure=f'ros2 control switch_controllers --deactivate {self._controller}, then '
                     'activate this node again.') from error
        return active

    @contextmanager
    def _files(self, link):
        """Return the paths of the block of a servo and of the library, for the time of reading."""
        if not library.is_there():
            raise RosInterfaceError('The plug-in needs the library of kernels.',
                                    cure='Build it: python -m opspace_control.compilation.')
        block = Path(f'{self.memory}.block')
        block.unlink(missing_ok=True)
        with open(os.open(block, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb') as file:
            file.write(link.block().tobytes())
        try:
            yield str(block), str(library.library_path())
        finally:
            block.unlink(missing_ok=True)

    def open(self):
        """Do nothing: the plug-in is attached by its `PluginHandover`."""

    def is_watched(self, _meanwhile):
        """Return False: no command watchdog has the robot after this node."""
        return False

    def fault(self, _now):
        """Return why the plug-in cannot go on, or ''; to be called often."""
        memory = self._cycle.link.memory
        if self._cycle.broken:
            return self._cycle.broken
        if memory is not None and not memory.is_there():
            return f'The process of {self.topic} has ended.'
        return ''

    def close(self):
        """Leave the plug-in."""
        self._cycle.link.detach()

    destroy = close


class PluginHandover(Handover):
    """
    Takes the joints for the plug-in, and returns them.

    ``hold()`` makes the present pose every goal, ``apply()`` applies all parameters.
    """

    def __init__(self, manager, cycle, route, check_stop, logger, hold, apply):
        super().__init__(manager, cycle, None, route, check_stop, logger)
        self._clear_goals, self._apply = hold, apply

    def begin(self):
        """
        Configure the plug-in, attach to it, and activate it; or go on with an active one.

        If the manager refuses, if no cycle with a good state comes within its timeout, or if a trip
        has to be acknowledged, an OpspaceError is raised.
        """
        if self._route.attach(self._manager, self._check_stop):
            self._apply()  # what the plug-in had comes from other values perhaps
        self._clear_goals()
        self._cycle.begin(time.perf_counter())
        self._manager.switch_on(self._run_cycle)
        self._await_states()

    def end(self, release, watched):
        """
        Return the joints to the previous controllers; the plug-in releases the robot.

        Returns whether it has: not where this node could not attach to it, nor without cycles.
        """
        memory = self._cycle.link.memory
        if memory is None:
            return False
        super().end(release, False)
        if memory.is_there() and memory.active:  # nothing was due
            try:
                with self._manager.short_timeout():
                    self._manager.leave(release.rest)
            except RosInterfaceError as error:
                self._logger.error(str(error))
        if memory.is_there() and memory.active and memory.mode != Mode.RELEASED:
            memory.send(Request.MODE, Mode.RELEASE)
            self._logger.error(
                f'{self._manager.controller} is still active: it releases the robot in its next '
                'cycles. A simulation that pauses has none.')
            return False
        return True

    def _follow(self):
        self._run_cycle()

    def _run_cycle(self):
        self._check_stop()
        self._cycle.step()
        self._cycle.watch()
