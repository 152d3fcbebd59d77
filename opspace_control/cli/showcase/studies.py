# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Experiments of the papers that compare two controllers on one robot, in lock-step, without ROS.

Each is done twice, once as the paper says it and once without what the paper is about.
"""

from dataclasses import dataclass

import numpy as np

import opspace_control
from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.experiment import Experiment, Panel
from opspace_control.cli.showcase.record import Finding
from opspace_control.cli.showcase.schedule import Reach

_SHOWN = 0.01  # s, between two rows of a case
_SETTLED = 1.0  # s
_STRAIGHT = 3.0  # s, when the arm of Fig. 5 is called back


@dataclass(frozen=True)
class Case:
    """One of the two runs of a comparison, in k rows."""

    label: str
    times: np.ndarray       # (k,), s
    positions: np.ndarray   # (k, n), rad
    velocities: np.ndarray  # (k, n), rad/s
    paths: np.ndarray       # (k, 3) of the task's frame, m
    errors: np.ndarray      # (k,) distance from the goal in the controlled plane, mm
    skeletons: np.ndarray   # (2, lines, 2, 3) the robot at the start and at the end, m


def _arm(start, velocities=None, *, name='planar_3r', passive=(), model_passive=()):
    """Return model and simulation of a planar arm; ``model_passive`` are passive in the model."""
    from opspace_control.simulation import SimulatedRobot

    path = demo_robot(name).path()
    robot = SimulatedRobot(path.read_text())
    robot.reset(positions=start, velocities=velocities)
    robot.set_status(passive=passive)
    return opspace_control.RobotModel.from_urdf_file(path, passive_joints=model_passive), robot


def _follow(label, arm, task, posture, *, shift=(0.0, 0.0, 0.0), seconds, keep_limits=False,
            turn=None):
    """
    Return the Case of an arm (model, simulation) whose hand gets a goal at ``shift``, m.

    ``turn`` is a second goal: its time, s, its displacement from the pose then, m, and a posture.
    """
    from opspace_control.simulation.lockstep import LockStep

    model, robot = arm
    controller = opspace_control.OperationalSpaceController(
        model, task, posture, limits=opspace_control.JointLimits(model) if keep_limits else None)
    controlled = LockStep(robot, controller)
    controlled.cycle()
    shifts = {0: shift}
    if turn is not None:
        shifts[round(turn[0] / robot.timestep)] = turn[1]
    rows = []
    every = round(_SHOWN / robot.timestep)
    for step in range(round(seconds / robot.timestep) + 1):
        if step in shifts:
            goal = task.pose
            goal[:3] += shifts[step]
            task.set_target(goal)
            if step:
                posture.set_target(turn[2])
        controlled.cycle()
        if step % every == 0:
            rows.append((robot.time, *controlled.observed(), task.pose[:3],
                         1e3 * np.linalg.norm(task.error[[0, 2]])))
        robot.step()
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    reach = Reach(robot, (task.frame,), 'x z')
    return Case(label, *columns, np.array([reach.skeleton(columns[1][row]) for row in (0, -1)]))


def _damping():
    start = {'shoulder': 0.3, 'elbow': 1.0, 'wrist': 0.9}
    return [_follow(label, _arm(start, dict.fromkeys(start, 0.5)),
                    opspace_control.PoseTask('hand', axes='x z', kp=400.0),
                    opspace_control.PostureTask(kp=0.0, kd=kd), seconds=8.0)
            for label, kd in (('with damping in the null space', 3.0), ('without', 0.0))]


def _judge_damping(damped, free):
    late, settled = damped.times > 4.0, damped.times > _SETTLED
    return [
        Finding('with damping, joints at rest after 4 s', abs(damped.velocities[late]).max(), 1e-3,
                'rad/s'),
        Finding('without, they still move', abs(free.velocities[late]).max(), 0.3, 'rad/s', True),
        Finding('the hand is away from its goal', max(
            damped.errors[settled].max(), free.errors[settled].max()), 0.1, 'mm')]


def _passive():
    start = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
    return [_follow(label, _arm(start, passive=('wrist',), model_passive=known),
                    opspace_control.PoseTask('palm', axes='x z', max_linear_velocity=0.3), None,
                    shift=(0.1, 0.0, 0.1), seconds=5.0)
            for label, known in (('by the generalized Jacobian', ('wrist',)),
                                 ('as if the wrist had a drive', ()))]


def _judge_passive(passive, driven):
    late = passive.times > 2.0
    return [
        Finding('the palm is away from its goal', passive.errors[late].max(), 1.0, 'mm'),
        Finding('if the model has a drive at the wrist', driven.errors[late].max(), 10.0, 'mm',
                True)]


def _singular():
    start = {'shoulder': 0.9, 'elbow': -1.2}
    return [_follow(label, _arm(start, name='planar_2r'),
                    opspace_control.PoseTask('hand', axes='x z', max_linear_velocity=0.5),
                    opspace_control.PostureTask(), shift=(1.0, 0.0, 0.0), seconds=6.0,
                    keep_limits=True, turn=(_STRAIGHT, (-0.4, 0.0, 0.0), {'elbow': elbow}))
            for label, elbow in (('out with the elbow as before', -1.0),
                                 ('out with the elbow on the other side', 1.0))]


def _judge_singular(same, other):
    there = np.searchsorted(same.times, _STRAIGHT) - 1

    def largest(look):
        return max(abs(look(case)).max() for case in (same, other))
    return [
        Finding('the arm is straight, but for', largest(lambda case: case.positions[there, 1]),
                0.01, 'rad'),
        Finding('and at rest', largest(lambda case: case.velocities[there]), 0.01, 'rad/s'),
        Finding('with the elbow above it folds by', -same.positions[-1, 1], 1.0, 'rad', True),
        Finding('with the elbow below by', other.positions[-1, 1], 1.0, 'rad', True),
        Finding('the hand is away from its goal', largest(lambda case: case.errors[-1]), 0.1,
                'mm'),
        Finding('no joint was faster than', largest(lambda case: case.velocities), 5.0, 'rad/s')]


_PANELS = (
    Panel('Joints, rad: the first solid, the second dashed, the third dotted',
          lambda case: case.positions),
    Panel('Joints, rad/s', lambda case: case.velocities),
    Panel("Distance of the task's frame from its goal, mm", lambda case: case.errors,
          logarithmic=True))

STUDIES = tuple(
    Experiment(name, summary, judge, compare=compare, panels=_PANELS)
    for name, summary, compare, judge in (
        ('fold', 'an arm goes into its singularity and out in either posture, [K87] Fig. 5',
         _singular, _judge_singular),
        ('damping', 'a redundant arm comes to rest by damping in the null space, [K87] Fig. 4',
         _damping, _judge_damping),
        ('passive', 'the palm of an arm whose wrist has no drive goes to its goal, [JR94] Fig. 8',
         _passive, _judge_passive)))
