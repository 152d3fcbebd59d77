# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Contact forces with friction cones, slip, and footholds, as markers for RViz."""

from functools import partial

import numpy as np
from visualization_msgs.msg import Marker

from opspace_control.ros.middleware.conversions import point_message
from opspace_control.ros.parameters.task_blocks import contacts_of
from opspace_control.ros.topics.contacts import SLIDES, slip_velocity
from opspace_control.ros.topics.markers import BLUE, GREEN, GREY, ORANGE, RED, make_marker

# Namespaces: forces, cones and slip of contacts; places where feet will be put down.
FORCES, CONES, SLIP, FOOTHOLDS = 'contact forces', 'friction cones', 'slip', 'footholds'
_WEIGHT = 0.5    # m, of an arrow as large as the weight of the robot
_CONE = 0.12     # m, height of a cone
_PER_SPEED = 0.3  # m, of the arrow of a contact that slides at 1 m/s
_SIDES = 12
_LINE = 0.008    # m, thickness
_FOOT = 0.03     # m, diameter of a foothold
_UNLOADED = 0.01  # part of the weight below which a foot has no load
_AT_BOUND = 0.99  # part of friction in use
_LIFETIME = 0.2  # s


class ContactMarkers:
    """
    The markers of engaged contacts, in the base frame of ``frames``.

    A force is an arrow, 0.5 m for the weight of the robot, and its cone lines about the normal:
    green, red with friction at its bound, grey without a load. A contact that slides along the
    ground has an orange arrow of its velocity, 0.3 m for 1 m/s. ``footholds()`` returns places
    (3,), m, where feet will be put down, spheres.
    """

    def __init__(self, controller, cycle, frames, footholds):
        self._controller, self._cycle, self._footholds = controller, cycle, footholds
        self._frame, self._contacts = frames.base, contacts_of(controller)
        self._weight = 9.81 * controller.model.nodes['mass'].sum()

    def __call__(self, stamp):
        """Return the markers of the last cycle, a list, with this time stamp."""
        engaged = [contact for contact in self._contacts if contact.closed]
        poses = self._controller.model.forward_kinematics(
            self._cycle.state, [contact.frame for contact in engaged]) if engaged else {}
        markers, make = [], partial(make_marker, self._frame, lifetime=_LIFETIME, stamp=stamp)
        for number, contact in enumerate(engaged):
            place = poses[contact.frame][:3, 3]
            force = (contact.force - contact.internal_wrench)[:3]
            color = (GREY if contact.load < _UNLOADED * self._weight
                     else RED if contact.slip > _AT_BOUND else GREEN)
            arrow = make(Marker.ARROW, color, (_LINE, 2.0 * _LINE), namespace=FORCES, number=number)
            arrow.points = [
                point_message(place), point_message(place + _WEIGHT / self._weight * force)]
            cone = make(Marker.LINE_LIST, color, [0.5 * _LINE], namespace=CONES, number=number)
            cone.points = [point_message(place + line) for line in _cone(contact)]
            markers += [arrow, cone]
            slip = slip_velocity(self._controller, contact, self._cycle.state)
            if np.linalg.norm(slip) > SLIDES:
                slide = make(Marker.ARROW, ORANGE, (2.0 * _LINE, 4.0 * _LINE), namespace=SLIP,
                             number=number)
                slide.points = [point_message(place), point_message(place + _PER_SPEED * slip)]
                markers.append(slide)
        for number, place in enumerate(self._footholds()):
            sphere = make(Marker.SPHERE, BLUE, 3 * [_FOOT], namespace=FOOTHOLDS, number=number)
            sphere.pose.position = point_message(place)
            markers.append(sphere)
        return markers


def _cone(contact):
    """Return the ends (4 n, 3) of the lines of a friction cone from its apex, m."""
    normal = contact.normal
    across = np.cross(normal, np.eye(3)[abs(normal).argmin()])
    across /= np.linalg.norm(across)
    along = np.cross(normal, across)
    angles = np.linspace(0.0, 2.0 * np.pi, _SIDES, endpoint=False)
    rim = _CONE * (normal + contact.friction * (
        np.outer(np.cos(angles), across) + np.outer(np.sin(angles), along)))
    sides = np.stack([np.zeros_like(rim), rim], axis=1)
    around = np.stack([rim, np.roll(rim, -1, axis=0)], axis=1)
    return np.concatenate([sides, around]).reshape(-1, 3)
