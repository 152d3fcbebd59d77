# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that move between messages, in the time of the states; needs no ROS."""

import numpy as np
import pytest

from opspace_control import PoseTask
from opspace_control.ros.topics.moving_goals import MovingGoals
from opspace_control.tasks.trajectory import PoseTrajectory

SECOND = 1_000_000_000  # ns
BEGIN = 1_795_000_000 * SECOND
TWIST = np.arange(1.0, 7.0)
ACCELERATION = -TWIST
GOAL = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]


@pytest.fixture
def task():
    task = PoseTask('hand')
    task.set_target(GOAL)
    return task


@pytest.fixture
def goals():
    goals = MovingGoals()
    goals.timeout = 0.2
    return goals


def at(seconds):
    """Return the stamp of a state, ns."""
    return BEGIN + round(seconds * SECOND)


def feed_forward(task):
    record = task._record
    return record['target_twist'].copy(), record['target_acceleration'].copy()


class TestFeedForward:

    @pytest.mark.parametrize(('age', 'left'), [
        (0.0, 1.0), (0.2, 1.0), (0.25, 0.75), (0.3, 0.5), (0.4, 0.0), (5.0, 0.0), (-0.001, 0.0)])
    def test_fades_with_age(self, goals, task, age, left):
        goals.feed_forward(task, 'twist', TWIST, at(0.0))
        goals.advance(at(age))
        np.testing.assert_allclose(feed_forward(task)[0], left * TWIST)
        np.testing.assert_array_equal(task.target, GOAL)

    def test_each_part_has_its_own_age(self, goals, task):
        goals.feed_forward(task, 'twist', TWIST, at(0.0))
        goals.feed_forward(task, 'acceleration', ACCELERATION, at(0.2))
        goals.advance(at(0.3))
        twist, acceleration = feed_forward(task)
        np.testing.assert_allclose(twist, 0.5 * TWIST)
        np.testing.assert_allclose(acceleration, ACCELERATION)

    def test_a_new_message_is_full_again(self, goals, task):
        goals.feed_forward(task, 'twist', TWIST, at(0.0))
        goals.advance(at(1.0))
        goals.feed_forward(task, 'twist', TWIST, at(1.0))
        goals.advance(at(1.1))
        np.testing.assert_allclose(feed_forward(task)[0], TWIST)

    def test_survives_a_new_pose(self, goals, task):
        goals.feed_forward(task, 'twist', TWIST, at(0.0))
        task.set_target(GOAL)
        goals.advance(at(0.1))
        np.testing.assert_allclose(feed_forward(task)[0], TWIST)

    def test_costs_nothing_when_it_is_gone(self, goals, task):
        goals.feed_forward(task, 'twist', TWIST, at(0.0))
        goals.advance(at(1.0))
        task.set_feed_forward(TWIST)  # would be overwritten if it were still at work
        goals.advance(at(1.1))
        np.testing.assert_allclose(feed_forward(task)[0], TWIST)

    def test_stop_ends_it_at_once(self, goals, task):
        goals.feed_forward(task, 'twist', TWIST, at(0.0))
        goals.advance(at(0.0))
        goals.stop()
        goals.advance(at(0.01))
        np.testing.assert_array_equal(feed_forward(task)[0], 0.0)


