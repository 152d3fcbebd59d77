# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The record of a demo, and its report."""

import math

import numpy as np

from opspace_control.cli.showcase.findings import Course, sizes

_REACHED = (2.0, 1.0)  # mm, degrees: a goal within this is reached


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
