# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Robots whose links keep distances, after [K86]: hands that swap places, an arm among obstacles.

In lock-step, without ROS. Each is done twice, with distances and without; MuJoCo judges them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import opspace_control
from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.experiment import Experiment, Panel
from opspace_control.cli.showcase.record import Finding

_PERIOD = 1e-3  # s
_SHOWN = 10     # periods between two drawn rows
_MARGIN = 0.01  # m
_BEGIN = 0.2    # s, when hands get each other's place as their goal
_ROUND, _RADIUS = 8.0, 0.15  # s, m, of a goal on a circle
_AT_GOAL = 5e-3  # m
# Start of Talos, rad: its hands 0.34 m apart, before it.
_NEARER = {'arm_left_1_joint': -0.3, 'arm_left_2_joint': 0.3, 'arm_left_3_joint': -0.3,
           'arm_left_4_joint': -1.5, 'arm_right_1_joint': 0.3, 'arm_right_2_joint': -0.3,
           'arm_right_3_joint': 0.3, 'arm_right_4_joint': -1.5}


@dataclass(frozen=True)
class SceneTrial:
    """The way of a robot's hands; of what is drawn a row for each of k moments."""

    label: str
    times: np.ndarray      # (k,), s
    least: np.ndarray      # (k, g) of groups of pairs, the least distance since the last row, m
    away: np.ndarray       # (k, h) of each hand from its goal, m
    speed: np.ndarray      # (k,) of the fastest joint, rad/s
    paths: np.ndarray      # (k, h, 3) of the hands, m
    skeletons: np.ndarray  # (2, lines, 2, 3) the robot at the start and at the end, m
    plane: tuple           # axes to the right and up in the picture
    period: float          # median time of a cycle, ms
    obstacles: tuple = ()  # (radius, m, and path (k, 3), m) of each ball that moves


@dataclass(frozen=True)
class Ball:
    """An obstacle that moves to and fro."""

    name: str
    radius: float  # m
    center: tuple  # (3,) m
    swing: tuple   # (3,) from there to where it turns, m
    period: float  # s
    phase: float   # rad

    def at(self, now):
        """Return position (3,), m, and velocity (3,), m/s, at a time, s."""
        rate, swing = 2.0 * np.pi / self.period, np.array(self.swing)
        angle = rate * now + self.phase
        return self.center + np.sin(angle) * swing, rate * np.cos(angle) * swing

    def shape(self):
        """Return the Shape."""
        return opspace_control.Shape(self.name, None, 'sphere', [self.radius], self.at(0.0)[0])


@dataclass(frozen=True)
class Scene:
    """Hands of a robot that follow goals, its shapes, and what moves around it."""

    robot: object          # DemoRobot
    seconds: float
    plane: tuple           # axes to the right and up in the picture
    goal: Callable         # from a time, s, and the hands' places at the start (h, 3), m, to goals
    #                        (h, 3), m, and their velocities (h, 3), m/s
    balls: tuple = ()
    group: Callable = lambda pair: 0  # from names of two shapes to the number of their group

    def run(self, label, *, keep):
        """Return the SceneTrial with distances kept, or without."""
        from opspace_control.simulation import SimulatedRobot
        from opspace_control.simulation.distance_judge import DistanceJudge
        from opspace_control.simulation.lockstep import LockStep

        path, hands, braked = self.robot.path(), self.robot.hands, self.robot.braked()
        model = opspace_control.RobotModel.from_urdf_file(path, locked_joints=braked)
        simulated = SimulatedRobot(path.read_text(), timestep=_PERIOD, joint_friction=False,
                                   locked_joints=braked)
        simulated.reset(self.robot.start)
        collision = self.robot.collision().model(model).with_shapes(
            [ball.shape() for ball in self.balls]).without_still_pairs()
        judges = [DistanceJudge(simulated, opspace_control.CollisionModel(
            model, collision.shapes, [pair for pair in collision.pairs if self.group(pair) == g]))
            for g in sorted(set(map(self.group, collision.pairs)))]
        tasks = [opspace_control.PositionTask(hand, max_linear_velocity=0.5) for hand in hands]
        controller = opspace_control.OperationalSpaceController(
            model, tasks, limits=opspace_control.JointLimits(model),
            distances=opspace_control.DistanceLimits(collision, margin=_MARGIN) if keep else None)
        robot, lines = LockStep(simulated, controller), [simulated.skeleton()]
        controller.posture.set_target(robot.state.q)
        controller.warm_up()
        home = np.array([simulated.frame_pose(hand)[:3] for hand in hands])
        rows, least, times = [], np.full(len(judges), np.inf), []
        for cycle in range(round(self.seconds / _PERIOD)):
            now = cycle * _PERIOD
            goals, velocities = self.goal(now, home)
            for task, goal, velocity in zip(tasks, goals, velocities, strict=True):
                task.set_target(goal, velocity)
            for ball in self.balls:
                place, velocity = ball.at(now)
                for judge in judges:
                    judge.move(ball.name, place)
                if keep:
                    controller.move_shape(ball.name, place, twist=[*velocity, 0.0, 0.0, 0.0])
            least = np.array([judge.least(each) for judge, each in zip(judges, least, strict=True)])
            if cycle % _SHOWN == 0:
                places = np.array([simulated.frame_pose(hand)[:3] for hand in hands])
                rows.append((now, least, np.linalg.norm(places - goals, axis=1),
                             abs(simulated.velocities).max(),
                             places, *(ball.at(now)[0] for ball in self.balls)))
                least = np.full(len(judges), np.inf)
            robot.cycle(_PERIOD)
            times.append(robot.took)
            simulated.step()
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        return SceneTrial(label, *columns[:5], np.array([*lines, simulated.skeleton()]), self.plane,
                      1e3 * float(np.median(times)),
                      tuple((ball.radius, path) for ball, path in zip(
                          self.balls, columns[5:], strict=True)))


