# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The record of a demo, and its report."""

import math

import numpy as np

from opspace_control.cli.showcase.findings import Course, sizes

_REACHED = (2.0, 1.0)  # mm, degrees: a goal within this is reached


class Record:
    """
    The recorded course of a demo.

    The poses of the hands are computed from joint states, independently of the controller, because
    the record is a test of it.

    Parameters
    ----------
    plan : Schedule
    reach : Reach
        The robot's kinematics.
    hands : sequence of str
        Names of the tasks.
    limits : dict of str to float
        Effort limits of the joints, N·m or N.
    body : str
        Link whose momentum is recorded, '' for none.

    """

    def __init__(self, plan, reach, hands, limits, body=''):
        self.plan, self.hands = plan, hands
        self._reach = reach
        self._limits = {joint: limit for joint, limit in limits.items() if limit < math.inf}
        self._body = body
        self._times, self._sights, self._paths, self._errors = [], [], [], []
        self._momentum = []

    def add(self, time, sight):
        """Add a `Sight` at a time of the plan, s."""
        positions = self._in_order(sight.positions)
        poses = self._reach.poses(positions, sight.base)
        goal = self.plan.goal_at(time)
        goals = self.plan.goals[goal] if goal >= 0 else self.plan.home
        self._times.append(time)
        self._sights.append(sight)
        self._paths.append(poses[:, :3])
        self._errors.append(self._reach.errors(goals, poses))
        if self._body:
            self._momentum.append(self._reach.momentum(
                self._body, positions, self._in_order(sight.velocities), sight.base, sight.twist))

    def now(self):
        """Return the newest row as a line of text."""
        time, positions = self._times[-1], self._sights[-1].positions
        hands = '   '.join(f'{hand} {size[0]:7.2f} mm {size[1]:6.2f} deg'
                           for hand, size in zip(self.hands, sizes(self._errors[-1]), strict=True))
        goal = self.plan.goal_at(time) + 1
        return (f'{time:5.1f} s   goal {goal or "-"}   {hands}   '
                f'{self.plan.joint} {positions[self.plan.joint]:+.2f}')

    @property
    def times(self):
        """Times of the rows, (k,), s of the plan."""
        return np.array(self._times)

    @property
    def paths(self):
        """Positions of the hands (k, hands, 3), m."""
        return np.array(self._paths)

    @property
    def errors(self):
        """Goal minus pose (k, hands, 6), m and rad, zero in axes that are not controlled."""
        return np.array(self._errors)

    @property
    def posture(self):
        """Position of the rocking joint (k,), rad or m."""
        return np.array([sight.positions[self.plan.joint] for sight in self._sights])

    @property
    def momentum(self):
        """Momentum (k, 2, 6) about the world's origin, of everything and of the body; or None."""
        return np.array(self._momentum) if self._body else None

    def course(self):
        """Return the `Course`."""
        positions, velocities = (
            np.array([self._in_order(getattr(sight, name)) for sight in self._sights])
            for name in ('positions', 'velocities'))
        return Course(self.times, self.paths, self.errors, self.posture, positions,
                      abs(velocities).max(axis=1), self.momentum)

    def skeletons(self, count=2):
        """Return lines (k, 2, 3), m, that show the robot, at ``count`` moments."""
        rows = np.linspace(0, len(self._sights) - 1, count).astype(int)
        return [self._reach.skeleton(self._in_order(sight.positions), sight.base)
                for sight in (self._sights[row] for row in rows)]

    @property
    def loads(self):
        """Efforts as parts of their limits: joint names, and (k, joints)."""
        rows = [[sight.efforts[joint] / limit for joint, limit in self._limits.items()]
                for sight in self._sights]
        return list(self._limits), np.array(rows)

    def at_goals(self):
        """Return the errors (goals, hands, 2), mm and degrees, at the end of each goal's time."""
        rows = np.maximum(np.searchsorted(self.times, self.plan.stops) - 1, 0)
        return sizes(self.errors[rows])

    def while_holding(self):
        """Return the largest errors (hands, 2), mm and degrees, after the last goal is reached."""
        return sizes(self.errors[self.times > self.plan.stops[-1]]).max(axis=0)

    def reached(self):
        """Return whether every hand reached every goal, and stayed at the last one."""
        last = self.times[-1] > self.plan.stops[-1]
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
        swing = self.posture[self.times > self.plan.stops[-1]]
        if any(self.plan.swing.values()):
            lines.append(f'\n  {self.plan.joint} rocked from {swing.min():+.2f} to '
                         f'{swing.max():+.2f} in the meantime')
        if joints:
            most = int(abs(loads).max(axis=0).argmax())
            lines.append(f'  the largest effort was {100 * abs(loads[:, most]).max():.0f} % of its '
                         f'limit ({joints[most]})')
        return '\n'.join(lines)

    def _in_order(self, values):
        """Return values by joint as an array (n,)."""
        return np.array([values[joint] for joint in self._reach.joints])
