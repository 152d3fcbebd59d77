# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How robots come to rest: random goals near and beyond singularities, in lock-step with MuJoCo.

`python benchmark/at_rest.py` prints a table; `--write` puts it in doc/measurements/at_rest.md.
Every goal is sought twice: with efforts as the law has them, and held back by the rate limit.
"""

import math
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
from opspace_control.cli.robots import demo_robot
from opspace_control.ros.parameters.controller_parameters import EFFORT_RATE
from opspace_control.safety.envelope import Envelope
from opspace_control.simulation import SimulatedRobot

GOALS = 100                # for each robot
SECONDS, LAST = 10.0, 0.5  # for each goal, and what of it is looked at for rest
WAYS = 0.4, 0.8            # m, the shortest and the longest to a goal
SPEEDS = 0.3, 0.6          # m/s, of hands
TURNING = 1.5              # rad/s
REST = 0.02                # rad/s
REACHED = 1e-3             # m
LARGE_STEP = 0.1           # of an effort within a ms, in parts of its limit
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'at_rest.md'


@dataclass(frozen=True)
class Robot:
    """A robot: its file, hands, the first of which is sent, their axes, and where it starts."""

    name: str
    path: Path
    hands: tuple
    axes: str
    start: dict
    moving: tuple  # what names of joints begin with; the others are under a brake


def arm_of(name, *moving):
    """Return one of the arms of singularity.py, and what names of its free joints begin with."""
    path, hand, axes = ROBOTS[name]
    joints = RobotModel.from_urdf_file(path).dof_names
    return Robot(name, path, (hand,), axes, dict(zip(joints, BENT[name], strict=False)),
                 moving)


def _talos(words, *moving):
    robot = demo_robot('talos')
    return Robot(f'Talos, {words}', robot.path(), robot.hands, robot.axes, robot.start, moving)


def robots():
    """Return what is sent to random goals."""
    return (arm_of('planar_2r', ''), arm_of('UR5', ''), arm_of('Panda', 'panda_joint'),
            _talos('torso braked', 'arm_'), _talos('torso free', 'arm_', 'torso_'))


@dataclass(frozen=True)
class Outcome:
    """What came of one goal."""

    left: float    # m, to the goal
    moving: float  # rad/s or m/s, the fastest joint at last
    speed: float   # largest of a joint, in parts of its limit
    step: float    # largest change of an effort of the law within a ms, in parts of its limit
    cut: bool      # whether there was an effort that had to be cut to its limit


def random_goals(robot, count):
    """Return ways from where the hand is (3,), m, along its axes, and speeds, m/s."""
    rng = np.random.default_rng(0)
    axes = np.array([axis in robot.axes.split() for axis in 'xyz'])
    goals = []
    for _ in range(count):
        way = rng.normal(size=3) * axes
        goals.append((way * rng.uniform(*WAYS) / np.linalg.norm(way), rng.choice(SPEEDS)))
    return goals


def seek(robot, goal, effort_rate=math.inf):
    """Send the hand to a goal, a way and a speed, from the start; return the `Outcome`."""
    (way, speed), text = goal, robot.path.read_text()
    braked = [joint for joint in RobotModel.from_urdf(text).dof_names
              if not joint.startswith(robot.moving)]
    model = RobotModel.from_urdf(text, locked_joints=braked)
    simulated = SimulatedRobot(text, joint_friction=False, locked_joints=braked)
    simulated.reset(positions=robot.start)
    tasks = [PoseTask(hand, axes=robot.axes, max_linear_velocity=speed,
                      max_angular_velocity=TURNING) for hand in robot.hands]
    controller = OperationalSpaceController(model, tasks, limits=JointLimits(model))
    envelope = Envelope(model, controller.effort_limits)
    envelope.set_limits(effort_rate=effort_rate)
    state = RobotState(model, simulated.positions, simulated.velocities)
    target = model.forward_kinematics(state, robot.hands[:1])[robot.hands[0]].copy()
    target[:3, 3] += way
    tasks[0].set_target(target)
    efforts, velocities, cut = [], [], False
    for _ in range(round(SECONDS / simulated.timestep)):
        state.update(simulated.positions, simulated.velocities)
        efforts.append(controller.compute_torque(state))
        velocities.append(state.v.copy())
        cut = cut or controller.limited_joints > 0
        sent = efforts[-1].copy()
        envelope.clamp(sent, simulated.timestep)
        simulated.set_effort(sent)
        simulated.step()
    free = ~model.locked
    steps = abs(np.diff(efforts, axis=0))[:, free]
    speeds = abs(np.array(velocities))[:, free]
    return Outcome(
        np.linalg.norm(tasks[0].error[:3]), speeds[-round(LAST / simulated.timestep):].max(),
        (speeds / model.velocity_limits[free]).max(), (steps / model.effort_limits[free]).max(),
        cut)


def seek_twice(robot, goal):
    """Return the `Outcome` by the law alone, and that with the node's rate limit of efforts."""
    return seek(robot, goal), seek(robot, goal, EFFORT_RATE.default)


def table(rows):
    """Return a table of (Robot, Outcomes by the law, Outcomes with the rate limit) in Markdown."""
    return '\n'.join([
        f'{len(rows[0][1])} goals for each robot, {SECONDS:g} s each, seed 0:', '',
        f'| | more than {1e3 * REACHED:g} mm left | not at rest | largest speed, of its limit '
        '| efforts cut | largest step of an effort '
        f'| goals with one above {100.0 * LARGE_STEP:.0f} % '
        '| not at rest, rate limited | largest speed, rate limited |', '|---' + '|---:' * 8 + '|',
        *(f'| {robot.name} | {sum(outcome.left > REACHED for outcome in law)} '
          f'| {_restless(law)} | {_largest(law, "speed")} '
          f'| {sum(outcome.cut for outcome in law)} | {_largest(law, "step")} '
          f'| {sum(outcome.step > LARGE_STEP for outcome in law)} '
          f'| {_restless(limited)} | {_largest(limited, "speed")} |'
          for robot, law, limited in rows)])


def _restless(outcomes):
    """Return at how many goals a robot does not rest, and how fast it is at the worst."""
    moving = [outcome.moving for outcome in outcomes if outcome.moving > REST]
    return f'{len(moving)}, up to {max(moving):.2f} rad/s' if moving else '0'


def _largest(outcomes, name):
    """Return the largest of what is given in parts of a limit, as text."""
    return f'{100.0 * max(getattr(outcome, name) for outcome in outcomes):.1f} %'


def main():
    """Print the table, and write it where it belongs if asked to."""
    tabulate_goals(
        __doc__, _PAGE, 'at_rest', GOALS,
        [(robot, partial(random_goals, robot)) for robot in robots()], seek_twice, table)


if __name__ == '__main__':
    main()
