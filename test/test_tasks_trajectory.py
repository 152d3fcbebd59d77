# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that move in time: through their points, smooth, and with true feed-forward."""

import numpy as np
import pytest

from opspace_control import PoseTask, TaskError
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix
from opspace_control.tasks.trajectory import PoseTrajectory

TIMES = [0.0, 0.5, 1.5, 2.0]
ORDERS = ['line', 'cubic', 'quintic']


def transform(position, phi):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_vector(np.asarray(phi, float)), position
    return pose


def made(order, seed=0):
    """Return a random trajectory and the lists it was made of."""
    rng = np.random.default_rng(seed)
    poses = [transform(rng.normal(size=3), rng.normal(size=3)) for _ in TIMES]
    twists = rng.normal(size=(len(TIMES), 6)) if order != 'line' else None
    accelerations = rng.normal(size=(len(TIMES), 6)) if order == 'quintic' else None
    return PoseTrajectory(TIMES, poses, twists, accelerations), poses, twists, accelerations


@pytest.mark.parametrize('order', ORDERS)
def test_goes_through_its_points(order):
    trajectory, poses, twists, accelerations = made(order)
    for i, time in enumerate(TIMES[:-1]):
        for t in (time, time - 1e-9) if i else (time,):
            pose, twist, acceleration = trajectory.sample(t)
            np.testing.assert_allclose(pose, poses[i], atol=1e-7)
            if twists is not None:
                np.testing.assert_allclose(twist, twists[i], atol=1e-6)
            if accelerations is not None:
                np.testing.assert_allclose(acceleration, accelerations[i], atol=1e-5)


@pytest.mark.parametrize('order', ORDERS)
@pytest.mark.parametrize('time', [0.1, 0.49, 0.7, 1.2, 1.8])
def test_feed_forward_is_how_the_goal_moves(order, time):
    trajectory = made(order)[0]
    h = 1e-5
    before, now, after = (trajectory.sample(time + t) for t in (-h, 0.0, h))
    moved = np.concatenate([after[0][:3, 3] - before[0][:3, 3],
                            vector_from_matrix(after[0][:3, :3] @ before[0][:3, :3].T)])
    np.testing.assert_allclose(now[1], moved / (2 * h), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(now[2], (after[1] - before[1]) / (2 * h), rtol=1e-6, atol=1e-6)
    assert trajectory.sample(time)[0][3] == pytest.approx([0, 0, 0, 1])


def test_lines_are_straight_and_even():
    trajectory = PoseTrajectory([0.0, 2.0], [transform([0, 0, 0], [0, 0, 0]),
                                             transform([1, 2, 0], [0, 0, 1])])
    pose, twist, acceleration = trajectory.sample(0.5)
    np.testing.assert_allclose(pose, transform([0.25, 0.5, 0.0], [0, 0, 0.25]), atol=1e-12)
    np.testing.assert_allclose(twist, [0.5, 1.0, 0, 0, 0, 0.5], atol=1e-12)
    np.testing.assert_array_equal(acceleration, 0.0)
    assert trajectory.fastest() == pytest.approx((np.hypot(0.5, 1.0), 0.5))


def test_fastest_knows_the_twists():
    poses = [transform([0, 0, 0], [0, 0, 0]), transform([0.1, 0, 0], [0, 0, 0])]
    trajectory = PoseTrajectory([0, 1], poses, [[3, 4, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]])
    assert trajectory.fastest() == (5.0, 1.0)


@pytest.mark.parametrize('order', ORDERS)
def test_rests_before_and_after(order):
    trajectory, poses, *_ = made(order)
    for time, i in ((-1.0, 0), (2.0, -1), (9.0, -1)):
        pose, twist, acceleration = trajectory.sample(time)
        np.testing.assert_allclose(pose, poses[i], atol=1e-12)
        np.testing.assert_array_equal(twist, 0.0)
        np.testing.assert_array_equal(acceleration, 0.0)
    assert trajectory.duration == 2.0


def test_starts_at_rest_where_the_goal_is():
    start = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]
    end = transform([1, 2, 4], [0, 0, 0])
    trajectory = PoseTrajectory([1.0], [end], [np.zeros(6)], start=start)
    for time, expected in ((0.0, 3.0), (0.5, 3.5), (1.0, 4.0)):
        assert trajectory.sample(time)[0][2, 3] == pytest.approx(expected)
    np.testing.assert_allclose(trajectory.sample(0.0)[1], 0.0, atol=1e-12)
    np.testing.assert_allclose(trajectory.sample(1.0 - 1e-9)[1], 0.0, atol=1e-6)
    # A first point at time zero is where it begins, whatever was before.
    np.testing.assert_allclose(PoseTrajectory([0.0], [end], start=start).sample(0.0)[0], end)


POSE = [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(('arguments', 'complaint'), [
    (([], []), 'no points'),
    (([0.0, 1.0], [POSE]), 'length'),
    (([0.0, 0.0], [POSE, POSE]), 'Point 1'),
    (([1.0, 0.5], [POSE, POSE]), 'Point 1'),
    (([-1.0], [POSE]), 'Point 0'),
    (([np.nan], [POSE]), 'Point 0'),
    (([np.inf], [POSE]), 'Point 0'),
    (([0.0], [[0] * 7]), 'point 0.*quaternion'),
    (([0.0], [POSE], [[np.nan] * 6]), 'point 0.*twist'),
    (([0.0], [POSE], [[0.0] * 6], [[0.0] * 5]), 'point 0.*acceleration'),
    (([0.0], [POSE], None, [[0.0] * 6]), 'without twists'),
])
def test_refuses_what_cannot_be_followed(arguments, complaint):
    with pytest.raises(TaskError, match=complaint):
        PoseTrajectory(*arguments)


class TestFeedForward:

    def test_leaves_the_goal_where_it_is(self):
        task = PoseTask('hand')
        task.set_target([1, 2, 3, 0, 0, 0, 1], twist=np.ones(6))
        task.set_feed_forward(acceleration=np.arange(6.0))
        np.testing.assert_array_equal(task.target, [1, 2, 3, 0, 0, 0, 1])
        np.testing.assert_array_equal(task._record['target_twist'], 0.0)
        np.testing.assert_array_equal(task._record['target_acceleration'], np.arange(6.0))

    @pytest.mark.parametrize('bad', [[1.0] * 5, [np.nan] * 6, 'fast'])
    def test_refused_changes_nothing(self, bad):
        task = PoseTask('hand')
        task.set_feed_forward(np.ones(6), np.ones(6))
        with pytest.raises(TaskError, match='acceleration'):
            task.set_feed_forward(np.zeros(6), bad)
        np.testing.assert_array_equal(task._record['target_twist'], 1.0)
