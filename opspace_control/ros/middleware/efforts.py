# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Effort commands, serialized: of a message that is always the same, only the numbers are written.

They are the last field of both kinds of command, as the doubles that they are in memory.
"""

import array

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.serialized import counted, open_message

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
        self._head = _head(joints, kind)
        self._values = np.empty(len(joints))

    def write(self, torque):
        """Return the message, serialized, with its entries of a torque (nv,), N·m or N."""
        torque.take(self.index, out=self._values, mode='clip')
        return self._head + self._values.tobytes()


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
        self._head = None  # of the last message, up to its efforts

    def read(self, data):
        """
        Return the efforts of a message, one of each joint, N·m or N.

        Raises
        ------
        RosInterfaceError
            It is no such message, or its efforts are not one finite number for each joint.

        """
        start = len(data) - 8 * len(self._joints)
        if self._head is not None and start == len(self._head) and data.startswith(self._head):
            efforts = np.frombuffer(data[start:])
        else:
            efforts = self._efforts_of(data)
            self._learn(data[:max(start, 0)])
        if efforts.size != len(self._joints) or not np.isfinite(efforts).all():
            raise RosInterfaceError(
                'The command cannot be used.', value=efforts,
                cure=f'Give {len(self._joints)} finite efforts, '
                + ('of ' if self._kind is JointState else 'in the order ')
                + ', '.join(self._joints) + '.')
        return efforts

    def _learn(self, head):
        """Keep how a message begins, if what follows are the efforts, in our order."""
        numbers = counted(1, len(self._joints))
        try:
            known = np.array_equal(self._efforts_of(head + numbers.tobytes()), numbers)
        except RosInterfaceError:
            known = False
        self._head = head if known else None

    def _efforts_of(self, data):
        """Return the efforts of a message, in our order; none if they are those of others."""
        message = open_message(data, self._kind)
        if self._kind is not JointState:
            return np.array(message.data)
        efforts = np.array(message.effort)
        if message.name == self._joints:
            return efforts
        where = {name: i for i, name in enumerate(message.name)}
        if len(message.name) == efforts.size and where.keys() == set(self._joints):
            return efforts[[where[name] for name in self._joints]]
        return efforts[:0]


def _head(joints, kind):
    """Return a serialized command up to its efforts; raises as `EffortCommand`."""
    if not joints:
        raise RosInterfaceError('No joint is commanded.', cure='Name some in command_joints.')

    def message(first):
        efforts = array.array('d', range(first, first + len(joints)))
        return efforts.tobytes(), (JointState(name=list(joints), effort=efforts)
                                   if kind is JointState else Float64MultiArray(data=efforts))
    numbers, example = message(1)
    head = serialize_message(example).partition(numbers)[0]
    numbers, example = message(2)
    try:
        known = open_message(head + numbers, kind) == example
    except RosInterfaceError:
        known = False
    if not known:
        raise RosInterfaceError(
            'Commands cannot be written for this ROS 2 middleware: its messages are not CDR.',
            cure='Choose another RMW_IMPLEMENTATION, such as rmw_fastrtps_cpp.')
    return head
