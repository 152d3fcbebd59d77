# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Effort commands, serialized: rclpy finds in them what was written."""

import array

import numpy as np
import pytest
import robots

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from opspace_control import RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.middleware.efforts import EffortCommand, EffortReader

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
