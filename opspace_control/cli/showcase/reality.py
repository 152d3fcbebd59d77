# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Robots that are not their models reach goals, with and without what helps.

In lock-step, without ROS. Their masses are wrong, their drives have friction, their measurements
noise and delay.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import opspace_control
from opspace_control.cli.robots import DemoRobot, demo_robot
from opspace_control.cli.showcase.experiment import Experiment, Panel
from opspace_control.cli.showcase.record import Finding
from opspace_control.spatial.rotations import matrix_from_vector, quaternion_from_matrix

PERIOD, SECONDS = 1e-3, 5.0  # s
ARRIVED = 1e-3, np.radians(0.1)  # m, rad
_START = {f'panda_joint{number}': position
          for number, position in enumerate((0.0, -0.3, 0.0, -2.0, 0.0, 1.7, 0.78), 1)}
_DISTANCES, _TURNS, _SPEEDS = (0.1, 0.3), (0.1, 0.6), (0.4, 1.5)  # m, rad, m/s and rad/s
_SHOWN = 10  # periods between two drawn rows
_LAST = 0.1  # s, over which what is left is averaged

# Coulomb friction and masses, deviations of measured velocities, rad/s, and a delay, s.
FRICTION = 0.03
REALITY = {'coulomb_ratio': FRICTION, 'mass_deviation': 0.1, 'velocity_noise': 0.01,
           'state_delay': 2e-3}
OBSERVER = {'rate': 20.0, 'max_force': 60.0, 'max_moment': 20.0}  # 1/s, N, N·m
GOALS, _ROBOTS = 6, 12  # each goal is that of several robots


_PANDA = DemoRobot('panda', 'Franka Emika Panda, 7 joints', 'panda_description/urdf/panda.urdf',
                   ('panda_link8',), _START, tuple(_START))


def arms(name=_PANDA.name):
    """Return the robot on a fixed base of this name: a Panda, or one of the demo."""
    return _PANDA if name == _PANDA.name else demo_robot(name)


@dataclass(frozen=True)
class ArmTrial:
    """The way of the hand farthest from its goal, a row for each of k periods."""

    away: np.ndarray     # (k,), m
    turned: np.ndarray   # (k,), rad
    efforts: np.ndarray  # (k, n) of the drives, in parts of their limits
    limits: np.ndarray   # (k, 2) of `limits_used`

    @property
    def left(self):
        """Mean distance and angle to the goal at the end, m and rad."""
        last = round(_LAST / PERIOD)
        return self.away[-last:].mean(), self.turned[-last:].mean()

    @property
    def arrival(self):
        """From when on both stay within ARRIVED, s; inf for never."""
        outside = np.flatnonzero((self.away > ARRIVED[0]) | (self.turned > ARRIVED[1]))
        periods = outside[-1] + 1 if outside.size else 0
        return PERIOD * periods if periods < len(self.away) else np.inf

    @property
    def step(self):
        """Greatest change of an effort in a period of the last second, in parts of its limit."""
        return abs(np.diff(self.efforts[-round(1.0 / PERIOD):], axis=0)).max()


def limits_used(model, dofs, robot):
    """
    Return the greatest velocity, in parts of its limit, and a position beyond its limit, rad or m.

    Of the joints of a SimulatedRobot, whose ``dofs`` are those of the model.
    """
    q = robot.positions
    beyond = np.maximum(model.lower_position_limits[dofs] - q,
                        q - model.upper_position_limits[dofs])
    return (abs(robot.velocities) / model.velocity_limits[dofs]).max(), beyond.max()


def random_goals(count):
    """Return translations (3,), m, and rotation vectors (3,), rad, from where the hand is."""
    rng = np.random.default_rng(0)
    return [[length * x / np.linalg.norm(x) for x, length in (
        (rng.normal(size=3), rng.uniform(*_DISTANCES)), (rng.normal(size=3), rng.uniform(*_TURNS)))]
        for _ in range(count)]


def simulated(arms, model, reality):
    """Return the SimulatedRobot of a `Reality` at its start, friction only where no brake is on."""
    from opspace_control.simulation import SimulatedRobot

    friction = reality.coulomb_ratio * np.where(model.locked, 0.0, model.effort_limits)
    robot = SimulatedRobot(
        arms.path().read_text(), timestep=PERIOD, locked_joints=arms.braked(), joint_friction=False,
        reality=replace(reality, coulomb_ratio=0.0, coulomb=dict(
            zip(model.dof_names, friction.tolist(), strict=True))))
    robot.reset(arms.start)
    return robot


