# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states read where they are: the numbers of a message are those that rclpy finds in it."""

import array

import numpy as np
import pytest
import robots
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.serialization import serialize_message
from ros_nodes import DAMAGED
from sensor_msgs.msg import JointState

from opspace_control import RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.middleware.conversions import nanoseconds
from opspace_control.ros.middleware.joint_messages import JointStateReader

ROBOT = robots.chain('revolute', 'prismatic', 'continuous')
TEXT = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=9)
NUMBERS = st.floats(width=64)


@pytest.fixture
def model():
    return KinematicTree.from_urdf(ROBOT)


@pytest.fixture
def reader(model):
    return JointStateReader(model)


def joint_state(positions, velocities=None):
    """Return a serialized JointState of dicts by joint, in their order."""
    velocities = dict.fromkeys(positions, 0.0) if velocities is None else velocities
    return serialize_message(JointState(
        name=list(positions), position=array.array('d', positions.values()),
        velocity=array.array('d', velocities.values())))


def read(reader, data):
    positions, velocities = np.empty((2, len(reader._wanted)))
    reader.read(reader.open(data), positions, velocities)
    return positions, velocities


def test_matches_by_name_and_ignores_further_joints(model, reader):
    positions = {'j3': 3.0, 'gripper': 9.0, 'j1': 1.0, 'j2': 2.0}
    data = joint_state(positions, {name: -x for name, x in positions.items()})
    assert model.dof_names == ('j1', 'j2', 'j3')
    for _ in range(2):
        q, v = read(reader, data)
        np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(v, [-1.0, -2.0, -3.0])


def test_follows_a_publisher_that_changes_its_order(model, reader):
    for positions in ({'j1': 1.0, 'j2': 2.0, 'j3': 3.0}, {'j3': 6.0, 'j2': 5.0, 'j1': 4.0},
                      {'x': 0.0, 'j1': 7.0, 'j2': 8.0, 'j3': 9.0}):
        q, _ = read(reader, joint_state(positions))
        np.testing.assert_array_equal(q, [positions[name] for name in model.dof_names])


@pytest.mark.parametrize('missing', ['j1', 'j2', 'j3'])
def test_names_a_missing_joint_every_time(reader, missing):
    good = {'j1': 1.0, 'j2': 2.0, 'j3': 3.0}
    read(reader, joint_state(good))
    bad = {name: -1.0 for name in good if name != missing}
    for _ in range(2):
        with pytest.raises(RosInterfaceError, match=f"'{missing}'"):
            read(reader, joint_state(bad))
    q, _ = read(reader, joint_state(good))
    np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])


def test_refuses_arrays_of_different_lengths(reader):
    good = {'j1': 1.0, 'j2': 2.0, 'j3': 3.0}
    read(reader, joint_state(good))
    for velocities in ({}, {'j1': 0.0}):
        for _ in range(2):
            with pytest.raises(RosInterfaceError, match=f'{len(velocities)} velocities'):
                read(reader, joint_state(good, velocities))
    with pytest.raises(RosInterfaceError, match="lacks 'j1', 'j2'"):
        read(reader, joint_state({}))


def test_planar_joint_is_given_by_its_three_dofs():
    model = KinematicTree.from_urdf(robots.chain('planar', 'revolute'))
    values = {name: float(i) for i, name in enumerate(model.dof_names)}
    q, _ = read(JointStateReader(model), joint_state(dict(reversed(values.items()))))
    np.testing.assert_array_equal(q, np.arange(4.0))


def test_of_a_floating_base_only_the_joints_are_read():
    model = KinematicTree.from_urdf(ROBOT, floating_base=True)
    q, v = read(JointStateReader(model), joint_state({'j3': 3.0, 'j1': 1.0, 'j2': 2.0}))
    np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(v, np.zeros(3))


def test_refuses_robots_no_joint_state_can_describe():
    with pytest.raises(RosInterfaceError, match='JointState'):
        JointStateReader(KinematicTree.from_urdf(robots.chain('floating')))


@st.composite
def streams(draw):
    """Draw what two messages have in common, and the numbers of each."""
    names = draw(st.lists(TEXT, min_size=1, max_size=6))
    efforts = draw(st.sampled_from([0, len(names)]))

    def message():
        def numbers(count):
            return array.array('d', draw(st.lists(NUMBERS, min_size=count, max_size=count)))
        found = JointState(name=names, position=numbers(len(names)),
                           velocity=numbers(len(names)), effort=numbers(efforts))
        found.header.stamp.sec = draw(st.integers(-2**31, 2**31 - 1))
        found.header.stamp.nanosec = draw(st.integers(0, 2**32 - 1))
        return found
    first, second = message(), message()
    first.header.frame_id = second.header.frame_id = draw(TEXT)
    return first, second


