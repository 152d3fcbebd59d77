# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the demo asks for: goals of the hands, one after the other, and a posture that rocks."""

import math
from dataclasses import dataclass

import numpy as np

from opspace_control.cli.showcase.kinematics import Reach, turned

# Where a hand is wanted, from where it starts: m ahead, outwards and up, and rad about z; every
# other hand goes round the other way.
_THERE = ((0.05, 0.10, 0.10, 0.3), (0.10, -0.02, 0.16, 0.0), (0.02, 0.05, -0.12, -0.2))
_BACK = (0.0, 0.0, 0.0, 0.0)
_TOURS = ((*_THERE, _BACK), (*_THERE[::-1], _BACK))
# The controller takes up the weight of the robot in this time.
_SETTLING = 1.0  # s
_SHORTEST_STOP = 2.0  # s
# Part of the demo's time; in the rest the hands hold still while the posture rocks.
_TOURING = 0.65
_ROCKING = {'rad': 0.35, 'm': 0.05}
# Of all that, as much as the robot can do far from its end stops.
_SCALES = (1.0, 0.75, 0.5, 0.35, 0.2)
_ROCKING_PERIOD = 4.0  # s


@dataclass(frozen=True)
class Plan:
    """
    The goals of a demo.

    Attributes
    ----------
    goals : (k, hands, 7) array
        Poses ``[x y z qx qy qz qw]`` in the base frame, one after the other.
    durations : (k,) array
        s for each; the last one is held to the end.
    joint : str
        The joint that the posture rocks.
    center, amplitude : float
        In ``unit``, rad or m.

    """

    goals: np.ndarray
    durations: np.ndarray
    joint: str
    center: float
    amplitude: float
    unit: str

    @property
    def starts(self):
        """When each goal is given, (k,), s."""
        return _SETTLING + np.concatenate([[0.0], np.cumsum(self.durations)[:-1]])

    @property
    def length(self):
        """How long it all takes, s."""
        return _SETTLING + self.durations.sum()

    @property
    def ends(self):
        """When each goal has to be reached, (k,), s; from then on the last one is only held."""
        ends = _SETTLING + np.cumsum(self.durations)
        ends[-1] = self.starts[-1] + self.durations[0]
        return ends

    def goal_at(self, time):
        """Return the number of the goal of this time, s; -1 before the first."""
        return int(np.searchsorted(self.starts, time, side='right')) - 1

    def posture_at(self, time):
        """Return where the rocking joint is wanted, rad or m."""
        return self.center + self.amplitude * math.sin(2.0 * math.pi * time / _ROCKING_PERIOD)


def make_plan(robot, hands, axes, driven, start, seconds):
    """
    Return a plan that this robot can follow.

    Parameters
    ----------
    robot : SimulatedRobot
        Is moved about.
    hands : sequence of str
        Links.
    axes : str
        Axes that the hands' tasks control.
    driven : sequence of str
        Joints with a drive, all if empty.
    start : dict of str to float
        Start posture.
    seconds : float
        Length of the demo.

    """
    robot.reset(start)
    here = robot.positions
    reach = Reach(robot, hands, axes, driven)
    number = _rocking_joint(reach, len(hands), here)
    unit = 'rad' if _turns(reach, here, number) else 'm'
    for scale in _SCALES:
        amplitude = scale * _ROCKING[unit]
        goals, easy = _goals(reach, here, number, amplitude, scale)
        if easy:
            break
    tour = _TOURING * (seconds - _SETTLING)
    count = min(max(int(tour / _SHORTEST_STOP), 1), len(goals))
    durations = np.full(count, tour / count)
    durations[-1] += seconds - _SETTLING - tour
    return Plan(goals[:count], durations, robot.joint_names[number], here[number], amplitude,
                unit)


def _goals(reach, here, number, amplitude, scale):
    """Return the goals (k, hands, 7), and whether they are easy while the posture rocks."""
    first = reach.poses(here)
    extremes = [here.copy(), here.copy()]
    extremes[0][number] -= amplitude
    extremes[1][number] += amplitude
    goals, easy = [], True
    for stop in zip(*_TOURS, strict=True):
        wanted = first.copy()
        for i, pose in enumerate(wanted):
            ahead, outwards, up, yaw = scale * np.array(stop[i % len(stop)])
            side = math.copysign(1.0, pose[1])
            pose[:3] += ahead, side * outwards, up
            pose[3:] = turned(pose[3:], (0.0, 0.0, side * yaw))
        # Not the pose wanted but the one that is reached: axes that are not controlled follow.
        goals.append(reach.poses(reach.posture_at(wanted, here)[0]))
        easy = easy and all(reach.posture_at(wanted, extreme)[1] for extreme in extremes)
    goals[-1] = first
    return np.array(goals), easy


def _rocking_joint(reach, hands, positions):
    """Return the number of the joint of the trunk, or else of all, that is freest to move."""
    J = reach.jacobian(positions)
    freedom = np.diag(np.eye(J.shape[1]) - np.linalg.pinv(J, rcond=1e-6) @ J) * reach.movable
    # A joint of the trunk moves every hand.
    moves = np.array([abs(rows).max(axis=0) > 1e-9 for rows in np.split(J, hands)])
    trunk = freedom * moves.all(axis=0) * (hands > 1)
    carrying = freedom * moves.any(axis=0)
    return int(np.argmax(trunk if trunk.max() > 0.1 else carrying))


def _turns(reach, positions, number):
    """Return whether a joint turns, not slides, the hands it carries."""
    moved = positions.copy()
    moved[number] += 1e-3
    return abs(reach.poses(moved)[:, 3:] - reach.poses(positions)[:, 3:]).max() > 1e-6


def skeleton(robot):
    """Return lines (k, 2, 3), m, from each link of a simulated robot to the one that carries it."""
    positions = {link: robot.frame_pose(link)[:3] for link in robot.link_names}
    carriers = robot.model.body_parentid[1:] - 1
    return np.array([(positions[robot.link_names[carrier]], positions[link])
                     for link, carrier in zip(robot.link_names, carriers, strict=True)
                     if carrier >= 0])
