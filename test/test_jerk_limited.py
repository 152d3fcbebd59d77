# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that travel within limits of velocity, acceleration and jerk."""

import itertools
import sys

import numpy as np
import pytest
from lockstep import LockStep

from opspace_control import (
    JerkLimits,
    OperationalSpaceController,
    OrientationTask,
    PoseTask,
    PositionTask,
    RobotModel,
    RobotState,
    TaskError,
)
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

pytest.importorskip('ruckig', reason='ruckig is not installed')

DT = 1e-3
LIMITS = {'velocity': 0.4, 'acceleration': 1.5, 'jerk': 15.0, 'angular_velocity': 1.2,
          'angular_acceleration': 5.0, 'angular_jerk': 50.0}


class Trip:
    """A task's goal on its way, and what was seen of it, a row for each cycle."""

    def __init__(self, task, **limits):
        task.trajectory = JerkLimits(**(LIMITS | limits))
        self.task, self.rows = task, []
        self.see()

    def see(self, position=(0.0, 0.0, 0.0), R=None):
        """Be somewhere, as a cycle finds the frame: without a goal, this is the goal."""
        record = self.task._record
        record['p'], record['R'] = position, np.eye(3) if R is None else R
        if np.isnan(record['target_p'][0]):
            record['target_p'], record['target_R'] = record['p'], record['R']
        return record

    def run(self, seconds):
        """Go on for some time; return positions, rotations and 6-vectors of motion since then."""
        begin = len(self.rows)
        for _ in range(round(seconds / DT)):
            self.task.advance_target(DT)
            record = self.see()
            self.rows.append(tuple(np.copy(record[key]) for key in (
                'target_p', 'target_R', 'target_twist', 'target_acceleration')))
        return [np.array(column) for column in zip(*self.rows[begin:], strict=True)]


def pose(position, phi=(0.0, 0.0, 0.0)):
    transform = np.eye(4)
    transform[:3, 3], transform[:3, :3] = position, matrix_from_vector(np.array(phi))
    return transform


def lengths(vectors):
    """Return the largest length of the linear and of the angular parts, (2,)."""
    return np.linalg.norm(vectors.reshape(-1, 2, 3), axis=2).max(axis=0)


def assert_smooth(p, R, twist, acceleration):
    """Each is the rate of the other, and jerks are within their limits."""
    turn = np.array([vector_from_matrix(after @ before.T)
                     for before, after in itertools.pairwise(R)])
    moves = np.hstack([np.diff(p, axis=0), turn]) / DT
    np.testing.assert_allclose(moves, 0.5 * (twist[1:] + twist[:-1]), atol=2e-5)
    np.testing.assert_allclose(np.diff(twist, axis=0) / DT,
                               0.5 * (acceleration[1:] + acceleration[:-1]), atol=0.03)
    jerk = lengths(np.diff(acceleration, axis=0) / DT)
    assert jerk[0] < 1.001 * LIMITS['jerk']
    assert jerk[1] < 1.3 * LIMITS['angular_jerk']  # of the rotation vector's; ω̈ has more terms


def test_it_goes_straight_within_its_limits_and_arrives_together():
    trip = Trip(PoseTask('hand'))
    goal, phi = np.array([0.5, -0.2, 0.3]), np.array([0.6, -0.9, 0.4])
    trip.task.set_target(pose(goal, phi))
    p, R, twist, acceleration = trip.run(3.0)
    assert_smooth(p, R, twist, acceleration)
    assert lengths(twist)[0] == pytest.approx(0.4, rel=1e-6)  # as fast as it may be
    assert lengths(twist)[1] < 1.2
    assert lengths(acceleration)[0] <= 1.5 * (1.0 + 1e-9)
    along = p @ goal / (goal @ goal)
    assert np.linalg.norm(p - np.outer(along, goal), axis=1).max() < 1e-9
    turned = np.array([vector_from_matrix(each) for each in R])
    assert abs(np.cross(turned, phi)).max() < 1e-9
    np.testing.assert_allclose(p[-1], goal)
    np.testing.assert_allclose(turned[-1], phi)
    linear, angular = twist.reshape(-1, 2, 3).transpose(1, 0, 2)
    ends = [np.flatnonzero(np.linalg.norm(part, axis=1) > 0.0)[-1] for part in (linear, angular)]
    assert abs(ends[0] - ends[1]) <= 1
    np.testing.assert_array_equal(trip.task.target, trip.task.moving_target)
    assert not trip.task._destined


