# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Experiments with an object in both hands: it is grasped, carried, turned, set down, let go."""

import math
from dataclasses import dataclass, replace

import numpy as np

from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.experiment import Experiment, Finding
from opspace_control.cli.showcase.plan import SETTLING, Plan
from opspace_control.spatial.quaternions import turned

NAME = 'carry'
_MASS = 3.0  # kg
_SQUEEZE = 20.0  # N
_DEPTH = 0.2  # m, of the box; it is as wide as the hands are apart
_TABLE = 0.02  # m
# Of the box, one after the other: m ahead, to the left and up, and rad about the vertical.
_MOVES = ((0.08, 0.0, 0.12, 0.0), (0.08, 0.0, 0.12, 0.4), (0.08, 0.05, 0.15, -0.4),
          (0.0, 0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Carry(Experiment):
    """An experiment with a box that the hands of the robot are at when it starts."""

    def plan(self, home):
        """Return the goals of the hands while they hold the box: the first is to grasp it."""
        middle = home[:, :3].mean(axis=0)
        goals = [home]
        for *shift, yaw in _MOVES:
            poses = home.copy()
            for pose in poses:
                x, y, z = pose[:3] - middle
                pose[:3] = middle + shift + np.array([
                    x * math.cos(yaw) - y * math.sin(yaw), x * math.sin(yaw) + y * math.cos(yaw),
                    z])
                pose[3:] = turned(pose[3:], (0.0, 0.0, yaw))
            goals.append(poses)
        goals += [home, home]  # to let go: the controller, then the grips
        return Plan(home, np.array(goals), self.seconds, 0.5, self.joint, 'rad',
                    dict.fromkeys([self.joint], 0.0) | self.robot.start, {self.joint: self.swing})

    def parameters(self, tasks):
        """Return the controller's parameters: those of the hands, and of the grasp."""
        y, z = self._width(), _DEPTH
        moments = [_MASS / 12.0 * square for square in (y * y + z * z, 2 * z * z, y * y + z * z)]
        return super().parameters(tasks) | {
            'grasps': [NAME], f'{NAME}.effectors': list(self.robot.hands), f'{NAME}.mass': _MASS,
            f'{NAME}.inertia': [*moments, 0.0, 0.0, 0.0], f'{NAME}.squeeze': _SQUEEZE}

    def simulator_parameters(self):
        """Return the simulator's parameters: a box between the hands, on a table."""
        middle = self._poses()[:, :3].mean(axis=0)
        under = middle - [0.0, 0.0, 0.5 * (_DEPTH + _TABLE)]
        return {'objects': ['box', 'table'], 'grasps': [NAME],
                f'{NAME}.effectors': list(self.robot.hands), f'{NAME}.object': 'box',
                'box.size': [_DEPTH, self._width(), _DEPTH], 'box.mass': _MASS,
                'box.pose': [*middle.tolist(), 0.0, 0.0, 0.0, 1.0],
                'table.size': [0.5, 0.5, _TABLE], 'table.fixed': True,
                'table.pose': [*under.tolist(), 0.0, 0.0, 0.0, 1.0]}

    def client(self, tasks, command_topic):
        """Return who grasps, moves and lets go of the box."""
        from opspace_control.cli.showcase.carry_client import CarryClient
        return CarryClient(NAME, tasks, command_topic, len(_MOVES))

    def _width(self):
        left, right = self._poses()
        return float(np.linalg.norm(left[:3] - right[:3]))

    def _poses(self):
        """Return where the hands are at the start, (2, 7)."""
        from opspace_control.simulation import SimulatedRobot
        robot = SimulatedRobot(self.robot.path().read_text())
        robot.reset(self.robot.start)
        return np.array([robot.frame_pose(hand) for hand in self.robot.hands])


def _judge(asked, course):
    """Judge hands that hold a box: at its goals, and as far apart as they were, all the time."""
    times, paths, errors = course.times, course.paths, course.errors
    stops = SETTLING + asked.seconds * np.arange(2, len(_MOVES) + 2)
    rows = np.minimum(np.searchsorted(times, stops), len(times)) - 1
    away = 1e3 * np.linalg.norm(errors[rows, :, :3], axis=-1)
    turn = np.degrees(np.linalg.norm(errors[rows, :, 3:], axis=-1))
    held = (times > SETTLING + asked.seconds) & (times < stops[-1])
    free = 1e3 * np.linalg.norm(errors[-1, :, :3], axis=-1)
    apart = np.linalg.norm(paths[held, 0] - paths[held, 1], axis=1)
    return [Finding('the box misses its goals', away.max(), 2.0, 'mm'),
            Finding('the box is turned from them', turn.max(), 0.3, 'deg'),
            Finding('the hands give way to each other', 1e3 * np.ptp(apart), 0.5, 'mm'),
            Finding('the box is lifted', np.ptp(paths[held, :, 2], axis=0).min(), 0.12, 'm', True),
            Finding('hands that are free again move', free.max(), 2.0, 'mm')]


_DUAL_ARM = demo_robot('dual_arm')

CARRIED = (
    Carry(NAME, 'both hands squeeze, lift, turn and set down a box of 3 kg, [RKR95] (17)',
          'Two hands on one box',
          '[RKR95] (17) puts the object that several effectors grasp in the place of their own '
          'operational points. Here a service call closes the grips of the simulated hands and '
          'another one tells the controller; from then on the goals are those of a box of 3 kg, '
          'whose weight the arms share and which they squeeze with 20 N. It is lifted, turned to '
          'either side, set down and let go. The torso, which nobody asks to move, gives a hand; '
          'the efforts change without a jump.',
          replace(_DUAL_ARM), (_DUAL_ARM.axes,) * 2, (), 2.5, _judge),
)
