# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The measured course of a robot, and findings about it: a value and its bound."""

from dataclasses import dataclass

import numpy as np

_STEP = 1e-3  # s, of the integrated response
# Latency from the sender of a goal to the control cycle.
_DELAYS = np.arange(0.0, 0.1, 0.005)  # s


@dataclass(frozen=True)
class Course:
    """The measured motion of a robot, a row for each of k moments; s, m, rad, kg, N."""

    times: np.ndarray      # (k,) from the start
    paths: np.ndarray      # (k, hands, 3)
    errors: np.ndarray     # (k, hands, 6) goal minus pose, zero in axes that are not controlled
    posture: np.ndarray    # (k,) of the joint that the posture moves
    positions: np.ndarray  # (k, n) of all joints
    speed: np.ndarray      # (k,) of the fastest joint
    momentum: np.ndarray = None  # (k, 2, 6) about the origin: of everything, of the robot's body

    def since(self, time):
        """Return the course from a time on, s."""
        after = self.times >= time
        return Course(**{name: value if value is None else value[after]
                         for name, value in vars(self).items()})


@dataclass(frozen=True)
class Finding:
    """A measured value and its bound, an upper one unless ``at_least``."""

    what: str
    value: float
    bound: float
    unit: str
    at_least: bool = False

    @property
    def met(self):
        """Whether the value is within its bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self):
        sign = '≥' if self.at_least else '≤'
        verdict = '' if self.met else '   NOT MET'
        return f'{self.what:40}{self.value:9.3f} {self.unit:4}{sign} {self.bound:g}{verdict}'


def sizes(errors):
    """Return (..., 2) sizes of (..., 6) errors: mm and degrees."""
    return np.stack([np.linalg.norm(errors[..., :3], axis=-1) * 1e3,
                     np.degrees(np.linalg.norm(errors[..., 3:], axis=-1))], axis=-1)


def holds(hand, errors):
    """Return the findings of a hand that keeps its pose; ``errors`` is (k, 6)."""
    distance, angle = sizes(errors).max(axis=0)
    return [Finding(f'{hand} hand moves', distance, 1.0, 'mm'),
            Finding(f'{hand} hand turns', angle, 0.1, 'deg')]


def reaches(hand, errors):
    """Return the finding of a hand that ends within 1 mm of its goal."""
    return Finding(f'{hand} hand misses its goal', sizes(errors)[-1, 0], 1.0, 'mm')


def follows(experiment, course, hands=('left', 'right')):
    """Return the findings of hands that follow their commanded response to their goals."""
    findings = []
    for i, hand in enumerate(hands):
        goal = course.paths[0, i] + course.errors[0, i, :3]
        controlled = np.array([axis in experiment.axes[i].split() for axis in 'xyz'])
        away = farthest_from_response(
            course.paths[:, i] * controlled, goal * controlled, course.times, experiment.kp[i],
            experiment.max_linear_velocity)
        gone = np.linalg.norm(course.paths[-1, i] - course.paths[0, i])
        findings += [Finding(f'{hand} hand leaves its commanded response', 1e3 * away, 2.0, 'mm'),
                     Finding(f'{hand} hand travels', gone, 0.1, 'm', True),
                     reaches(hand, course.errors[:, i])]
    return findings


def rests(course):
    """Return the finding of a robot that ends at rest."""
    return Finding('the fastest joint at the end', course.speed[-1], 0.01, 'rad/s')


def farthest_from_response(path, goal, times, kp, limit):
    """
    Return the largest distance, m, of a path (k, 3) from the commanded response to ``goal`` (3,).

    The delay until the goal arrives is not known to a tenth of a second; the best guess counts.
    """
    begun = times[:, None] - times[0] - _DELAYS
    wanted = _commanded_response(path[0], goal, begun, kp, limit)
    return np.linalg.norm(path[:, None] - wanted, axis=2).max(axis=0).min()


def _commanded_response(start, goal, times, kp, limit):
    """
    Return the positions (..., 3), m, of a critically damped unit mass: [K87] (4.3)-(4.5).

    ``a* = kd (ν kp/kd (x_d − x) − v)``, ``ν = min(1, V_max / |kp/kd (x_d − x)|)``, from rest, at
    ``times`` (...), s since the goal was given; ``kp`` is in 1/s², ``limit`` is V_max in m/s.
    """
    kd = 2.0 * np.sqrt(kp)
    x, v = np.array(start, float), np.zeros(3)
    grid = np.arange(0.0, max(times.max(), 0.0) + 2.0 * _STEP, _STEP)
    path = np.empty((len(grid), 3))
    for k in range(len(grid)):
        path[k] = x
        wanted = kp / kd * (goal - x)
        speed = np.linalg.norm(wanted)
        if speed > limit:
            wanted *= limit / speed
        v += _STEP * kd * (wanted - v)
        x += _STEP * v
    return np.stack([np.interp(times, grid, path[:, axis]) for axis in range(3)], axis=-1)