def test_goals_that_change_at_any_time_make_no_jump():
    """As a mouse drags them: the motion goes on from what it is."""
    trip = Trip(PoseTask('hand'))
    random = np.random.default_rng(1)
    parts = []
    for _ in range(30):
        trip.task.set_target(pose(0.4 * random.normal(size=3), random.normal(size=3)))
        parts.append(trip.run(random.uniform(0.02, 0.4)))
    goal = np.array([0.1, 0.2, 0.3])
    trip.task.set_target(pose(goal))
    parts.append(trip.run(6.0))
    whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
    assert_smooth(*whole)
    assert (lengths(whole[2]) < 1.25 * np.array([0.4, 1.2])).all()
    np.testing.assert_allclose(whole[0][-1], goal)


def test_what_is_said_of_a_goal_on_its_way():
    trip = Trip(PoseTask('hand'))
    trip.task.set_target(pose([0.5, 0.0, 0.0]))
    trip.run(0.3)
    np.testing.assert_allclose(trip.task.target[:3], [0.5, 0.0, 0.0])
    assert 0.0 < trip.task.moving_target[0] < 0.5
    assert trip.task.error[0] == pytest.approx(0.5)  # of the frame, which stays where it was
    trip.task.clear_target()
    assert trip.task.target is None
    trip.run(DT)
    np.testing.assert_allclose(trip.task.target[:3], 0.0)


def test_limits_change_on_the_way_and_none_is_at_once():
    trip = Trip(PoseTask('hand'))
    trip.task.set_target(pose([0.5, 0.0, 0.0]))
    parts = [trip.run(0.5)]
    assert lengths(parts[0][2])[0] == pytest.approx(0.4)
    trip.task.trajectory = trip.task.trajectory.changed(velocity=0.1)
    parts.append(trip.run(0.6))
    assert np.linalg.norm(parts[1][2][-1]) == pytest.approx(0.1)
    assert_smooth(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    trip.task.trajectory = None
    np.testing.assert_allclose(trip.task.moving_target[:3], [0.5, 0.0, 0.0])
    assert trip.task.trajectory is None


def test_it_meets_a_goal_that_moves():
    """A goal that is told with its twist is met where it will be, and followed without a lag."""
    trip = Trip(PoseTask('hand'))
    velocity = np.array([0.1, 0.05, 0.0, 0.0, 0.0, 0.2])
    apart = []
    for k in range(2500):
        goal = pose(np.array([0.3, 0.1, 0.0]) + k * DT * velocity[:3], k * DT * velocity[3:])
        trip.task.set_target(goal, velocity)
        p, R, twist, _ = trip.run(DT)
        apart.append(np.linalg.norm(p[-1] - goal[:3, 3]))
    assert apart[-1] < 1e-5 and max(apart[-500:]) < 1e-4
    np.testing.assert_allclose(twist[-1], velocity, atol=1e-3)
    np.testing.assert_allclose(R[-1], goal[:3, :3], atol=1e-4)


@pytest.mark.parametrize('make, goal, other', [
    (PositionTask, [0.1, 0.2, 0.0], 'target_R'), (OrientationTask, matrix_from_vector(
        np.array([0.0, 0.3, 0.0])), 'target_p')])
def test_what_is_not_controlled_takes_no_time(make, goal, other):
    trip = Trip(make('hand'))
    trip.task.clear_target()
    trip.see((3.0, 3.0, 3.0), matrix_from_vector(np.array([2.0, 0.0, 0.0])))
    trip.task.set_target(goal)
    trip.run(0.05)
    record = trip.task._record
    expected = np.zeros(3) if other == 'target_p' else np.eye(3)
    np.testing.assert_allclose(record[other], expected, atol=1e-12)
    assert trip.task._destined


def test_axes_that_are_held_anew_let_the_others_go_on():
    trip = Trip(PoseTask('hand', axes='x y'))
    trip.task.set_target(pose([0.3, 0.2, 0.5]))
    trip.run(0.2)
    trip.task.set_axes('x y z')
    np.testing.assert_allclose(trip.task.target[:3], [0.3, 0.2, 0.0], atol=1e-12)
    p, *_ = trip.run(2.5)
    np.testing.assert_allclose(p[-1], [0.3, 0.2, 0.0], atol=1e-12)


@pytest.mark.parametrize('limits', [{'jerk': 0.0}, {'acceleration': np.inf}, {'velocity': -1.0},
                                    {'angular_jerk': np.nan}])
def test_bad_limits_are_refused(limits):
    with pytest.raises(TaskError, match=next(iter(limits))):
        JerkLimits(**limits)


def test_something_else_is_refused():
    with pytest.raises(TaskError, match='JerkLimits'):
        PoseTask('hand', trajectory='ruckig')


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'ruckig', None)
    with pytest.raises(TaskError, match=r'opspace_control\[trajectory\]'):
        JerkLimits()


