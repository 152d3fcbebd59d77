# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of joints and of poses through given points in time, with feed-forward."""

from collections import namedtuple

import numpy as np

from opspace_control.checks import HUGE, read_numbers, usable
from opspace_control.errors import TaskError
from opspace_control.spatial.rotations import (
    angular_acceleration,
    angular_velocity,
    matrix_from_vector,
    vector_from_matrix,
    vector_rate,
    vector_second_rate,
)
from opspace_control.tasks.arguments import read_pose, read_six


class JointTrajectory:
    """
    Positions of n joints at k times, and the motion between them.

    Between two points each joint follows a polynomial of time: linear if only positions are given,
    cubic with velocities, quintic with accelerations, too. Before the first point and after the
    last it is at rest. A TaskError names the joint and the time of what is malformed, not finite or
    not in order.

    Parameters
    ----------
    joints : sequence of n str
        Each once.
    times : (k,) array
        s from the start; increasing, none negative.
    positions : (k, n) array
        rad or m.
    velocities, accelerations : (k, n) array, optional
        rad/s or m/s, rad/s² or m/s²; accelerations need velocities.
    efforts : (k, n) array, optional
        Of the drives, N·m or N: inverse dynamics of the motion, for a check against their limits.

    """

    def __init__(self, joints, times, positions, velocities=None, accelerations=None,
                 efforts=None):
        self.joints = tuple(joints)
        if not self.joints or len(set(self.joints)) < len(self.joints):
            raise TaskError(f'The trajectory moves the joints {self.joints}.',
                            cure='Name one or more, each once.')
        self.times = increasing_times(times)
        if accelerations is not None and velocities is None:
            raise TaskError('The trajectory has accelerations without velocities.',
                            cure='Give both.')
        self.positions, self.velocities, self.accelerations, self.efforts = (
            self._read(what, values) for what, values in (
                ('position', positions), ('velocity', velocities),
                ('acceleration', accelerations), ('effort', efforts)))
        self._powers = _polynomials(
            self.times, self.positions, self.velocities, self.accelerations)

    @property
    def duration(self):
        """Time of the last point, s."""
        return float(self.times[-1])

    def begun_at(self, positions):
        """Return the trajectory with these positions (n,), at rest at time zero, as first point."""
        if self.times[0] == 0.0:
            return self
        zeros = np.zeros(len(self.joints))
        firsts = positions, zeros, zeros, None if self.efforts is None else self.efforts[0]
        parts = self.positions, self.velocities, self.accelerations, self.efforts
        return JointTrajectory(self.joints, np.r_[0.0, self.times], *(
            None if part is None else np.vstack([first, part])
            for first, part in zip(firsts, parts, strict=True)))

    def sample(self, times):
        """
        Return positions, velocities, accelerations, (n,) or (t, n), at times in s from the start.

        rad or m, and these by s and s².
        """
        times = np.asarray(times, dtype=float)
        last = len(self.times) - 1
        number = np.searchsorted(self.times, times, side='right') - 1
        moves = (number >= 0) & (number < last)
        number = np.minimum(np.maximum(number, 0), last)
        powers = np.where(moves, times - self.times[number], 0.0)[..., None] ** _EXPONENTS
        parts = np.zeros((*times.shape, 3, 6))
        for order in range(3):
            parts[..., order, order:] = _FACTORS[order, order:] * powers[..., :6 - order]
        parts *= np.where(moves[..., None], _ALL, _PLACE)[..., None]
        motion = parts @ self._powers[number]
        return motion[..., 0, :], motion[..., 1, :], motion[..., 2, :]

    def _read(self, what, values):
        if values is None:
            return None
        numbers = read_numbers(values)
        if numbers.shape != (len(self.times), len(self.joints)):
            raise TaskError(f'The trajectory has not one {what} for each joint at every point.',
                            cure=f'Give {len(self.times)} times {len(self.joints)} numbers.')
        if not usable(numbers):
            i, j = np.argwhere(~(abs(numbers) < HUGE))[0]
            raise TaskError(
                f"The {what} of '{self.joints[j]}' at {self.times[i]:.3f} s is {numbers[i, j]}.",
                joint=self.joints[j], time=float(self.times[i]),
                cure=f'Give finite numbers, below {HUGE:g}.')
        return numbers


# [order, k]: of t^(k - order) in the derivative of t^k.
_FACTORS = np.array([[1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5], [0, 0, 2, 6, 12, 20]], float)
_EXPONENTS = np.arange(6)
_ALL, _PLACE = np.ones(3), np.array([1.0, 0.0, 0.0])  # of position, velocity, acceleration


def increasing_times(times):
    """Return one or more times, s, as an array; TaskError unless they increase from 0 or later."""
    times = read_numbers(times).reshape(-1)
    if not times.size:
        raise TaskError('The trajectory has no points.', cure='Give one or more.')
    after = np.r_[-1e-9, times[:-1]]
    wrong = np.flatnonzero(~(np.isfinite(times) & (times > after) & (times >= 0.0)))
    if wrong.size:
        raise TaskError(f'Point {wrong[0]} of the trajectory has the time {times[wrong[0]]} s.',
                        time=float(times[wrong[0]]),
                        cure='Give increasing times, none negative.')
    return times


def _polynomials(times, q, v, a):
    """Return the coefficients (k, 6, n) of time^0 ... time^5 from each point on; the last rests."""
    h = np.diff(times)[:, None]
    powers = np.zeros((len(q), 6, q.shape[1]))
    powers[:, 0] = q
    pairs = [None if part is None else (part[:-1], part[1:]) for part in (v, a)]
    powers[:-1, 1:] = np.moveaxis(segment_coefficients(h, np.diff(q, axis=0), *pairs), 0, 1)
    return powers


def segment_coefficients(duration, change, rates=None, seconds=None):
    """
    Return the coefficients (5, ...) of time¹ ... time⁵ of a motion by ``change`` in some time, s.

    Linear without rates, cubic with rates, quintic with second derivatives, too: pairs of arrays at
    the first and at the second point.
    """
    h = duration
    result = np.zeros((5, *np.shape(change)))
    if rates is None:
        result[0] = change / h
        return result
    v0, v1 = (h * rate for rate in rates)
    if seconds is None:
        result[:3] = v0, 3.0 * change - 2.0 * v0 - v1, v0 + v1 - 2.0 * change
    else:
        a0, a1 = (h * h * second for second in seconds)
        result[:] = (v0, 0.5 * a0,
                     10.0 * change - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
                     -15.0 * change + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
                     6.0 * change - 3.0 * (v0 + v1) + 0.5 * (a1 - a0))
    for k in range(5):
        result[k] /= h ** (k + 1.0)
    return result


# A pose (3,), (3, 3) at a time, with a twist and an acceleration (6,) or None for each.
_Point = namedtuple('_Point', 'time position R twist acceleration')


class PoseTrajectory:
    """
    Poses at given times, and the motion between them.

    Between two points the position, and the rotation vector from the first orientation, are
    polynomials of time: linear if only poses are given, cubic with twists, quintic with
    accelerations, too. A TaskError names the point that is malformed, not finite or not in order.

    ``times`` (k,), s from the start, increase, none negative; the k ``poses`` are as in
    `PoseTask.set_target`; ``twists`` and ``accelerations`` (k, 6), optional, are ``[v; ω]`` at the
    points, m/s and rad/s, and m/s² and rad/s², and the latter need the former. ``start`` (7,) is
    the pose at rest at time zero, if the first point is later.
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
        change = np.concatenate([after.position - before.position, phi])
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
        self._powers[1:] = segment_coefficients(after.time - before.time, change, rates, seconds)

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
