# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of the papers, [CK00] 2.2 and 5, [K87] (4.4)-(4.5): what is asked, what must come.

An experiment says which robot stands how, where its hands go and what its posture does, and judges
what was seen. It runs as a demo over ROS 2 and, as a test, in lock-step with the simulator.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from opspace_control.cli.robots import DemoRobot, demo_robot
from opspace_control.cli.showcase.plan import SETTLING, Plan
from opspace_control.errors import OpspaceError
from opspace_control.model.topology import nearest

# Speeds are taken over this time: long against the jitter of messages.
_WINDOW = 0.1  # s
# To look on after the goals' time.
_HOLDING = 0.5  # s


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
    Something a robot is asked to do, and what must be seen then.

    The hands hold still until the controller has taken up the robot's weight; then each goes to its
    target, and stays there.

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
        Takes the course from the moment of the goals on, and returns Findings.
    joint, swing : str, float
        A joint that the posture rocks all the time, and how far to either side, rad.
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

    def plan(self, home):
        """Return the plan for hands that start at ``home`` (hands, 7)."""
        goals = [target(pose.copy()) for target, pose in zip(self.targets, home, strict=True)]
        return Plan(home, np.array([goals]), self.seconds, _HOLDING, self.joint, 'rad',
                    dict.fromkeys([self.joint], 0.0) | self.robot.start,
                    {self.joint: self.swing})

    def parameters(self, tasks):
        """Return the controller's parameters for tasks of these names, one for each hand."""
        values = {}
        for task, axes, kp in zip(tasks, self.axes, self.kp, strict=True):
            values |= {f'{task}.axes': axes, f'{task}.kp': kp,
                       f'{task}.max_linear_velocity': self.max_linear_velocity}
        return values

    def simulator_parameters(self):
        """Return the simulator's parameters that differ from those of the robot."""
        return {}

    def client(self, tasks, command_topic):
        """Return who sends the goals: a `Client`."""
        from opspace_control.cli.showcase.client import Client
        return Client(tasks, command_topic)

    def findings(self, course):
        """
        Judge a course.

        Parameters
        ----------
        course
            With ``times`` (k,) s from the start, ``paths`` (k, hands, 3) m, ``errors`` (k, hands,
            6) goal minus pose, m and rad, and ``posture`` (k,) of the rocking joint, rad.

        Returns
        -------
        list of Finding

        """
        after = course.times >= SETTLING
        return self.judge(self, course.times[after], course.paths[after], course.errors[after],
                          course.posture[after])


def all_experiments():
    """Return every `Experiment` and `Study` that there is."""
    from opspace_control.cli.showcase.carry import CARRIED
    from opspace_control.cli.showcase.studies import STUDIES
    return (*EXPERIMENTS, *CARRIED, *STUDIES)


def experiment(name):
    """Return the one of this name; an OpspaceError names the nearest ones otherwise."""
    known = all_experiments()
    for one in known:
        if one.name == name:
            return one
    raise OpspaceError(f"There is no experiment '{name}'.",
                       cure=nearest(name, [one.name for one in known]), experiment=name)


def _holds(hand, errors):
    """Return the findings of a hand (its errors (k, 6)) that holds its pose."""
    return [
        Finding(f'{hand} hand moves', 1e3 * np.linalg.norm(errors[:, :3], axis=1).max(), 1.0, 'mm'),
        Finding(f'{hand} hand turns',
                np.degrees(np.linalg.norm(errors[:, 3:], axis=1).max()), 0.1, 'deg')]


def _judge_torso(asked, _times, _paths, errors, posture):
    center = asked.robot.start.get(asked.joint, 0.0)
    return [*_holds('left', errors[:, 0]), *_holds('right', errors[:, 1]),
            Finding(f'{asked.joint} swings forwards', posture.max() - center, 0.3, 'rad', True),
            Finding(f'{asked.joint} swings back', center - posture.min(), 0.3, 'rad', True)]


def _judge_floor(_asked, _times, paths, errors, _posture):
    return [Finding('left hand misses the floor', 1e3 * np.linalg.norm(errors[-1, 0, :3]), 1.0,
                    'mm'),
            Finding('left hand came down', paths[0, 0, 2] - paths[-1, 0, 2], 0.3, 'm', True),
            *_holds('right', errors[:, 1])]