def test_a_robot_follows_a_goal_that_is_sent_elsewhere_on_the_way():
    """The hand is where its goal is, all the time; its efforts have no steps."""
    task = PoseTask('hand', axes='x z', trajectory=JerkLimits(velocity=0.4))
    scene = LockStep(share_directory() / 'urdf' / 'planar_3r.urdf', [task],
                     start={'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6})
    scene.run(DT)
    home = task.pose
    behind = []

    def order(time):
        for begin, shift in ((0.1, (-0.2, 0.0, 0.2)), (0.5, (0.0, 0.0, -0.3)), (0.8, (0.0,) * 3)):
            if abs(time - begin) < 0.5 * DT:
                task.set_target((home[:3] + shift, home[3:]))
        behind.append(np.linalg.norm(task.moving_target[:3] - task.pose[:3]))

    course = scene.run(3.0, order)
    assert max(behind) < 1e-3
    assert np.linalg.norm(np.ptp(course.paths[:, 0], axis=0)) > 0.1
    assert np.linalg.norm(course.errors[-1, 0, [0, 2]]) < 1e-4
    assert abs(np.diff(course.efforts, axis=0)).max() < 0.4  # N m; at once it would be 60


@pytest.mark.parametrize('warm', [False, True])
def test_a_controller_counts_time_and_plans_what_travels(warm):
    """Limits may come and go, times of cycles may change, and the kernel be bound anew."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
    controller = OperationalSpaceController(model, [PoseTask('l_hand')])
    state, tau = RobotState(model, model.neutral(), np.zeros(model.nv)), np.empty(model.nv)
    task, = controller.tasks.values()
    controller.compute_torque(state, tau, dt=DT)
    alone = Trip(PoseTask('l_hand'))
    start = pose(task.pose[:3])
    start[:3, :3] = task._record['R']
    record = alone.see(start[:3, 3], start[:3, :3])
    record['target_p'], record['target_R'] = record['p'], record['R']
    goal = start + pose((0.0, 0.1, 0.0)) - np.eye(4)
    task.trajectory = alone.task.trajectory
    for each in (task, alone.task):
        each.set_target(goal)
    for k in range(100):
        dt = DT if k % 10 else 3.0 * DT
        alone.task.advance_target(dt)
        if warm:
            controller.warm_up()
        controller.compute_torque(state, tau, dt=dt)
        np.testing.assert_allclose(task._record['target_p'], alone.task._record['target_p'],
                                   rtol=0.0, atol=1e-12)
    assert 0.001 < np.linalg.norm(task._record['target_p'] - start[:3, 3]) < 0.1
    task.trajectory = None
    controller.compute_torque(state, tau, dt=DT)
    np.testing.assert_allclose(task._record['target_p'], goal[:3, 3], atol=1e-12)
