# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Grasps and contacts of the controller node: services to engage, topics of internal forces."""

from functools import partial

import numpy as np
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.middleware.endpoints import LATCHED, RELIABLE, Part
from opspace_control.ros.parameters.task_blocks import contacts_of


class Grasps(Part):
    """
    The services ``~/<grasp>/engage``, ``~/<contact>/engage``; the topics ``internal_force``.

    ``engaged`` is for gripper controllers. ``goals`` stop for tasks that a grasp replaces; a gait
    of ``legs`` switches contacts by itself.
    """

    def __init__(self, goals, legs, *common):
        super().__init__(*common)
        self._goals, self._legs, controller = goals, legs, self._controller
        self.put_objects = lambda names: None  # takes the names of all grasps that are closed
        for one in (*controller.grasps.values(), *contacts_of(controller)):
            self._endpoints.serve(SetBool, f'~/{one.name}/engage', partial(self._engage, one))
        for grasp in controller.grasps.values():
            self._endpoints.listen(Float64MultiArray, f'~/{grasp.name}/internal_force',
                                   partial(self._on_internal_force, grasp), RELIABLE)
        self._wanted = set()
        self._engaged = [
            (grasp, self._endpoints.publisher(Bool, f'~/{grasp.name}/engaged', LATCHED),
             Bool(data=not grasp.engaged)) for grasp in controller.grasps.values()]
        self.tell()

    def tell(self):
        """Publish changes of engagement: true from the start of the ramp, false after its end."""
        closed = [grasp.engaged or grasp in self._wanted  # wanted: ramping up
                  for grasp, _, _ in self._engaged]
        changes = [(publisher, message, engaged) for (_, publisher, message), engaged
                   in zip(self._engaged, closed, strict=True) if engaged != message.data]
        for publisher, message, engaged in changes:
            message.data = engaged
            publisher.publish(message)
        if changes:
            self._put_objects()

    def _put_objects(self):
        self.put_objects([grasp.name for grasp, _, message in self._engaged if message.data])

    def facts(self):
        """Return diagnostics of grasps and contacts, a dict of text, and warnings."""
        values, warnings = {}, []
        for name, grasp in self._controller.grasps.items():
            values[f'{name}: engaged'] = 'yes' if grasp.engaged else 'no'
            if not grasp.engaged:
                continue
            distance, angle = grasp.closure_residual
            tensions, _ = grasp.internal_forces
            values |= {
                f'{name}: internal tensions [N]': _numbers(tensions, '.2f'),
                f'{name}: squeeze [N]': f'{grasp.applied_force:.2f}',
                f'{name}: load shares': _numbers(grasp.load_shares, '.3f'),
                f'{name}: closure residual [mm]': f'{1e3 * distance:.3f}',
                f'{name}: closure residual [deg]': f'{np.degrees(angle):.3f}'}
            if grasp.slips:
                warnings.append(f"'{name}' may slip: the largest grasp force is not enough.")
        for contact in contacts_of(self._controller):
            values[f'{contact.name}: engaged'] = 'yes' if contact.closed else 'no'
            if contact.closed:
                values |= {f'{contact.name}: load [N]': f'{contact.load:.1f}',
                           f'{contact.name}: friction used': f'{contact.slip:.2f}'}
                if contact.slip > 1.0:
                    does = 'slip' if contact.load > 0 else 'lift'
                    warnings.append(f"'{contact.name}' may {does}.")
        return values, warnings

    def add_to(self, feedback):
        """Add ``~/<grasp>/current_internal_force`` to a Feedback."""
        for grasp in self._controller.grasps.values():
            message = Float64MultiArray()
            feedback.add(f'~/{grasp.name}/current_internal_force', message,
                         partial(_fill_internal_force, grasp, message))

    def renew(self, parameters):
        """Engage contacts with parameter ``engaged``; close constraints at present poses."""
        with self._cycle.ramps.smoothly():
            for contact in contacts_of(self._controller):
                if parameters[f'{contact.name}.engaged']:
                    contact.engage()
            for constraint in self._controller.constraints.values():
                if constraint.closed:
                    constraint.close()
        self.tell()  # of those that this node has found engaged

    def _engage(self, switched, on):
        try:
            self._switch(switched, on)
        except OpspaceError as error:
            self._logger.warning(f'Not engaged: {error}')
            raise
        message = f"'{switched.name}' is {'engaged' if on else 'free'}."
        self._logger.info(message)
        return message

    def _switch(self, switched, on):
        if not (self._is_active() and self._cycle.known):
            raise RosInterfaceError('The controller is not active.',
                                    cure='Activate it, and wait for the first joint state.')
        self._legs.check_free(switched.name)
        with self._cycle.ramps.smoothly():
            if on:
                switched.engage(self._cycle.state)
            else:
                switched.disengage()
        self._goals.moving.end_plan(f"'{switched.name}' is switched")
        (self._wanted.add if on else self._wanted.discard)(switched)
        self.tell()
        self._put_objects()  # elsewhere, if it was engaged again before the end of the ramp
        self._goals.forget_cleared()

    def _on_internal_force(self, grasp, message):
        data, members = list(message.data), len(grasp.internal_forces[0])
        tensions, moments = (data, []) if len(data) == 1 else (data[:members], data[members:])
        count = 3 * len(grasp.effectors)
        with self._refusing(f"An internal force of '{grasp.name}'"), self._cycle.ramps.smoothly():
            if len(moments) not in (0, count) or not np.isfinite(data).all():
                raise RosInterfaceError(
                    f'{data} cannot be used.', value=data,
                    cure=f'Send {members} tensions in N, negative for compression, and optionally '
                    f'{count} moments; or an empty message.')
            grasp.set_internal_forces(
                tensions or None, np.reshape(moments, (-1, 3)) if moments else None)


def _fill_internal_force(grasp, message, _stamp):
    tensions, moments = grasp.internal_forces
    message.data = [*tensions.tolist(), *moments.ravel().tolist()]


def _numbers(values, form):
    return ' '.join(format(value, form) for value in values)
