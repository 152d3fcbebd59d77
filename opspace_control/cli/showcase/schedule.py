# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The schedule of the demo: a sequence of goals of the hands, and an oscillating posture."""

import math
from dataclasses import dataclass, field

import numpy as np

from opspace_control.spatial.quaternions import turned

# Goals of a hand from its start: m ahead, outwards and up, and rad about z; every other hand has
# them in the opposite order.
_THERE = ((0.05, 0.10, 0.10, 0.3), (0.10, -0.02, 0.16, 0.0), (0.02, 0.05, -0.12, -0.2))
_BACK = (0.0, 0.0, 0.0, 0.0)
_TOURS = ((*_THERE, _BACK), (*_THERE[::-1], _BACK))
SETTLING = 1.0  # s, until the controller bears the weight of the robot
_SHORTEST_STOP = 2.5  # s
_TOURING = 0.65  # part of the time; in the rest the hands hold still while the posture rocks
_ROCKING = {'rad': 0.35, 'm': 0.05}
_SCALES = (1.0, 0.75, 0.5, 0.35, 0.2)  # the first at which no joint is near a limit counts
_ROCKING_PERIOD = 4.0  # s


@dataclass(frozen=True)
class Schedule:
    """The goals of a demo, those of the hands and of the posture, over time."""

    home: np.ndarray   # (hands, 7) poses at the start, base frame
    goals: np.ndarray  # (k, hands, 7) poses that they are sent to, one after the other
    stop: float        # for each goal, s
    holding: float     # from the end of the last goal's time, s
    joint: str         # that the posture rocks most of all
    unit: str          # of this joint, rad or m
    center: dict       # middle of the posture by joint, rad or m
    swing: dict        # amplitude by joint; at the start this motion moves no hand
    moved: dict = field(default_factory=dict)  # the middle of some joints later on,
    moved_from: float = SETTLING               # from this time on, s

    @property
    def starts(self):
        """When each goal is given, (k,), s."""
        return SETTLING + self.stop * np.arange(len(self.goals))

    @property
    def stops(self):
        """When each goal has to be reached, (k,), s: bitwise when the next one is given."""
        return SETTLING + self.stop * np.arange(1, len(self.goals) + 1)

    @property
    def length(self):
        """Length of the demo, s."""
        return self.stops[-1] + self.holding

    def goal_at(self, time):
        """Return the number of the goal of this time, s; -1 before the first."""
        return int(np.searchsorted(self.starts, time, side='right')) - 1

    def posture_at(self, time):
        """Return the commanded positions, by joint."""
        phase = math.sin(2.0 * math.pi * time / _ROCKING_PERIOD)
        center = self.center | (self.moved if time >= self.moved_from else {})
        return {joint: center[joint] + phase * self.swing.get(joint, 0.0)
                for joint in {**self.swing, **self.moved}}


def make_schedule(reach, start, seconds):
    """Return a `Schedule` of some length, s, that a robot at ``start`` (n,) can follow."""
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
    """Return whether a joint turns the hands that it moves, and does not only slide them."""
    moved = positions.copy()
    moved[number] += 1e-3
    return abs(reach.poses(moved)[:, 3:] - reach.poses(positions)[:, 3:]).max() > 1e-6
