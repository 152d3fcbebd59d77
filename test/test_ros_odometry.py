# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry of any link becomes the state of the base; what cannot be gone by is refused by name."""

import math

import numpy as np
import pinocchio
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message

from opspace_control import RobotModel, SafetyError
from opspace_control.ros.cycle.state_input import BaseOdometry
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.safety.supervisor import ODOM_INVALID, ODOM_TIMEOUT

ROBOT = ros_nodes.robot_text('humanoid')
MODEL = RobotModel.from_urdf(ROBOT, floating_base=True)
JOINTS = MODEL.nv - 6
SECOND = 1_000_000_000  # ns


class Truth:
    """A random state, and by Pinocchio what odometry of any link has to say of it."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        quaternion = rng.normal(size=4)
        self.q = np.concatenate([rng.normal(size=3), quaternion / np.linalg.norm(quaternion),
                                 rng.uniform(-1.0, 1.0, JOINTS)])
        self.v = rng.normal(size=MODEL.nv)
        self._oracle = pinocchio.buildModelFromXML(ROBOT, pinocchio.JointModelFreeFlyer())
        self._data = self._oracle.createData()
        R = pinocchio.Quaternion(self.q[3:7]).matrix()
        q, v = self.q.copy(), np.concatenate([R.T @ self.v[:3], R.T @ self.v[3:6], self.v[6:]])
        for name, position, velocity in zip(MODEL.dof_names[6:], self.q[7:], self.v[6:],
                                            strict=True):
            joint = self._oracle.joints[self._oracle.getJointId(name)]
            q[joint.idx_q], v[joint.idx_v] = position, velocity
        pinocchio.forwardKinematics(self._oracle, self._data, q, v)
        pinocchio.updateFramePlacements(self._oracle, self._data)

    def message(self, link, stamp=SECOND, frame='odom', prefix=''):
        message = Odometry(child_frame_id=prefix + link)
        message.header.frame_id = frame
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)
        number = self._oracle.getBodyId(link)
        place = self._data.oMf[number]
        fill_message(message.pose.pose, np.concatenate(
            [place.translation, pinocchio.Quaternion(place.rotation).coeffs()]))
        fill_message(message.twist.twist, pinocchio.getFrameVelocity(
            self._oracle, self._data, number, pinocchio.LOCAL).vector)
        return message

    def complete(self, odometry, stamp=SECOND, now=0.0):
        return odometry.complete(self.q[7:], self.v[6:], stamp, now)


@pytest.fixture
def truth():
    return Truth()


@pytest.fixture
def odometry():
    return BaseOdometry(MODEL, 'odom')


def take(odometry, message, now):
    odometry.take(serialize_message(message), now)


def assert_state(found, truth):
    q, v = found
    same = math.copysign(1.0, q[3:7] @ truth.q[3:7])  # both quaternions mean the same
    np.testing.assert_allclose(np.r_[q[:3], same * q[3:7], q[7:]], truth.q, atol=1e-12)
    np.testing.assert_allclose(v, truth.v, atol=1e-12)


class TestLinks:

    @pytest.mark.parametrize('link', [MODEL.root_link, 'chest', 'l_hand', 'r_forearm'])
    def test_of_any_link_gives_the_base(self, odometry, link):
        for seed in range(5):
            truth = Truth(seed)
            take(odometry, truth.message(link), 0.0)
            assert_state(truth.complete(odometry), truth)

    def test_no_child_frame_means_the_root_link(self, odometry, truth):
        message = truth.message(MODEL.root_link)
        message.child_frame_id = ''
        take(odometry, message, 0.0)
        assert_state(truth.complete(odometry), truth)

    def test_of_another_link_than_the_last_one(self, odometry):
        """All else being the same, down to the length of the name."""
        for seed, link in enumerate(['l_hand', 'l_hand', 'r_hand', 'l_hand']):
            truth = Truth(seed)
            take(odometry, truth.message(link), 0.0)
            assert_state(truth.complete(odometry), truth)

    def test_links_may_have_a_prefix(self, truth):
        odometry = BaseOdometry(MODEL, 'map', 'robot1/')
        take(odometry, truth.message('chest', frame='/map', prefix='/robot1/'), 0.0)
        assert_state(truth.complete(odometry), truth)


class TestTime:

    @pytest.mark.parametrize('milliseconds', [1, 20, 99, -5])
    def test_the_base_goes_on_with_its_twist(self, odometry, truth, milliseconds):
        """Odometry may be slower than joint states, or have come from further on."""
        take(odometry, truth.message(MODEL.root_link), 0.0)
        dt = 1e-3 * milliseconds
        q, v = truth.complete(odometry, SECOND + 1_000_000 * milliseconds)
        np.testing.assert_allclose(q[:3], truth.q[:3] + dt * truth.v[:3], atol=1e-12)
        turn = pinocchio.exp3(dt * truth.v[3:6])
        np.testing.assert_allclose(
            pinocchio.Quaternion(q[3:7]).matrix(),
            turn @ pinocchio.Quaternion(truth.q[3:7]).matrix(), atol=1e-12)
        np.testing.assert_array_equal(q[7:], truth.q[7:])
        np.testing.assert_allclose(v, truth.v, atol=1e-12)

    @pytest.mark.parametrize(('stamp', 'word'), [
        (SECOND + 101_000_000, 'behind'), (SECOND - 101_000_000, 'ahead'),
        (1_795_000_000 * SECOND, 'behind')])
    def test_too_far_from_the_joint_states(self, odometry, truth, stamp, word):
        take(odometry, truth.message(MODEL.root_link), 0.0)
        with pytest.raises(SafetyError, match=word) as caught:
            truth.complete(odometry, stamp)
        assert caught.value.trip is ODOM_TIMEOUT
        odometry.timeout = 0.0
        truth.complete(odometry, stamp)

    @pytest.mark.parametrize(('own', 'of_joints'), [(0, SECOND), (SECOND, 0), (0, 0)])
    def test_without_stamps_the_time_of_arrival_counts(self, odometry, truth, own, of_joints):
        take(odometry, truth.message(MODEL.root_link, stamp=own), 5.0)
        assert_state(truth.complete(odometry, of_joints, 5.09), truth)
        with pytest.raises(SafetyError, match=r'0\.110 s'):
            truth.complete(odometry, of_joints, 5.11)

    def test_the_first_one_is_waited_for(self, odometry, truth):
        assert odometry.expected(SECOND, 10.0)
        assert odometry.expected(SECOND, 11.9)
        assert not odometry.expected(SECOND, 12.1)
        with pytest.raises(SafetyError, match='No odometry has come') as caught:
            truth.complete(odometry)
        assert caught.value.trip is ODOM_TIMEOUT
        take(odometry, truth.message(MODEL.root_link), 12.2)
        assert not odometry.expected(SECOND, 12.2)
        assert_state(truth.complete(odometry), truth)
        odometry.forget()
        assert odometry.expected(SECOND, 20.0)


def set_part(path, value):
    """Return a function that sets an attribute of an attribute of a message."""
    *parts, last = path.split('.')

    def spoil(message):
        target = message
        for part in parts:
            target = getattr(target, part)
        setattr(target, last, value)
    return spoil


def test_what_is_no_message_is_as_good_as_none(odometry, truth):
    odometry.take(ros_nodes.DAMAGED, 0.0)
    assert odometry.expected(SECOND, 0.0)
    take(odometry, truth.message('chest'), 0.0)
    odometry.take(ros_nodes.DAMAGED, 0.0)
    assert_state(truth.complete(odometry), truth)


@pytest.mark.parametrize(('change', 'complaint'), [
    (set_part('pose.pose.position.y', math.nan), 'not finite'),
    (set_part('pose.pose.orientation.z', math.nan), 'not finite'),
    (set_part('pose.pose.orientation.x', 2.0), 'norm'),
    (set_part('twist.twist.angular.x', math.inf), 'not finite'),
    (set_part('header.frame_id', 'map'), "in 'map', not in 'odom'.*odom_frame"),
    (set_part('child_frame_id', 'left_hand'), "'left_hand', which is not a link.*'l_hand'"),
])
def test_what_cannot_be_used_is_refused_until_it_is_good_again(
        odometry, truth, change, complaint):
    take(odometry, truth.message('chest'), 0.0)
    truth.complete(odometry)
    bad = truth.message('chest')
    change(bad)
    take(odometry, bad, 0.0)
    for _ in range(2):
        with pytest.raises(SafetyError, match=complaint) as caught:
            truth.complete(odometry)
        assert caught.value.trip is ODOM_INVALID
    take(odometry, truth.message('chest'), 0.0)
    assert_state(truth.complete(odometry), truth)