def _judge_step(asked, times, paths, errors, _posture):
    path = paths[:, 0]
    way = errors[0, 0, :3]  # from where it starts to its goal
    along = (path - path[0]) @ way / np.linalg.norm(way)
    beside = path - path[0] - np.outer(along, way / np.linalg.norm(way))
    later = np.minimum(np.searchsorted(times, times + _WINDOW), len(times) - 1)
    gone = np.linalg.norm(path[later] - path, axis=1)
    speed = (gone / np.maximum(times[later] - times, 0.5 * _WINDOW)).max()
    limit = asked.max_linear_velocity
    return [
        Finding('left hand leaves the straight line',
                1e3 * np.linalg.norm(beside, axis=1).max(), 2.0, 'mm'),
        Finding('left hand travels at least at', speed, 0.95 * limit, 'm/s', True),
        Finding('left hand travels at most at', speed, 1.05 * limit, 'm/s'),
        Finding('left hand misses its goal', 1e3 * np.linalg.norm(errors[-1, 0, :3]), 1.0, 'mm'),
        *_holds('right', errors[:, 1])]


def _stay(pose):
    return pose


def _to_the_floor(pose):
    """Return the pose with its origin on the floor, before the left foot."""
    pose[:3] = 0.45, 0.25, 0.0
    return pose


def _step(pose):
    """Return the pose 0.2 m away: ahead, to the left and up."""
    pose[:3] += 0.2 * np.array([0.6, 0.4, 0.48**0.5])
    return pose


_ALL = DemoRobot.axes
_CROUCH = {'ankle_pitch': 0.4, 'knee_pitch': -1.0, 'hip_pitch': 1.0, 'torso_pitch': 0.2,
           'l_shoulder_pitch': -0.8, 'l_shoulder_roll': 0.3, 'l_elbow': -0.9,
           'r_shoulder_pitch': -0.8, 'r_shoulder_roll': -0.3, 'r_elbow': -0.9}

EXPERIMENTS = (
    Experiment(
        'torso', 'the torso rocks in the null space while both hands hold still, [CK00] Fig. 3',
        'A torso that rocks without disturbing the hands',
        '[CK00] Fig. 3 shows a robot that is commanded to keep both hands where they are while its '
        'torso rocks back and forth, in the null space of the hands. Here the torso rocks by 0.4 '
        'rad to either side; the hands move by less than 1 mm and turn by less than 0.1°: their '
        'errors are on logarithmic axes, far below the motion of the posture.',
        demo_robot('dual_arm'), (_ALL, _ALL), (_stay, _stay), 8.0, _judge_torso, swing=0.4),
    Experiment(
        'floor', 'the left hand goes down to the floor, the right one holds still, [CK00] Fig. 6',
        'A hand that goes to the floor',
        '[CK00] Fig. 6 is the motion sequence of a humanoid with 24 joints that touches the floor '
        'with its left hand and keeps position and orientation of its right one, while it is '
        'advised to keep the posture it began with. Here the left hand goes down by more than 0.3 '
        'm to a point of the floor and misses it by less than 1 mm; the right one moves by less '
        'than 1 mm.',
        replace(demo_robot('humanoid'), start=_CROUCH), ('x y z', _ALL), (_to_the_floor, _stay),
        7.0, _judge_floor, max_linear_velocity=0.2, kp=(100.0, 900.0)),
    Experiment(
        'step', 'the left hand goes 0.2 m straight at 0.3 m/s, [K87] (4.4)-(4.5)',
        'A straight line at the greatest speed',
        '[K87] (4.4)-(4.5) bound the speed on the way to a goal, V_max, so that it is approached '
        'along a straight line. The paper has no figure of it; here the hand is sent 0.2 m away in '
        'one step, at 0.3 m/s at most. It leaves the line by less than 2 mm, travels at V_max '
        'within 5 %, and misses the goal by less than 1 mm.',
        demo_robot('dual_arm'), (_ALL, _ALL), (_step, _stay), 3.0, _judge_step,
        max_linear_velocity=0.3),
)
