# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The recorded course of a demo, its report, and findings about it: a value and its limit."""

import math
from dataclasses import dataclass

import numpy as np

_REACHED = (2.0, 1.0)  # mm, degrees: a goal within this is reached
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


class Record:
    """
    The recorded course of a demo, along a `Schedule`.

    The poses of the hands are computed from joint states by a `Reach`, independently of the
    controller, because the record is a test of it. ``hands`` are the names of the tasks, ``limits``
    the effort limits by joint, N·m or N. ``body`` is the link whose momentum is recorded, if any.
    """

    def __init__(self, plan, reach, hands, limits, body=''):
        self.plan, self.hands = plan, hands
        self._reach, self._body = reach, body
        self._limits = {joint: limit for joint, limit in limits.items() if limit < math.inf}
        self._rows, self._bases, self._loads = [], [], []

    def add(self, time, sight):
        """Add a `Sight` at a time of the plan, s."""
        positions, velocities = (np.array([values[joint] for joint in self._reach.joints])
                                 for values in (sight.positions, sight.velocities))
        poses = self._reach.poses(positions, sight.base)
        goal = self.plan.goal_at(time)
        goals = self.plan.goals[goal] if goal >= 0 else self.plan.home
        momentum = self._reach.momentum(
            self._body, positions, velocities, sight.base, sight.twist) if self._body else None
        self._rows.append(Course(
            time, poses[:, :3], self._reach.errors(goals, poses), sight.positions[self.plan.joint],
            positions, abs(velocities).max(), momentum))
        self._bases.append(sight.base)
        self._loads.append([sight.efforts[joint] / limit for joint, limit in self._limits.items()])

    def now(self):
        """Return the newest row as a line of text."""
        row = self._rows[-1]
        hands = '   '.join(f'{hand} {size[0]:7.2f} mm {size[1]:6.2f} deg'
                           for hand, size in zip(self.hands, sizes(row.errors), strict=True))
        goal = self.plan.goal_at(row.times) + 1
        return (f'{row.times:5.1f} s   goal {goal or "-"}   {hands}   '
                f'{self.plan.joint} {row.posture:+.2f}')

    def course(self):
        """Return the `Course` of all rows; its momentum is None without a body."""
        columns = {name: np.array([getattr(row, name) for row in self._rows])
                   for name in vars(self._rows[0])}
        return Course(**columns | ({} if self._body else {'momentum': None}))

    def skeletons(self, count=2):
        """Return lines (k, 2, 3), m, that show the robot, at ``count`` moments."""
        return [self._reach.skeleton(self._rows[row].positions, self._bases[row])
                for row in np.linspace(0, len(self._rows) - 1, count).astype(int)]

    @property
    def loads(self):
        """Efforts as parts of their limits: joint names, and (k, joints)."""
        return list(self._limits), np.array(self._loads)

    def at_goals(self):
        """Return the errors (goals, hands, 2), mm and degrees, at the end of each goal's time."""
        course = self.course()
        rows = np.maximum(np.searchsorted(course.times, self.plan.stops) - 1, 0)
        return sizes(course.errors[rows])

    def while_holding(self):
        """Return the largest errors (hands, 2), mm and degrees, after the last goal is reached."""
        course = self.course()
        return sizes(course.errors[course.times > self.plan.stops[-1]]).max(axis=0)

    def reached(self):
        """Return whether every hand reached every goal, and stayed at the last one."""
        last = self._rows[-1].times > self.plan.stops[-1]
        return bool(last and (self.at_goals() <= _REACHED).all()
                    and (self.while_holding() <= _REACHED).all())

    def table(self):
        """Return the report, as text."""
        at_goals, holding = self.at_goals(), self.while_holding()
        head = [f'goal {i + 1}' for i in range(len(at_goals))] + ['holding still']
        lines = [' ' * 22 + ''.join(f'{title:>14}' for title in head)]
        for i, hand in enumerate(self.hands):
            for unit, column in (('mm', 0), ('deg', 1)):
                cells = [*at_goals[:, i, column], holding[i, column]]
                name = hand if column == 0 else ''
                lines.append(f'  {name:14}{unit:6}' + ''.join(f'{x:14.3f}' for x in cells))
        joints, loads = self.loads
        course = self.course()
        swing = course.posture[course.times > self.plan.stops[-1]]
        if any(self.plan.swing.values()):
            lines.append(f'\n  {self.plan.joint} rocked from {swing.min():+.2f} to '
                         f'{swing.max():+.2f} in the meantime')
        if joints:
            most = int(abs(loads).max(axis=0).argmax())
            lines.append(f'  the largest effort was {100 * abs(loads[:, most]).max():.0f} % of its '
                         f'limit ({joints[most]})')
        return '\n'.join(lines)


@dataclass(frozen=True)
class Finding:
    """A measured value and its limit, an upper one unless ``at_least``."""

    what: str
    value: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def met(self):
        """Whether the value is within its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self):
        sign = '≥' if self.at_least else '≤'
        verdict = '' if self.met else '   NOT MET'
        return f'{self.what:40}{self.value:9.3f} {self.unit:4}{sign} {self.limit:g}{verdict}'


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
