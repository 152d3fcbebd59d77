# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Messages and arrays: nothing lost, what is bad refused by name."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Accel, Pose, Twist, Wrench

from opspace_control import RosInterfaceError
from opspace_control.ros.middleware.conversions import (
    fill_message,
    matrix_from_pose,
    nanoseconds,
    pose_from_message,
    six_from_message,
)


class TestPose:

    def test_is_normalised(self):
        pose = Pose()
        pose.position.x, pose.orientation.z, pose.orientation.w = 1.0, 3.0, 4.0
        np.testing.assert_allclose(pose_from_message(pose), [1, 0, 0, 0, 0, 0.6, 0.8])

    def test_round_trip(self):
        message, pose = Pose(), np.array([1.0, 2.0, 3.0, 0.5, -0.5, 0.5, 0.5])
        fill_message(message, pose)
        np.testing.assert_array_equal(pose_from_message(message), pose)

    @pytest.mark.parametrize('value', [np.nan, np.inf])
    def test_refuses_what_is_not_finite(self, value):
        pose = Pose()
        pose.position.y = value
        with pytest.raises(RosInterfaceError, match='finite'):
            pose_from_message(pose)

    def test_refuses_a_zero_quaternion(self):
        pose = Pose()
        pose.orientation.w = 0.0
        with pytest.raises(RosInterfaceError, match='zero quaternion'):
            pose_from_message(pose)


def test_twist_is_linear_first():
    message = Twist()
    fill_message(message, np.arange(6.0))
    assert (message.linear.x, message.linear.z) == (0.0, 2.0)
    assert (message.angular.x, message.angular.z) == (3.0, 5.0)


def test_wrench_is_force_first():
    message = Wrench()
    fill_message(message, np.arange(6.0))
    assert (message.force.x, message.force.z) == (0.0, 2.0)
    assert (message.torque.x, message.torque.z) == (3.0, 5.0)


@pytest.mark.parametrize('kind', [Twist, Accel])
def test_motion_there_and_back(kind):
    message = kind()
    fill_message(message, np.arange(6.0))
    np.testing.assert_array_equal(six_from_message(message), np.arange(6.0))
    message.angular.y = np.nan
    with pytest.raises(RosInterfaceError, match='finite'):
        six_from_message(message)


def test_matrix_of_a_pose():
    half = math.sqrt(0.5)
    np.testing.assert_allclose(
        matrix_from_pose(np.array([1.0, 2.0, 3.0, 0.0, 0.0, half, half])),
        [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]], atol=1e-15)


def test_nanoseconds_are_exact():
    assert nanoseconds(Time(sec=1_795_000_000, nanosec=999_999_999)) == 1_795_000_000_999_999_999