def seek(arms, reality, goals, prepare=lambda controller: None):
    """Send the hands of a robot of a `Reality` to some of `random_goals`; return the `ArmTrial`."""
    from opspace_control.simulation.lockstep import LockStep

    model = opspace_control.RobotModel.from_urdf_file(arms.path(), locked_joints=arms.braked())
    robot = simulated(arms, model, reality)
    tasks = [opspace_control.PoseTask(
        hand, max_linear_velocity=_SPEEDS[0], max_angular_velocity=_SPEEDS[1])
        for hand in arms.hands]
    controller = opspace_control.OperationalSpaceController(
        model, tasks, limits=opspace_control.JointLimits(model))
    prepare(controller)
    controlled = LockStep(robot, controller)
    targets = model.forward_kinematics(
        opspace_control.RobotState(model, robot.positions, robot.velocities), arms.hands)
    for task, goal in zip(tasks, goals, strict=True):
        target = targets[task.frame]
        target[:3, 3] += goal[0]
        target[:3, :3] = matrix_from_vector(goal[1]) @ target[:3, :3]
        task.set_target(target)
    poses, efforts, limits, free = [], [], [], np.flatnonzero(~model.locked)
    dofs = [model.dof_index(name) for name in robot.joint_names]
    for _ in range(round(SECONDS / PERIOD)):
        efforts.append(controlled.cycle(PERIOD)[free])
        robot.step()
        poses.append([robot.frame_pose(hand) for hand in arms.hands])
        limits.append(limits_used(model, dofs, robot))
    away, turned = np.max([_distances(targets[hand], seen) for hand, seen in zip(
        arms.hands, np.array(poses).swapaxes(0, 1), strict=True)], axis=0)
    return ArmTrial(away, turned, np.array(efforts) / model.effort_limits[free], np.array(limits))


def _distances(target, poses):
    """Return the distances, m, and angles, rad, of poses (k, 7) to a target (4, 4), (2, k)."""
    x, y, z, w = quaternion_from_matrix(target[:3, :3])
    # The conjugate of the target times each quaternion: sines of half the angles, and cosines.
    turn = poses[:, 3:] @ np.array([
        [w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])
    return np.array([np.linalg.norm(poses[:, :3] - target[:3, 3], axis=1), 2.0 * np.arctan2(
        np.linalg.norm(turn[:, :3], axis=1), abs(turn[:, 3]))])


def remedy(controller, *, observer=None, friction=0.0, **numbers):
    """
    Let a controller compensate unknown forces and overcome friction.

    ``observer`` are arguments of a `DisturbanceObserver`, ``friction`` is Coulomb's of each drive
    in parts of its effort limit, ``numbers`` are other arguments of `DriveFriction`.
    """
    model = controller.model
    if observer:
        controller.disturbance = opspace_control.DisturbanceObserver(**observer)
    if friction:
        controller.drive_friction = opspace_control.DriveFriction(
            model, coulomb=friction * np.where(
                model.locked | model.passive, 0.0, model.effort_limits), **numbers)


@dataclass(frozen=True)
class Attempts:
    """The courses of several robots; of what is drawn k rows."""

    label: str
    courses: list

    @property
    def times(self):
        """(k,), s."""
        return PERIOD * np.arange(len(self.courses[0].away))[::_SHOWN]

    def extremes(self, quantity, scale):
        """Return the greatest and the least of a quantity over the robots, (k, 2)."""
        rows = scale * np.array([getattr(course, quantity)[::_SHOWN] for course in self.courses])
        return np.column_stack([rows.max(axis=0), rows.min(axis=0)])

    def left(self, choose=max):
        """Return the greatest, or chosen, distance, mm, and angle, degrees, at the end."""
        away, turned = (choose(each) for each in zip(*(course.left for course in self.courses),
                                                     strict=True))
        return 1e3 * away, np.degrees(turned)


def _compare():
    from opspace_control.simulation import Reality

    goals, panda = random_goals(GOALS), arms()
    return [Attempts(label, [
        seek(panda, Reality(**differences, seed=seed), [goals[seed % GOALS]],
             partial(remedy, **helps))
        for seed in range(_ROBOTS)]) for label, differences, helps in (
            ('as its model', {}, {}),
            ('not as its model', REALITY, {}),
            ('the same with a disturbance observer', REALITY, {'observer': OBSERVER}),
            ('the same with drive friction as well', REALITY,
             {'observer': OBSERVER, 'friction': FRICTION}))]


def _judge(model, bare, observed, both):
    late = [helped.arrival - nominal.arrival
            for helped, nominal in zip(both.courses, model.courses, strict=True)]
    step = max(course.step for course in both.courses)
    return [Finding('as its model, a robot is away from its goal by', model.left()[0], 0.1, 'mm'),
            Finding('not as its model, each by', bare.left(min)[0], 5.0, 'mm', True),
            Finding('with an observer, the farthest by', observed.left()[0], 1.5, 'mm'),
            Finding('and', observed.left()[1], 1.5, 'deg'),
            Finding('with drive friction as well, by', both.left()[0], 0.5, 'mm'),
            Finding('and', both.left()[1], 0.1, 'deg'),
            Finding('the last is later than as its model by', max(late), 2.0, 's'),
            Finding('noise changes an effort, in 1 ms, by', 100.0 * step, 25.0, '%')]


REALITIES = (Experiment(
    'reality', 'an arm with friction, wrong masses, noise and delay reaches its goals, [DM03] (11)',
    _judge, compare=_compare, panels=(
        Panel('Distance of the hand from its goal, mm: the farthest solid, the nearest dashed',
              lambda attempts: attempts.extremes('away', 1e3), logarithmic=True),
        Panel('Angle of the hand to its goal, degrees, likewise',
              lambda attempts: attempts.extremes('turned', 180.0 / np.pi), logarithmic=True))),)
