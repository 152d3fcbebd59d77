# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Online trajectory generation for goals, with limits of velocity, acceleration and jerk."""

import math
from collections import namedtuple
from dataclasses import dataclass, fields, replace

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.spatial import rotations
from opspace_control.tasks.arguments import task_numbers
from opspace_control.tasks.trajectory_law import MOVES, STAYS, UNPLANNED

# Shorter displacements than this, m and rad, and slower motions, have no direction.
_NOTHING = 1e-9
# Range of the share of the velocity limit across the path. The direction of the path has the rest,
# so that the length of the velocity is within the limit.
_LEAST, _MOST_BESIDE = 0.1, 0.5
# Shares of the limits of acceleration and jerk along and across the path.
_ALONG, _BESIDE = math.sqrt(0.5), 0.5


@dataclass(frozen=True)
class JerkLimits:
    """
    Limits of the time-optimal, continuous trajectory of a target to its goal.

    From rest the path is straight, and translation and rotation end together. A new goal may come
    at any time: position, velocity and acceleration are continuous. The limits are those of the
    vectors' lengths. The velocity exceeds its limit, by less than a quarter, only while a sideways
    motion at the limit is braked.

    Translation is in m/s, m/s², m/s³, rotation in rad/s, rad/s², rad/s³. A TaskError refuses a
    limit that is not a positive number (finite for all but velocities), and any without the library
    ruckig.
    """

    velocity: float = 0.5
    acceleration: float = 2.0
    jerk: float = 20.0
    angular_velocity: float = 1.5
    angular_acceleration: float = 6.0
    angular_jerk: float = 60.0

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            object.__setattr__(self, field.name, task_numbers(
                value, field.name, 'jerk limits', above=0.0, infinite='velocity' in field.name))
        _ruckig()

    def changed(self, **limits):
        """Return a copy with some limits changed; raises as the constructor."""
        return replace(self, **limits)


# A goal: position (3,), m, rotation (3, 3), and its twist and acceleration, (6,) each.
Destination = namedtuple('Destination', 'position R twist acceleration')


class TrajectoryGenerator:
    """
    Plans the trajectory of a task's target to its destination, by the library ruckig.

    ``parts`` is a pair: whether translation and rotation are controlled; others do not move.
    Destination and plan are in the task's record, whose kernel moves the target.
    """

    def __init__(self, limits, parts):
        ruckig = _ruckig()
        self.limits, self.parts = limits, parts
        self._planner, self._course = ruckig.Ruckig(6), ruckig.Trajectory(6)
        self._input = ruckig.InputParameter(6)
        self._input.synchronization = ruckig.Synchronization.Time

    def plan(self, record, dt):
        """
        Plan the trajectory of a POSE_TASK record, if it has a destination and none yet.

        ``dt``, s, is the time to the next cycle, at which the destination counts. Without a known
        pose the target waits. Planned is in a frame that moves with the destination; the first of
        its axes points to the destination.
        """
        motion = record['trajectory']
        if motion['stage'] != UNPLANNED or math.isnan(record['target_p'][0]):
            return
        goal = motion['goal_p'].copy(), motion['goal_R'].copy()
        position, R = (record[key].copy() if on else there for key, there, on in zip(
            ('target_p', 'target_R'), goal, self.parts, strict=True))
        displacement = np.array([goal[0] - position, rotations.vector_from_matrix(goal[1] @ R.T)])
        on = np.array(self.parts)[:, None]
        rate, second = (record[key].reshape(2, 3) * on
                        for key in ('target_twist', 'target_acceleration'))
        last = motion['goal_twist'].reshape(2, 3) * on
        last[1] = rotations.vector_rate(displacement[1], last[1])
        displacement, rate = displacement - dt * last, rate - last
        axes = np.array([_path_axes(*vectors) for vectors in zip(displacement, rate, strict=True)])
        displacement, rate, second = (
            (axes.transpose(0, 2, 1) @ part[..., None])[..., 0]
            for part in (displacement, rate, second))
        given, highest = self._input, self._limits_along(rate, np.linalg.norm(last, axis=1))
        given.current_position, given.target_position = np.zeros(6), displacement.ravel()
        given.current_velocity, given.current_acceleration = rate.ravel(), second.ravel()
        given.max_velocity, given.max_acceleration, given.max_jerk = highest.reshape(3, 6)
        self._planner.calculate(given, self._course)
        for name, value in (
                ('stage', MOVES), ('time', 0.0), ('first', dt),
                ('duration', self._course.duration), ('goal_rate', last), ('start_p', position),
                ('start_R', R), ('axes', axes)):
            motion[name] = value
        for axis, profile in enumerate(self._course.profiles[0]):
            _write_sections(motion, axis, profile)

    def _limits_along(self, rate, destination_speed):
        """
        Return limits (3, 2, 3) of velocity, acceleration and jerk along the axes of the path.

        The velocity limit is less by ``destination_speed`` (2,).
        """
        given = np.array([getattr(self.limits, field.name)
                          for field in fields(self.limits)]).reshape(2, 3)
        highest = np.empty((3, 2, 3))
        for k, (velocity, acceleration, jerk) in enumerate(given):
            left = max(velocity - destination_speed[k], _LEAST * velocity)
            sideways = np.linalg.norm(rate[k, 1:]) / left
            beside = min(max(sideways, _LEAST), _MOST_BESIDE)
            highest[0, k] = left * beside
            highest[0, k, 0] = left * math.sqrt(1.0 - 2.0 * beside * beside)
            highest[1, k], highest[2, k] = acceleration * _BESIDE, jerk * _BESIDE
            highest[1, k, 0], highest[2, k, 0] = acceleration * _ALONG, jerk * _ALONG
            if sideways < _NOTHING:  # no motion across the path
                highest[:, k, 0] = left, acceleration, jerk
        return highest