def _swap(now, home):
    """Return the hands' places, from 0.2 s on exchanged, and that they do not move."""
    return home[::-1] if now >= _BEGIN else home, np.zeros_like(home)


def _circle(now, home):
    """Return a point on a circle in the plane y z, and its velocity."""
    rate = 2.0 * np.pi / _ROUND
    angle = rate * now
    return (home + _RADIUS * np.array([0.0, np.sin(angle), np.cos(angle) - 1.0]),
            rate * _RADIUS * np.array([[0.0, np.cos(angle), -np.sin(angle)]]))


def _judge_swap(apart, colliding):
    return [Finding('with distances, the least of all pairs', 1e3 * apart.least.min(), 0.0, 'mm',
                    True),
            Finding('the hands end at their goals within', 1e3 * apart.away[-1].max(), 1.0, 'mm'),
            Finding('without, the least of all pairs', 1e3 * colliding.least.min(), -50.0, 'mm')]


def _judge_obstacles(apart, colliding):
    least, hit = 1e3 * apart.least.min(axis=0), 1e3 * colliding.least.min(axis=0)
    late = apart.away[apart.times > _ROUND, 0]
    return [Finding('with distances, the least of hand and obstacles', least[0], 0.0, 'mm', True),
            Finding('of other links and obstacles', least[1], 0.0, 'mm', True),
            Finding('of two links', least[2], 0.0, 'mm', True),
            Finding('the hand is at its goal, of the time', 100.0 * (late < _AT_GOAL).mean(), 50.0,
                    '%', True),
            Finding('a cycle takes, in the median', apart.period, 1e3 * _PERIOD, 'ms'),
            Finding('without, the least of hand and obstacles', hit[0], -30.0, 'mm'),
            Finding('of other links and obstacles', hit[1], -30.0, 'mm')]


def _group(pair):
    """Return 0 for the hand and a ball, 1 for another link and a ball, 2 for two links."""
    if {'low', 'high'}.isdisjoint(pair):
        return 2
    return 0 if {'link_5', 'link_6'}.intersection(pair) else 1


def _compare(scene):
    return [scene.run(label, keep=keep) for label, keep in (
        ('with distances', True), ('without', False))]


_TALOS = demo_robot('talos')
_SCENES = {
    'swap': Scene(demo_robot('dual_arm'), 6.0, (1, 0), _swap),
    'talos_swap': Scene(replace(
        _TALOS, start=_TALOS.start | _NEARER,
        driven=tuple(joint for joint in _TALOS.driven if not joint.startswith('leg_'))),
        7.0, (1, 0), _swap),
    'obstacles': Scene(
        demo_robot('puma560'), 16.0, (1, 2), _circle, (
            Ball('low', 0.07, (0.66, 0.15, 0.72), (0.0, 0.45, 0.0), 5.0, -0.5 * np.pi),
            Ball('high', 0.08, (0.42, 0.15, 1.32), (0.0, 0.0, 0.25), 6.0, 0.5 * np.pi)), _group)}


def _panels(pairs):
    """Return the panels of a picture; ``pairs`` says which are drawn how."""
    return (Panel(f'Least distance, mm, up to 50{pairs}', lambda course: 1e3 * course.least),
            Panel('Distance of each hand from its goal, mm', lambda course: 1e3 * course.away),
            Panel('Fastest joint, rad/s', lambda course: course.speed))


COLLISIONS = tuple(
    Experiment(name, summary, judge, compare=partial(_compare, _SCENES[name]),
               panels=_panels(pairs))
    for name, summary, judge, pairs in (
        ('swap', 'two hands swap places, and no link hits another one, [K86] abstract',
         _judge_swap, ''),
        ('talos_swap', 'the hands of a humanoid swap places, and no link hits another one, '
         '[K86] abstract', _judge_swap, ''),
        ('obstacles', 'a PUMA 560 follows a goal through obstacles that move, [K86] abstract',
         _judge_obstacles, ': hand and ball; dashed other links; dotted two links')))
