# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of the controller node: their schedule, ground and bounds on topics, their state."""

from functools import partial

import numpy as np
from geometry_msgs.msg import Vector3Stamped
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from opspace_control.control.constraints.contact import Contact
from opspace_control.errors import RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import times_from_start
from opspace_control.ros.middleware.endpoints import RELIABLE, Part
from opspace_control.ros.parameters.task_blocks import contacts_of

TOPIC = '~/contact_schedule'
_UNLOADED = 1.0  # N, normal force below which a contact has no load
SLIDES = 0.1     # m/s, above which it slides


class ContactSchedule(Part):
    """
    ``~/contact_schedule``: which contacts are engaged, from which times on, without a ramp.

    A JointTrajectory names contacts as joints; at the time of each of its points those of position
    1 are engaged where they are, those of position 0 disengaged. Of the contacts that it names it
    replaces what is left of earlier ones. With ``legs`` it is used in the gait ``external``;
    ``goals`` has the times, and moving goals that end where a task is disabled.
    """

    def __init__(self, goals, legs, *common):
        super().__init__(*common)
        self._goals, self._legs = goals, legs
        self._contacts = {contact.name: contact for contact in contacts_of(self._controller)}
        self._due = []  # (time in ns, name, whether it is engaged then), in order
        if self._contacts:
            self._endpoints.listen(JointTrajectory, TOPIC, self._on_schedule, RELIABLE)

    def clear(self):
        """Forget what is not due yet."""
        self._due.clear()

    def advance(self, time):
        """Engage and disengage what is due at the time of a state, ns."""
        changed = False
        while self._due and self._due[0][0] <= time:
            _, name, engaged = self._due.pop(0)
            contact = self._contacts[name]
            if engaged != contact.closed:
                changed = True
                (contact.engage if engaged else contact.disengage)()
        if changed:
            self._goals.forget_cleared()
            self._legs.set_support()

    def facts(self):
        """Return diagnostics, a dict of text, and no warnings."""
        engaged = [one for one in self._contacts.values() if one.closed]
        speeds = [(one, slip_speed(self._controller, one, self._cycle.state)) for one in engaged]
        values = {
            'contacts without load': ', '.join(
                one.name for one in engaged if one.load < _UNLOADED) or 'none',
            'contacts that slide': ', '.join(
                f'{one.name} ({speed:.2f} m/s)' for one, speed in speeds if speed > SLIDES)
            or 'none'} if self._contacts else {}
        if self._due:
            ahead = 1e-9 * (self._due[0][0] - self._cycle.time)
            values['contact schedule'] = f'{len(self._due)} changes, the next in {ahead:.3f} s'
        return values, []

    def _on_schedule(self, message):
        with self._refusing('A contact schedule'):
            changes = self._read(message)
            left = [change for change in self._due if change[1] not in message.joint_names]
            self._due = sorted([*left, *changes], key=lambda change: change[0])

    def _read(self, message):
        """Return the changes of a message, or raise an OpspaceError."""
        names, times = list(message.joint_names), times_from_start(message.points)
        for name in names:
            if name not in self._contacts:
                raise RosInterfaceError(f"There is no contact '{name}'.", name=name,
                                        cure=nearest(name, self._contacts))
            self._legs.check_free(name)
        rows = [list(point.positions) for point in message.points]
        if not rows or any(len(row) != len(names) or {*row} - {0.0, 1.0} for row in rows):
            raise RosInterfaceError(f'Its points have not a 1 or 0 for each of {len(names)} names.',
                                    cure='Give 1 to engage a contact, 0 to disengage it.')
        self._need_control()
        start = self._goals.start_of(message.header.stamp, max(times))
        return [(start + round(1e9 * time), name, bool(engaged))
                for time, row in zip(times, rows, strict=True)
                for name, engaged in zip(names, row, strict=True)]


class ContactBounds(Part):
    """
    ``~/<contact>/normal`` and ``~/<contact>/bounds``: what bounds the force of each contact.

    ``normal``, a Vector3Stamped, points away from the ground, in a frame of ``frames``; a gait of
    ``legs`` sets it by itself. ``bounds`` are the friction or, after it, the least and the greatest
    normal force too, N; 0 is any. They act as the parameters of these names: the last one counts.
    """

    def __init__(self, frames, legs, *common):
        super().__init__(*common)
        self._frames, self._legs = frames, legs
        for contact in contacts_of(self._controller):
            self._endpoints.listen(Vector3Stamped, f'~/{contact.name}/normal',
                                   partial(self._on_normal, contact), RELIABLE)
            self._endpoints.listen(Float64MultiArray, f'~/{contact.name}/bounds',
                                   partial(self._on_bounds, contact), RELIABLE)

    def _on_normal(self, contact, message):
        with self._refusing(f"A normal of '{contact.name}'"):
            self._legs.check_free(contact.name)
            vector, R = message.vector, self._frames.in_base(message.header.frame_id)[:3, :3]
            contact.normal = R @ [vector.x, vector.y, vector.z]

    def _on_bounds(self, contact, message):
        data = message.data.tolist()
        with self._refusing(f"A bound of '{contact.name}'"):
            if len(data) not in (1, 3):
                raise RosInterfaceError(
                    f'{data} cannot be used.', value=data, cure='Send the friction or, after it, '
                    'the least and the greatest normal force, N, too.')
            bounds = (data[1], data[2] or np.inf) if len(data) == 3 else contact.normal_force
            Contact(contact.name, friction=data[0], normal_force=bounds)  # or none is changed
            contact.friction, contact.normal_force = data[0], bounds


def slip_velocity(controller, contact, state):
    """Return the velocity of the frame of a contact along the ground, (3,), m/s, base axes."""
    velocity = controller.model.jacobian(state, contact.frame)[:3] @ state.v
    return velocity - (velocity @ contact.normal) * contact.normal


def slip_speed(controller, contact, state):
    """Return how fast the frame of a contact slides along the ground, m/s."""
    return float(np.linalg.norm(slip_velocity(controller, contact, state)))


def add_contact_state(feedback, controller, cycle):
    """
    Add ``~/contact_state``, a JointState with contacts as joints, to a Feedback.

    ``position`` is 1 where a contact is engaged, else 0; ``velocity`` how fast an engaged link
    slides, m/s; ``effort`` its predicted normal force, N.
    """
    contacts = contacts_of(controller)

    def of_engaged(quantity):
        return lambda: [quantity(one) if one.closed else 0.0 for one in contacts]
    if contacts:
        feedback.add_joints(
            '~/contact_state', [one.name for one in contacts], position=of_engaged(lambda _: 1.0),
            velocity=of_engaged(lambda one: slip_speed(controller, one, cycle.state)),
            effort=of_engaged(lambda one: one.load))
