# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Random goals of two hands of robots, and what is the same for all that seek them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from limits import ROBOTS as ARMS
from postures import ranges

from opspace_control import CollisionDescription, CollisionModel, RobotModel, RobotState
from opspace_control.cli.robots import demo_robot
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

PART = 0.8                     # of the ranges of joints, for goals
SPEED, TURNING = 0.5, 1.5      # m/s and rad/s, of hands
MARGIN = 0.01                  # m
KP, POSTURE_KP = 100.0, 25.0   # 1/s²
PERIOD = 1e-3                  # s
_G1 = next(robot for robot in ARMS if 'G1' in robot.name)


@dataclass(frozen=True)
class Robot:
    """A robot: its file, two hands, where it starts, what is braked, shapes and their pairs."""

    name: str
    path: Path
    hands: tuple
    start: dict
    braked: tuple
    shapes: tuple
    pairs: tuple


def robot_of(name, path, hands, start, braked):
    """Return a robot with the pairs of its shapes that move and are further than the margin."""
    model = RobotModel.from_urdf_file(path, locked_joints=braked)
    collision = CollisionDescription.from_urdf_file(path).model(model)
    q = posture_of(model, start)
    collision = collision.without_still_pairs()
    near = {found[:2] for found in collision.distances(q, MARGIN)}
    return Robot(name, path, hands, start, braked, collision.shapes,
                 tuple(pair for pair in collision.pairs if pair not in near))


def posture_of(model, start):
    """Return positions q with some joints, rad or m, the others at zero or the nearest limit."""
    q = model.neutral()
    q[model.q_index] = np.clip(0.0, model.lower_position_limits, model.upper_position_limits)
    for name, value in start.items():
        q[model.q_index[model.dof_index(name)]] = value
    return q


def demo(name, words):
    """Return a demo robot by its name, and in words."""
    robot = demo_robot(name)
    return robot_of(words, robot.path(), robot.hands, robot.start, robot.braked())


def robots():
    """Return what is sent to random goals."""
    joints = RobotModel.from_urdf_file(_G1.path).dof_names
    start = {**_G1.posture, 'left_shoulder_roll_joint': 0.4, 'right_shoulder_roll_joint': -0.4}
    return (demo('dual_arm', 'dual_arm'), demo('talos', 'Talos'),
            demo('tiago_dual', 'TIAGo dual'),
            robot_of('G1', _G1.path, _G1.frames, start,
                     tuple(joint for joint in _G1.braked if joint in joints)))


class Hands:
    """
    Two hands of a robot at its start.

    Attributes
    ----------
    robot : Robot
    model : RobotModel
    q : array (nq,)
        The start, which is the posture for the null space as well.
    starts : dict of str to array (4, 4)
        Poses of the hands there.
    collision : CollisionModel
        With the pairs of the robot.

    """

    def __init__(self, robot):
        self.robot = robot
        self.model = RobotModel.from_urdf_file(robot.path, locked_joints=robot.braked)
        self.q = posture_of(self.model, robot.start)
        self.starts = self.poses(self.q)
        self.collision = CollisionModel(self.model, robot.shapes, robot.pairs)

    def poses(self, q):
        """Return the poses (4, 4) of both hands, by link."""
        return self.model.forward_kinematics(
            RobotState(self.model, q, np.zeros(self.model.nv)), self.robot.hands)

    def ways(self, goals):
        """Return the `Way` of each hand from the start to its goal, in the order of hands."""
        return [Way(self.starts[hand], goals[hand]) for hand in self.robot.hands]

    def random_goals(self, count):
        """Return poses of both hands, by link, in random postures; braked joints stay."""
        model, rng = self.model, np.random.default_rng(0)
        (lower, upper), free = ranges(model), ~model.locked
        found, q = [], self.q.copy()
        for _ in range(count):
            drawn = 0.5 * (lower + upper) + 0.5 * PART * (upper - lower) * rng.uniform(
                -1.0, 1.0, model.nv)
            q[model.q_index[free]] = drawn[free]
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
