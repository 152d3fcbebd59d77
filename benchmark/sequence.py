# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which goals arms reach: one after the other from where the last one left them, and each from home.

`python benchmark/sequence.py` prints a table; `--write` puts it in doc/limits.md. Goals are poses
of random postures within 80 % of the ranges of the joints, so every one of them can be had.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from figures import tabulate_goals
from singularity import BENT, ROBOTS

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
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'limits.md'


@dataclass(frozen=True)
class Arm:
    """An arm: its file, hand, axes, and where it starts."""

    name: str
    path: Path
    hand: str
    axes: str
    start: dict


def arms():
    """Return the arms of singularity.py."""
    made = []
    for name, (path, hand, axes) in ROBOTS.items():
        joints = RobotModel.from_urdf_file(path).dof_names
        made.append(Arm(name, path, hand, axes, dict(zip(joints, BENT[name], strict=False))))
    return made


def random_goals(arm, goals):
    """Return sequences of goals, (n, 4, 4) each, so many in all."""
    model, rng = RobotModel.from_urdf_file(arm.path), np.random.default_rng(0)
    ends = model.lower_position_limits, model.upper_position_limits
    lower, upper = (np.where(np.isfinite(end), end, turn)
                    for end, turn in zip(ends, (-np.pi, np.pi), strict=True))
    middle, half = 0.5 * (lower + upper), 0.5 * PART * (upper - lower)
    poses = []
    for _ in range(goals):
        q = model.neutral()
        q[model.q_index] = middle + half * rng.uniform(-1.0, 1.0, model.nv)
        state = RobotState(model, q, np.zeros(model.nv))
        poses.append(model.forward_kinematics(state, [arm.hand])[arm.hand])
    return np.array_split(np.array(poses), min(SEQUENCES, goals))


def seek(arm, goals):
    """Return how many goals of a sequence are reached in turn, from home, and of how many."""
    model = RobotModel.from_urdf_file(arm.path)
    robot = SimulatedRobot(arm.path.read_text(), joint_friction=False)
    order = [model.dof_index(name) for name in robot.joint_names]
    task = PoseTask(arm.hand, axes=arm.axes, **SPEEDS)
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
    """Return a table of (Arm, goals reached in turn, from home, and of how many) in Markdown."""
    return '\n'.join([
        f'{sum(rows[0][3])} goals for each robot in {len(rows[0][3])} sequences, {SECONDS:g} s '
        'each, seed 0:', '',
        '| | reached in sequence | reached from home, each |', '|---|---:|---:|',
        *(f'| {arm.name} | {sum(in_turn)} | {sum(from_home)} |'
          for arm, in_turn, from_home, _ in rows)])


def main():
    """Print the table, and write it where it belongs if asked to."""
    tabulate_goals(__doc__, _PAGE, 'sequence', GOALS,
                   [(arm, partial(random_goals, arm)) for arm in arms()], seek, table)


if __name__ == '__main__':
    main()
