# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes that links keep a distance from, as markers give them."""

import numpy as np
from visualization_msgs.msg import Marker

from opspace_control.collision import Kind
from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import matrix_from_pose, pose_from_message
from opspace_control.spatial.rotations import matrix_from_vector

_SAME = 1e-6  # relative difference of two diameters
_SHORTEST = 1e-6  # m, between the two points of a marker


def shape_of_marker(marker):
    """
    Return the Kind and the size, m, of what a marker shows, and its pose (4, 4) in the frame.

    A CUBE is a box, a SPHERE a sphere, a CYLINDER a cylinder. A LINE_STRIP or LINE_LIST of two
    points is a capsule about the line between them, whose width is its diameter. An ARROW is a
    half-space: its plane goes through the tail, and the arrow is its outward normal. A
    RosInterfaceError says what another marker lacks.
    """
    pose = matrix_from_pose(pose_from_message(marker.pose))
    if marker.type in (Marker.LINE_STRIP, Marker.LINE_LIST):
        width, = _positive([marker.scale.x])
        tail, along, length = _between_points(marker.points)
        return (Kind.CAPSULE, (0.5 * width, length),
                pose @ _pointing(tail + 0.5 * length * along, along))
    if marker.type == Marker.ARROW:
        tail, along = np.zeros(3), np.eye(3)[0]
        if marker.points:
            tail, along, _ = _between_points(marker.points)
        return Kind.HALF_SPACE, (), pose @ _pointing(tail, along)
    return *_solid(marker), pose


def _solid(marker):
    """Return the Kind and the size of a marker that is as large as its scale."""
    if marker.type not in (Marker.CUBE, Marker.CYLINDER, Marker.SPHERE):
        raise RosInterfaceError(
            f'A marker of type {marker.type} is no shape.',
            cure='Send CUBE, SPHERE, CYLINDER, LINE_STRIP for a capsule or ARROW for a half-space.')
    x, y, z = _positive([marker.scale.x, marker.scale.y, marker.scale.z])
    if marker.type == Marker.CUBE:
        return Kind.BOX, (x, y, z)
    if marker.type == Marker.CYLINDER:
        if abs(x - y) > _SAME * abs(x):
            raise RosInterfaceError(f'The cylinder is elliptic: {x:g} × {y:g} m.',
                                    cure='Give the same scale along x and y.')
        return Kind.CYLINDER, (0.5 * x, z)
    if max(abs(x - y), abs(x - z)) > _SAME * abs(x):
        raise RosInterfaceError(f'The sphere is an ellipsoid: {x:g} × {y:g} × {z:g} m.',
                                cure='Give the same scale along x, y and z.')
    return Kind.SPHERE, (0.5 * x,)


def _positive(scale):
    """Return numbers of a marker's scale, m, or raise a RosInterfaceError."""
    if not (min(scale) > 0.0 and np.isfinite(scale).all()):
        raise RosInterfaceError(
            f'The scale is {" × ".join(f"{value:g}" for value in scale)} m.',
            cure='Give three positive numbers.' if len(scale) == 3 else
            'Give the width of the line, a positive number, along x.')
    return scale


def _between_points(points):
    """Return the first of two points (3,), the direction (3,) to the second, their distance, m."""
    if len(points) != 2:
        raise RosInterfaceError(f'The marker has {len(points)} points.',
                                cure='Give two; of several lines send one marker for each.')
    tail, tip = np.array([[point.x, point.y, point.z] for point in points])
    length = float(np.linalg.norm(tip - tail))
    if not (np.isfinite(length) and length > _SHORTEST):
        raise RosInterfaceError(f'The two points of the marker are {length:g} m apart.',
                                cure='Give two that differ; a sphere is a SPHERE.')
    return tail, (tip - tail) / length, length


def _pointing(position, along):
    """Return a pose (4, 4) whose z axis is a direction, by the least rotation from the frame's."""
    pose = np.eye(4)
    sine = np.hypot(along[0], along[1])
    axis = np.array([-along[1], along[0], 0.0]) / sine if sine > 0.0 else np.eye(3)[0]
    pose[:3, :3] = matrix_from_vector(np.arctan2(sine, along[2]) * axis)
    pose[:3, 3] = position
    return pose
