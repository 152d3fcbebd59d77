# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Times, poses, motions and wrenches of ROS 2 messages to and from numbers and arrays."""

import math

import numpy as np
from builtin_interfaces.msg import Time

from opspace_control.errors import RosInterfaceError
from opspace_control.spatial.rotations import matrix_from_quaternion

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # on no package index; part of every installed ROS 2
    TFMessage = None

# A quaternion shorter than this names no orientation, however it is scaled.
_SHORTEST_QUATERNION = 0.1


def nanoseconds(stamp):
    """Return a builtin_interfaces/Time as an int, ns."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def time_message(stamp):
    """Return an int, ns, as a builtin_interfaces/Time."""
    sec, nanosec = divmod(stamp, 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)


def simulated_time(node):
    """Return the time of a simulation, ns, as /clock gives it; None where the node ignores it."""
    clock = node.get_clock()
    return clock.now().nanoseconds if clock.ros_time_is_active else None


def pose_from_message(pose):
    """
    Return a geometry_msgs/Pose as (7,) ``[x y z qx qy qz qw]`` with a unit quaternion.

    Raises
    ------
    RosInterfaceError
        A number is not finite, or the quaternion is (nearly) zero.

    """
    p, o = pose.position, pose.orientation
    return unit_pose(np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w]))


def unit_pose(values):
    """
    Return (7,) ``[x y z qx qy qz qw]`` with a quaternion of unit norm.

    Raises
    ------
    RosInterfaceError
        A number is not finite, or the quaternion is (nearly) zero.

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
    """
    Return a geometry_msgs/Twist or Accel as (6,), linear first.

    Raises
    ------
    RosInterfaceError
        A number is not finite.

    """
    a, b = message.linear, message.angular
    return finite_six(np.array([a.x, a.y, a.z, b.x, b.y, b.z]), 'motion')


def wrench_from_message(message):
    """
    Return a geometry_msgs/Wrench as (6,), force first.

    Raises
    ------
    RosInterfaceError
        A number is not finite.

    """
    a, b = message.force, message.torque
    return finite_six(np.array([a.x, a.y, a.z, b.x, b.y, b.z]), 'wrench')


def finite_six(values, what):
    """Return (6,) values, or raise a RosInterfaceError that says what is not finite."""
    if not np.isfinite(values).all():
        raise RosInterfaceError(f'The {what} is not finite.', cure='Give six finite numbers.',
                                value=values)
    return values


def fill_pose(message, pose):
    """Write (7,) ``[x y z qx qy qz qw]`` into a geometry_msgs/Pose."""
    p, o = message.position, message.orientation
    p.x, p.y, p.z, o.x, o.y, o.z, o.w = pose.tolist()


def fill_twist(message, six):
    """Write (6,), linear first, into a geometry_msgs/Twist."""
    a, b = message.linear, message.angular
    a.x, a.y, a.z, b.x, b.y, b.z = six.tolist()


def fill_wrench(message, six):
    """Write (6,), force first, into a geometry_msgs/Wrench."""
    a, b = message.force, message.torque
    a.x, a.y, a.z, b.x, b.y, b.z = six.tolist()


def listed(names, most=5):
    """Return a few quoted names and how many more there are."""
    quoted = ', '.join(f"'{name}'" for name in names[:most])
    return quoted + (f' and {len(names) - most} more' if len(names) > most else '')
