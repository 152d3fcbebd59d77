# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""An experiment of a paper: a robot, its goals, and the limits that the results must meet."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from opspace_control.cli.robots import DemoRobot
from opspace_control.cli.showcase.schedule import SETTLING, Schedule
from opspace_control.spatial.quaternions import turned

MAX_ANGULAR_VELOCITY = 0.5  # rad/s, of a carried box
_HOLDING = 0.5  # s, from the end of the goals' time to the end of the experiment
_GRASP = 'carry'
_TABLE = (0.5, 0.5, 0.02)  # m


@dataclass(frozen=True)
class Panel:
    """A part of the picture of a comparison."""

    title: str
    look: Callable           # from a case to the (k,) or (k, n) that is drawn
    wanted: Callable = None  # from a case to the commanded (k,), a dotted line
    logarithmic: bool = False


@dataclass(frozen=True)
class Experiment:
    """
    An experiment that `opspace demo` runs, judges and draws; of one of three kinds.

    With ``targets`` the nodes are started: the hands keep their poses for `SETTLING`, then each
    goes to its target and stays there. Drives may fail on the way. With ``moves`` the hands grasp a
    box, carry it and set it down. With ``compare`` two cases run in lock-step, without ROS: as the
    paper says, and without the subject of the paper.
    """

    name: str          # as --experiment takes it
    summary: str       # one line, with the equation or figure that is repeated
    # Returns Findings of (experiment, its `Course` from the goals on), or of both cases; None for a
    # tour of a robot, which `make_schedule` plans.
    judge: Callable
    robot: DemoRobot = None  # with its start posture
    axes: tuple = ()         # controlled axes of each hand
    targets: tuple = ()      # for each hand, from its start (7,) to its goal (7,), base frame
    seconds: float = 0.0     # for the targets, or for each move
    joint: str = 'torso_pitch'  # the posture rocks it all the time,
    swing: float = 0.0          # so far to either side, rad or m
    unit: str = 'rad'           # of this joint
    max_linear_velocity: float = 0.5  # m/s, of the hands
    kp: tuple = (100.0, 100.0)        # 1/s², of each hand
    posture_kp: float = 25.0          # 1/s²
    moved: dict = field(default_factory=dict)  # joint -> position that the posture takes later
    dead: tuple = ()         # joints whose drive fails
    braked: tuple = ()       # joints whose brake comes on
    failing_at: float = 0.0  # s after the goals, when both happens
    told: bool = True        # whether the controller is told of it
    moves: tuple = ()  # of the box, (x, y, z, yaw) from its start: m ahead, left and up, and rad
    size: tuple = (0.2, None, 0.2)  # of the box, m; None: the distance of the hands
    mass: float = 3.0       # of the box, kg
    grasp_force: float = 20.0   # N
    disengage: bool = True  # whether the hands release the box after the last move
    compare: Callable = None  # returns both cases
    panels: tuple = ()        # `Panel`s of the picture of both

    def plan(self, home):
        """Return the `Schedule` of hands that start at ``home`` (hands, 7)."""
        goals = self._grasped(home) if self.moves else [
            [target(pose.copy()) for target, pose in zip(self.targets, home, strict=True)]]
        return Schedule(home, np.array(goals), self.seconds, _HOLDING, self.joint, self.unit,
                        dict.fromkeys([self.joint, *self.moved], 0.0) | self.robot.start,
                        {self.joint: self.swing}, self.moved,
                        SETTLING + self.seconds * bool(self.moves))

    def _grasped(self, home):
        """Return the goals of the hands with a box: to grasp it, each move, to release it."""
        middle = home[:, :3].mean(axis=0)
        goals = [home]
        for *shift, yaw in self.moves:
            poses = home.copy()
            for pose in poses:
                x, y, z = pose[:3] - middle
                pose[:3] = middle + shift + np.array([
                    x * math.cos(yaw) - y * math.sin(yaw), x * math.sin(yaw) + y * math.cos(yaw),
                    z])
                pose[3:] = turned(pose[3:], (0.0, 0.0, yaw))
            goals.append(poses)
        return goals + [goals[-1]] * (2 * self.disengage)  # the controller, then the grips

    def parameters(self, tasks):
        """Return the controller's parameters for tasks of these names, one for each hand."""
        values = {'posture.kp': self.posture_kp}
        for task, axes, kp in zip(tasks, self.axes, self.kp, strict=False):
            values |= {f'{task}.axes': axes, f'{task}.kp': kp,
                       f'{task}.max_linear_velocity': self.max_linear_velocity}
        if not self.moves:
            return values
        x, y, z = np.square(self.boxes()['box']['size'])
        moments = [self.mass / 12.0 * float(square) for square in (y + z, x + z, x + y)]
        return values | {
            'grasps': [_GRASP], f'{_GRASP}.effectors': list(self.robot.hands),
            f'{_GRASP}.mass': self.mass, f'{_GRASP}.inertia': [*moments, 0.0, 0.0, 0.0],
            f'{_GRASP}.squeeze': self.grasp_force, f'{_GRASP}.axes': self.robot.axes,
            f'{_GRASP}.max_linear_velocity': self.max_linear_velocity,
            f'{_GRASP}.max_angular_velocity': MAX_ANGULAR_VELOCITY}

    def simulator_parameters(self):
        """Return the simulator's parameters that differ from those of the robot."""
        if not self.moves:
            return {}
        boxes = self.boxes()
        return {'objects': list(boxes), 'grasps': [_GRASP], f'{_GRASP}.object': 'box',
                f'{_GRASP}.effectors': list(self.robot.hands),
                **{f'{name}.{key}': value for name, box in boxes.items()
                   for key, value in box.items()}}

    def boxes(self):
        """Return the arguments of each `Box` by name: between the hands, on a table if heavy."""
        from opspace_control.simulation import SimulatedRobot

        robot = SimulatedRobot(self.robot.path().read_text())
        robot.reset(self.robot.start)
        poses = np.array([robot.frame_pose(hand) for hand in self.robot.hands])
        middle, across = poses[:, :3].mean(axis=0), poses[0, :3] - poses[1, :3]
        size = [float(np.linalg.norm(across)) if edge is None else edge for edge in self.size]
        half = 0.5 * math.atan2(-across[0], across[1]) if None in self.size else 0.0
        pose = [*middle.tolist(), 0.0, 0.0, math.sin(half), math.cos(half)]
        found = {'box': {'size': size, 'mass': self.mass, 'pose': pose}}
        if not self.robot.weightless:
            under = pose[2] - 0.5 * (size[2] + _TABLE[2])
            found['table'] = {'size': list(_TABLE), 'fixed': True,
                              'pose': [*pose[:2], under, *pose[3:]]}
        return found

    def client(self, tasks, command_topic):
        """Return the `Client` that sends the goals."""
        from opspace_control.cli.showcase.client import Client
        return Client(tasks, command_topic, self.robot.floating_base,
                      _GRASP if self.moves else None, len(self.moves))

    def findings(self, course):
        """Judge a `Course`; return a list of Findings."""
        return self.judge(self, course.since(SETTLING))

    def run(self, output):
        """Compare, print the findings, write a PNG; return whether every limit is met."""
        from opspace_control.cli.showcase.picture import draw_cases

        cases = self.compare()
        findings = self.judge(*cases)
        draw_cases(self, cases, output)
        print(self.summary, *findings, sep='\n  ')
        print(f'\nPicture: {output}')
        return all(finding.met for finding in findings)