class TestTrajectory:

    @pytest.fixture
    def trajectory(self):
        end = [1.0, 2.0, 4.0, 0.0, 0.0, 0.0, 1.0]
        return PoseTrajectory([2.0], [end], [np.zeros(6)], start=GOAL)

    def follow(self, goals, until, start=0.0, period=0.05):
        for time in np.arange(start + period, until + 1e-6, period):
            goals.advance(at(time))

    def test_is_followed_in_the_time_of_the_states(self, goals, task, trajectory):
        goals.follow(task, trajectory, at(0.0))
        self.follow(goals, 0.5)
        pose, twist, acceleration = trajectory.sample(0.5)
        assert goals.following(task)
        np.testing.assert_allclose(task.target[:3], pose[:3, 3])
        np.testing.assert_allclose(feed_forward(task), (twist, acceleration))

    def test_ends_at_rest(self, goals, task, trajectory):
        goals.follow(task, trajectory, at(0.0))
        self.follow(goals, 2.1)
        assert not goals.following(task)
        assert task.target[2] == 4.0
        np.testing.assert_array_equal(feed_forward(task), 0.0)

    def test_may_begin_later(self, goals, task, trajectory):
        goals.follow(task, trajectory, at(1.0))
        self.follow(goals, 0.95)
        assert goals.following(task)
        np.testing.assert_allclose(task.target, GOAL)
        self.follow(goals, 3.1, start=0.95)
        assert task.target[2] == 4.0

    @pytest.mark.parametrize('pause', [0.2, -0.2])
    def test_a_pause_of_the_states_ends_it_where_it_is(self, goals, task, trajectory, pause):
        goals.follow(task, trajectory, at(0.0))
        self.follow(goals, 0.5)
        before = task.target
        goals.advance(at(0.5 + pause))
        assert not goals.following(task)
        np.testing.assert_array_equal(task.target, before)
        np.testing.assert_array_equal(feed_forward(task), 0.0)

    def test_stop_leaves_the_goal_where_it_is(self, goals, task, trajectory):
        goals.follow(task, trajectory, at(0.0))
        self.follow(goals, 0.5)
        before = task.target
        goals.stop(task)
        goals.advance(at(0.55))
        np.testing.assert_array_equal(task.target, before)
        np.testing.assert_array_equal(feed_forward(task), 0.0)

    def test_tasks_move_by_themselves(self, goals, task, trajectory):
        other = PoseTask('other')
        goals.follow(task, trajectory, at(0.0))
        goals.feed_forward(other, 'twist', TWIST, at(0.0))
        self.follow(goals, 0.1)
        goals.stop(other)
        self.follow(goals, 0.2, start=0.1)
        assert goals.following(task)
        assert not goals.following(other)


class Played:
    """What a Playback looks like to the goals: it notes where it was moved."""

    duration = 1.0

    def __init__(self):
        self.times, self.stopped = [], 0

    def move(self, time):
        self.times.append(time)

    def stop(self):
        self.stopped += 1


class TestPlayback:

    @pytest.fixture
    def played(self, goals):
        played, reasons = Played(), []
        goals.play(played, at(0.0), reasons.append)
        return goals, played, reasons

    def test_moves_in_the_time_of_the_states_to_its_end(self, played):
        goals, playback, reasons = played
        for k in range(21):
            goals.advance(at(0.06 * k))
        assert playback.times == pytest.approx(0.06 * np.arange(18))
        assert reasons == ['']
        assert playback.stopped == 1
        assert goals.played is None

    @pytest.mark.parametrize('time', [0.3, -0.1])
    def test_a_pause_or_a_time_that_goes_back_ends_it(self, played, time):
        goals, playback, reasons = played
        goals.advance(at(0.05))
        goals.advance(at(time))
        assert reasons == [f'no cycle for {abs(time - 0.05):.2f} s']
        assert playback.times == pytest.approx([0.05])

    def test_other_goals_wait_for_its_end_or_end_it(self, played, task):
        goals, _, reasons = played
        assert goals.following(task)
        goals.stop(task)
        assert reasons == ['another goal has come']
        assert not goals.following(task)

    def test_a_trajectory_of_a_task_ends_it(self, played, task):
        goals, playback, reasons = played
        goals.follow(task, PoseTrajectory([1.0], [GOAL], start=GOAL), at(0.0))
        goals.advance(at(0.0))
        assert reasons == ['another goal has come']
        assert not playback.times
        assert goals.following(task)

    def test_it_ends_what_moves(self, goals, task):
        goals.feed_forward(task, 'twist', TWIST, at(0.0))
        goals.advance(at(0.0))
        goals.play(Played(), at(0.0), lambda reason: None)
        assert not feed_forward(task)[0].any()
