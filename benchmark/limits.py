# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether joints keep their limits: random goals, most of them wild, on real robots in simulation.

`python benchmark/limits.py` prints a table; `--write` puts it in doc/limits.md. The simulated
robots have no end stops: nothing but the control law keeps a joint within its limits.
"""

import argparse
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from figures import put_into

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    SimulationError,
)
from opspace_control.cli.robots import real_robot
from opspace_control.simulation import SimulatedRobot

GOALS = 200          # for each robot
SECONDS = 2.0        # for each goal
FAR_GOALS = 0.3      # part of the goals that lie half as far again as the posture they come from
KP = 100.0           # 1/s², of tasks that know no limit of velocity themselves
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'limits.md'


@dataclass(frozen=True)
class Robot:
    """A robot: its file in example-robot-data, links to move, joints under a brake, a posture."""

    name: str
    urdf: str
    frames: tuple
    posture: dict
    braked: tuple = ()


@dataclass
class Worst:
    """The worst of some goals."""

    beyond: float = 0.0    # a limit of position, degrees or m
    velocity: float = 0.0  # in parts of the limit
    effort: float = 0.0    # likewise
    step: float = 0.0      # of an effort between two cycles, in parts of its limit
    solutions: float = 0.0  # of the stack in a cycle, on average over the worst goal
    unlimited: float = 0.0  # velocity without limits, in parts of the limit; the first goals

    def take(self, other):
        """Keep the worse of each."""
        for field in fields(self):
            name = field.name
            setattr(self, name, max(getattr(self, name), getattr(other, name)))


_TIAGO_HEAD = ('head_1_joint', 'head_2_joint', 'wheel_right_joint', 'wheel_left_joint',
               'gripper_left_finger_joint', 'gripper_right_finger_joint')
_LEGS = tuple(f'{side}_{joint}_joint' for side in ('left', 'right') for joint in (
    'hip_pitch', 'hip_roll', 'hip_yaw', 'knee', 'ankle_pitch', 'ankle_roll'))
ROBOTS = (
    Robot('Franka Panda', 'panda_description/urdf/panda.urdf', ('panda_link8',),
          {'panda_joint2': -0.4, 'panda_joint4': -2.0, 'panda_joint6': 1.8},
          ('panda_finger_joint1',)),
    Robot('UR5', 'ur_description/urdf/ur5_robot.urdf', ('tool0',),
          {'shoulder_lift_joint': -1.2, 'elbow_joint': 1.5, 'wrist_1_joint': -1.0,
           'wrist_2_joint': -1.0}),
    Robot('UR10', 'ur_description/urdf/ur10_robot.urdf', ('tool0',),
          {'shoulder_lift_joint': -1.2, 'elbow_joint': 1.5, 'wrist_1_joint': -1.0,
           'wrist_2_joint': -1.0}),
    Robot('xArm7', 'xarm_description/urdf/xarm7.urdf', ('link7',), {'joint4': 1.0, 'joint6': 0.8}),
    Robot('Unitree Z1', 'z1_description/urdf/z1.urdf', ('link06',),
          {'joint2': 1.2, 'joint3': -1.2}),
    Robot('TIAGo', 'tiago_description/robots/tiago_no_hand.urdf', ('arm_tool_link',),
          {'torso_lift_joint': 0.15, 'arm_2_joint': -0.5, 'arm_3_joint': -1.3,
           'arm_4_joint': 1.5}, _TIAGO_HEAD),
    Robot('Unitree G1, both arms', 'g1_description/urdf/g1_29dof_rev_1_0.urdf',
          ('left_wrist_yaw_link', 'right_wrist_yaw_link'),
          {'left_elbow_joint': 0.8, 'right_elbow_joint': 0.8},
          (*_LEGS, 'waist_roll_joint', 'waist_pitch_joint')),
)


class Trial:
    """
    A robot under control, to be sent to random goals one after the other.

    Parameters
    ----------
    robot : Robot
    limited : bool
        Whether the controller keeps the limits of motion.
    seed : int
        Of the goals.

    """

    def __init__(self, robot, *, limited=True, seed=0):
        text = real_robot(robot.urdf).read_text()
        braked = [joint for joint in robot.braked if f'"{joint}"' in text]
        self.model = model = RobotModel.from_urdf(text, locked_joints=braked)
        self.simulated = SimulatedRobot(text, joint_friction=False, locked_joints=braked)
        self.simulated.model.jnt_limited[:] = False  # end stops would do the controller's work
        self._dofs = [model.dof_index(name) for name in self.simulated.joint_names]
        self._driven = ~model.locked
        self._frames = robot.frames
        self._rng = np.random.default_rng(seed)
        ends = model.lower_position_limits, model.upper_position_limits
        self._lower, self._upper = (
            np.where(np.isfinite(end), end, turn) for end, turn in zip(ends, (-np.pi, np.pi),
                                                                       strict=True))
        self._home = model.neutral()
        self._home[model.q_index] = np.clip(0.0, self._lower, self._upper)
        for name, value in robot.posture.items():
            self._home[model.q_index[model.dof_index(name)]] = value
        self.simulated.reset(
            dict(zip(model.dof_names, self._home[model.q_index], strict=True)))
        self._tasks = [PoseTask(frame, kp=KP) for frame in robot.frames]
        self.controller = OperationalSpaceController(
            model, self._tasks, PostureTask(target=self._home),
            limits=JointLimits(model) if limited else None)
        self._state = RobotState(model, self._home, np.zeros(model.nv))
        self._effort = np.zeros(model.nv)

    def set_random_goal(self):
        """Set the poses of a random posture as goals, or, for three in ten, poses beyond them."""
        q = self._home.copy()
        drawn = self._rng.uniform(self._lower, self._upper)
        q[self.model.q_index[self._driven]] = drawn[self._driven]
        poses = self.model.forward_kinematics(
            RobotState(self.model, q, np.zeros(self.model.nv)), self._frames)
        far = self._rng.random() < FAR_GOALS
        for task, pose in zip(self._tasks, poses.values(), strict=True):
            pose[:3, 3] *= 1.5 if far else 1.0
            task.set_target(pose)

    def run(self, seconds):
        """Go on for some seconds and return what was the worst, as `Worst`."""
        model, simulated, state = self.model, self.simulated, self._state
        limits = np.where(self._driven, model.effort_limits, np.inf)
        before, solutions, worst = None, 0, Worst()
        cycles = round(seconds / simulated.timestep)
        for _ in range(cycles):
            effort = self.controller.compute_torque(state, self._effort, dt=simulated.timestep)
            solutions += 1 + self.controller.limit_solutions
            parts = effort / limits
            worst.effort = max(worst.effort, abs(parts).max())
            if before is not None:
                worst.step = max(worst.step, abs(parts - before).max())
            before = parts
            simulated.set_effort(effort[self._dofs])
            simulated.step()
            q, v = state.q.copy(), state.v.copy()
            q[model.q_index[self._dofs]] = simulated.positions
            v[self._dofs] = simulated.velocities
            state.update(q, v)
            joints = q[model.q_index]
            beyond = np.maximum(model.lower_position_limits - joints,
                                joints - model.upper_position_limits)[self._driven].max()
            worst.beyond = max(worst.beyond, np.rad2deg(beyond))
            worst.velocity = max(
                worst.velocity, (abs(v) / model.velocity_limits)[self._driven].max())
        worst.solutions = solutions / cycles
        return worst


def run_goals(robot, goals=GOALS, seconds=SECONDS, **options):
    """Send a robot to random goals; return the `Worst` of all of them."""
    trial, worst = Trial(robot, **options), Worst()
    for _ in range(goals):
        trial.set_random_goal()
        worst.take(trial.run(seconds))
    return worst


def without_limits(robot, goals):
    """Return the greatest velocity without limits of motion, inf if the simulation blew up."""
    try:
        return run_goals(robot, goals, limited=False).velocity
    except SimulationError:
        return np.inf


def table(rows, goals):
    """Return a table of (Robot, Worst) in Markdown."""
    return '\n'.join([
        f'{goals} goals for each robot, {SECONDS:g} s each, seed 0:', '',
        '| Robot | beyond a position limit | velocity, of its limit | effort, of its limit '
        '| largest step of an effort | resolutions a cycle, worst goal '
        '| velocity without limits |', '|---' * 7 + '|',
        *(f'| {robot.name} | {worst.beyond:.3f}° | {100.0 * worst.velocity:.1f} % '
          f'| {100.0 * worst.effort:.1f} % | {100.0 * worst.step:.0f} % '
          f'| {worst.solutions:.1f} | {in_words(worst.unlimited)} |'
          for robot, worst in rows)])


def in_words(velocity):
    """Return a velocity, in parts of its limit, as text."""
    return f'{100.0 * velocity:.0f} %' if np.isfinite(velocity) else 'the simulation blew up'


def main():
    """Print the table, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--goals', type=int, default=GOALS)
    parser.add_argument('--write', action='store_true', help='put the table in doc/limits.md')
    arguments = parser.parse_args()
    rows = []
    for robot in ROBOTS:
        print(robot.name, file=sys.stderr, flush=True)
        worst = run_goals(robot, arguments.goals)
        worst.unlimited = without_limits(robot, min(10, arguments.goals))
        print(worst, file=sys.stderr, flush=True)
        rows.append((robot, worst))
    text = table(rows, arguments.goals)
    print(text)
    if arguments.write:
        put_into(_PAGE, 'limits', text)


if __name__ == '__main__':
    main()
