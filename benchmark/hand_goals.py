# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Random goals of two hands, and what is the same for all controllers that seek them."""

import numpy as np

from opspace_control import CollisionModel, RobotModel, RobotState
from opspace_control.control.planning.postures import named_posture
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

PART = 0.8                     # of the ranges of joints, for goals
SPEED, TURNING = 0.5, 1.5      # m/s and rad/s, of hands
MARGIN = 0.01                  # m
KP, POSTURE_KP = 100.0, 25.0   # 1/s²
PERIOD = 1e-3                  # s


class Hands:
    """
    Two hands of a robot at its start.

    Attributes
    ----------
    robot : DemoRobot
    model : RobotModel
    q : array (nq,)
        The start, which is the posture for the null space as well.
    starts : dict of str to array (4, 4)
        Poses of the hands there.
    collision : CollisionModel
        With the pairs that are further than the margin there.

    """

    def __init__(self, robot):
        self.robot, self.model = robot, RobotModel.from_urdf_file(robot.path())
        self.q = named_posture(self.model, robot.start)
        self.starts = self.poses(self.q)
        collision = robot.collision().model(self.model)
        near = {pair[:2] for pair in collision.distances(self.q, MARGIN)}
        self.collision = CollisionModel(self.model, collision.shapes, [
            pair for pair in collision.pairs if pair not in near])

    def poses(self, q):
        """Return the poses (4, 4) of both hands, by link."""
        return self.model.forward_kinematics(
            RobotState(self.model, q, np.zeros(self.model.nv)), self.robot.hands)

    def ways(self, goals):
        """Return the `Way` of each hand from the start to its goal, in the order of hands."""
        return [Way(self.starts[hand], goals[hand]) for hand in self.robot.hands]

    def random_goals(self, count):
        """Return poses of both hands, by link, in random postures."""
        model, rng = self.model, np.random.default_rng(0)
        lower, upper = model.lower_position_limits, model.upper_position_limits
        found, q = [], model.neutral()
        for _ in range(count):
            q[model.q_index] = 0.5 * (lower + upper) + 0.5 * PART * (upper - lower) * rng.uniform(
                -1.0, 1.0, model.nv)
            found.append(self.poses(q))
        return found


class Way:
    """A pose that moves from one to another, (4, 4) each, at the speeds of hands."""

    def __init__(self, start, goal):
        self._start, self._step = start, goal[:3, 3] - start[:3, 3]
        self._turn = vector_from_matrix(goal[:3, :3] @ start[:3, :3].T)
        self._duration = max(np.linalg.norm(self._step) / SPEED,
                             np.linalg.norm(self._turn) / TURNING, PERIOD)

    def pose(self, elapsed):
        """Return the pose (4, 4) after a time, s."""
        part, pose = min(elapsed / self._duration, 1.0), self._start.copy()
        pose[:3, 3] += part * self._step
        pose[:3, :3] = matrix_from_vector(part * self._turn) @ self._start[:3, :3]
        return pose

    def twist(self, elapsed):
        """Return its velocity (6,), m/s and rad/s, the linear part first, in the world's axes."""
        moves = elapsed < self._duration
        return np.concatenate([self._step, self._turn]) * (moves / self._duration)