def set_destination(record, destination):
    """Set the `Destination` of a POSE_TASK record, or None; it is planned at the next cycle."""
    motion = record['trajectory']
    if destination is None:
        motion['stage'] = STAYS
        return
    motion['stage'] = UNPLANNED
    motion['goal_p'], motion['goal_R'] = destination.position, destination.R
    motion['goal_twist'], motion['goal_acceleration'] = destination[2:]


def destination_of(record):
    """Return the `Destination` to which the target of a POSE_TASK record moves, or None."""
    motion = record['trajectory']
    if motion['stage'] == STAYS:
        return None
    return Destination(*(motion[name].copy() for name in (
        'goal_p', 'goal_R', 'goal_twist', 'goal_acceleration')))


def _write_sections(motion, axis, profile):
    """Write the sections of an axis of constant jerk, and the end, of a profile of ruckig."""
    brake, zeros = profile.brake, np.zeros(2)
    steps = [*(brake.t if brake.duration > 0.0 else zeros), *profile.t]
    for name, before, own, at_end in (
            ('x', brake.p, profile.p, profile.p[-1]), ('v', brake.v, profile.v, profile.v[-1]),
            ('a', brake.a, profile.a, profile.a[-1]), ('jerk', brake.j, profile.j, 0.0)):
        motion[name][axis] = [*before, *own[:7], at_end]
    motion['begins'][axis] = np.r_[0.0, np.cumsum(steps)]


def _path_axes(displacement, rate):
    """Return axes (3, 3), by column: the first along the path, the second of the rate across it."""
    axes = []
    for vector in (displacement, rate, *np.eye(3)):
        for axis in axes:
            vector = vector - (axis @ vector) * axis  # noqa: PLW2901
        length = np.linalg.norm(vector)
        if length > (_NOTHING if len(axes) < 2 else 0.1) and len(axes) < 3:
            axes.append(vector / length)
    return np.array(axes).T


def _ruckig():
    """Return the library, or raise a TaskError with the command that installs it."""
    try:
        import ruckig
    except ImportError:
        raise TaskError('Motions within jerk limits need the library ruckig, which is not '
                        'installed.', cure="pip install 'opspace_control[trajectory]', or "
                        'pip install ruckig.') from None
    return ruckig
