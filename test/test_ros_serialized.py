# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers read where they are in a message are those that rclpy finds in it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from ros_nodes import DAMAGED

from opspace_control import RosInterfaceError
from opspace_control.ros.middleware.conversions import nanoseconds, numbers_of_wrench
from opspace_control.ros.middleware.serialized import NumbersReader

TEXT = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=9)


@pytest.fixture
def reader():
    return new_reader()


def new_reader():
    return NumbersReader(WrenchStamped, lambda message: numbers_of_wrench(message.wrench))


def wrench(*numbers, frame='tool', sec=0, nanosec=0):
    message = WrenchStamped()
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    a, b = message.wrench.force, message.wrench.torque
    a.x, a.y, a.z, b.x, b.y, b.z = map(float, numbers)
    return message


WRENCHES = st.builds(wrench, *[st.floats(width=64)] * 6, frame=TEXT,
                     sec=st.integers(-2**31, 2**31 - 1), nanosec=st.integers(0, 2**32 - 1))


@given(st.lists(WRENCHES, min_size=1, max_size=4))
def test_numbers_are_found_where_they_are(messages):
    reader = new_reader()
    for message in messages:
        for _ in range(2):
            opened = reader.open(serialize_message(message))
            assert opened.stamp == nanoseconds(message.header.stamp)
            assert opened.numbers.tobytes() == numbers_of_wrench(message.wrench).tobytes()
            assert opened.like.header.frame_id == message.header.frame_id


def test_what_is_like_the_last_one_is_not_opened_by_rclpy(reader):
    """With a name that fills its place: what is behind others may be anything."""
    first = reader.open(serialize_message(wrench(1, 2, 3, 4, 5, 6, frame='arm')))
    second = reader.open(serialize_message(wrench(6, 5, 4, 3, 2, 1, frame='arm', sec=7)))
    np.testing.assert_array_equal(second.numbers, [6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    assert second.stamp == 7_000_000_000
    assert second.like is first.like


@pytest.mark.parametrize('zeros', [(0,) * 6, (1,) * 6])
def test_another_frame_of_the_same_length_is_seen(reader, zeros):
    reader.open(serialize_message(wrench(*zeros)))
    opened = reader.open(serialize_message(wrench(1, 2, 3, 4, 5, 6, frame='hand')))
    assert opened.like.header.frame_id == 'hand'
    np.testing.assert_array_equal(opened.numbers, [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize('tail', [8, 24])
def test_what_is_behind_the_numbers_is_no_number(reader, tail):
    """Zeros with zeros behind look like zeros at the end."""
    for numbers in ((0,) * 6, (0, 0, 9, 1, 2, 3)):
        opened = reader.open(serialize_message(wrench(*numbers, frame='arm')) + bytes(tail))
        np.testing.assert_array_equal(opened.numbers, numbers)


def test_the_other_byte_order_is_not_read_as_ours(reader):
    """Numbers that are all zero look alike in both, and so come first."""
    def swapped(*numbers):
        data = bytearray(serialize_message(wrench(*numbers, frame='arm')))
        data[1] ^= 1
        for first, size in ((4, 4), (8, 4), (12, 4), *((20 + 8 * k, 8) for k in range(6))):
            data[first:first + size] = data[first:first + size][::-1]
        return bytes(data)
    for numbers in ((0,) * 6, (1, 2, 3, 4, 5, 6)):
        opened = reader.open(swapped(*numbers))
        np.testing.assert_array_equal(opened.numbers, numbers)
        assert opened.like.header.frame_id == 'arm'


def test_what_is_no_message_says_so(reader):
    reader.open(serialize_message(wrench(1, 2, 3, 4, 5, 6)))
    with pytest.raises(RosInterfaceError, match='no WrenchStamped'):
        reader.open(DAMAGED)


def test_messages_whose_numbers_are_elsewhere_are_all_opened_by_rclpy():
    reader = NumbersReader(WrenchStamped, lambda message: numbers_of_wrench(message.wrench)[::-1])
    for numbers in ((0,) * 6, (0,) * 6, (1, 2, 3, 4, 5, 6)):
        opened = reader.open(serialize_message(wrench(*numbers, frame='arm')))
        np.testing.assert_array_equal(opened.numbers, numbers[::-1])
