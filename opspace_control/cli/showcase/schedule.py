# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The schedule of the demo: goals of the hands that a robot can reach, and an oscillating posture.

The demo plans with the simulated robot's own kinematics: it starts before, and does not wait for,
the compiled mathematics of the controller.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from opspace_control.cli.robots import DemoRobot
from opspace_control.spatial.quaternions import turned
from opspace_control.spatial.rotations import matrix_from_quaternion, vector_from_matrix

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
# One radian counts as 0.3 m where positions and orientations are weighed together.
_WEIGHTS = np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])  # m, m, m, m/rad, m/rad, m/rad
_STEP = 1e-5  # rad or m
_FURTHEST = 0.1  # rad or m, of a joint in one iteration
_MARGIN = 0.05  # of the range of a joint, to either limit


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


class Reach:
    """
    Hand poses of a robot as a function of its posture.

    The `SimulatedRobot` is moved. ``hands`` are links, ``axes`` those that count, of every hand or
    of each. Joints that may move are ``driven``; if empty, all of them.
    """

    def __init__(self, robot, hands, axes, driven=()):
        self._robot = robot
        self._hands = hands
        each = [axes] * len(hands) if isinstance(axes, str) else axes
        self._axes = np.array([[axis in names.split() for axis in DemoRobot.axes.split()]
                               for names in each])
        self.joints = robot.joint_names
        self.hands = len(hands)
        self.movable = np.array([not driven or name in driven for name in robot.joint_names])
        lower, upper = robot.lower_position_limits, robot.upper_position_limits
        span = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        self.lower, self.upper = lower + _MARGIN * span, upper - _MARGIN * span

    def poses(self, positions, base=None):
        """
        Return the poses of the hands (hands, 7) ``[x y z qx qy qz qw]`` in the world.

        ``positions`` is (n,); ``base`` (7,) is the pose of a floating base, else at the origin.
        """
        self._place(positions, base)
        return np.array([self._robot.frame_pose(hand) for hand in self._hands])

    def momentum(self, link, positions, velocities, base=None, twist=None):
        """Return the momentum (2, 6) about the world's origin: of everything, and of a link."""
        self._place(positions, base, velocities=velocities,
                    **({} if twist is None else {'base_twist': twist}))
        return np.array([self._robot.momentum(), self._robot.momentum(link=link)])

    def skeleton(self, positions, base=None):
        """Return lines (k, 2, 3), m, from each link to the one that carries it."""
        self._place(positions, base)
        return self._robot.skeleton()

    def _place(self, positions, base=None, **motion):
        if base is not None:
            motion['base_pose'] = base
        self._robot.reset(np.clip(positions, self._robot.lower_position_limits,
                                  self._robot.upper_position_limits), **motion)

    def errors(self, goals, poses):
        """Return goal minus pose (hands, 6), m and rad, zero in axes that do not count."""
        return np.array([[*(goal[:3] - pose[:3]), *vector_from_matrix(
            matrix_from_quaternion(goal[3:]) @ matrix_from_quaternion(pose[3:]).T)]
                         for goal, pose in zip(goals, poses, strict=True)]) * self._axes

    def difference(self, goals, poses):
        """Return the weighted error (rows,) from poses to goals (hands, 7), in metres."""
        return (self.errors(goals, poses) * _WEIGHTS)[self._axes]

    def jacobian(self, positions):
        """Return the Jacobian (rows, n) by finite differences, zero for joints that stay."""
        here = self.poses(positions)
        columns = np.zeros((len(self.difference(here, here)), len(positions)))
        for i in np.flatnonzero(self.movable):
            moved = positions.copy()
            # Away from the end stop, which the robot would not pass.
            step = _STEP if positions[i] + _STEP < self.upper[i] else -_STEP
            moved[i] += step
            columns[:, i] = self.difference(self.poses(moved), here) / step
        return columns

    def posture_at(self, goals, posture):
        """
        Return positions (n,) with the hands at ``goals`` (hands, 7), near a ``posture`` (n,).

        The second value tells whether the goals are reached without the margins of the position
        limits; the posture is where the search begins, too.
        """
        positions = np.clip(posture, self.lower, self.upper)
        error = np.full(1, np.inf)
        for _ in range(20):
            error = self.difference(goals, self.poses(positions))
            J = self.jacobian(positions)
            inverse = J.T @ np.linalg.inv(J @ J.T + 1e-5 * np.eye(len(J)))
            away = (posture - positions) * self.movable
            step = inverse @ error + 0.5 * (away - inverse @ (J @ away))
            if abs(step).max() < 1e-4:
                break
            step *= min(1.0, _FURTHEST / abs(step).max())
            positions = np.clip(positions + step, self.lower, self.upper)
        stopped = (positions <= self.lower) | (positions >= self.upper)
        return positions, abs(error).max() < 1e-3 and not (stopped & self.movable).any()

    def carriers(self, positions):
        """Return the names of the joints that move a hand."""
        moves = abs(self.jacobian(positions)).max(axis=0) > 1e-9
        return tuple(name for name, yes in zip(self.joints, moves, strict=True) if yes)

    def bent_posture(self, tries=60, worth=lambda positions: 1.0):
        """
        Return the best-conditioned posture (n,) of a few tried, where the hands move freely.

        ``worth`` of a posture is a factor of its least singular value, such as for its loads.
        """
        rng = np.random.default_rng(0)
        low, high = np.maximum(self.lower, -1.5), np.minimum(self.upper, 1.5)
        middle = np.clip(0.0, self.lower, self.upper)
        best, most = middle, -1.0
        for _ in range(tries):
            tried = np.where(self.movable, rng.uniform(np.minimum(low, high), high), middle)
            tried = np.clip(tried, self.lower, self.upper)
            least = np.linalg.svd(self.jacobian(tried), compute_uv=False)[-1] * worth(tried)
            if least > most:
                best, most = tried, least
        return best
