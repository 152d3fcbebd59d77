# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of joints: states, effort commands and trajectories."""

import array

import numpy as np
from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory as Message
from trajectory_msgs.msg import JointTrajectoryPoint

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import listed, time_message, times_from_start
from opspace_control.ros.middleware.serialized import MessageReader, MessageWriter
from opspace_control.tasks.trajectory import JointTrajectory


class JointStateReader:
    """
    Read positions and velocities out of serialized JointState messages.

    Joints are matched by name (``model.dof_names``) in any order; further joints are ignored. The
    order is found once and kept while messages have one layout, so that a message costs a few
    comparisons of bytes and two gathers. A ``model`` with dofs that a JointState cannot have is a
    RosInterfaceError: those of a floating base aside, all have a coordinate of their own. Messages
    are opened by ``open``, that of a `MessageReader`.
    """

    def __init__(self, model):
        first = 6 * model.floating_base
        self._wanted = model.dof_names[first:]
        for name, index in zip(self._wanted, model.q_index[first:], strict=True):
            if index < 0:
                raise RosInterfaceError(
                    f"'{name}' cannot be given by a JointState.", joint=name,
                    cure='Use joints of one degree of freedom, and floating_base for the base.')
        self.open = MessageReader(JointState).open
        self._places = None  # of the message before

    def read(self, opened, positions, velocities):
        """
        Write the numbers of an opened JointState, in the order of the model, into two arrays.

        A missing joint, or arrays of different lengths, are a RosInterfaceError.
        """
        if opened.places is not self._places:
            self._find(opened)
        opened.values.take(self._positions, out=positions, mode='clip')
        opened.values.take(self._velocities, out=velocities, mode='clip')

    def _find(self, opened):
        """Find the numbers of the joints in messages of the layout of this one."""
        self._places = None
        names = opened.like.name
        where = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._wanted if name not in where]
        if missing:
            raise RosInterfaceError(
                f'The joint state lacks {listed(missing)}.', joint=missing[0],
                cure='Its publisher must give every joint of the robot description in one message.')
        positions, velocities, _ = opened.numbers
        if not len(positions) == len(velocities) == len(names):
            raise RosInterfaceError(
                f'The joint state names {len(names)} joints but has {len(positions)} positions '
                f'and {len(velocities)} velocities.',
                cure='Its publisher must give all three with one length.')
        index = np.array([where[name] for name in self._wanted], dtype=np.intp)
        self._positions, self._velocities = (place.start + index for place in opened.places[:2])
        self._places = opened.places


# By the value of the parameter command_type.
COMMAND_TYPES = {'Float64MultiArray': Float64MultiArray, 'JointState': JointState}


class EffortCommand:
    """
    The command, ready to be published but for its numbers.

    Its joints, in the order of the command, are those of a KinematicTree; ``index`` has the place
    of each in a torque. ``kind`` is Float64MultiArray, or JointState: efforts by name. Without
    joints, or if the middleware has efforts elsewhere in its messages, a RosInterfaceError is
    raised.
    """

    def __init__(self, model, joints, kind=Float64MultiArray):
        self.index = np.array([model.dof_index(name) for name in joints], dtype=np.intp)
        if not joints:
            raise RosInterfaceError('No joint is commanded.', cure='Name some in command_joints.')
        self._values = np.empty(len(joints))
        efforts = array.array('d', self._values)
        self._writer = MessageWriter(JointState(name=list(joints), effort=efforts)
                                     if kind is JointState else Float64MultiArray(data=efforts))

    def write(self, torque):
        """Return the message, serialized, with its entries of a torque (nv,), N·m or N."""
        torque.take(self.index, out=self._values, mode='clip')
        return self._writer.write(self._values)


class EffortReader:
    """Read efforts out of serialized commands of a ``kind``, in the order of ``joints``."""

    def __init__(self, joints, kind=Float64MultiArray):
        self._joints = list(joints)
        self._kind = kind
        self._reader = MessageReader(kind)

    def read(self, data):
        """
        Return the efforts of a message, one of each joint, N·m or N.

        If it has not one finite number for each joint, a RosInterfaceError is raised.
        """
        efforts = self._efforts_of(self._reader.open(data))
        if efforts.size != len(self._joints) or not np.isfinite(efforts).all():
            raise RosInterfaceError(
                'The command cannot be used.', value=efforts,
                cure=f'Give {len(self._joints)} finite efforts, '
                + ('of ' if self._kind is JointState else 'in the order ')
                + ', '.join(self._joints) + '.')
        return efforts

    def _efforts_of(self, opened):
        """Return the efforts of a message in our order; none if they are those of other joints."""
        efforts = opened.numbers[-1]
        if self._kind is not JointState or opened.like.name == self._joints:
            return efforts
        where = {name: i for i, name in enumerate(opened.like.name)}
        if len(opened.like.name) == efforts.size and where.keys() == set(self._joints):
            return efforts[[where[name] for name in self._joints]]
        return efforts[:0]


def joint_state(joints, *quantities):
    """Return a JointState of these joints, zero in each of its quantities."""
    return JointState(name=list(joints), **{
        quantity: array.array('d', bytes(8 * len(joints))) for quantity in quantities})


def read_joint_trajectory(message):
    """Return the JointTrajectory of a message, or raise an OpspaceError that says what is wrong."""
    n = len(message.joint_names)
    parts = []
    for name in ('positions', 'velocities', 'accelerations', 'effort'):
        rows = [getattr(point, name) for point in message.points]
        counts = {len(row) for row in rows}
        if counts <= {0} and name != 'positions':
            parts.append(None)
        elif counts != {n}:
            wrong = next((i for i, row in enumerate(rows) if len(row) != n), 0)
            raise RosInterfaceError(
                f'The plan is refused: point {wrong} has not {n} {name}.',
                cure='Give one for each joint at every point, or no velocities, accelerations, '
                'efforts at all.')
        else:
            parts.append(np.array(rows))
    return JointTrajectory(message.joint_names, times_from_start(message.points), *parts)


def write_joint_trajectory(trajectory, tag=''):
    """Return the trajectory_msgs/JointTrajectory of a JointTrajectory; ``tag`` is its frame_id."""
    parts = {'positions': trajectory.positions, 'velocities': trajectory.velocities,
             'accelerations': trajectory.accelerations, 'effort': trajectory.efforts}
    message = Message(joint_names=trajectory.joints)
    message.header.frame_id = tag
    for i, time in enumerate(trajectory.times):
        point = JointTrajectoryPoint(**{
            name: part[i].tolist() for name, part in parts.items() if part is not None})
        point.time_from_start = time_message(round(1e9 * time), Duration)
        message.points.append(point)
    return message
