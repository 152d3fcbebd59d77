# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What was seen in a demo, and what it amounts to."""

import math

import numpy as np

# A goal within this is reached.
_REACHED = (2.0, 1.0)  # mm, degrees


class Record:
    """
    The course of a demo.

    Where the hands are is worked out from the joint states alone: what the controller believes
    would not be a test of it.

    Parameters
    ----------
    plan : Plan
        What was asked for.
    reach : Reach
        The robot's kinematics.
    hands : sequence of str
        Names of the tasks.
    limits : dict of str to float
        Effort limits of the joints, N·m or N.

    """

    def __init__(self, plan, reach, hands, limits):
        self.plan, self.hands = plan, hands
        self._reach = reach
        self._limits = {joint: limit for joint, limit in limits.items() if limit < math.inf}
        self._times, self._positions, self._efforts = [], [], []
        self._paths, self._errors = [], []

    def add(self, time, positions, efforts):
        """Add joint positions and efforts by name, at a time of the plan, s."""
        poses = self._reach.poses(np.array([positions[joint] for joint in self._reach.joints]))
        goal = self.plan.goal_at(time)
        goals = self.plan.goals[goal] if goal >= 0 else self.plan.home
        self._times.append(time)
        self._positions.append(positions)
        self._efforts.append(efforts)
        self._paths.append(poses[:, :3])
        self._errors.append(self._reach.errors(goals, poses))

    def now(self):
        """Return the newest row as a line of text."""
        time, positions = self._times[-1], self._positions[-1]
        hands = '   '.join(f'{hand} {size[0]:7.2f} mm {size[1]:6.2f} deg'
                           for hand, size in zip(self.hands, _sizes(self._errors[-1]), strict=True))
        goal = self.plan.goal_at(time) + 1
        return (f'{time:5.1f} s   goal {goal or "-"}   {hands}   '
                f'{self.plan.joint} {positions[self.plan.joint]:+.2f}')

    @property
    def times(self):
        """When the rows were seen, (k,), s of the plan."""
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
        """Where the rocking joint was (k,), rad or m."""
        return np.array([positions[self.plan.joint] for positions in self._positions])

    @property
    def loads(self):
        """Efforts as parts of their limits: joint names, and (k, joints)."""
        rows = [[efforts[joint] / limit for joint, limit in self._limits.items()]
                for efforts in self._efforts]
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
