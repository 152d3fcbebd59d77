# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Experiments: goals of a robot, failures during the motion, and bounds of the results."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from opspace_control.cli.robots import DemoRobot
from opspace_control.cli.showcase.schedule import SETTLING, Schedule

# To look on after the goals' time.
_HOLDING = 0.5  # s


@dataclass(frozen=True)
class Course:
    """What was seen of a robot, a row for each of k moments; s, m, rad, kg, N."""

    times: np.ndarray      # (k,) from the start
    paths: np.ndarray      # (k, hands, 3)
    errors: np.ndarray     # (k, hands, 6) goal minus pose, zero in axes that are not controlled
    posture: np.ndarray    # (k,) of the joint that the posture moves
    positions: np.ndarray  # (k, n) of all joints
    speed: np.ndarray      # (k,) of the fastest joint
    momentum: np.ndarray = None  # (k, 2, 6) about the origin: of everything, of the robot's body

    def since(self, time):
        """Return the course from a time on, s."""
        after = self.times >= time
        return Course(**{name: value if value is None else value[after]
                         for name, value in vars(self).items()})


@dataclass(frozen=True)
class Finding:
    """Something measured, and the bound that it must not pass."""

    what: str
    value: float
    bound: float
    unit: str
    at_least: bool = False  # whether the bound is a lower one

    @property
    def met(self):
        """Whether it is within its bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self):
        sign = '≥' if self.at_least else '≤'
        verdict = '' if self.met else '   NOT MET'
        return f'{self.what:40}{self.value:9.3f} {self.unit:4}{sign} {self.bound:g}{verdict}'


@dataclass(frozen=True)
class Experiment:
    """
    Goals of a robot, and the bounds that its motion must meet.

    The hands hold still until the controller has taken up the robot's weight; then each goes to its
    target, and stays there. On the way drives may die, and brakes come on.

    Attributes
    ----------
    name, summary : str
        What ``--experiment`` takes, and one line about it.
    title, figure : str
        Headline in the gallery; what the paper's figure shows, and what is to be seen here.
    robot : DemoRobot
        With the posture it starts from.
    axes : tuple of str
        Controlled axes of each hand.
    targets : tuple of callables
        For each hand, from its pose (7,) at the start to its goal (7,), base frame.
    seconds : float
        Time for that.
    judge : callable
        Takes the experiment and its `Course` from the moment of the goals on; returns Findings.
    joint, swing : str, float
        A joint that the posture rocks all the time, and how far to either side, rad or m.
    moved : dict of str to float
        Where the posture sends joints when the goals are given, rad or m.
    posture_kp : float
        Stiffness of the posture, 1/s².
    dead, braked : tuples of str
        Joints whose drive dies, or whose brake comes on, on the way.
    failing_at : float
        Time of that after the goals, s.
    told : bool
        Whether the controller is told of it.
    max_linear_velocity : float
        Of the hands, m/s.
    kp : tuple of float
        Stiffness of each hand, 1/s².

    """

    name: str
    summary: str
    title: str
    figure: str
    robot: DemoRobot
    axes: tuple
    targets: tuple
    seconds: float
    judge: Callable
    joint: str = 'torso_pitch'
    swing: float = 0.0
    max_linear_velocity: float = 0.5
    kp: tuple = (100.0, 100.0)
    unit: str = 'rad'
    moved: dict = field(default_factory=dict)
    posture_kp: float = 25.0
    dead: tuple = ()
    braked: tuple = ()
    failing_at: float = 0.0
    told: bool = True

    @property
    def fails(self):
        """Whether something fails on the way."""
        return bool(self.dead or self.braked)

    def plan(self, home):
        """Return the plan for hands that start at ``home`` (hands, 7)."""
        goals = [target(pose.copy()) for target, pose in zip(self.targets, home, strict=True)]
        return Schedule(home, np.array([goals]), self.seconds, _HOLDING, self.joint, self.unit,
                    dict.fromkeys([self.joint, *self.moved], 0.0) | self.robot.start,
                    {self.joint: self.swing}, self.moved)

    def parameters(self, tasks):
        """Return the controller's parameters for tasks of these names, one for each hand."""
        values = {'posture.kp': self.posture_kp}
        for task, axes, kp in zip(tasks, self.axes, self.kp, strict=False):
            values |= {f'{task}.axes': axes, f'{task}.kp': kp,
                       f'{task}.max_linear_velocity': self.max_linear_velocity}
        return values

    def simulator_parameters(self):
        """Return the simulator's parameters that differ from those of the robot."""
        return {}

    def client(self, tasks, command_topic):
        """Return who sends the goals: a `Client`."""
        from opspace_control.cli.showcase.client import Client
        return Client(tasks, command_topic, self.robot.floating_base)

    def findings(self, course):
        """Judge a `Course`; return a list of Findings."""
        return self.judge(self, course.since(SETTLING))


def holds(hand, errors):
    """Return the findings of a hand (its errors (k, 6)) that holds its pose."""
    return [
        Finding(f'{hand} hand moves', 1e3 * np.linalg.norm(errors[:, :3], axis=1).max(), 1.0, 'mm'),
        Finding(f'{hand} hand turns',
                np.degrees(np.linalg.norm(errors[:, 3:], axis=1).max()), 0.1, 'deg')]


def reaches(hand, errors, bound=1.0):
    """Return the finding of a hand that ends within ``bound`` mm of its goal."""
    return Finding(f'{hand} hand misses its goal', 1e3 * np.linalg.norm(errors[-1, :3]), bound,
                   'mm')
