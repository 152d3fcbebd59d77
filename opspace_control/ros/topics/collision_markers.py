# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Collision shapes and pairs that are near each other, as markers for RViz and the view."""

import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from opspace_control.collision import Kind
from opspace_control.ros.middleware.conversions import fill_message, point_message
from opspace_control.ros.topics.markers import RED, YELLOW, make_marker
from opspace_control.spatial.rotations import quaternion_from_matrix

# Namespaces: lines between the nearest points of pairs that have a bound, and the shapes.
NEAR, SHAPES = 'near pairs', 'collision shapes'
_LINE = 0.004  # m, thickness
_EVERY = 1.0   # s, between two messages with shapes
# What shows a half-space, m: half the length of a grid's lines, their distance, and a normal. A
# plate would hide the other shapes behind it in the view.
_HALF, _APART, _NORMAL = 2.0, 0.5, 0.3
_LINES = [point_message(end) for x in np.arange(-_HALF, _HALF + _APART, _APART) for end in (
    (x, -_HALF, 0.0), (x, _HALF, 0.0), (-_HALF, x, 0.0), (_HALF, x, 0.0))] + [
    point_message(end) for end in ((0.0, 0.0, 0.0), (0.0, 0.0, _NORMAL))]
_BLUISH = ColorRGBA(r=0.5, g=0.6, b=0.9, a=0.35)


class CollisionMarkers:
    """
    The markers of a controller that keeps distances, in frames of links and the base frame.

    Lines are yellow, red where the bound is active. Shapes of links are locked to their frames. A
    half-space is a grid of 4 m by 4 m, with a line along its normal, where its plane is nearest to
    the root link, or to the origin of the link that carries it.
    """

    def __init__(self, controller, cycle, frames):
        self._controller, self._cycle, self._frames = controller, cycle, frames
        self._sent, self._model, self._count = -np.inf, None, 0  # last time, shapes, their markers

    def __call__(self, stamp):
        """Return the markers of the last cycle, a list, with this time stamp."""
        distances = self._controller.distances
        if not distances or distances.capacity == 0:
            return []
        active = {limit.name for limit in self._controller.active_limits
                  if limit.limit == 'distance'}
        lines = [make_marker(self._frames.base, Marker.LINE_LIST, color, [_LINE], namespace=NEAR,
                             number=number, lifetime=0.3, stamp=stamp)
                 for number, color in enumerate((YELLOW, RED))]
        for pair in self._controller.urgent_pairs:
            lines[f'{pair.first} and {pair.second}' in active].points += [
                point_message(pair.first_point), point_message(pair.second_point)]
        now = stamp.sec + 1e-9 * stamp.nanosec
        if self._model is not distances.collision or not 0.0 <= now - self._sent < _EVERY:
            self._sent, self._model = now, distances.collision
            lines += self._shapes(stamp)
        return lines

    def _shapes(self, stamp):
        """Return the markers of all shapes, and of those that are no more, to be deleted."""
        markers = []
        for shape in self._controller.shapes:
            R = np.array(shape.rotation)
            position = self._center(shape, R[:, 2])
            for kind, size, along in _parts(shape):
                marker = make_marker(
                    self._frames.base, kind, _BLUISH, size, namespace=SHAPES, number=len(markers),
                    lifetime=3.0 * _EVERY, stamp=stamp)
                fill_message(marker.pose, np.concatenate([
                    position + along * R[:, 2], quaternion_from_matrix(R)]))
                if kind == Marker.LINE_LIST:
                    marker.points = _LINES
                if shape.link:
                    marker.header.frame_id = self._frames.named(shape.link)
                    marker.frame_locked = True
                markers.append(marker)
        before, self._count = self._count, len(markers)
        return markers + [Marker(ns=SHAPES, id=number, action=Marker.DELETE)
                          for number in range(self._count, before)]

    def _center(self, shape, normal):
        """Return where a shape is shown, (3,), in its frame, m."""
        position = np.array(shape.position)
        if shape.kind != Kind.HALF_SPACE:
            return position
        near = np.zeros(3)
        if shape.link is None and self._controller.model.floating_base:
            near = self._cycle.state.q[:3]
        return near + normal * (normal @ (position - near))


def _parts(shape):
    """Yield kind of marker, size, m, and place along z, m, of what shows a shape."""
    if shape.kind == Kind.BOX:
        yield Marker.CUBE, shape.size, 0.0
    elif shape.kind == Kind.HALF_SPACE:
        yield Marker.LINE_LIST, [_LINE], 0.0
    else:
        radius, length = (*shape.size, 0.0)[:2]
        wide = 2.0 * radius
        if shape.kind != Kind.SPHERE:
            yield Marker.CYLINDER, (wide, wide, length), 0.0
        if shape.kind != Kind.CYLINDER:
            for end in {-0.5 * length, 0.5 * length}:
                yield Marker.SPHERE, (wide, wide, wide), end
