# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers read where they are in a message are those that rclpy finds in it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from ros_nodes import DAMAGED

from opspace_control import RosInterfaceError
from opspace_control.ros.middleware.conversions import nanoseconds
from opspace_control.ros.middleware.serialized import MessageReader

TEXT = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=9)


@pytest.fixture
def reader():
    return new_reader()


def new_reader():
    return MessageReader(WrenchStamped)


def wrench(*numbers, frame='tool', sec=0, nanosec=0):
    message = WrenchStamped()
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    a, b = message.wrench.force, message.wrench.torque
    a.x, a.y, a.z, b.x, b.y, b.z = map(float, numbers)
    return message


def numbers_of(message):
    a, b = message.wrench.force, message.wrench.torque
    return np.array([a.x, a.y, a.z, b.x, b.y, b.z])


WRENCHES = st.builds(wrench, *[st.floats(width=64)] * 6, frame=TEXT,
                     sec=st.integers(-2**31, 2**31 - 1), nanosec=st.integers(0, 2**32 - 1))


@given(st.lists(WRENCHES, min_size=1, max_size=4))
def test_numbers_are_found_where_they_are(messages):
    reader = new_reader()
    for message in messages:
        for _ in range(2):
            opened = reader.open(serialize_message(message))
            assert opened.stamp == nanoseconds(message.header.stamp)
            assert opened.numbers[0].tobytes() == numbers_of(message).tobytes()
            assert opened.like.header.frame_id == message.header.frame_id


def test_what_is_like_the_last_one_is_not_opened_by_rclpy(reader):
    """With a name that fills its place: what is behind others may be anything."""
    first = reader.open(serialize_message(wrench(1, 2, 3, 4, 5, 6, frame='arm')))
    second = reader.open(serialize_message(wrench(6, 5, 4, 3, 2, 1, frame='arm', sec=7)))
    np.testing.assert_array_equal(second.numbers[0], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    assert second.stamp == 7_000_000_000
    assert second.like is first.like


@pytest.mark.parametrize('zeros', [(0,) * 6, (1,) * 6])
def test_another_frame_of_the_same_length_is_seen(reader, zeros):
    reader.open(serialize_message(wrench(*zeros)))
    opened = reader.open(serialize_message(wrench(1, 2, 3, 4, 5, 6, frame='hand')))
    assert opened.like.header.frame_id == 'hand'
    np.testing.assert_array_equal(opened.numbers[0], [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize('tail', [8, 24])
def test_what_is_behind_the_numbers_is_no_number(reader, tail):
    """Zeros with zeros behind look like zeros at the end."""
    for numbers in ((0,) * 6, (0, 0, 9, 1, 2, 3)):
        opened = reader.open(serialize_message(wrench(*numbers, frame='arm')) + bytes(tail))
        np.testing.assert_array_equal(opened.numbers[0], numbers)


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
        np.testing.assert_array_equal(opened.numbers[0], numbers)
        assert opened.like.header.frame_id == 'arm'


def test_what_is_no_message_says_so(reader):
    reader.open(serialize_message(wrench(1, 2, 3, 4, 5, 6)))
    with pytest.raises(RosInterfaceError, match='no WrenchStamped'):
        reader.open(DAMAGED)


@pytest.mark.parametrize('tail', [0, 4])
def test_messages_whose_numbers_are_elsewhere_are_all_opened_by_rclpy(reader, tail):
    """In version 2 of CDR a double begins at a multiple of four bytes."""
    before = None
    for numbers in ((0,) * 6, (0,) * 6, (1, 2, 3, 4, 5, 6)):
        data = serialize_message(wrench(*numbers, frame='hand'))
        opened = reader.open(bytes([0, 7, 0, 0]) + data[4:24] + data[28:] + bytes(tail))
        np.testing.assert_array_equal(opened.numbers[0], numbers)
        assert opened.like is not before
        before = opened.like


def test_numbers_that_follow_each_other_are_one_array():
    """With what is between them, and in nested messages."""
    message = Odometry(child_frame_id='foot')
    message.header.frame_id = 'odom'
    message.pose.pose.position.x, message.pose.covariance[35] = 1.0, 2.0
    message.twist.twist.linear.x, message.twist.covariance[35] = 3.0, 4.0
    reader = MessageReader(Odometry)
    likes = set()
    for _ in range(2):
        opened = reader.open(serialize_message(message))
        numbers, = opened.numbers
        assert numbers.shape == (85,)
        np.testing.assert_array_equal(numbers[[0, 6, 42, 43, 84]], [1.0, 1.0, 2.0, 3.0, 4.0])
        likes.add(id(opened.like))
    assert len(likes) == 1, 'it has been deserialized again'


def test_two_publishers_in_turn_are_both_known(reader):
    messages = [serialize_message(wrench(1, 2, 3, 4, 5, 6, frame=frame))
                for frame in ('arm', 'leg')]
    likes = [reader.open(data).like for data in messages]
    for data, like in zip(messages * 2, likes * 2, strict=True):
        assert reader.open(data).like is like
