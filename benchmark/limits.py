# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether joints keep their limits: random goals, most of them wild, on real robots in simulation.

`python benchmark/limits.py` prints two tables, of robots with all their drives and of some without
one; `--write` puts them in doc/measurements/limits.md. The simulated robots have no end stops:
nothing but the control law keeps a joint within its limits.
"""

import argparse
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from figures import put_into
from postures import ranges

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    SimulationError,
)
from opspace_control.cli.robots import demo_robot, real_robot
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

GOALS = 200           # for each robot
DRIVELESS_GOALS = 30  # for each that lacks a drive
SECONDS = 2.0         # for each goal
FAR_GOALS = 0.3       # part of the goals: half as far again as the posture they come from
KP = 100.0            # 1/s²
TOO_FAST = 1.02       # of a limit of velocity
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'limits.md'


@dataclass(frozen=True)
class Robot:
    """A robot: its file, links to move along some axes, a posture, and what is not driven."""

    name: str
    path: Path
    frames: tuple
    posture: dict
    braked: tuple = ()       # joints under a brake
    passive: tuple = ()      # joints without a drive
    floating: bool = False   # whether its base moves freely, where nothing has a weight
    axes: str = 'x y z rx ry rz'
    speed: float = np.inf    # m/s, V_max of the tasks

    @property
    def undriven(self):
        """All that has no drive, a floating base included, tuple of str."""
        return (*self.passive, *(['base'] if self.floating else []))


@dataclass
class Worst:
    """The worst of some goals."""

    beyond: float = 0.0    # a limit of position, degrees or m
    velocity: float = 0.0  # in parts of the limit
    effort: float = 0.0    # likewise
    step: float = 0.0      # of an effort between two cycles, in parts of its limit
    solutions: float = 0.0  # of the stack in a cycle, on average over the worst goal
    flung: float = 0.0     # the fastest joint without a drive, rad/s or m/s

    @classmethod
    def of(cls, goals):
        """Return the worst of each, of what was the worst at several goals."""
        return cls(*(max(getattr(goal, field.name) for goal in goals) for field in fields(cls)))


_TIAGO_HEAD = ('head_1_joint', 'head_2_joint', 'wheel_right_joint', 'wheel_left_joint',
               'gripper_left_finger_joint', 'gripper_right_finger_joint')
_LEGS = tuple(f'{side}_{joint}_joint' for side in ('left', 'right') for joint in (
    'hip_pitch', 'hip_roll', 'hip_yaw', 'knee', 'ankle_pitch', 'ankle_roll'))
ROBOTS = (
    Robot('Franka Panda', real_robot('panda_description/urdf/panda.urdf'), ('panda_link8',),
          {'panda_joint2': -0.4, 'panda_joint4': -2.0, 'panda_joint6': 1.8},
          ('panda_finger_joint1',)),
    Robot('UR5', real_robot('ur_description/urdf/ur5_robot.urdf'), ('tool0',),
          {'shoulder_lift_joint': -1.2, 'elbow_joint': 1.5, 'wrist_1_joint': -1.0,
           'wrist_2_joint': -1.0}),
    Robot('UR10', real_robot('ur_description/urdf/ur10_robot.urdf'), ('tool0',),
          {'shoulder_lift_joint': -1.2, 'elbow_joint': 1.5, 'wrist_1_joint': -1.0,
           'wrist_2_joint': -1.0}),
    Robot('xArm7', real_robot('xarm_description/urdf/xarm7.urdf'), ('link7',),
          {'joint4': 1.0, 'joint6': 0.8}),
    Robot('Unitree Z1', real_robot('z1_description/urdf/z1.urdf'), ('link06',),
          {'joint2': 1.2, 'joint3': -1.2}),
    Robot('TIAGo', real_robot('tiago_description/robots/tiago_no_hand.urdf'), ('arm_tool_link',),
          {'torso_lift_joint': 0.15, 'arm_2_joint': -0.5, 'arm_3_joint': -1.3,
           'arm_4_joint': 1.5}, _TIAGO_HEAD),
    Robot('Unitree G1, both arms', real_robot('g1_description/urdf/g1_29dof_rev_1_0.urdf'),
          ('left_wrist_yaw_link', 'right_wrist_yaw_link'),
          {'left_elbow_joint': 0.8, 'right_elbow_joint': 0.8},
          (*_LEGS, 'waist_roll_joint', 'waist_pitch_joint')),
)
_URDF, _TALOS = share_directory() / 'urdf', demo_robot('talos')
_PLANAR = Robot('planar_3r', _URDF / 'planar_3r.urdf', ('hand',),
                {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}, axes='x z')
_FLOATING = Robot('Talos in space', _TALOS.path(), _TALOS.hands[:1], _TALOS.start,
                  ('gripper_left_joint', 'gripper_right_joint'), floating=True, axes='x y z')
DRIVELESS = (
    replace(_PLANAR, passive=('wrist',)),
    replace(_PLANAR, passive=('elbow',)),
    Robot('planar_4r', _URDF / 'planar_4r.urdf', ('hand',),
          {'shoulder': -0.5, 'hinge': 0.5, 'elbow': 1.0, 'wrist': -1.5}, passive=('hinge',),
          axes='x y'),
    replace(ROBOTS[0], passive=('panda_joint7',)),
    replace(ROBOTS[0], passive=('panda_joint3',), axes='x y z'),
    replace(ROBOTS[0], passive=('panda_joint5',), axes='x y z'),
    _FLOATING,
    replace(_FLOATING, name='Talos in space, at 0.5 m/s', speed=0.5),
)


class Trial:
    """
    A robot under control, to be sent to random goals one after the other.

    Parameters
    ----------
    robot : Robot
    limited : bool
        Whether the controller keeps the limits of motion.
    effort_limits : float, optional
        That the controller knows of; with inf no effort holds a joint, the drives cut it.
    seed : int
        Of the goals.

    """

    def __init__(self, robot, *, limited=True, effort_limits=None, seed=0):
        text = robot.path.read_text()
        braked = [joint for joint in robot.braked if f'"{joint}"' in text]
        self.model = model = RobotModel.from_urdf(
            text, locked_joints=braked, floating_base=robot.floating,
            passive_joints=robot.undriven)
        self.simulated = SimulatedRobot(
            text, joint_friction=False, locked_joints=braked, floating_base=robot.floating,
            gravity=(0.0, 0.0, 0.0 if robot.floating else -9.81))
        self.simulated.model.jnt_limited[:] = False  # end stops would do the controller's work
        self._dofs = [model.dof_index(name) for name in self.simulated.joint_names]
        self._drawn = [k for k in self._dofs if not model.locked[k]]
        self._frames = robot.frames
        self._rng = np.random.default_rng(seed)
        self._lower, self._upper = ranges(model)
        self._home = model.neutral()
        self._home[model.q_index[self._dofs]] = np.clip(0.0, self._lower, self._upper)[self._dofs]
        for name, value in robot.posture.items():
            self._home[model.q_index[model.dof_index(name)]] = value
        self.simulated.reset(self._home[model.q_index[self._dofs]])
        self.simulated.set_status(passive=robot.passive)
        self._tasks = [PoseTask(frame, kp=KP, axes=robot.axes, max_linear_velocity=robot.speed)
                       for frame in robot.frames]
        limits = JointLimits(model, effort_limits=model.effort_limits) if limited else None
        self.controller = OperationalSpaceController(
            model, self._tasks, PostureTask(target=self._home), effort_limits=effort_limits,
            limits=limits, gravity_compensation=not robot.floating)
        self._state = RobotState(model, self._home, np.zeros(model.nv))
        self._effort = np.zeros(model.nv)

    def set_random_goal(self):
        """Set the poses of a random posture as goals, or, for three in ten, poses beyond them."""
        q = self._home.copy()
        drawn = self._rng.uniform(self._lower, self._upper)
        q[self.model.q_index[self._drawn]] = drawn[self._drawn]
        poses = self.model.forward_kinematics(
            RobotState(self.model, q, np.zeros(self.model.nv)), self._frames)
        far = self._rng.random() < FAR_GOALS
        for task, pose in zip(self._tasks, poses.values(), strict=True):
            pose[:3, 3] *= 1.5 if far else 1.0
            task.set_target(pose)

    def run(self, seconds):
        """Go on for some seconds and return what was the worst, as `Worst`."""
        model, simulated, state = self.model, self.simulated, self._state
        limits = np.where(model.active, model.effort_limits, np.inf)
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
            if simulated.floating_base:
                q[:7], v[:6] = simulated.base_pose, simulated.base_twist
            q[model.q_index[self._dofs]] = simulated.positions
            v[self._dofs] = simulated.velocities
            state.update(q, v)
            joints = q[model.q_index]
            beyond = np.maximum(model.lower_position_limits - joints,
                                joints - model.upper_position_limits)[model.active].max()
            worst.beyond = max(worst.beyond, np.rad2deg(beyond))
            worst.velocity = max(
                worst.velocity, (abs(v) / model.velocity_limits)[model.active].max())
            worst.flung = max(worst.flung, abs(v[model.passive]).max(initial=0.0))
        worst.solutions = solutions / cycles
        return worst


def run_goals(robot, goals=GOALS, seconds=SECONDS, **options):
    """Send a robot to random goals; return the `Worst` of each."""
    trial, worst = Trial(robot, **options), []
    for _ in range(goals):
        trial.set_random_goal()
        worst.append(trial.run(seconds))
    return worst


def without_limits(robot, goals):
    """Return the greatest velocity without limits of motion, inf if the simulation blew up."""
    try:
        return Worst.of(run_goals(robot, goals, limited=False)).velocity
    except SimulationError:
        return np.inf


def table(rows, goals):
    """Return a table of (Robot, Worst of each goal, velocity without limits) in Markdown."""
    return '\n'.join([
        f'{goals} goals for each robot, {SECONDS:g} s each, seed 0:', '',
        '| Robot | beyond a position limit | velocity, of its limit | effort, of its limit '
        '| largest step of an effort | that of a goal, on average | problems a cycle, worst goal '
        '| velocity without limits |', '|---' * 8 + '|',
        *(_row(robot, Worst.of(each), np.mean([goal.step for goal in each]), unlimited)
          for robot, each, unlimited in rows)])


def _row(robot, worst, step, unlimited):
    return (f'| {robot.name} | {worst.beyond:.3f}° | {100.0 * worst.velocity:.1f} % '
            f'| {100.0 * worst.effort:.1f} % | {100.0 * worst.step:.0f} % | {100.0 * step:.1f} % '
            f'| {worst.solutions:.1f} | {in_words(unlimited)} |')


def driveless_table(rows):
    """Return a table of (Robot, Worst of each goal, the same with efforts cut) in Markdown."""
    return '\n'.join([
        f'{len(rows[0][1])} goals for each robot, {SECONDS:g} s each, seed 1:', '',
        '| Robot | axes | without a drive | velocity, of its limit | beyond a position limit '
        f'| goals with more than {100.0 * TOO_FAST:.0f} % | fastest without a drive '
        '| velocity, efforts cut | goals, efforts cut |', '|---' * 9 + '|',
        *(_driveless_row(robot, Worst.of(held), _too_fast(held), Worst.of(cut), _too_fast(cut))
          for robot, held, cut in rows)])


def _driveless_row(robot, held, held_goals, cut, cut_goals):
    return (f'| {robot.name} | {robot.axes} | {", ".join(robot.undriven)} '
            f'| {100.0 * held.velocity:.1f} % | {held.beyond:.1f}° | {held_goals} '
            f'| {held.flung:.1f} rad/s | {100.0 * cut.velocity:.1f} % | {cut_goals} |')


def _too_fast(goals):
    """Return at how many goals a joint was too fast."""
    return sum(goal.velocity > TOO_FAST for goal in goals)


def in_words(velocity):
    """Return a velocity, in parts of its limit, as text."""
    return f'{100.0 * velocity:.0f} %' if np.isfinite(velocity) else 'the simulation blew up'


def measure(goals):
    """Return the table of `ROBOTS`."""
    rows = []
    for robot in ROBOTS:
        print(robot.name, file=sys.stderr, flush=True)
        each = run_goals(robot, goals)
        print(Worst.of(each), file=sys.stderr, flush=True)
        rows.append((robot, each, without_limits(robot, min(10, goals))))
    return table(rows, goals)


def measure_driveless(goals):
    """Return the table of `DRIVELESS`."""
    rows = []
    for robot in DRIVELESS:
        print(robot.name, *robot.undriven, file=sys.stderr, flush=True)
        rows.append((robot, run_goals(robot, goals, seed=1),
                     run_goals(robot, goals, seed=1, effort_limits=np.inf)))
    return driveless_table(rows)


def main():
    """Print the tables, and write them where they belong if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--goals', type=int, default=GOALS)
    parser.add_argument('--write', action='store_true', help=f'put the tables in {_PAGE}')
    arguments = parser.parse_args()
    for name, text in (
            ('limits', measure(arguments.goals)),
            ('driveless', measure_driveless(min(DRIVELESS_GOALS, arguments.goals)))):
        print(text)
        if arguments.write:
            put_into(_PAGE, name, text)


if __name__ == '__main__':
    main()
