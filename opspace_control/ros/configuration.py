# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The configuration of a controller node: its parts from configuration to cleanup."""

import contextlib
from collections import ChainMap
from collections.abc import Mapping
from functools import partial

import numpy as np

from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.model.ros2_control import hardware_of
from opspace_control.ros.middleware.conversions import simulated_time
from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.parameters import joints, robot
from opspace_control.ros.parameters.shape_blocks import changes_shapes
from opspace_control.ros.parameters.task_blocks import check_contacts, check_frames
from opspace_control.ros.topics.interface import Interface
from opspace_control.tasks.joint import JointTask

# Which joints are active: changed as a whole, at once.
STATUS_PARAMETERS = frozenset({'passive_joints', 'locked_joints'})


class Recorded(Mapping):
    """
    A mapping of parameters that notes the names that are read from it.

    What reads them depends on these alone, for whatever decides to read another one is read, too.
    """

    def __init__(self, parameters):
        self._parameters, self._read = parameters, set()

    def concern(self, names):
        """Return whether one of these names has been read, or none at all yet."""
        return not self._read or not self._read.isdisjoint(names)

    def __getitem__(self, name):
        self._read.add(name)
        return self._parameters[name]

    def __iter__(self):
        return iter(self._parameters)

    def __len__(self):
        return len(self._parameters)


class Configuration:
    """
    A compiled controller with its ``interface``, ``cycle``, ``commands``, or None ``odometry``.

    The constructor withdraws all of it if it fails; if the URDF text ``description`` and the
    parameters do not fit, it raises an OpspaceError. A `TopicRoute` makes cycle, commands and
    odometry. ``is_active()`` returns whether the LifecycleNode is commanding. ``hardware`` names
    the <ros2_control> blocks of the joints.
    """

    def __init__(self, node, description, route, is_active):
        self._parameters = parameters = node.parameters
        self._logger = node.get_logger()
        self._changed = set()  # parameters that are not applied yet
        self._recorded = Recorded(parameters)
        with contextlib.ExitStack() as undo:
            self._make(undo, node, description, route, is_active)
            self._undo = undo.pop_all()

    def _make(self, undo, node, description, route, is_active):
        parameters, order = self._parameters, route.order()
        self._controller, self._joints = robot.make_controller(
            description, ChainMap({'command_joints': order}, parameters),
            floating_base=parameters['floating_base'])
        controller, model = self._controller, self._controller.model
        self._named = partial(joints.named_dofs, model)
        parameters.declare(joints.robot_joint_table(
            model, model.passive, legs=bool(parameters['legs.feet'])))
        self.hardware = hardware_of(model.ros2_control, self._joints, 'effort')
        for warning in model.warnings:
            self._logger.warning(warning)
        unlimited = [name for name in self._joints
                     if np.isinf(controller.effort_limits[model.dof_index(name)])]
        if unlimited:
            self._logger.warning(f'The effort of {", ".join(unlimited)} has no limit: give '
                                 '<limit effort="..."> in the URDF.')
        robot.warm_up(controller, self._logger)
        self.cycle, self.commands, self.odometry = route.make(controller, self._joints)
        undo.callback(self.commands.destroy)
        self.cycle.simulated_time = partial(simulated_time, node)
        endpoints = Endpoints(node)
        undo.callback(endpoints.withdraw)
        self.interface = Interface(parameters, self._joints, endpoints, controller, self.cycle,
                                   is_active)
        self.apply(parameters)
        moved = [(task.name, ' '.join(task.joints) if isinstance(task, JointTask) else task.frame)
                 for task in controller.tasks.values()]
        self._logger.info(
            f'{model.name}: {len(self._joints)} joints commanded on {self.commands.topic}, tasks '
            + (', '.join(f'{name} ({what})' for name, what in moved) or 'none')
            + f'; passive: {self._named(model.passive)}; locked: {self._named(model.locked)}.')

    def check(self, values, names):
        """Raise an OpspaceError if changes of these names to these values do not fit the robot."""
        if not STATUS_PARAMETERS.isdisjoint(names):
            self._controller.check_status(*self._status(values))
        if not robot.LIMIT_PARAMETERS.keys().isdisjoint(names):
            robot.change_limits(self._controller.limits, values)
        if not robot.DISTANCE_PARAMETERS.keys().isdisjoint(names):
            robot.change_distances(self._controller.distances, values)
        if any(name.startswith(f'{joints.PASSIVE}.') for name in names):
            model = self._controller.model
            PassiveForces(model, **joints.passive_forces(model, values))
        robot.check_drive_friction(self._controller, values)
        check_contacts(values, names)
        if changes_shapes(names, values):
            self.interface.collision.check(values)
        if 'legs.gait' in names:
            self.interface.check_gait(values['legs.gait'])
        check_frames([task for task in (*values['tasks'], *values['grasps'])
                      if f'{task}.axes_frame' in names], self._controller.model, values)

    def apply_soon(self, names):
        """Apply the present values of these parameters when the control cycle has time."""
        self._changed.update(names)
        self.cycle.soon(self._apply_changes)

    def apply(self, names):
        """Apply the present values of these parameters."""
        values = self._parameters
        with self.cycle.ramps.smoothly():
            robot.apply_gains(self._controller, values, names)
        if 'limits.keep' in names and not values['limits.keep'] and self._controller.distances:
            self._logger.warning(
                'Links keep no distances from each other and from shapes: limits.keep is false.')
        changes_status = not STATUS_PARAMETERS.isdisjoint(names)
        if changes_status:
            self._controller.set_status(*self._status(values))
            values.declare(joints.robot_joint_table(
                self._controller.model, self._controller.passive))
        if changes_status or self._recorded.concern(names):  # it would delay the cycle for gains
            self._apply_to_parts(self._recorded)

    def _apply_to_parts(self, values):
        """Apply what is no gain of the controller."""
        self.cycle.apply(values)
        self.commands.timeout = values['safety.command_timeout']
        if self.odometry:
            self.odometry.timeout = values['safety.odom_timeout']
        self.interface.apply(values)

    def destroy(self):
        """Withdraw all topics and services."""
        self._undo.close()

    def _status(self, values):
        return joints.status_of(self._controller.model, self._joints, values)

    def _apply_changes(self):
        self.apply(self._changed)
        if not STATUS_PARAMETERS.isdisjoint(self._changed):
            self._logger.info(f'Passive: {self._named(self._controller.passive)}; locked: '
                              f'{self._named(self._controller.locked)}.')
        self._changed.clear()
