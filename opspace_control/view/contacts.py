# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Contact forces, cones, slip, footholds and near pairs in the scene, from markers."""

import numpy as np
from visualization_msgs.msg import Marker

from opspace_control.ros.topics.collision_markers import NEAR
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
            lines = [segments(marker) for marker in markers]
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


def segments(marker):
    """Return the lines of a marker, (n, 2, 3), m."""
    if marker.type == Marker.SPHERE:
        place = marker.pose.position
        return np.array([[[place.x, place.y, place.z], [place.x, place.y, place.z + _DROP]]])
    return np.array([[point.x, point.y, point.z] for point in marker.points]).reshape(-1, 2, 3)


def _color(marker):
    color = marker.color
    return round(255 * color.r), round(255 * color.g), round(255 * color.b)
