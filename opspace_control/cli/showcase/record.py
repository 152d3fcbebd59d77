# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What was seen in a demo, and what it amounts to."""

import math

import numpy as np

# A goal within this is reached.
_REACHED = (2.0, 0.5)  # mm, degrees


class Record:
    """
    The course of a demo.

    Parameters
    ----------
    plan : Plan
        What was asked for.
    hands : sequence of str
        Names of the tasks.
    axes : str
        Axes that count.
    limits : dict of str to float
        Effort limits of the joints, N·m or N.

    """

    def __init__(self, plan, hands, axes, limits):
        self.plan, self.hands = plan, hands
        self._counts = np.array([axis in axes.split() for axis in
                                 ('x', 'y', 'z', 'rx', 'ry', 'rz')], float)
        self._limits = {joint: limit for joint, limit in limits.items() if limit < math.inf}
        self._rows = []

    def add(self, time, seen):
        """Add what a client saw at a time of the plan, s."""
        self._rows.append((time, seen))

    def now(self, goal):
        """Return the newest row as a line of text."""
        time, seen = self._rows[-1]
        sizes = _sizes(seen['errors'] * self._counts)
        hands = '   '.join(f'{hand} {size[0]:7.2f} mm {size[1]:6.2f} deg'
                           for hand, size in zip(self.hands, sizes, strict=True))
        return (f'{time:5.1f} s   goal {goal + 1 or "-"}   {hands}   '
                f'{self.plan.joint} {seen["positions"][self.plan.joint]:+.2f}')

    @property
    def times(self):
        """Times (k,) of the plan, s."""
        return np.array([time for time, _ in self._rows])

    @property
    def paths(self):
        """Positions of the hands (k, hands, 3), m."""
        return np.array([seen['poses'] for _, seen in self._rows])

    @property
    def errors(self):
        """Goal minus pose (k, hands, 6), m and rad, zero in axes that are not controlled."""
        return np.array([seen['errors'] for _, seen in self._rows]) * self._counts

    @property
    def posture(self):
        """Where the rocking joint was (k,), rad or m."""
        return np.array([seen['positions'][self.plan.joint] for _, seen in self._rows])

    @property
    def loads(self):
        """Efforts as parts of their limits: joint names, and (k, joints)."""
        rows = [[seen['efforts'][joint] / limit for joint, limit in self._limits.items()]
                for _, seen in self._rows]
        return list(self._limits), np.array(rows)

    def at_goals(self):
        """Return the errors (goals, hands, 2), mm and degrees, at the end of each goal's time."""
        found = []
        for end in self.plan.ends:
            row = max(int(np.searchsorted(self.times, end)) - 1, 0)
            found.append(_sizes(self.errors[row]))
        return np.array(found)

    def while_holding(self):
        """Return the largest errors (hands, 2), mm and degrees, after the last goal is reached."""
        return _sizes(self.errors[self.times > self.plan.ends[-1]]).max(axis=0)

    def reached(self):
        """Return whether every hand reached every goal, and stayed at the last one."""
        last = self.times[-1] > self.plan.ends[-1]
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
        held = self.times > self.plan.ends[-1]
        swing = self.posture[held]
        lines.append(f'\n  {self.plan.joint} rocked from {swing.min():+.2f} to {swing.max():+.2f} '
                     'in the meantime')
        if joints:
            most = int(abs(loads).max(axis=0).argmax())
            lines.append(f'  the largest effort was {100 * abs(loads[:, most]).max():.0f} % of its '
                         f'limit ({joints[most]})')
        return '\n'.join(lines)


def _sizes(errors):
    """Return (..., 2) sizes of (..., 6) errors: mm and degrees."""
    return np.stack([np.linalg.norm(errors[..., :3], axis=-1) * 1e3,
                     np.degrees(np.linalg.norm(errors[..., 3:], axis=-1))], axis=-1)