@given(streams())
def test_numbers_are_found_where_they_are(stream):
    reader = JointStateReader(KinematicTree.from_urdf(ROBOT))
    opened = [reader.open(serialize_message(message)) for message in stream]
    for message, found in zip(stream, opened, strict=True):
        assert found.stamp == nanoseconds(message.header.stamp)
        assert found.like.name == message.name
        assert found.numbers[0].tobytes() == message.position.tobytes()
        assert found.numbers[1].tobytes() == message.velocity.tobytes()
    assert opened[1].like.name is opened[0].like.name, 'it has been deserialized'


@given(streams(), streams())
def test_another_publisher_is_not_taken_for_the_last_one(one, other):
    """Whatever differs, be it a name or a length alone, is seen."""
    reader = JointStateReader(KinematicTree.from_urdf(ROBOT))
    for message in (*one, *other, one[0]):
        found = reader.open(serialize_message(message))
        assert found.like.name == message.name
        assert found.numbers[0].tobytes() == message.position.tobytes()
        assert found.numbers[1].tobytes() == message.velocity.tobytes()


def test_what_is_between_fields_is_no_matter(reader):
    """Some middleware leaves there what was in memory."""
    data = joint_state({'j1': 1.0, 'j2': 2.0, 'j3': 3.0})
    names = reader.open(data).like.name
    end_of_name = data.index(b'j1') + 3
    assert end_of_name % 4, 'there is nothing between'
    other = bytearray(data)
    other[end_of_name] ^= 0xff
    opened = reader.open(bytes(other))
    assert opened.like.name is names
    assert opened.numbers[0].tolist() == [1.0, 2.0, 3.0]


def swapped(data, places):
    """Return a message in the other byte order, as far as what is changed here goes."""
    other = bytearray(data)
    other[1] ^= 1
    for first, size in places:
        other[first:first + size] = other[first:first + size][::-1]
    return bytes(other)


def test_the_other_byte_order_is_not_read_as_ours(reader):
    """Numbers that are all zero look alike in both, and so come first."""
    def message(*positions):
        data = joint_state(dict(zip(('a', 'b'), positions, strict=True)))
        # Stamp, frame, names, their lengths and numbers.
        places = [(4, 4), (8, 4), (12, 4), (20, 4), (24, 4), (32, 4), (40, 4),
                  *((44 + 8 * k, 8) for k in range(2)), (60, 4),
                  *((68 + 8 * k, 8) for k in range(2)), (84, 4)]
        return swapped(data, places)
    try:
        first = reader.open(message(0.0, 0.0))
    except RosInterfaceError:
        pytest.skip('this middleware reads its own byte order only')
    assert first.like.name == ['a', 'b']
    opened = reader.open(message(1.0, 2.0))
    assert opened.numbers[0].tolist() == [1.0, 2.0]


def test_what_is_no_message_says_so(reader):
    for data in (DAMAGED, DAMAGED[:6], b''):
        with pytest.raises(RosInterfaceError, match='no JointState'):
            reader.open(data)


def test_what_is_no_message_changes_nothing(reader):
    data = joint_state({'j1': 1.0, 'j2': 2.0, 'j3': 3.0})
    names = reader.open(data).like.name
    with pytest.raises(RosInterfaceError):
        reader.open(DAMAGED)
    assert reader.open(data).like.name is names


def test_two_publishers_in_turn_are_both_known(reader):
    one, other = (joint_state(dict.fromkeys(names, 0.0)) for names in (
        ('j1', 'j2', 'j3'), ('j3', 'j2', 'j1')))
    names = [reader.open(data).like.name for data in (one, other)]
    for data, known in zip((one, other, one, other), names * 2, strict=True):
        assert reader.open(data).like.name is known


@pytest.mark.parametrize('other', [
    {'name': ['j1', 'j2', 'jx']}, {'frame': 'odo'}, {'velocity': [0.0, 0.0], 'effort': [0.0]}])
def test_what_differs_is_seen_although_it_is_as_long(reader, other):
    """Whatever it is; all numbers are zero."""
    def message(name=('j1', 'j2', 'j3'), frame='map', velocity=(0.0,) * 3, effort=()):
        found = JointState(name=list(name), position=array.array('d', [0.0] * 3),
                           velocity=array.array('d', velocity), effort=array.array('d', effort))
        found.header.frame_id = frame
        return found
    first = reader.open(serialize_message(message()))
    changed = message(**other)
    found = reader.open(serialize_message(changed))
    assert found.like.name is not first.like.name
    assert found.like.name == changed.name
    assert found.numbers[1].tolist() == changed.velocity.tolist()
