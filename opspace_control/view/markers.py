# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the markers of a controller show in the scene: contacts, near pairs, collision shapes."""

import numpy as np
from visualization_msgs.msg import Marker

from opspace_control.ros.middleware.conversions import numbers_of
from opspace_control.ros.topics.collision_markers import NEAR, SHAPES
from opspace_control.ros.topics.contact_markers import CONES, FOOTHOLDS, FORCES, SLIP

_DROP = 0.03  # m, half the height of the sign of a foothold


class Contacts:
    """The lines of contacts and near pairs, one node of the scene for each namespace of markers."""

    def __init__(self, scene):
        self._scene, self._lines = scene, {}

    def update(self, message):
        """Show the markers of a MarkerArray; of contacts that are not in it nothing is shown."""
        for namespace, width in (
                (FORCES, 4.0), (CONES, 1.0), (SLIP, 6.0), (FOOTHOLDS, 3.0), (NEAR, 3.0)):
            markers = [marker for marker in message.markers if marker.ns == namespace]
            lines = [_segments(marker) for marker in markers]
            self._show(namespace, width, np.concatenate(lines) if lines else np.zeros((0, 2, 3)), [
                _color(marker) for marker, part in zip(markers, lines, strict=True) for _ in part])

    def remove(self):
        """Remove the lines from the scene."""
        for line in self._lines.values():
            line.remove()

    def _show(self, namespace, width, points, colors):
        """Show lines (n, 2, 3) of colors (n, 3); others of the same node have no length."""
        node = self._lines.get(namespace)
        if node is None or len(node.points) < len(points):
            if node:
                node.remove()
            node = self._lines[namespace] = self._scene.add_line_segments(
                f'/{namespace}', np.zeros((len(points), 2, 3), np.float32),
                np.zeros((len(points), 2, 3), np.uint8), line_width=width)
        rest = len(node.points) - len(points)
        node.points = np.pad(points, ((0, rest), (0, 0), (0, 0))).astype(np.float32)
        node.colors = np.pad(np.repeat(np.reshape(colors, (-1, 1, 3)), 2, axis=1),
                             ((0, rest), (0, 0), (0, 0))).astype(np.uint8)


class ShapeOverlay:
    """
    The collision shapes of a controller: translucent, on their links, hidden until asked for.

    ``robot`` is the `RobotScene`, whose links carry them. A checkbox shows them; it appears with
    the first shapes.
    """

    def __init__(self, scene, gui, robot):
        self._scene, self._gui, self._robot = scene, gui, robot
        self._nodes, self._box = {}, None

    def update(self, message):
        """Show the shapes of a MarkerArray, or, where it has none or is None, the last ones."""
        shapes = [marker for marker in message.markers if marker.ns == SHAPES] if message else []
        if shapes:
            markers = {marker.id: marker for marker in shapes if marker.action == Marker.ADD}
            for number in [*self._nodes]:
                if number not in markers or self._nodes[number][0] != _look(markers[number]):
                    self._nodes.pop(number)[1].remove()
            for number, marker in markers.items():
                self._place(number, marker)
            if self._box is None:
                self._box = self._gui.add_checkbox(
                    'Collision shapes', False, hint='Those between which distances are kept.')
        for _, node in self._nodes.values():
            if node.visible != self._box.value:
                node.visible = self._box.value

    def remove(self):
        """Remove the shapes and the checkbox."""
        for _, node in self._nodes.values():
            node.remove()
        if self._box:
            self._box.remove()
        self._nodes, self._box = {}, None

    def _place(self, number, marker):
        pose = numbers_of(marker.pose)
        if number not in self._nodes:
            self._nodes[number] = _look(marker), self._add(number, marker)
        node = self._nodes[number][1]
        node.position, node.wxyz = pose[:3], np.roll(pose[3:], 1)

    def _add(self, number, marker):
        base = self._robot.node(marker.header.frame_id) or ''
        name, rgb, size = f'{base}/collision_{number}', _color(marker), marker.scale
        if marker.type == Marker.LINE_LIST:
            return self._scene.add_line_segments(
                name, _segments(marker).astype(np.float32), rgb, line_width=2.0, visible=False)
        look = {'color': rgb, 'opacity': marker.color.a, 'visible': False, 'cast_shadow': False}
        if marker.type == Marker.CUBE:
            return self._scene.add_box(name, dimensions=(size.x, size.y, size.z), **look)
        if marker.type == Marker.CYLINDER:
            return self._scene.add_cylinder(name, size.x / 2.0, size.z, **look)
        return self._scene.add_icosphere(name, size.x / 2.0, **look)


def _segments(marker):
    """Return the lines of a marker, (n, 2, 3), m."""
    if marker.type == Marker.SPHERE:
        place = marker.pose.position
        return np.array([[[place.x, place.y, place.z], [place.x, place.y, place.z + _DROP]]])
    return np.array([[point.x, point.y, point.z] for point in marker.points]).reshape(-1, 2, 3)


def _color(marker):
    color = marker.color
    return round(255 * color.r), round(255 * color.g), round(255 * color.b)


def _look(marker):
    """Return what a shape looks like, and on what: with another one it is a new node."""
    size = marker.scale
    return marker.type, size.x, size.y, size.z, marker.header.frame_id
