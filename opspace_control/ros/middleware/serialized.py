# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Stamped messages as they come, serialized: numbers are read where they are.

rclpy makes a Python object of each field, anew for each message. That takes longer than a control
cycle, and from one message to the next only the numbers change. Messages are opened by rclpy
until their layout is known, and again whenever anything but stamp and numbers is another.
"""

import struct
from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message

from opspace_control.ros.middleware.conversions import nanoseconds

# ROS 2 has CDR on the wire: four bytes that say so, then the fields, each at a multiple of its size
# from there. Those of a header come first.
STAMP_AT = 4
_STAMP = struct.Struct('=iI')
AFTER_STAMP = STAMP_AT + _STAMP.size


def stamp_of(data):
    """Return the time of a serialized message that begins with a header, ns."""
    sec, nanosec = _STAMP.unpack_from(data, STAMP_AT)
    return 1_000_000_000 * sec + nanosec


class OpenedNumbers(NamedTuple):
    """A message's stamp, ns, its numbers, (n,), and one that is like it in all else."""

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
        """Return a serialized message, bytes, as OpenedNumbers."""
        if (self._like is not None and len(data) == self._size
                and data.startswith(self._begin) and data.startswith(self._middle, AFTER_STAMP)):
            return OpenedNumbers(
                stamp_of(data), np.frombuffer(data, float, -1, self._start), self._like)
        message = deserialize_message(data, self._kind)
        opened = OpenedNumbers(
            nanoseconds(message.header.stamp), self._numbers_of(message), message)
        self._learn(data, opened)
        return opened

    def _learn(self, data, opened):
        """Keep the layout of a message, if its numbers and its stamp are where they should be."""
        numbers = opened.numbers.tobytes()
        self._size, self._start = len(data), len(data) - len(numbers)
        self._begin, self._middle = data[:STAMP_AT], data[AFTER_STAMP:self._start]
        known = data.endswith(numbers) and stamp_of(data) == opened.stamp
        self._like = opened.like if known else None
