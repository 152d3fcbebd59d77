# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Effort commands, serialized: efforts are the last field of both kinds of command."""

import array

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.serialized import MessageReader, MessageWriter

# By the value of the parameter command_type.
COMMAND_TYPES = {'Float64MultiArray': Float64MultiArray, 'JointState': JointState}


class EffortCommand:
    """
    The command, ready to be published but for its numbers.

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
    index : array of int
        Of each joint, into a torque.

    Raises
    ------
    RosInterfaceError
        There are no joints, or the middleware has efforts elsewhere in its messages.

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
    """
    Read efforts out of serialized command messages, in the order of the command.

    Parameters
    ----------
    joints : sequence of str
        The order of the command.
    kind : type
        Float64MultiArray, or JointState: efforts by name, in any order.

    """

    def __init__(self, joints, kind=Float64MultiArray):
        self._joints = list(joints)
        self._kind = kind
        self._reader = MessageReader(kind)

    def read(self, data):
        """
        Return the efforts of a message, one of each joint, N·m or N.

        Raises
        ------
        RosInterfaceError
            It is no such message, or its efforts are not one finite number for each joint.

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
        """Return the efforts of a message, in our order; none if they are those of others."""
        efforts = opened.numbers[-1]
        if self._kind is not JointState or opened.like.name == self._joints:
            return efforts
        where = {name: i for i, name in enumerate(opened.like.name)}
        if len(opened.like.name) == efforts.size and where.keys() == set(self._joints):
            return efforts[[where[name] for name in self._joints]]
        return efforts[:0]
