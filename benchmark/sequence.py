# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which goals arms reach: one after the other from where the last one left them, and each from home.

`python benchmark/sequence.py` prints a table; `--write` puts it in doc/measurements/limits.md.
Goals are poses of random postures within 80 % of the joints' ranges, all of which arms can reach.
"""

from functools import partial
from pathlib import Path

import numpy as np
from at_rest import arm_of
from figures import tabulate_goals
from postures import random_posture
from singularity import ROBOTS

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.simulation import SimulatedRobot

GOALS = 40                   # for each robot
SEQUENCES = 8                # that they are shared out to
SECONDS = 8.0                # for each goal
PART = 0.8                   # of the ranges of the joints
SPEEDS = {'max_linear_velocity': 0.6, 'max_angular_velocity': 1.5}  # m/s, rad/s
REACHED, TURNED = 1e-3, 1e-2  # m, rad
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'limits.md'


def random_goals(arm, goals):
    """Return sequences of goals, (n, 4, 4) each, so many in all."""
    model, rng = RobotModel.from_urdf_file(arm.path), np.random.default_rng(0)
    hand, = arm.hands
    poses = []
    for _ in range(goals):
        state = RobotState(model, random_posture(model, rng, PART), np.zeros(model.nv))
        poses.append(model.forward_kinematics(state, arm.hands)[hand])
    return np.array_split(np.array(poses), min(SEQUENCES, goals))


def seek(arm, goals):
    """Return how many goals of a sequence are reached in turn, from home, and of how many."""
    model = RobotModel.from_urdf_file(arm.path)
    robot = SimulatedRobot(arm.path.read_text(), joint_friction=False)
    order = [model.dof_index(name) for name in robot.joint_names]
    task = PoseTask(*arm.hands, axes=arm.axes, **SPEEDS)
    controller = OperationalSpaceController(model, task, limits=JointLimits(model))
    home = model.neutral()
    home[[model.q_index[model.dof_index(name)] for name in arm.start]] = list(arm.start.values())
    controller.posture.set_target(home)
    state, effort = RobotState(model, home, np.zeros(model.nv)), np.zeros(model.nv)

    def reach(goal):
        task.set_target(goal)
        for _ in range(round(SECONDS / robot.timestep)):
            q, v = state.q.copy(), state.v.copy()
            q[model.q_index[order]], v[order] = robot.positions, robot.velocities
            state.update(q, v)
            robot.set_effort(controller.compute_torque(state, effort)[order])
            robot.step()
        asked = np.isin(('x', 'y', 'z', 'rx', 'ry', 'rz'), task.controlled_axes)
        error = np.where(asked, task.error, 0.0)
        return bool(np.linalg.norm(error[:3]) < REACHED and np.linalg.norm(error[3:]) < TURNED)

    robot.reset(positions=arm.start)
    in_turn = sum(reach(goal) for goal in goals)
    from_home = 0
    for goal in goals:
        robot.reset(positions=arm.start)
        from_home += reach(goal)
    return in_turn, from_home, len(goals)


def table(rows):
    """Return a table of (Robot, goals reached in turn, from home, and of how many) in Markdown."""
    return '\n'.join([
        f'{sum(rows[0][3])} goals for each robot in {len(rows[0][3])} sequences, {SECONDS:g} s '
        'each, seed 0:', '',
        '| | reached in sequence | reached from home, each |', '|---|---:|---:|',
        *(f'| {arm.name} | {sum(in_turn)} | {sum(from_home)} |'
          for arm, in_turn, from_home, _ in rows)])


def main():
    """Print the table, and write it where it belongs if asked to."""
    tabulate_goals(__doc__, _PAGE, 'sequence', GOALS,
                   [(arm, partial(random_goals, arm)) for arm in map(arm_of, ROBOTS)], seek, table)


if __name__ == '__main__':
    main()
