# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Numerical inverse kinematics of a simulated robot.

The demo plans with the simulated robot's own kinematics: it starts before, and does not wait for,
the compiled mathematics of the controller.
"""

import numpy as np

from opspace_control.cli.robots import DemoRobot
from opspace_control.spatial.quaternions import turn

# One radian counts as 0.3 m where positions and orientations are weighed together.
_WEIGHTS = np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])  # m, m, m, m/rad, m/rad, m/rad
_STEP = 1e-5  # rad or m
_FURTHEST = 0.1  # rad or m, of a joint in one iteration
_MARGIN = 0.05  # of the range of a joint, to either limit


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
        links = self._robot.link_names
        places = [self._robot.frame_pose(link)[:3] for link in links]
        carriers = self._robot.model.body_parentid[1:] - 1
        return np.array([(places[carrier], place)
                         for carrier, place in zip(carriers, places, strict=True) if carrier >= 0])

    def _place(self, positions, base=None, **motion):
        if base is not None:
            motion['base_pose'] = base
        self._robot.reset(np.clip(positions, self._robot.lower_position_limits,
                                  self._robot.upper_position_limits), **motion)

    def errors(self, goals, poses):
        """Return goal minus pose (hands, 6), m and rad, zero in axes that do not count."""
        return np.array([[*(goal[:3] - pose[:3]), *turn(goal[3:], pose[3:])]
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

    def posture_at(self, goals, posture, iterations=20):
        """
        Return positions (n,) with the hands at ``goals`` (hands, 7), near a ``posture`` (n,).

        The second value tells whether the goals are reached without the margins of the position
        limits; the posture is where the search begins, too.
        """
        positions = np.clip(posture, self.lower, self.upper)
        error = np.full(1, np.inf)
        for _ in range(iterations):
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

    def bent_posture(self, tries=60):
        """Return the best-conditioned posture (n,) of a few tried, where the hands move freely."""
        rng = np.random.default_rng(0)
        low, high = np.maximum(self.lower, -1.5), np.minimum(self.upper, 1.5)
        middle = np.clip(0.0, self.lower, self.upper)
        best, most = middle, -1.0
        for _ in range(tries):
            tried = np.where(self.movable, rng.uniform(np.minimum(low, high), high), middle)
            tried = np.clip(tried, self.lower, self.upper)
            least = np.linalg.svd(self.jacobian(tried), compute_uv=False)[-1]
            if least > most:
                best, most = tried, least
        return best
