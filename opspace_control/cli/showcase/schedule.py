# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The schedule of the demo: a sequence of goals of the hands, and an oscillating posture."""

import math
from dataclasses import dataclass, field

import numpy as np

from opspace_control.spatial.quaternions import turned

# Where a hand is wanted, from where it starts: m ahead, outwards and up, and rad about z; every
# other hand goes round the other way.
_THERE = ((0.05, 0.10, 0.10, 0.3), (0.10, -0.02, 0.16, 0.0), (0.02, 0.05, -0.12, -0.2))
_BACK = (0.0, 0.0, 0.0, 0.0)
_TOURS = ((*_THERE, _BACK), (*_THERE[::-1], _BACK))
# The controller takes up the weight of the robot in this time.
SETTLING = 1.0  # s
_SHORTEST_STOP = 2.5  # s
# Part of the demo's time; in the rest the hands hold still while the posture rocks.
_TOURING = 0.65
_ROCKING = {'rad': 0.35, 'm': 0.05}
# Of all that, as much as the robot can do far from its end stops.
_SCALES = (1.0, 0.75, 0.5, 0.35, 0.2)
ROCKING_PERIOD = 4.0  # s


@dataclass(frozen=True)
class Schedule:
    """
    The goals of a demo.

    Attributes
    ----------
    home : (hands, 7) array
        Poses ``[x y z qx qy qz qw]`` in the base frame, where the hands are at the start.
    goals : (k, hands, 7) array
        Where they are sent, one after the other.
    stop, holding : float
        Time for each goal, and for holding still at the last one after that, s.
    joint : str
        The joint that the posture rocks most of all.
    unit : str
        Its own, rad or m.
    center : dict of str to float
        Middle of the posture, rad or m.
    swing : dict of str to float
        How far each joint goes to either side; at the start this moves no hand.
    moved : dict of str to float
        Where the middle is for some joints later on, rad or m.
    moved_from : float
        From when on, s; if not given, with the first goal.

    """

    home: np.ndarray
    goals: np.ndarray
    stop: float
    holding: float
    joint: str
    unit: str
    center: dict
    swing: dict
    moved: dict = field(default_factory=dict)
    moved_from: float = SETTLING

    @property
    def starts(self):
        """When each goal is given, (k,), s."""
        return SETTLING + self.stop * np.arange(len(self.goals))

    @property
    def stops(self):
        """When each goal has to be reached, (k,), s: to the bit when the next one is given."""
        return SETTLING + self.stop * np.arange(1, len(self.goals) + 1)

    @property
    def length(self):
        """How long it all takes, s."""
        return self.stops[-1] + self.holding

    def goal_at(self, time):
        """Return the number of the goal of this time, s; -1 before the first."""
        return int(np.searchsorted(self.starts, time, side='right')) - 1

    def posture_at(self, time):
        """Return where the joints are wanted, by name."""
        phase = math.sin(2.0 * math.pi * time / ROCKING_PERIOD)
        center = self.center | (self.moved if time >= self.moved_from else {})
        return {joint: center[joint] + phase * self.swing.get(joint, 0.0)
                for joint in {**self.swing, **self.moved}}


def make_schedule(reach, start, seconds):
    """
    Return a plan that this robot can follow.

    Parameters
    ----------
    reach : Reach
        The robot's kinematics.
    start : (n,) array
        Start posture, rad or m.
    seconds : float
        Length of the demo.

    """
    number, direction = _rocking(reach, start)
    unit = 'rad' if _turns(reach, start, number) else 'm'
    for scale in _SCALES:
        swing = scale * _ROCKING[unit] * direction
        goals, easy = _goals(reach, start, swing, scale)
        if easy:
            break
    tour = _TOURING * (seconds - SETTLING)
    count = min(max(int(tour / _SHORTEST_STOP), 1), len(goals))
    names = reach.joints
    return Schedule(reach.poses(start), goals[:count], tour / count,
                seconds - SETTLING - tour, names[number], unit,
                dict(zip(names, start.tolist(), strict=True)),
                {name: x for name, x in zip(names, swing.tolist(), strict=True) if x})


def _goals(reach, start, swing, scale):
    """Return the goals (k, hands, 7), and whether they are easy while the posture rocks."""
    first = reach.poses(start)
    goals, easy = [], True
    for stop in zip(*_TOURS, strict=True):
        wanted = first.copy()
        for i, pose in enumerate(wanted):
            ahead, outwards, up, yaw = scale * np.array(stop[i % len(stop)])
            side = math.copysign(1.0, pose[1])
            pose[:3] += ahead, side * outwards, up
            pose[3:] = turned(pose[3:], (0.0, 0.0, side * yaw))
        # Not the pose wanted but the one that is reached: axes that are not controlled follow.
        goals.append(reach.poses(reach.posture_at(wanted, start)[0]))
        easy = easy and all(reach.posture_at(wanted, extreme)[1]
                            for extreme in (start - swing, start + swing))
    goals[-1] = first
    return np.array(goals), easy


def _rocking(reach, positions):
    """Return a joint, of the trunk if it can, and how all move with it while the hands stay."""
    J = reach.jacobian(positions)
    N = (np.eye(J.shape[1]) - np.linalg.pinv(J, rcond=1e-6) @ J) * reach.movable
    freedom = np.diag(N)
    # A joint of the trunk moves every hand.
    moves = np.array([abs(rows).max(axis=0) > 1e-9 for rows in np.split(J, reach.hands)])
    trunk = freedom * moves.all(axis=0) * (reach.hands > 1)
    number = int(np.argmax(trunk if trunk.max() > 0.1 else freedom * moves.any(axis=0)))
    direction = N[:, number] / freedom[number]
    return number, np.where(abs(direction) > 1e-3, direction, 0.0)


def _turns(reach, positions, number):
    """Return whether a joint turns, not slides, the hands it carries."""
    moved = positions.copy()
    moved[number] += 1e-3
    return abs(reach.poses(moved)[:, 3:] - reach.poses(positions)[:, 3:]).max() > 1e-6
