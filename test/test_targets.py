# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from opspace_control.errors import TaskError
from opspace_control.tasks.arguments import read_pose, read_six

pin = pytest.importorskip('pinocchio')

POSE = pin.SE3(pin.exp3(np.array([0.3, -1.2, 0.7])), np.array([0.1, 0.2, -0.3]))
QUATERNION = pin.Quaternion(POSE.rotation).coeffs()  # x y z w


def transform(**changes):
    """Return the pose's matrix with some entries changed, by keys such as ``at_30``."""
    T = POSE.homogeneous.copy()
    for key, value in changes.items():
        T[int(key[3]), int(key[4])] = value
    return T


@pytest.mark.parametrize('pose', [
    POSE.homogeneous, POSE.homogeneous.tolist(),
    np.r_[POSE.translation, QUATERNION], [*POSE.translation, *-QUATERNION],
    (POSE.translation, QUATERNION), [POSE.translation.tolist(), QUATERNION.tolist()],
], ids=['matrix', 'nested lists', 'seven', 'seven, quaternion negated', 'pair', 'pair of lists'])
def test_every_way_to_write_a_pose(pose):
    position, R = read_pose(pose, 'task')
    np.testing.assert_allclose(position, POSE.translation, atol=1e-15)
    np.testing.assert_allclose(R, POSE.rotation, atol=1e-14)


def test_a_pose_is_copied():
    given = POSE.homogeneous.copy()
    position, R = read_pose(given, 'task')
    given[:] = 7.0
    np.testing.assert_allclose(position, POSE.translation)
    np.testing.assert_allclose(R, POSE.rotation)


def test_three_digits_are_enough_and_the_rotation_is_then_exact():
    for pose in ([0, 0, 0, 0, 0.707, 0, 0.707], (np.zeros(3), [0, 0.71, 0, 0.71]),
                 [[0, 0, 1, 0], [-0.707, 0.707, 0, 0], [-0.707, -0.707, 0, 0], [0, 0, 0, 1]]):
        _, R = read_pose(pose, 'task')
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) == pytest.approx(1.0)


MIRRORED = np.diag([1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize('pose, what', [
    (np.full(7, np.nan), 'finite'),
    ([0, 0, np.inf, 0, 0, 0, 1], 'finite'),
    (transform(at_01=np.nan), 'finite'),
    (np.zeros(6), 'pose'),
    (np.zeros(8), 'pose'),
    (np.zeros((3, 4)), 'pose'),
    (np.eye(3), 'pose'),
    (POSE.homogeneous[None], 'pose'),
    ('l_hand', 'pose'),
    (None, 'pose'),
    (1.0, 'pose'),
    ((QUATERNION, POSE.translation), 'pose'),
    ((POSE.translation, POSE.rotation), 'pose'),
    ([0, 0, 0, 0, 0, 0, 0], 'quaternion'),
    ([0, 0, 0, 0.3, 0, 0, 0.9], 'quaternion'),
    ([0, 0, 0, 0, 0, 0, 1.02], 'quaternion'),
    (np.zeros((4, 4)), 'rotation'),
    (transform(at_00=0.5), 'rotation'),
    (2.0 * np.eye(4), 'rotation'),
    (MIRRORED, 'rotation'),
    (transform(at_30=0.1), 'last row'),
    (transform(at_33=0.0), 'last row'),
    (transform(at_33=1.001), 'last row'),
])
def test_what_is_no_pose_is_refused(pose, what):
    with pytest.raises(TaskError, match=f"task 'hand': target .* cannot be used.*{what}|{what}"
                       ) as caught:
        read_pose(pose, "task 'hand'")
    assert caught.value.value is pose
    assert caught.value.cure


def test_feed_forward_is_six_finite_numbers_or_nothing():
    np.testing.assert_array_equal(read_six(None, 'target twist', 'task'), np.zeros(6))
    given = np.arange(6.0)
    six = read_six(given, 'target twist', 'task')
    given[:] = 9.0
    np.testing.assert_array_equal(six, np.arange(6.0))
    for bad in (np.zeros(5), np.zeros((6, 1)), [0, 0, 0, 0, 0, np.nan], 'twist', 0.0):
        with pytest.raises(TaskError, match=r"task 'hand': target twist .* 6 finite numbers"):
            read_six(bad, 'target twist', "task 'hand'")
