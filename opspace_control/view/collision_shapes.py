# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Collision shapes over the robot and its world, from markers."""

import numpy as np
from visualization_msgs.msg import Marker

from opspace_control.ros.middleware.conversions import numbers_of
from opspace_control.ros.topics.collision_markers import SHAPES
from opspace_control.view.contacts import segments


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
        name, color, size = f'{base}/collision_{number}', marker.color, marker.scale
        rgb = tuple(round(255 * part) for part in (color.r, color.g, color.b))
        if marker.type == Marker.LINE_LIST:
            return self._scene.add_line_segments(
                name, segments(marker).astype(np.float32), rgb, line_width=2.0, visible=False)
        look = {'color': rgb, 'opacity': color.a, 'visible': False, 'cast_shadow': False}
        if marker.type == Marker.CUBE:
            return self._scene.add_box(name, dimensions=(size.x, size.y, size.z), **look)
        if marker.type == Marker.CYLINDER:
            return self._scene.add_cylinder(name, size.x / 2.0, size.z, **look)
        return self._scene.add_icosphere(name, size.x / 2.0, **look)


def _look(marker):
    """Return what a shape looks like, and on what: with another one it is a new node."""
    size = marker.scale
    return marker.type, size.x, size.y, size.z, marker.header.frame_id
