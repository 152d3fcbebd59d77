# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of the papers, [CK00] 2.2 and 5, [K87] (4.4)-(4.5).

An experiment defines the robot, its start, the goals of its hands and of its posture, and the
bounds of the results. It runs as a demo over ROS 2 and, as a test, in lock-step with the simulator.
"""

from dataclasses import replace

import numpy as np

from opspace_control.cli.robots import DemoRobot, demo_robot
from opspace_control.cli.showcase.experiment import Experiment, Finding, holds, reaches
from opspace_control.errors import OpspaceError
from opspace_control.model.topology import nearest

# Speeds are taken over this time: long against the jitter of messages.
_WINDOW = 0.1  # s


def all_experiments():
    """Return every `Experiment` and `Study` that there is."""
    from opspace_control.cli.showcase.carry import CARRIED
    from opspace_control.cli.showcase.contact import CONTACTS
    from opspace_control.cli.showcase.studies import STUDIES
    from opspace_control.cli.showcase.underactuated import UNDERACTUATED
    return (*EXPERIMENTS, *CARRIED, *UNDERACTUATED, *STUDIES, *CONTACTS)


def experiment(name):
    """Return the one of this name; an OpspaceError names the nearest ones otherwise."""
    known = all_experiments()
    for one in known:
        if one.name == name:
            return one
    raise OpspaceError(f"There is no experiment '{name}'.",
                       cure=nearest(name, [one.name for one in known]), experiment=name)


def _judge_torso(experiment, course):
    errors, posture = course.errors, course.posture
    center = experiment.robot.start.get(experiment.joint, 0.0)
    return [*holds('left', errors[:, 0]), *holds('right', errors[:, 1]),
            Finding(f'{experiment.joint} swings forwards', posture.max() - center, 0.3, 'rad',
                    True),
            Finding(f'{experiment.joint} swings back', center - posture.min(), 0.3, 'rad', True)]


def _judge_floor(_experiment, course):
    paths, errors = course.paths, course.errors
    return [Finding('left hand misses the floor', 1e3 * np.linalg.norm(errors[-1, 0, :3]), 1.0,
                    'mm'),
            Finding('left hand came down', paths[0, 0, 2] - paths[-1, 0, 2], 0.3, 'm', True),
            *holds('right', errors[:, 1])]


def _judge_step(experiment, course):
    times, errors = course.times, course.errors
    path = course.paths[:, 0]
    way = errors[0, 0, :3]  # from where it starts to its goal
    along = (path - path[0]) @ way / np.linalg.norm(way)
    beside = path - path[0] - np.outer(along, way / np.linalg.norm(way))
    later = np.minimum(np.searchsorted(times, times + _WINDOW), len(times) - 1)
    gone = np.linalg.norm(path[later] - path, axis=1)
    speed = (gone / np.maximum(times[later] - times, 0.5 * _WINDOW)).max()
    limit = experiment.max_linear_velocity
    return [
        Finding('left hand leaves the straight line',
                1e3 * np.linalg.norm(beside, axis=1).max(), 2.0, 'mm'),
        Finding('left hand travels at least at', speed, 0.95 * limit, 'm/s', True),
        Finding('left hand travels at most at', speed, 1.05 * limit, 'm/s'),
        reaches('left', errors[:, 0]),
        *holds('right', errors[:, 1])]


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
