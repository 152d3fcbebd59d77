# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Experiments of the papers that compare two controllers on one robot, in lock-step, without ROS.

Each is done twice, once as the paper says it and once without what the paper is about.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.experiment import Finding

_SHOWN = 0.01  # s, between two rows of a case
_SETTLED = 1.0  # s
_STRAIGHT = 3.0  # s, when the arm of Fig. 5 is called back


@dataclass(frozen=True)
class Case:
    """
    One of the two runs of a study, in rows.

    Attributes
    ----------
    label : str
    times : (k,) array
        s
    positions, velocities : (k, n) array
        Of the joints, rad and rad/s.
    paths : (k, 3) array
        Of the task's frame, m.
    errors : (k,) array
        Distance from the goal along the axes that are controlled, mm.
    skeletons : (2, lines, 2, 3) array
        The robot at the start and at the end, m.

    """

    label: str
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    paths: np.ndarray
    errors: np.ndarray
    skeletons: np.ndarray


@dataclass(frozen=True)
class Panel:
    """
    A part of the picture of a study.

    Attributes
    ----------
    title : str
    look : callable
        Takes a case; returns the (k,) or (k, n) that is drawn.
    wanted : callable, optional
        Takes a case; returns the commanded (k,), a dotted line.
    logarithmic : bool

    """

    title: str
    look: Callable
    wanted: Callable = None
    logarithmic: bool = False


@dataclass(frozen=True)
class Study:
    """
    An experiment that needs no ROS.

    Attributes
    ----------
    name, summary, title, figure : str
        As of an `Experiment`.
    perform : callable
        Returns both cases.
    judge : callable
        Takes them, and returns Findings.
    panels : tuple of Panel
        What is drawn of both, over time.

    """

    name: str
    summary: str
    title: str
    figure: str
    perform: Callable
    judge: Callable
    panels: tuple

    def run(self, output):
        """Do it, print what was found, and draw it; return whether every bound was met."""
        from opspace_control.cli.showcase.study_picture import draw

        cases = self.perform()
        findings = self.judge(*cases)
        draw(self, cases, output)
        print(self.summary, *findings, sep='\n  ')
        print(f'\nPicture: {output}')
        return all(finding.met for finding in findings)


def _arm(start, velocities=None, *, name='planar_3r', passive=(), model_passive=()):
    """Return model and simulation of a planar arm; ``model_passive`` are passive in the model."""
    from opspace_control import RobotModel
    from opspace_control.simulation import SimulatedRobot

    path = demo_robot(name).path()
    robot = SimulatedRobot(path.read_text())
    robot.reset(positions=start, velocities=velocities)
    robot.set_status(passive=passive)
    return RobotModel.from_urdf_file(path, passive_joints=model_passive), robot


def _follow(label, arm, task, posture, *, shift=(0.0, 0.0, 0.0), seconds, keep_limits=False,
            turn=None):
    """
    Return the Case of an arm (model, simulation) whose hand gets a goal at ``shift``, m.

    ``turn`` is a second goal: its time, s, its displacement from the pose then, m, and a posture.
    """
    from opspace_control import JointLimits, OperationalSpaceController, RobotState
    from opspace_control.cli.showcase.kinematics import Reach

    model, robot = arm
    controller = OperationalSpaceController(
        model, task, posture, limits=JointLimits(model) if keep_limits else None)
    state = RobotState(model, robot.positions, robot.velocities)
    controller.compute_torque(state)
    goal = task.pose
    goal[:3] += shift
    task.set_target(goal)
    rows = []
    every = round(_SHOWN / robot.timestep)
    for step in range(round(seconds / robot.timestep) + 1):
        if turn is not None and step == round(turn[0] / robot.timestep):
            goal = task.pose
            goal[:3] += turn[1]
            task.set_target(goal)
            posture.set_target(turn[2])
        state.update(robot.positions, robot.velocities)
        robot.set_effort(controller.compute_torque(state))
        if step % every == 0:
            rows.append((robot.time, state.q.copy(), state.v.copy(), task.pose[:3],
                         1e3 * np.linalg.norm(task.error[[0, 2]])))
        robot.step()
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    reach = Reach(robot, (task.frame,), 'x z')
    return Case(label, *columns, np.array([reach.skeleton(columns[1][row]) for row in (0, -1)]))


