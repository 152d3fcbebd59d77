# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Messages of fixed layout, serialized: times and numbers are read and written in place.

rclpy makes a Python object of each field, anew for each message. That takes longer than a control
cycle, and from one message of a publisher to the next only stamp and numbers change. So rclpy opens
a message whose layout is not known yet; the layout follows from its fields by the rules of CDR, and
is used if rclpy finds another stamp and other numbers where this module writes them.
"""

import struct
from itertools import accumulate, pairwise

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import nanoseconds

# CDR: four bytes that say so, then the fields, each at a multiple of its size from there.
_FIRST_FIELD = 4
_STAMP = struct.Struct('=iI')
# A stamp that no byte order confuses with another, ns.
_PROBE, _PROBED = _STAMP.pack(1, 2), 1_000_000_002
_PUBLISHERS = 2  # layouts that a reader keeps: of two publishers on one topic in turn


def open_message(data, kind):
    """Return a serialized message of a type as rclpy has it, or raise a RosInterfaceError."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, ValueError) as error:  # of the middleware, of strings
        raise RosInterfaceError(
            f'What came is no {kind.__name__}: {error}',
            cure='Its publisher sends damaged messages, or those of another type.') from error


class OpenedMessage:
    """
    A message's ``stamp``, ns, its numbers, and a message that it is ``like`` in all else.

    Numbers of double precision that follow each other are one array, and so is each sequence of
    them: ``values`` has all, each array at one of the ``places``, slices. They may be read only. A
    message without a time has the stamp None.
    """

    __slots__ = ('like', 'places', 'stamp', 'values')

    def __init__(self, stamp, values, places, like):
        self.stamp, self.values, self.places, self.like = stamp, values, places, like

    @property
    def numbers(self):
        """The arrays of numbers, a list."""
        return [self.values[place] for place in self.places]


class MessageReader:
    """Open serialized messages of a ``kind``: of strings, integers, times and double numbers."""

    def __init__(self, kind):
        self._kind = kind
        self._layouts = []

    def open(self, data):
        """Return a serialized message, bytes, as an OpenedMessage; raises as `open_message`."""
        for layout in self._layouts:
            if opened := layout.open(data):
                return opened
        message = open_message(data, self._kind)
        fields = _Fields(message)
        if fields.are_in(data, message):
            self._layouts = [_Layout(data, message, fields), *self._layouts][:_PUBLISHERS]
        return OpenedMessage(fields.time, np.array(fields.numbers), fields.parts(), message)


class MessageWriter:
    """
    Write the last array of a message that stays as it is in all else.

    The last field of the ``message`` is a sequence of numbers of double precision, of the right
    length. A middleware that serializes messages in another way is a RosInterfaceError.
    """

    def __init__(self, message):
        data, fields = serialize_message(message), _Fields(message)
        if not fields.are_in(data, message):
            raise RosInterfaceError(
                'Commands cannot be written for this ROS 2 middleware: its messages are not CDR.',
                cure='Choose another RMW_IMPLEMENTATION, such as rmw_fastrtps_cpp.')
        self._head = data[:fields.places[-1].start]

    def write(self, numbers):
        """Return the message, serialized, with other numbers, a float array."""
        return self._head + numbers.tobytes()


class _Fields:
    """
    The fields of a message, and where CDR has them.

    ``time``, ns, is the first time in the message, or None, and ``stamp`` its slice. ``numbers`` is
    a list, and ``places`` their slices; ``constants`` are strings and integers, and ``fixed`` their
    slices: between fields there may be anything, such as what was in memory.
    """

    def __init__(self, message):
        self._end = _FIRST_FIELD
        self.time = self.stamp = None
        self.numbers, self.places = [], []
        self.constants, self.fixed = [], [slice(0, _FIRST_FIELD)]
        self._add_message(message)

    def parts(self):
        """Return the slices of the numbers that are those of the places."""
        edges = accumulate((place.stop - place.start for place in self.places), initial=0)
        return [slice(start // 8, stop // 8) for start, stop in pairwise(edges)]

    def are_in(self, data, message):
        """Return whether rclpy finds other times and numbers where they are written in ``data``."""
        if len(data) < self._end:
            return False
        probe, numbers = bytearray(data), np.arange(1.0, 1.0 + len(self.numbers))
        written = numbers.tobytes()
        for place in self.places:
            size = place.stop - place.start
            probe[place], written = written[:size], written[size:]
        if self.stamp:
            probe[self.stamp] = _PROBE
        try:
            found = _Fields(open_message(bytes(probe), type(message)))
        except RosInterfaceError:
            return False
        return (found.constants == self.constants and found.places == self.places
                and np.array_equal(found.numbers, numbers)
                and found.time == (_PROBED if self.stamp else None))

    def _add_message(self, message):
        for name, kind in message.get_fields_and_field_types().items():
            value = getattr(message, name)
            if kind.startswith('sequence<'):
                self._add_other(len(value), 4)
                self._add(kind.removeprefix('sequence<').removesuffix('>'), value)
            elif kind.endswith(']'):
                self._add(kind.partition('[')[0], value)
            else:
                self._add(kind, [value])

    def _add(self, kind, values):
        if kind == 'double':
            place = self._skip(8 * len(values), 8 if len(values) else 1)
            if self.places and self.places[-1].stop == place.start:
                place = slice(self.places.pop().start, place.stop)
            self.places.append(place)
            self.numbers.extend(values)
            return
        for value in values:
            if kind == 'builtin_interfaces/Time' and self.stamp is None:
                self.time, self.stamp = nanoseconds(value), self._skip(_STAMP.size)
            elif '/' in kind:
                self._add_message(value)
            else:  # a string has its length, its characters and a zero; an integer 32 bits
                self._add_other(value, 4 + (len(value.encode()) + 1 if kind == 'string' else 0))

    def _add_other(self, value, size):
        self.constants.append(value)
        self.fixed.append(self._skip(size))

    def _skip(self, size, alignment=4):
        """Return the slice of the next field."""
        start = _FIRST_FIELD - (_FIRST_FIELD - self._end) // alignment * alignment
        self._end = start + size
        return slice(start, self._end)


class _Layout:
    """Where stamp and numbers are in messages that equal the one given in all else."""

    def __init__(self, data, message, fields):
        self._like, self._stamp, self._size = message, fields.stamp, len(data)
        # Numbers are at multiples of eight bytes from the first field.
        self._numbers = slice(_FIRST_FIELD, _FIRST_FIELD + (len(data) - _FIRST_FIELD) // 8 * 8)
        self._places = [slice((place.start - _FIRST_FIELD) // 8, (place.stop - _FIRST_FIELD) // 8)
                        for place in fields.places]
        # What is between fields may change.
        mask = bytearray(len(data))
        for place in fields.fixed:
            mask[place] = b'\xff' * (place.stop - place.start)
        self._mask = int.from_bytes(mask, 'little')
        self._fixed = self._fixed_part(data)

    def open(self, data):
        """
        Return a message as an OpenedMessage.

        None if it differs from that one in more than stamp and numbers.
        """
        if len(data) != self._size or self._fixed_part(data) != self._fixed:
            return None
        stamp = None
        if self._stamp:
            sec, nanosec = _STAMP.unpack_from(data, self._stamp.start)
            stamp = 1_000_000_000 * sec + nanosec
        return OpenedMessage(stamp, np.frombuffer(data[self._numbers]), self._places, self._like)

    def _fixed_part(self, data):
        """Return what stays the same, as one great number."""
        return int.from_bytes(data, 'little') & self._mask
