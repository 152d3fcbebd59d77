# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come, serialized, matched by name."""

from typing import NamedTuple

import numpy as np
from sensor_msgs.msg import JointState

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import listed, nanoseconds
from opspace_control.ros.middleware.serialized import (
    AFTER_STAMP,
    STAMP_AT,
    counted,
    is_probed,
    open_message,
    stamp_of,
    with_numbers,
)

# Layouts that are kept.
_PUBLISHERS = 2


class OpenedJointState(NamedTuple):
    """
    What counts of a JointState: stamp, ns, names, positions, rad or m, velocities, rad/s or m/s.

    The numbers may be where they came: not to be written to, and not aligned.
    """

    stamp: int
    names: list
    positions: np.ndarray
    velocities: np.ndarray


class JointStateReader:
    """
    Read positions and velocities out of serialized JointState messages.

    Joints are matched by name (``model.dof_names``) in any order; further joints are ignored. The
    order is worked out once and kept while the publisher keeps it, so that a message costs three
    comparisons of bytes and two gathers. Of two publishers in turn both layouts are kept.

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
        self._layouts = []
        self._names = None
        self._from = np.zeros(len(self._wanted), dtype=np.intp)

    def open(self, data):
        """Return a serialized JointState, bytes, as OpenedJointState; raises as `open_message`."""
        for layout in self._layouts:
            if layout.is_that_of(data):
                return layout.open(data)
        message = open_message(data, JointState)
        if layout := _Layout.of(data, message):
            self._layouts = [layout, *self._layouts][:_PUBLISHERS]
        return OpenedJointState(nanoseconds(message.header.stamp), message.name,
                                np.array(message.position), np.array(message.velocity))

    def read(self, opened):
        """
        Return the positions and velocities of an OpenedJointState, in the order of the model.

        Raises
        ------
        RosInterfaceError
            A joint is missing, or the lengths of the message's arrays differ.

        """
        _, names, positions, velocities = opened
        if names is not self._names and names != self._names:
            self._match(names)
        if not len(positions) == len(velocities) == len(names):
            raise RosInterfaceError(
                f'The joint state names {len(names)} joints but has {len(positions)} positions '
                f'and {len(velocities)} velocities.',
                cure='Its publisher must give all three with one length.')
        return positions[self._from], velocities[self._from]

    def _match(self, names):
        self._names = None
        where = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._wanted if name not in where]
        if missing:
            raise RosInterfaceError(
                f'The joint state lacks {listed(missing)}.', joint=missing[0],
                cure='Its publisher must give every joint of the robot description in one message.')
        self._from[:] = [where[name] for name in self._wanted]
        self._names = names


class _Layout:
    """
    Where the numbers are in a publisher's messages, while all but these stays as it is.

    Parameters
    ----------
    data : bytes
        One of its messages.
    names : list of str
    same : list of slice
        What stays; between fields there may be anything, such as what was in memory before.
    positions, velocities : slice

    """

    def __init__(self, data, names, same, positions, velocities):
        self._names, self._positions, self._velocities = names, positions, velocities
        self._size = len(data)
        self._kind, self._head = data[:STAMP_AT], data[AFTER_STAMP:positions.start]
        self._middle = data[positions.stop:velocities.start]
        mask = bytearray(velocities.start)
        for part in same:
            mask[part] = b'\xff' * (part.stop - part.start)
        self._mask = int.from_bytes(mask, 'little')
        self._masked = self._part(data)

    @classmethod
    def of(cls, data, message):
        """Return that of a message; None if its numbers are not where they should be."""
        cursor, size = _Cursor(AFTER_STAMP), 8 * len(message.name)
        same = [slice(0, STAMP_AT), cursor.skip_text(message.header.frame_id), cursor.skip(4),
                *(cursor.skip_text(name) for name in message.name), cursor.skip(4)]
        positions = cursor.skip(size, 8)
        same.append(cursor.skip(4))
        velocities = cursor.skip(size, 8)
        if not (size and len(data) >= velocities.stop
                and len(message.position) == len(message.velocity) == len(message.name)):
            return None
        try:
            probe = open_message(with_numbers(data, positions, velocities), JointState)
        except RosInterfaceError:
            return None
        count = len(message.name)
        known = (is_probed(probe) and probe.name == message.name
                 and np.array_equal(probe.position, counted(1, count))
                 and np.array_equal(probe.velocity, counted(1 + count, count)))
        return cls(data, message.name, same, positions, velocities) if known else None

    def is_that_of(self, data):
        """Return whether a message differs from that one in nothing but stamp and numbers."""
        return len(data) == self._size and (
            (data.startswith(self._kind) and data.startswith(self._head, AFTER_STAMP)
            and data.startswith(self._middle, self._positions.stop))
            or self._part(data) == self._masked)

    def open(self, data):
        """Return such a message as an OpenedJointState."""
        count = len(self._names)
        return OpenedJointState(stamp_of(data), self._names,
                                np.frombuffer(data, float, count, self._positions.start),
                                np.frombuffer(data, float, count, self._velocities.start))

    def _part(self, data):
        """Return what stays the same, as one great number."""
        return int.from_bytes(data[:self._velocities.start], 'little') & self._mask


class _Cursor:
    """Goes through a message as CDR has it: a field begins at a multiple of its size."""

    def __init__(self, at):
        self._at = at

    def skip(self, size, alignment=4):
        """Return the slice of the next field."""
        start = STAMP_AT - (STAMP_AT - self._at) // alignment * alignment
        self._at = start + size
        return slice(start, self._at)

    def skip_text(self, text):
        """Return the slice of a string that is next: its length, its characters and a zero."""
        return self.skip(4 + len(text.encode()) + 1)
