# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A goal that travels to where it is sent within limits of velocity, acceleration and jerk."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.spatial.rotation_vectors import (
    angular_acceleration,
    angular_velocity,
    matrix_from_vector,
    vector_from_matrix,
    vector_rate,
)
from opspace_control.tasks.gains import one_number

# Shorter ways than this, m and rad, and slower motions, have no direction.
_NOTHING = 1e-9
# Of the limit of velocity: what directions beside the way may have of it. The rest is the way's, so
# that together they are within the limit.
_LEAST, _MOST_BESIDE = 0.1, 0.5
# The same of acceleration and jerk.
_ALONG, _BESIDE = math.sqrt(0.5), 0.5


@dataclass(frozen=True)
class JerkLimits:
    """
    How a goal travels to where it is sent: as fast as this allows, and never with a jump.

    From rest it goes straight, translation and rotation arriving together. It may be sent elsewhere
    at any time: position, velocity and acceleration go on from what they are. The limits are those
    of the vectors' lengths; only while a sideways motion is braked that was already as fast as
    allowed may the velocity pass its limit, by less than a quarter.

    Parameters
    ----------
    velocity, acceleration, jerk : float
        Of translation, m/s, m/s², m/s³.
    angular_velocity, angular_acceleration, angular_jerk : float
        Of rotation, rad/s, rad/s², rad/s³.

    Raises
    ------
    TaskError
        For a limit that is no positive number, and finite but for velocities, or if the library
        ruckig, which finds the motions, is not installed.

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
            object.__setattr__(self, field.name, one_number(
                value, field.name, 'jerk limits', positive=True,
                finite='velocity' not in field.name))
        _ruckig()

    def changed(self, **limits):
        """Return these limits with some of them changed; raises as the constructor."""
        return replace(self, **limits)


@dataclass(frozen=True, eq=False)
class Destination:
    """Where a goal is sent: (3,) m, (3, 3), and how that place moves: (6,) each."""

    position: np.ndarray
    R: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray


class Journey:
    """
    The motion of a task's goal to its destination, by the library ruckig.

    Parameters
    ----------
    limits : JerkLimits
    parts : pair of bool
        Whether translation and rotation are controlled; what is not has no way to go.

    """

    def __init__(self, limits, parts):
        ruckig = _ruckig()
        self.limits, self.parts, self.destination = limits, parts, None
        self._planner, self._course = ruckig.Ruckig(6), ruckig.Trajectory(6)
        self._asked = ruckig.InputParameter(6)
        self._asked.synchronization = ruckig.Synchronization.Time
        self._time = None  # s since the plan was made, None: there is none

    def send(self, destination):
        """Go to a `Destination` from wherever the goal is then."""
        self.destination, self._time = destination, None

    def replan(self):
        """Go on within other limits."""
        self._time = None

    def forget(self):
        """Have no destination."""
        self.destination = None

    def advance(self, record, dt):
        """
        Move the goal of a POSE_TASK record on by dt, s; return whether there is a way left.

        A task that does not know yet where it is waits for that.
        """
        if self.destination is None:
            return False
        if math.isnan(record['target_p'][0]):
            return True
        if self._time is None:
            self._plan(record, dt)
        self._time += dt
        there, t = self.destination, self._time
        if t >= self._course.duration:
            # Given at the first cycle, it has gone on since then.
            moved = (t - self._first) * self._last
            self.destination = None
            self._place(record, there.position + moved[0], matrix_from_vector(moved[1]) @ there.R,
                        there.twist, there.acceleration)
            return False
        x, rate, second = ((self._axes @ np.array(values).reshape(2, 3, 1))[..., 0]
                           for values in self._course.at_time(t))
        x, rate = x + t * self._last, rate + self._last
        phi = x[1]
        self._place(
            record, self._position + x[0], matrix_from_vector(phi) @ self._R,
            np.concatenate([rate[0], angular_velocity(phi, rate[1])]),
            np.concatenate([second[0], angular_acceleration(phi, rate[1], second[1])]))
        return True

    def _plan(self, record, dt):
        """
        Find the way from where the goal is, as it moves, to where it is sent, as that moves.

        It is found in a frame that moves with the destination, along axes of which the first leads
        there.
        """
        there, asked = self.destination, self._asked
        self._position, self._R = (
            record[key].copy() if on else goal for key, goal, on in zip(
                ('target_p', 'target_R'), (there.position, there.R), self.parts, strict=True))
        way = np.array([there.position - self._position,
                        vector_from_matrix(there.R @ self._R.T)])
        on = np.array(self.parts)[:, None]
        rate, second = (record[key].reshape(2, 3) * on
                        for key in ('target_twist', 'target_acceleration'))
        last = there.twist.reshape(2, 3) * on
        last[1] = vector_rate(way[1], last[1])
        way, rate = way - dt * last, rate - last
        self._axes = np.array([_lead(*vectors) for vectors in zip(way, rate, strict=True)])
        way, rate, second = ((self._axes.transpose(0, 2, 1) @ part[..., None])[..., 0]
                             for part in (way, rate, second))
        highest = self._limits_along(rate, np.linalg.norm(last, axis=1))
        asked.current_position, asked.target_position = np.zeros(6), way.ravel()
        asked.current_velocity, asked.current_acceleration = rate.ravel(), second.ravel()
        asked.max_velocity, asked.max_acceleration, asked.max_jerk = highest.reshape(3, 6)
        self._planner.calculate(asked, self._course)
        self._time, self._first, self._last = 0.0, dt, last

    def _limits_along(self, rate, taken):
        """
        Return limits (3, 2, 3) of velocity, acceleration and jerk along the axes of the way.

        ``taken`` (2,) of the velocity is that of the destination.
        """
        given = np.array([getattr(self.limits, field.name)
                          for field in fields(self.limits)]).reshape(2, 3)
        highest = np.empty((3, 2, 3))
        for k, (velocity, acceleration, jerk) in enumerate(given):
            left = max(velocity - taken[k], _LEAST * velocity)
            sideways = np.linalg.norm(rate[k, 1:]) / left
            beside = min(max(sideways, _LEAST), _MOST_BESIDE)
            highest[0, k] = left * beside
            highest[0, k, 0] = left * math.sqrt(1.0 - 2.0 * beside * beside)
            highest[1, k], highest[2, k] = acceleration * _BESIDE, jerk * _BESIDE
            highest[1, k, 0], highest[2, k, 0] = acceleration * _ALONG, jerk * _ALONG
            if sideways < _NOTHING:  # straight on: all of it is for the way
                highest[:, k, 0] = left, acceleration, jerk
        return highest

    @staticmethod
    def _place(record, position, R, twist, acceleration):
        record['target_p'], record['target_R'] = position, R
        record['target_twist'], record['target_acceleration'] = twist, acceleration


def _lead(way, rate):
    """Return axes (3, 3), by column: the first along the way, the second with what is beside it."""
    axes = []
    for vector in (way, rate, *np.eye(3)):
        for axis in axes:
            vector = vector - (axis @ vector) * axis  # noqa: PLW2901
        length = np.linalg.norm(vector)
        if length > (_NOTHING if len(axes) < 2 else 0.1) and len(axes) < 3:
            axes.append(vector / length)
    return np.array(axes).T


def _ruckig():
    """Return the library, or raise a TaskError that says how to install it."""
    try:
        import ruckig
    except ImportError:
        raise TaskError('Motions within jerk limits need the library ruckig, which is not '
                        'installed.', cure="pip install 'opspace_control[trajectory]', or "
                        'pip install ruckig.') from None
    return ruckig
