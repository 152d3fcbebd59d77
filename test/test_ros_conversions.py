# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Messages and arrays: matched by name, nothing lost, what is bad refused by name."""

import array
import math

import numpy as np
import pytest
import robots

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Accel, Pose, Twist, Wrench
from sensor_msgs.msg import JointState

from opspace_control import RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.middleware.conversions import (
    EffortCommand,
    JointStateReader,
    fill_pose,
    fill_twist,
    fill_wrench,
    matrix_from_pose,
    nanoseconds,
    pose_from_message,
    six_from_message,
)

ROBOT = robots.chain('revolute', 'prismatic', 'continuous')


@pytest.fixture
def model():
    return KinematicTree.from_urdf(ROBOT)


def joint_state(positions, velocities=None):
    """Return a JointState of dicts by joint, in their order."""
    velocities = dict.fromkeys(positions, 0.0) if velocities is None else velocities
    return JointState(name=list(positions), position=array.array('d', positions.values()),
                      velocity=array.array('d', velocities.values()))


class TestJointStateReader:

    def test_matches_by_name_and_ignores_further_joints(self, model):
        reader = JointStateReader(model)
        positions = {'j3': 3.0, 'gripper': 9.0, 'j1': 1.0, 'j2': 2.0}
        q, v = reader.read(joint_state(positions, {name: -x for name, x in positions.items()}))
        assert model.dof_names == ('j1', 'j2', 'j3')
        np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(v, [-1.0, -2.0, -3.0])

    def test_follows_a_publisher_that_changes_its_order(self, model):
        reader = JointStateReader(model)
        for positions in ({'j1': 1.0, 'j2': 2.0, 'j3': 3.0}, {'j3': 6.0, 'j2': 5.0, 'j1': 4.0},
                          {'x': 0.0, 'j1': 7.0, 'j2': 8.0, 'j3': 9.0}):
            q, _ = reader.read(joint_state(positions))
            np.testing.assert_array_equal(q, [positions[name] for name in model.dof_names])

    @pytest.mark.parametrize('missing', ['j1', 'j2', 'j3'])
    def test_names_a_missing_joint_every_time(self, model, missing):
        reader = JointStateReader(model)
        good = {'j1': 1.0, 'j2': 2.0, 'j3': 3.0}
        reader.read(joint_state(good))
        bad = {name: -1.0 for name in good if name != missing}
        for _ in range(2):
            with pytest.raises(RosInterfaceError, match=f"'{missing}'"):
                reader.read(joint_state(bad))
        q, _ = reader.read(joint_state(good))
        np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])

    def test_refuses_arrays_of_different_lengths(self, model):
        reader = JointStateReader(model)
        message = joint_state({'j1': 1.0, 'j2': 2.0, 'j3': 3.0})
        message.velocity = array.array('d')
        with pytest.raises(RosInterfaceError, match='0 velocities'):
            reader.read(message)

    def test_planar_joint_is_given_by_its_three_dofs(self):
        model = KinematicTree.from_urdf(robots.chain('planar', 'revolute'))
        reader = JointStateReader(model)
        values = {name: float(i) for i, name in enumerate(model.dof_names)}
        q, _ = reader.read(joint_state(dict(reversed(values.items()))))
        np.testing.assert_array_equal(q, np.arange(4.0))

    def test_of_a_floating_base_only_the_joints_are_read(self):
        model = KinematicTree.from_urdf(ROBOT, floating_base=True)
        q, v = JointStateReader(model).read(joint_state({'j3': 3.0, 'j1': 1.0, 'j2': 2.0}))
        np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(v, np.zeros(3))

    def test_refuses_robots_no_joint_state_can_describe(self):
        with pytest.raises(RosInterfaceError, match='JointState'):
            JointStateReader(KinematicTree.from_urdf(robots.chain('floating')))


def test_command_is_in_its_own_order_and_one_message(model):
    command = EffortCommand(model, ['j3', 'j1'])
    first = command.write(np.array([1.0, 2.0, 3.0]))
    assert list(first.data) == [3.0, 1.0]
    assert command.write(np.array([4.0, 5.0, 6.0])) is first
    assert list(first.data) == [6.0, 4.0]


class TestPose:

    def test_is_normalised(self):
        pose = Pose()
        pose.position.x, pose.orientation.z, pose.orientation.w = 1.0, 3.0, 4.0
        np.testing.assert_allclose(pose_from_message(pose), [1, 0, 0, 0, 0, 0.6, 0.8])

    def test_round_trip(self):
        message, pose = Pose(), np.array([1.0, 2.0, 3.0, 0.5, -0.5, 0.5, 0.5])
        fill_pose(message, pose)
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
    fill_twist(message, np.arange(6.0))
    assert (message.linear.x, message.linear.z) == (0.0, 2.0)
    assert (message.angular.x, message.angular.z) == (3.0, 5.0)


def test_wrench_is_force_first():
    message = Wrench()
    fill_wrench(message, np.arange(6.0))
    assert (message.force.x, message.force.z) == (0.0, 2.0)
    assert (message.torque.x, message.torque.z) == (3.0, 5.0)


@pytest.mark.parametrize('kind', [Twist, Accel])
def test_motion_there_and_back(kind):
    message = kind()
    fill_twist(message, np.arange(6.0))
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
