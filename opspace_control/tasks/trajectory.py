# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of poses through given points in time, with feed-forward."""

from collections import namedtuple

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.spatial.rotation_vectors import (
    angular_acceleration,
    angular_velocity,
    matrix_from_vector,
    vector_from_matrix,
    vector_rate,
    vector_second_rate,
)
from opspace_control.tasks.arguments import read_pose, read_six
from opspace_control.tasks.joint_trajectory import increasing_times, segment_coefficients

# A pose (3,), (3, 3) at a time, with a twist and an acceleration (6,) or None for each.
_Point = namedtuple('_Point', 'time position R twist acceleration')


class PoseTrajectory:
    """
    Poses at given times, and the motion between them.

    Between two points the position, and the rotation vector from the first orientation, are
    polynomials of time: linear if only poses are given, cubic with twists, quintic with
    accelerations, too. A TaskError names the point that is malformed, not finite or not in order.

    Parameters
    ----------
    times : (k,) array
        s from the start; increasing, none negative.
    poses : sequence of k poses
        Each as in `PoseTask.set_target`.
    twists, accelerations : (k, 6) array, optional
        ``[v; ω]`` at the points, m/s and rad/s, and m/s² and rad/s²; the latter need twists.
    start : (7,) array, optional
        Pose at rest at time zero, if the first point is later.

    """

    def __init__(self, times, poses, twists=None, accelerations=None, *, start=None):
        self._points = _read_points(times, poses, twists, accelerations)
        if start is not None and self._points[0].time > 0.0:
            position, R = read_pose(start, 'start of the trajectory')
            rest = [None if given is None else np.zeros(6) for given in (twists, accelerations)]
            self._points.insert(0, _Point(0.0, position, R, *rest))
        self._times = np.array([point.time for point in self._points])
        self._number, self._segment = -1, None

    @property
    def duration(self):
        """Time of the last point, s."""
        return float(self._times[-1])

    @property
    def positions(self):
        """Positions of the points, (k, 3), m."""
        return np.array([point.position for point in self._points])

    def fastest(self):
        """Return the highest linear and angular speed of twists and mean motions, m/s, rad/s."""
        moves = [np.concatenate([after.position - before.position,
                                 vector_from_matrix(after.R @ before.R.T)])
                 / (after.time - before.time)
                 for before, after in zip(self._points, self._points[1:], strict=False)]
        moves += [point.twist for point in self._points if point.twist is not None]
        speeds = np.linalg.norm(np.reshape(moves, (-1, 2, 3)), axis=2)
        return tuple(speeds.max(axis=0, initial=0.0))

    def sample(self, time):
        """
        Return the goal (4, 4), its twist and acceleration (6,) at ``time``, s from the start.

        m/s and rad/s, m/s² and rad/s². Before the first point and after the last it is at rest.
        """
        number = int(np.searchsorted(self._times, time, side='right')) - 1
        if 0 <= number < len(self._points) - 1:
            if number != self._number:  # once for each: a long trajectory must not delay a cycle
                self._number = number
                self._segment = _Segment(*self._points[number:number + 2])
            return self._segment.sample(time - self._times[number])
        point = self._points[max(number, 0)]
        return _transform(point.position, point.R), np.zeros(6), np.zeros(6)


class _Segment:
    """The polynomials from one point to the next: of the position, and of the rotation vector."""

    def __init__(self, before, after):
        phi = vector_from_matrix(after.R @ before.R.T)
        way = np.concatenate([after.position - before.position, phi])
        rates = seconds = None
        if before.twist is not None:
            rate = after.twist.copy()
            rate[3:] = vector_rate(phi, rate[3:])
            rates = before.twist, rate
            if before.acceleration is not None:
                second = after.acceleration.copy()
                second[3:] = vector_second_rate(phi, rate[3:], second[3:])
                seconds = before.acceleration, second
        self._R = before.R
        self._powers = np.zeros((6, 6))  # [k]: of time^k
        self._powers[0] = np.concatenate([before.position, np.zeros(3)])
        self._powers[1:] = segment_coefficients(after.time - before.time, way, rates, seconds)

    def sample(self, time):
        t = time ** np.arange(6)
        k = np.arange(1, 6)
        x = t @ self._powers
        rate = (k * t[:5]) @ self._powers[1:]
        second = (k[1:] * k[:4] * t[:4]) @ self._powers[2:]
        phi, phi_rate = x[3:], rate[3:]
        twist = np.concatenate([rate[:3], angular_velocity(phi, phi_rate)])
        acceleration = np.concatenate(
            [second[:3], angular_acceleration(phi, phi_rate, second[3:])])
        return _transform(x[:3], matrix_from_vector(phi) @ self._R), twist, acceleration


def _read_points(times, poses, twists, accelerations):
    if accelerations is not None and twists is None:
        raise TaskError('The trajectory has accelerations without twists.', cure='Give both.')
    lists = [[None] * len(poses) if given is None else given for given in (twists, accelerations)]
    if {len(given) for given in (times, *lists)} != {len(poses)}:
        raise TaskError('The lists of the trajectory differ in length.',
                        cure='Give a time for each pose, and a twist for each or for none.')
    points = []
    for i, (time, pose, *motion) in enumerate(
            zip(increasing_times(times).tolist(), poses, *lists, strict=True)):
        owner = f'point {i} of the trajectory'
        points.append(_Point(time, *read_pose(pose, owner), *(
            None if given is None else read_six(given, what, owner) for given, what in zip(
                motion, ('target twist', 'target acceleration'), strict=True))))
    return points


def _transform(position, R):
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = R, position
    return transform
