# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which goals arms reach: one after the other from where the last one left them, and each from home.

`python benchmark/sequence.py` prints a table; `--write` puts it in doc/measurements/limits.md.
Goals are poses of random postures within 80 % of the joints' ranges, all of which arms can reach.
The peer, Pink's differential inverse kinematics, has the same goals and times, and no V_max; its
columns are empty where `pin-pink` and daqp are not installed.
"""

from functools import partial
from importlib.util import find_spec
from pathlib import Path

import limits
import numpy as np
from at_rest import arm_of
from figures import tabulate_goals
from postures import random_posture

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.simulation import SimulatedRobot

GOALS = 240                  # for each robot
LENGTH = 40                  # of them in each sequence
SECONDS = 8.0                # for each goal
PART = 0.8                   # of the ranges of the joints
SPEEDS = {'max_linear_velocity': 0.6, 'max_angular_velocity': 1.5}  # m/s, rad/s
REACHED, TURNED = 1e-3, 1e-2  # m, rad
_MORE = 'xArm7', 'Unitree Z1'  # of the robots of limits.py
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'limits.md'


class OurArm:
    """The hand of an arm in simulation, sent to poses; the posture is that of the start."""

    def __init__(self, path, hand, start, speeds):
        self._model = model = RobotModel.from_urdf_file(path)
        self._robot = SimulatedRobot(path.read_text(), joint_friction=False)
        self._order = [model.dof_index(name) for name in self._robot.joint_names]
        self._task, self._start = PoseTask(hand, **speeds), start
        self._controller = OperationalSpaceController(
            model, self._task, limits=JointLimits(model))
        home = model.neutral()
        home[[model.q_index[model.dof_index(name)] for name in start]] = list(start.values())
        self._controller.posture.set_target(home)
        self._state = RobotState(model, home, np.zeros(model.nv))
        self.reset()

    def reset(self):
        """Go back to the start."""
        self._robot.reset(positions=self._start)

    def seek(self, goal, seconds):
        """Move for some seconds towards a pose (4, 4); return what is left, m and rad."""
        model, robot, order, state = self._model, self._robot, self._order, self._state
        effort = np.zeros(model.nv)
        self._task.set_target(goal)
        for _ in range(round(seconds / robot.timestep)):
            q, v = state.q.copy(), state.v.copy()
            q[model.q_index[order]], v[order] = robot.positions, robot.velocities
            state.update(q, v)
            robot.set_effort(self._controller.compute_torque(state, effort)[order])
            robot.step()
        error = self._task.error
        return np.linalg.norm(error[:3]), np.linalg.norm(error[3:])


def arms():
    """Return the robots: of six axes and of seven."""
    more = {robot.name: robot for robot in limits.ROBOTS}
    return (arm_of('UR5'), *(more[name] for name in _MORE[1:]), arm_of('Panda'),
            *(more[name] for name in _MORE[:1]))


def hand_and_start(arm):
    """Return the hand of an arm, and its start, rad."""
    return (arm.hands[0], arm.start) if hasattr(arm, 'hands') else (arm.frames[0], arm.posture)


def random_goals(arm, goals):
    """Return sequences of goals, (n, 4, 4) each, so many in all; each has a seed of its own."""
    model, (hand, _) = RobotModel.from_urdf_file(arm.path), hand_and_start(arm)
    sequences = []
    for seed, first in enumerate(range(0, goals, LENGTH)):
        rng, poses = np.random.default_rng(seed), []
        for _ in range(min(LENGTH, goals - first)):
            state = RobotState(model, random_posture(model, rng, PART), np.zeros(model.nv))
            poses.append(model.forward_kinematics(state, [hand])[hand].copy())
        sequences.append(np.array(poses))
    return sequences


def count(arm, goals):
    """Return how many goals of a sequence an arm reaches in turn, and from home."""
    def reaches(goal):
        left, turned = arm.seek(goal, SECONDS)
        return bool(left < REACHED and turned < TURNED)

    in_turn = sum(reaches(goal) for goal in goals)
    from_home = 0
    for goal in goals:
        arm.reset()
        from_home += reaches(goal)
    return in_turn, from_home


def seek(arm, goals):
    """Return how many goals are reached with V_max, without and by the peer, and of how many."""
    path, (hand, start) = arm.path, hand_and_start(arm)
    ours = [count(OurArm(path, hand, start, speeds), goals) for speeds in (SPEEDS, {})]
    peer = ()
    if find_spec('pink') is not None:
        from pink_peer import PinkArm
        peer = count(PinkArm(path, hand, start), goals)
    return *ours, peer, len(goals)


def table(rows):
    """Return a table of (Robot, ours with V_max and without, the peer's, of how many)."""
    def cells(counts):
        return ' | '.join(str(sum(column)) for column in zip(*counts, strict=True)) or ' | '

    sequences = rows[0][-1]
    whose = '', 'without V_max: ', 'Pink: '
    return '\n'.join([
        f'{sum(sequences)} goals for each robot in {len(sequences)} sequences, {SECONDS:g} s '
        f'each, seeds 0 to {len(sequences) - 1}:', '',
        '| |' + ''.join(f' {who}in sequence | {who}from home, each |' for who in whose),
        '|---' + '|---:' * 6 + '|',
        *(f'| {arm.name} | {" | ".join(map(cells, counts))} |' for arm, *counts, _ in rows)])


def main():
    """Print the table, and write it where it belongs if asked to."""
    tabulate_goals(__doc__, _PAGE, 'sequence', GOALS,
                   [(arm, partial(random_goals, arm)) for arm in arms()], seek, table)


if __name__ == '__main__':
    main()
