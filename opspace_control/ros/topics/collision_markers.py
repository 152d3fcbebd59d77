# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Collision shapes and pairs that are near each other, as markers for RViz and the view."""

import numpy as np
from rclpy.duration import Duration
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from opspace_control.collision import Kind
from opspace_control.ros.middleware.conversions import fill_message, point_message
from opspace_control.spatial.rotations import quaternion_from_matrix

# Namespaces: lines between the nearest points of pairs that have a bound, and the shapes.
NEAR, SHAPES = 'near pairs', 'collision shapes'
_LINE = 0.004  # m, thickness
_EVERY = 1.0   # s, between two messages with shapes
_YELLOW, _RED, _GREY = (ColorRGBA(r=r, g=g, b=b, a=a) for r, g, b, a in (
    (1.0, 0.8, 0.1, 0.9), (0.9, 0.1, 0.1, 0.9), (0.5, 0.6, 0.9, 0.35)))


class CollisionMarkers:
    """
    The markers of a controller that keeps distances, in frames of links and the base frame.

    Lines are yellow, red where the bound is active. Shapes of links are locked to their frames;
    half-spaces are not shown.
    """

    def __init__(self, controller, frames):
        self._controller, self._frames, self._sent = controller, frames, -np.inf

    def __call__(self, stamp):
        """Return the markers of the last cycle, a list, with this time stamp."""
        distances = self._controller.distances
        if not distances or distances.capacity == 0:
            return []
        active = {limit.name for limit in self._controller.active_limits
                  if limit.limit == 'distance'}
        lines = [self._marker(stamp, NEAR, number, Marker.LINE_LIST, color, 0.3, _LINE)
                 for number, color in enumerate((_YELLOW, _RED))]
        for pair in self._controller.urgent_pairs:
            lines[f'{pair.first} and {pair.second}' in active].points += [
                point_message(pair.first_point), point_message(pair.second_point)]
        now = stamp.sec + 1e-9 * stamp.nanosec
        if not 0.0 <= now - self._sent < _EVERY:
            self._sent = now
            lines += self._shapes(stamp)
        return lines

    def _shapes(self, stamp):
        markers = []
        for shape in self._controller.shapes:
            for kind, size, along in _parts(shape):
                marker = self._marker(stamp, SHAPES, len(markers), kind, _GREY, 3.0 * _EVERY, *size)
                R = np.array(shape.rotation)
                fill_message(marker.pose, np.concatenate([
                    shape.position + along * R[:, 2], quaternion_from_matrix(R)]))
                if shape.link:
                    marker.header.frame_id = self._frames.named(shape.link)
                    marker.frame_locked = True
                markers.append(marker)
        return markers

    def _marker(self, stamp, namespace, number, kind, color, lifetime, *scale):
        marker = Marker(ns=namespace, id=number, type=kind, color=color,
                        lifetime=Duration(seconds=lifetime).to_msg())
        marker.header.frame_id, marker.header.stamp = self._frames.base, stamp
        marker.pose.orientation.w = 1.0
        for axis, value in zip('xyz', scale, strict=False):
            setattr(marker.scale, axis, value)
        return marker


def _parts(shape):
    """Yield kind of marker, size (3,), m, and place along z, m, of what shows a shape."""
    if shape.kind == Kind.BOX:
        yield Marker.CUBE, shape.size, 0.0
    elif shape.kind in (Kind.SPHERE, Kind.CAPSULE, Kind.CYLINDER):
        radius, length = (*shape.size, 0.0)[:2]
        wide = 2.0 * radius
        if shape.kind != Kind.SPHERE:
            yield Marker.CYLINDER, (wide, wide, length), 0.0
        if shape.kind != Kind.CYLINDER:
            for end in {-0.5 * length, 0.5 * length}:
                yield Marker.SPHERE, (wide, wide, wide), end
