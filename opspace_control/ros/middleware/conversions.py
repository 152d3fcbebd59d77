# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 messages to and from the arrays of the model, matched by name."""

import array
import math

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.errors import RosInterfaceError
from opspace_control.spatial.rotations import matrix_from_quaternion

# A quaternion shorter than this names no orientation, however it is scaled.
_SHORTEST_QUATERNION = 0.1


# By the value of the parameter command_type.
COMMAND_TYPES = {'Float64MultiArray': Float64MultiArray, 'JointState': JointState}


class JointStateReader:
    """
    Read positions and velocities out of JointState messages.

    Joints are matched by name (``model.dof_names``) in any order; further joints are ignored. The
    order is worked out once and kept while the publisher keeps it, so that a message costs one
    comparison of names and two gathers.

    Parameters
    ----------
    model : KinematicTree
        Robot whose dofs, those of a floating base aside, all have a coordinate of their own.

    Raises
    ------
    RosInterfaceError
        The model has dofs that no JointState can carry.

    """

    def __init__(self, model):
        first = 6 * model.floating_base
        self._wanted = model.dof_names[first:]
        for name, index in zip(self._wanted, model.q_index[first:], strict=True):
            if index < 0:
                raise RosInterfaceError(
                    f"'{name}' cannot be given by a JointState.", joint=name,
                    cure='Use joints of one degree of freedom, and floating_base for the base.')
        self._names = None
        self._from = np.zeros(len(self._wanted), dtype=np.intp)

    def read(self, message):
        """
        Return the message's positions and velocities, of the joints, in the order of the model.

        Raises
        ------
        RosInterfaceError
            A joint is missing, or the lengths of the message's arrays differ.

        """
        names, positions, velocities = message.name, message.position, message.velocity
        if names != self._names:
            self._match(names)
        if not len(positions) == len(velocities) == len(names):
            raise RosInterfaceError(
                f'The joint state names {len(names)} joints but has {len(positions)} positions '
                f'and {len(velocities)} velocities.',
                cure='Its publisher must give all three with one length.')
        return np.frombuffer(positions)[self._from], np.frombuffer(velocities)[self._from]

    def _match(self, names):
        self._names = None
        where = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._wanted if name not in where]
        if missing:
            raise RosInterfaceError(
                f'The joint state lacks {listed(missing)}.', joint=missing[0],
                cure='Its publisher must give every joint of the robot description in one message.')
        self._from[:] = [where[name] for name in self._wanted]
        self._names = list(names)


class EffortCommand:
    """
    The command message, made once; writing efforts into it allocates nothing.

    Parameters
    ----------
    model : KinematicTree
        The robot.
    joints : sequence of str
        The order of the command.
    kind : type
        Float64MultiArray, or JointState: efforts by name.

    Attributes
    ----------
    message : Float64MultiArray or JointState
    index : array of int
        Of each joint, into a torque.

    """

    def __init__(self, model, joints, kind=Float64MultiArray):
        zeros = array.array('d', bytes(8 * len(joints)))
        self.message = (JointState(name=list(joints), effort=zeros) if kind is JointState else
                        Float64MultiArray(data=zeros))
        self.index = np.array([model.dof_index(name) for name in joints], dtype=np.intp)
        # A message has made its copy.
        self._values = np.frombuffer(
            self.message.effort if kind is JointState else self.message.data)

    def write(self, torque):
        """Put the commanded entries of a joint torque (nv,), N·m or N, into the message."""
        torque.take(self.index, out=self._values, mode='clip')
        return self.message


class EffortReader:
    """
    Read efforts out of command messages, in the order of the command.

    Parameters
    ----------
    joints : sequence of str
        The order of the command.
    kind : type
        Float64MultiArray, or JointState: efforts by name, in any order.

    """

    def __init__(self, joints, kind=Float64MultiArray):
        self._joints = list(joints)
        self._named = kind is JointState

    def read(self, message):
        """
        Return the efforts of a message, one of each joint, N·m or N.

        Raises
        ------
        RosInterfaceError
            They are not one finite number for each joint.

        """
        efforts = np.frombuffer(message.effort if self._named else message.data)
        if self._named and message.name != self._joints:
            where = {name: i for i, name in enumerate(message.name)}
            if len(message.name) == efforts.size and where.keys() == set(self._joints):
                efforts = efforts[[where[name] for name in self._joints]]
            else:
                efforts = efforts[:0]
        if efforts.size != len(self._joints) or not np.isfinite(efforts).all():
            raise RosInterfaceError(
                'The command cannot be used.', value=efforts,
                cure=f'Give {len(self._joints)} finite efforts, '
                + ('of ' if self._named else 'in the order ') + ', '.join(self._joints) + '.')
        return efforts


def nanoseconds(stamp):
    """Return a builtin_interfaces/Time as an int, ns."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def pose_from_message(pose):
    """
    Return a geometry_msgs/Pose as (7,) ``[x y z qx qy qz qw]`` with a unit quaternion.

    Raises
    ------
    RosInterfaceError
        A number is not finite, or the quaternion is (nearly) zero.

    """
    p, o = pose.position, pose.orientation
    values = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
    if not np.isfinite(values).all():
        raise RosInterfaceError('The pose is not finite.', cure='Give seven finite numbers.',
                                value=values)
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
    return _finite_six(message.linear, message.angular, 'motion')


def wrench_from_message(message):
    """
    Return a geometry_msgs/Wrench as (6,), force first.

    Raises
    ------
    RosInterfaceError
        A number is not finite.

    """
    return _finite_six(message.force, message.torque, 'wrench')


def _finite_six(a, b, what):
    """Return two Vector3 as (6,), or raise a RosInterfaceError that says what is not finite."""
    values = np.array([a.x, a.y, a.z, b.x, b.y, b.z])
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