def _damping():
    from opspace_control import PoseTask, PostureTask

    start = {'shoulder': 0.3, 'elbow': 1.0, 'wrist': 0.9}
    return [_follow(label, _arm(start, dict.fromkeys(start, 0.5)),
                    PoseTask('hand', axes='x z', kp=400.0), PostureTask(kp=0.0, kd=kd), seconds=8.0)
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
    from opspace_control import PoseTask

    start = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
    return [_follow(label, _arm(start, passive=('wrist',), model_passive=known),
                    PoseTask('palm', axes='x z', max_linear_velocity=0.3), None,
                    shift=(0.1, 0.0, 0.1), seconds=5.0)
            for label, known in (('by the generalized Jacobian', ('wrist',)),
                                 ('as if the wrist had a drive', ()))]


def _judge_passive(knowing, believing):
    late = knowing.times > 2.0
    return [
        Finding('the palm is away from its goal', knowing.errors[late].max(), 1.0, 'mm'),
        Finding('where the wrist is believed to be driven', believing.errors[late].max(), 10.0,
                'mm', True)]


def _singular():
    from opspace_control import PoseTask, PostureTask

    start = {'shoulder': 0.9, 'elbow': -1.2}
    return [_follow(label, _arm(start, name='planar_2r'),
                    PoseTask('hand', axes='x z', max_linear_velocity=0.5), PostureTask(),
                    shift=(1.0, 0.0, 0.0), seconds=6.0, keep_limits=True,
                    turn=(_STRAIGHT, (-0.4, 0.0, 0.0), {'elbow': elbow}))
            for label, elbow in (('out with the elbow as before', -1.0),
                                 ('out with the elbow on the other side', 1.0))]


def _judge_singular(same, other):
    there = np.searchsorted(same.times, _STRAIGHT) - 1
    return [
        Finding('the arm is straight, but for', max(
            abs(case.positions[there, 1]) for case in (same, other)), 0.01, 'rad'),
        Finding('and at rest', max(
            abs(case.velocities[there]).max() for case in (same, other)), 0.01, 'rad/s'),
        Finding('with the elbow above it folds by', -same.positions[-1, 1], 1.0, 'rad', True),
        Finding('with the elbow below by', other.positions[-1, 1], 1.0, 'rad', True),
        Finding('the hand is away from its goal', max(
            same.errors[-1], other.errors[-1]), 0.1, 'mm'),
        Finding('no joint was faster than', max(
            abs(case.velocities).max() for case in (same, other)), 5.0, 'rad/s')]


_PANELS = (
    Panel('Joints, rad: the first solid, the second dashed, the third dotted',
          lambda case: case.positions),
    Panel('Joints, rad/s', lambda case: case.velocities),
    Panel("Distance of the task's frame from its goal, mm", lambda case: case.errors,
          logarithmic=True))

STUDIES = (
    Study('fold', 'an arm goes into its singularity and out in either posture, [K87] Fig. 5',
          'Into the singularity, and out in two postures',
          '[K87] Fig. 5 shows an arm of two joints that is controlled to move into the singular '
          'configuration, stretched out, and out of it, displaying two different postures, and the '
          'motion in the singular direction x(t). Here the goal is 0.8 m beyond reach at first; '
          'the arm stretches out within 0.01 rad and rests. Then the hand is drawn back by 0.4 m '
          'and the posture task says on which side the elbow is to be: it arrives within 0.1 mm '
          'with the elbow above and with the elbow below. No joint is faster than its limit.',
          _singular, _judge_singular, _PANELS),
    Study('damping', 'a redundant arm comes to rest by damping in the null space, [K87] Fig. 4',
          'A redundant arm that comes to rest',
          '[K87] Fig. 4 shows an arm of three joints in the plane whose effector is at its goal '
          'while its joints are set moving: dissipation in operational space alone leaves the '
          'joints moving about the goal for ever, further dissipation in the null space (7.6) '
          'stops them. Here the joints start at 0.5 rad/s; with damping they are at rest after 4 '
          's, without it they go on at more than 0.3 rad/s, and the hand is within 0.1 mm of its '
          'goal in both cases.', _damping, _judge_damping, _PANELS),
    Study('passive', 'the palm of an arm whose wrist has no drive goes to its goal, [JR94] Fig. 8',
          'A joint without a drive',
          '[JR94] Fig. 8a is a block diagram, not a course: how the generalized Jacobian, which '
          'counts in what the passive joints are induced to do, takes a frame of an under-actuated '
          'arm along. Here the wrist of the planar arm hangs freely, and the palm at its axis is '
          'sent 0.14 m away. It arrives within 1 mm and stays there while the hand swings; a '
          'controller that believes in a drive at the wrist misses by more than 10 mm.', _passive,
          _judge_passive, _PANELS),
)
