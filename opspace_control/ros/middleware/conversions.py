# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Times, poses, motions and wrenches of ROS 2 messages to and from numbers and arrays."""

import math
from operator import attrgetter

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Accel, Point, Pose, Transform, Twist, Wrench

from opspace_control.errors import RosInterfaceError
from opspace_control.spatial.rotations import matrix_from_quaternion

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # on no package index; part of every installed ROS 2
    TFMessage = None

# The two parts of messages of six or seven numbers.
_PARTS = {Pose: attrgetter('position', 'orientation'),
          Transform: attrgetter('translation', 'rotation'),
          Twist: attrgetter('linear', 'angular'), Accel: attrgetter('linear', 'angular'),
          Wrench: attrgetter('force', 'torque')}
# A quaternion shorter than this names no orientation, however it is scaled.
_SHORTEST_QUATERNION = 0.1


def nanoseconds(stamp):
    """Return a builtin_interfaces/Time or Duration as an int, ns."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def time_message(stamp, kind=Time):
    """Return an int, ns, as a builtin_interfaces/Time or another kind with its fields."""
    sec, nanosec = divmod(stamp, 1_000_000_000)
    return kind(sec=sec, nanosec=nanosec)


def times_from_start(points):
    """Return the times of the points of a trajectory, a list, s."""
    return [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points]


def simulated_time(node):
    """Return the time of a simulation, ns, as /clock gives it; None where the node ignores it."""
    clock = node.get_clock()
    return clock.now().nanoseconds if clock.ros_time_is_active else None


def numbers_of(message):
    """
    Return the numbers of a message, unchecked.

    A Pose or Transform is (7,) ``[x y z qx qy qz qw]``; a Twist or Accel is (6,), linear first; a
    Wrench is (6,), force first.
    """
    a, b = _PARTS[type(message)](message)
    six = a.x, a.y, a.z, b.x, b.y, b.z
    return np.array((*six, b.w) if hasattr(b, 'w') else six)


def fill_message(message, numbers):
    """Write numbers, an array as from `numbers_of`, into a message of one of these types."""
    a, b = _PARTS[type(message)](message)
    if len(numbers) == 7:
        a.x, a.y, a.z, b.x, b.y, b.z, b.w = numbers.tolist()
    else:
        a.x, a.y, a.z, b.x, b.y, b.z = numbers.tolist()


def point_message(position):
    """Return a geometry_msgs/Point of a position, (3,)."""
    x, y, z = position
    return Point(x=float(x), y=float(y), z=float(z))


def pose_from_message(pose):
    """Return a geometry_msgs/Pose as (7,) ``[x y z qx qy qz qw]``; checked by `unit_pose`."""
    return unit_pose(numbers_of(pose))


def unit_pose(values):
    """
    Return (7,) ``[x y z qx qy qz qw]`` with a quaternion of unit norm.

    A number that is not finite, or a quaternion of (nearly) zero, is a RosInterfaceError.
    """
    if not np.isfinite(values).all():
        raise RosInterfaceError('The pose is not finite.', cure='Give seven finite numbers.',
                                value=values)
    values = values.copy()
    norm = math.sqrt(values[3:] @ values[3:])
    if norm < _SHORTEST_QUATERNION:
        raise RosInterfaceError('The orientation is a zero quaternion.',
                                cure='No rotation is x = y = z = 0, w = 1.', value=values)
    values[3:] /= norm
    return values


def matrix_from_pose(pose):
    """Return (7,) ``[x y z qx qy qz qw]``, its quaternion of unit norm, as a transform (4, 4)."""
    transform = np.eye(4)
    transform[:3, :3] = matrix_from_quaternion(pose[3:])
    transform[:3, 3] = pose[:3]
    return transform


def six_from_message(message):
    """Return a Twist, Accel or Wrench as (6,), linear or force first; checked by `finite_six`."""
    return finite_six(numbers_of(message), 'wrench' if type(message) is Wrench else 'motion')


def finite_six(values, what):
    """Return (6,) values, or raise a RosInterfaceError that says what is not finite."""
    if not np.isfinite(values).all():
        raise RosInterfaceError(f'The {what} is not finite.', cure='Give six finite numbers.',
                                value=values)
    return values


def listed(names):
    """Return five quoted names and how many more there are."""
    quoted = ', '.join(f"'{name}'" for name in names[:5])
    return quoted + (f' and {len(names) - 5} more' if len(names) > 5 else '')
