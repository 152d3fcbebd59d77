# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Stamped messages as they come, serialized: numbers are read where they are.

rclpy makes a Python object of each field, anew for each message. That takes longer than a control
cycle, and from one message to the next only the numbers change. Messages are opened by rclpy
until their layout is known, and again whenever anything but stamp and numbers is another. A layout
is believed if rclpy finds there what is written there: other numbers, and another stamp.
"""

import struct
from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import nanoseconds

# ROS 2 has CDR on the wire: four bytes that say so, then the fields, each at a multiple of its size
# from there. Those of a header come first.
STAMP_AT = 4
_STAMP = struct.Struct('=iI')
AFTER_STAMP = STAMP_AT + _STAMP.size
# What is written to see whether it is found: in the other byte order it is nothing like it.
_PROBE, _PROBED = _STAMP.pack(1, 2), 1_000_000_002


def open_message(data, kind):
    """
    Return a serialized message of some type as rclpy has it.

    Raises
    ------
    RosInterfaceError
        It is none.

    """
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, ValueError) as error:  # of the middleware, of strings
        raise RosInterfaceError(
            f'What came is no {kind.__name__}: {error}',
            cure='Its publisher sends damaged messages, or those of another type.') from error


def stamp_of(data):
    """Return the time of a serialized message that begins with a header, ns."""
    sec, nanosec = _STAMP.unpack_from(data, STAMP_AT)
    return 1_000_000_000 * sec + nanosec


def with_numbers(data, *places):
    """
    Return a serialized message with another stamp and with numbers 1, 2, ... at some places.

    Parameters
    ----------
    data : bytes
        A message that begins with a header.
    *places : slice
        Of numbers of double precision, one after the other.

    """
    probe, first = bytearray(data), 1
    probe[STAMP_AT:AFTER_STAMP] = _PROBE
    for place in places:
        count = (place.stop - place.start) // 8
        probe[place] = counted(first, count).tobytes()
        first += count
    return bytes(probe)


def is_probed(message):
    """Return whether a message has the stamp that `with_numbers` writes."""
    return nanoseconds(message.header.stamp) == _PROBED


def counted(first, count):
    """Return so many numbers from ``first`` on, each one more than the last, (count,)."""
    return np.arange(first, first + count, dtype=float)


class OpenedNumbers(NamedTuple):
    """
    A message's stamp, ns, its numbers, (n,), and one that is like it in all else.

    The numbers may be where they came: not to be written to, and not aligned.
    """

    stamp: int
    numbers: np.ndarray
    like: object


class NumbersReader:
    """
    Opens messages that are a header, texts and, at their end, numbers of double precision.

    Parameters
    ----------
    kind : type
        Of the messages.
    numbers_of : callable
        Returns the numbers of such a message, (n,), in the order of its fields.

    """

    def __init__(self, kind, numbers_of):
        self._kind = kind
        self._numbers_of = numbers_of
        self._like = None

    def open(self, data):
        """Return a serialized message, bytes, as OpenedNumbers; raises as `open_message`."""
        if (self._like is not None and len(data) == self._size
                and data.startswith(self._begin) and data.startswith(self._middle, AFTER_STAMP)):
            return OpenedNumbers(
                stamp_of(data), np.frombuffer(data, float, -1, self._start), self._like)
        message = open_message(data, self._kind)
        opened = OpenedNumbers(
            nanoseconds(message.header.stamp), self._numbers_of(message), message)
        self._learn(data, opened)
        return opened

    def _learn(self, data, opened):
        """Keep the layout of a message, if its numbers are at its end."""
        count = len(opened.numbers)
        self._size, self._start = len(data), len(data) - 8 * count
        self._begin, self._middle = data[:STAMP_AT], data[AFTER_STAMP:self._start]
        try:
            probe = open_message(with_numbers(data, slice(self._start, self._size)), self._kind)
        except RosInterfaceError:
            self._like = None
            return
        known = is_probed(probe) and np.array_equal(self._numbers_of(probe), counted(1, count))
        self._like = opened.like if known else None
