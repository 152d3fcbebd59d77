# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Effort commands, serialized: rclpy finds in them what was written."""

import array

import numpy as np
import pytest
import robots

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.serialization import deserialize_message, serialize_message
from ros_nodes import DAMAGED
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from opspace_control import RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.middleware.joint_messages import EffortCommand, EffortReader

MODEL = KinematicTree.from_urdf(robots.chain('revolute', 'prismatic', 'continuous'))
ORDER = ['j3', 'j1']


def numbers(*values):
    return array.array('d', values)


def test_command_is_in_its_own_order():
    command = EffortCommand(MODEL, ORDER)
    first = command.write(np.array([1.0, 2.0, 3.0]))
    second = command.write(np.array([4.0, np.nan, -np.inf]))
    assert deserialize_message(first, Float64MultiArray) == Float64MultiArray(data=numbers(3, 1))
    assert list(deserialize_message(second, Float64MultiArray).data) == [-np.inf, 4.0]


def test_command_may_be_by_name():
    command = EffortCommand(MODEL, ORDER, JointState)
    data = command.write(np.array([1.0, 2.0, 3.0]))
    assert deserialize_message(data, JointState) == JointState(name=ORDER, effort=numbers(3, 1))


@pytest.mark.parametrize('kind', [Float64MultiArray, JointState])
def test_what_is_written_is_read(kind):
    data = EffortCommand(MODEL, ORDER, kind).write(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(EffortReader(ORDER, kind).read(data), [3.0, 1.0])


def test_somebody_elses_command_is_read_too():
    message = Float64MultiArray(data=numbers(3, 1))
    message.layout.dim = [MultiArrayDimension(label='joints', size=2, stride=2)]
    np.testing.assert_array_equal(EffortReader(ORDER).read(serialize_message(message)), [3, 1])
    stamped = JointState(name=['j1', 'j3'], effort=numbers(1, 3), position=numbers(7, 8))
    stamped.header.stamp.sec = 5
    np.testing.assert_array_equal(
        EffortReader(ORDER, JointState).read(serialize_message(stamped)), [3, 1])


@pytest.mark.parametrize('values', [(), (1,), (1, 2, 3), (np.nan, 1), (1, np.inf)])
@pytest.mark.parametrize('kind', [Float64MultiArray, JointState])
def test_anything_but_a_finite_number_for_each_joint_is_refused(kind, values):
    efforts = numbers(*values)
    message = (JointState(name=ORDER, effort=efforts) if kind is JointState else
               Float64MultiArray(data=efforts))
    with pytest.raises(RosInterfaceError, match='2 finite efforts'):
        EffortReader(ORDER, kind).read(serialize_message(message))


@pytest.mark.parametrize('names', [['j1', 'j2'], ['j1', 'j1'], ['j1']])
def test_efforts_of_other_joints_are_refused(names):
    message = JointState(name=names, effort=numbers(*range(len(names))))
    with pytest.raises(RosInterfaceError, match='of j3, j1'):
        EffortReader(ORDER, JointState).read(serialize_message(message))


KINDS = pytest.mark.parametrize('kind', [Float64MultiArray, JointState])


@KINDS
def test_one_reader_reads_what_comes(kind):
    """Zeros first, which look alike everywhere; then others, known and unknown."""
    command, reader = EffortCommand(MODEL, ORDER, kind), EffortReader(ORDER, kind)
    for torque in ((0.0, 0.0, 0.0), (1.0, 0.0, 2.0), (3.0, 0.0, 4.0)):
        found = reader.read(command.write(np.array(torque)))
        np.testing.assert_array_equal(found, [torque[2], torque[0]])
    with pytest.raises(RosInterfaceError, match='cannot be used'):
        reader.read(command.write(np.array([np.nan, 0.0, 1.0])))
    np.testing.assert_array_equal(reader.read(command.write(np.array([5.0, 0, 6]))), [6.0, 5.0])


@KINDS
def test_what_is_like_the_last_one_is_not_opened_by_rclpy(kind, monkeypatch):
    command, reader = EffortCommand(MODEL, ORDER, kind), EffortReader(ORDER, kind)
    reader.read(command.write(np.zeros(3)))
    monkeypatch.delattr('opspace_control.ros.middleware.serialized.open_message')
    found = reader.read(command.write(np.array([1.0, 0.0, 2.0])))
    np.testing.assert_array_equal(found, [2.0, 1.0])


def test_other_orders_are_not_taken_for_ours():
    """All that differs are two letters."""
    ours, theirs = (EffortCommand(MODEL, order, JointState) for order in (ORDER, ORDER[::-1]))
    reader = EffortReader(ORDER, JointState)
    for command in (theirs, theirs, ours, theirs, ours):
        for torque in ((0.0, 0.0, 0.0), (1.0, 0.0, 2.0)):
            np.testing.assert_array_equal(
                reader.read(command.write(np.array(torque))), [torque[2], torque[0]])


def test_another_layout_of_the_same_length_is_not_taken_for_ours():
    reader = EffortReader(ORDER)
    padded = Float64MultiArray(data=numbers(0, 0))
    plain = EffortCommand(MODEL, ORDER).write(np.zeros(3))
    padded.layout.data_offset = 7
    for data in (plain, serialize_message(padded), plain):
        np.testing.assert_array_equal(reader.read(data), [0.0, 0.0])
    three = EffortCommand(MODEL, ['j3', 'j1', 'j2']).write(np.array([0.0, 0.0, 0.0]))
    with pytest.raises(RosInterfaceError):
        reader.read(three)
    np.testing.assert_array_equal(reader.read(plain), [0.0, 0.0])


@KINDS
@pytest.mark.parametrize('tail', [8, 16])
def test_what_is_behind_the_numbers_is_no_effort(kind, tail):
    """Zeros with zeros behind look like zeros at the end."""
    command, reader = EffortCommand(MODEL, ORDER, kind), EffortReader(ORDER, kind)
    for torque in ((0.0, 0.0, 0.0), (5.0, 0.0, 0.0)):
        found = reader.read(command.write(np.array(torque)) + bytes(tail))
        np.testing.assert_array_equal(found, [0.0, torque[0]])


@KINDS
def test_what_is_no_message_says_so(kind):
    reader = EffortReader(ORDER, kind)
    for data in (DAMAGED, b''):
        with pytest.raises(RosInterfaceError, match=f'no {kind.__name__}'):
            reader.read(data)


@KINDS
def test_nothing_to_command_is_refused(kind):
    with pytest.raises(RosInterfaceError, match='No joint is commanded'):
        EffortCommand(MODEL, [], kind)
