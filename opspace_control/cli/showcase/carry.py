# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Experiments with an object in several hands: grasp, transport, rotation, release."""

import math
from dataclasses import dataclass, replace

import numpy as np

from opspace_control.cli.robots import DemoRobot, demo_robot
from opspace_control.cli.showcase.experiment import Experiment, Finding
from opspace_control.cli.showcase.response import farthest_from_response
from opspace_control.cli.showcase.schedule import SETTLING, Schedule
from opspace_control.spatial.quaternions import turned

NAME = 'carry'
_TABLE = (0.5, 0.5, 0.02)  # m
_MAX_ANGULAR_VELOCITY = 0.5  # rad/s, of the object


@dataclass(frozen=True)
class Carry(Experiment):
    """
    An experiment with a box that the hands of the robot are at when it starts.

    Attributes
    ----------
    moves : tuple of (x, y, z, yaw)
        Of the box, one after the other, from where it starts: m ahead, to the left and up, and rad
        about the vertical. The posture's own goals are given with the first one.
    size : (3,) tuple
        Of the box, m; None: as wide as the hands are apart.
    mass, squeeze : float
        kg and N.
    disengage : bool
        Whether the box is let go after the last move.

    """

    moves: tuple = ()
    size: tuple = (0.2, None, 0.2)
    mass: float = 3.0
    squeeze: float = 20.0
    disengage: bool = True

    def plan(self, home):
        """Return the goals of the hands while they hold the box: the first is to grasp it."""
        middle = home[:, :3].mean(axis=0)
        goals = [home]
        for *shift, yaw in self.moves:
            poses = home.copy()
            for pose in poses:
                x, y, z = pose[:3] - middle
                pose[:3] = middle + shift + np.array([
                    x * math.cos(yaw) - y * math.sin(yaw), x * math.sin(yaw) + y * math.cos(yaw),
                    z])
                pose[3:] = turned(pose[3:], (0.0, 0.0, yaw))
            goals.append(poses)
        goals += [goals[-1]] * (2 * self.disengage)  # the controller, then the grips
        return Schedule(home, np.array(goals), self.seconds, 0.5, self.joint, self.unit,
                    dict.fromkeys([self.joint, *self.moved], 0.0) | self.robot.start,
                    {self.joint: self.swing}, self.moved, SETTLING + self.seconds)

    def parameters(self, tasks):
        """Return the controller's parameters: those of the hands, and of the grasp."""
        x, y, z = np.square(self.boxes()['box']['size'])
        moments = [self.mass / 12.0 * float(square) for square in (y + z, x + z, x + y)]
        return super().parameters(tasks) | {
            'grasps': [NAME], f'{NAME}.effectors': list(self.robot.hands),
            f'{NAME}.mass': self.mass, f'{NAME}.inertia': [*moments, 0.0, 0.0, 0.0],
            f'{NAME}.squeeze': self.squeeze, f'{NAME}.axes': self.robot.axes,
            f'{NAME}.max_linear_velocity': self.max_linear_velocity,
            f'{NAME}.max_angular_velocity': _MAX_ANGULAR_VELOCITY}

    def simulator_parameters(self):
        """Return the simulator's parameters: a box between the hands, on a table if it is heavy."""
        boxes = self.boxes()
        return {'objects': list(boxes), 'grasps': [NAME], f'{NAME}.object': 'box',
                f'{NAME}.effectors': list(self.robot.hands),
                **{f'{name}.{key}': value for name, box in boxes.items()
                   for key, value in box.items()}}

    def boxes(self):
        """Return what there is around the robot: arguments of a `Box` by its name."""
        poses = self._poses()
        middle, across = poses[:, :3].mean(axis=0), poses[0, :3] - poses[1, :3]
        size = [float(np.linalg.norm(across)) if edge is None else edge for edge in self.size]
        half = 0.5 * math.atan2(-across[0], across[1]) if None in self.size else 0.0
        pose = [*middle.tolist(), 0.0, 0.0, math.sin(half), math.cos(half)]
        found = {'box': {'size': size, 'mass': self.mass, 'pose': pose}}
        if not self.robot.weightless:
            under = pose[2] - 0.5 * (size[2] + _TABLE[2])
            found['table'] = {'size': list(_TABLE), 'fixed': True,
                              'pose': [*pose[:2], under, *pose[3:]]}
        return found

    def client(self, tasks, command_topic):
        """Return who grasps, moves and lets go of the box."""
        from opspace_control.cli.showcase.carry_client import CarryClient
        return CarryClient(NAME, tasks, command_topic, len(self.moves))

    def _poses(self):
        """Return where the hands are at the start, (hands, 7)."""
        from opspace_control.simulation import SimulatedRobot
        robot = SimulatedRobot(self.robot.path().read_text())
        robot.reset(self.robot.start)
        return np.array([robot.frame_pose(hand) for hand in self.robot.hands])


def _judge(experiment, course):
    """Judge hands that hold a box: at its goals, and as far apart as they were, all the time."""
    times, paths, errors = course.times, course.paths, course.errors
    stops = SETTLING + experiment.seconds * np.arange(2, len(experiment.moves) + 2)
    rows = np.minimum(np.searchsorted(times, stops), len(times)) - 1
    away = 1e3 * np.linalg.norm(errors[rows, :, :3], axis=-1)
    turn = np.degrees(np.linalg.norm(errors[rows, :, 3:], axis=-1))
    closed = (times > SETTLING + experiment.seconds) & (times < stops[-1])
    free = 1e3 * np.linalg.norm(errors[-1, :, :3], axis=-1)
    apart = np.linalg.norm(paths[closed, 1:] - paths[closed, :1], axis=2)
    raised = 0.8 * max(move[2] for move in experiment.moves)
    return [Finding('the box misses its goals', away.max(), 2.0, 'mm'),
            Finding('the box is turned from them', turn.max(), 0.3, 'deg'),
            Finding('the hands give way to each other', 1e3 * np.ptp(apart, axis=0).max(), 0.5,
                    'mm'),
            Finding('the box is lifted', np.ptp(paths[closed, :, 2], axis=0).min(), raised, 'm',
                    True),
            Finding('hands that are free again move', free.max(), 2.0, 'mm')]


def _judge_slew(experiment, course):
    """Judge a bar that follows its commanded response while the base goes somewhere else."""
    begin = SETTLING + experiment.seconds
    seen = course.since(begin)
    bar = seen.paths.mean(axis=1)
    across = seen.paths[:, 0] - seen.paths[:, 1]
    heading = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
    *shift, yaw = experiment.moves[0]
    turn = np.zeros((len(heading), 3))
    turn[:, 0] = heading - heading[0]
    away = farthest_from_response(bar, bar[0] + shift, seen.times, experiment.kp[0],
                                  experiment.max_linear_velocity)
    turned_away = farthest_from_response(turn, np.array([yaw, 0.0, 0.0]), seen.times,
                                         experiment.kp[0],
                                         _MAX_ANGULAR_VELOCITY)
    arrived = seen.times > begin + experiment.seconds
    base = seen.positions[arrived, :3] - [experiment.moved[joint] for joint in _THRUSTERS]
    deviation = np.linalg.norm(bar[arrived] - bar[0] - shift, axis=1)
    return [Finding('the bar leaves its commanded response', 1e3 * away, 2.0, 'mm'),
            Finding('and its commanded heading', np.degrees(turned_away), 0.5, 'deg'),
            Finding('the bar is at its goal, and stays', 1e3 * deviation.max(), 1.0, 'mm'),
            Finding('the base has then still to go', np.hypot(*base[0, :2]), 0.05, 'm', True),
            Finding('the base misses its new place', 1e3 * np.hypot(*base[-1, :2]), 5.0, 'mm'),
            Finding('the base misses its new heading', np.degrees(abs(base[-1, 2])), 0.5, 'deg')]


_DUAL_ARM = demo_robot('dual_arm')
_THRUSTERS = ('base_x', 'base_y', 'base_yaw')
_FLYER = replace(demo_robot('free_flyer'), body='', start={
    'l_shoulder': 1.1, 'l_elbow': -1.6, 'l_wrist': 0.5,
    'r_shoulder': -1.1, 'r_elbow': 1.6, 'r_wrist': -0.5})
_THREE_ARMS = DemoRobot(
    'three_arms', 'three 6-joint arms on a column that turns', 'three_arms.urdf',
    ('a_hand', 'b_hand', 'c_hand'),
    {f'{arm}_{joint}': value for arm in 'abc' for joint, value in
     (('shoulder_pitch', 1.0), ('elbow', -1.4), ('wrist_pitch', -1.17))}, ours=True)

CARRIED = (
    Carry(NAME, 'both hands squeeze, lift, turn and set down a box of 3 kg, [RKR95] (17)',
          'Two hands on one box',
          '[RKR95] (17) puts the object that several effectors grasp in the place of their own '
          'operational points. Here a service call closes the grips of the simulated hands and '
          'another one tells the controller; from then on the goals are those of a box of 3 kg, '
          'whose weight the arms share and which they squeeze with 20 N. It is lifted, turned to '
          'either side, set down and let go. The torso, which nobody asks to move, gives a hand; '
          'the efforts change without a jump.',
          _DUAL_ARM, (_DUAL_ARM.axes,) * 2, (), 2.5, _judge, max_linear_velocity=0.3,
          moves=((0.08, 0.0, 0.12, 0.0), (0.08, 0.0, 0.12, 0.4), (0.08, 0.05, 0.15, -0.4),
                 (0.0, 0.0, 0.0, 0.0))),
    Carry('augmented', 'an object slews in both hands while the base goes elsewhere, [RKR95] '
          'Fig. 6',
          'A base that moves while both arms carry',
          '[RKR95] Fig. 6 is a slew under augmented object control: both arms of the free-flying '
          'robot execute a step response of an object they hold, in translation and orientation, '
          'while the base moves to a new location; long after the object has arrived the base '
          'continues to move and settles, which does not disturb the object. Here a bar of 2 kg '
          'goes 0.25 m and turns by 0.4 rad within 2 mm and 0.5° of its commanded response, and '
          'is kept there while the base still moves. There are no target internal forces, as in '
          'the paper.',
          _FLYER, ('x y rz',) * 2, (), 3.0, _judge_slew, joint='base_x', unit='m',
          max_linear_velocity=0.15, posture_kp=1.0,
          # The posture of the arms is that in which they hold the bar from the new place.
          moved={'base_x': 0.3, 'base_y': -0.2, 'base_yaw': 0.3, 'l_shoulder': 1.002,
                 'l_elbow': -2.243, 'l_wrist': 1.34, 'r_shoulder': -1.523, 'r_elbow': 1.604,
                 'r_wrist': 0.019},
          moves=((0.2, -0.15, 0.0, 0.4),) * 4, size=(0.1, None, 0.1), mass=2.0, squeeze=0.0,
          disengage=False),
    Carry('lift', 'a TIAGo with two arms lifts a box of 3 kg with both hands, [RKR95] (17)',
          'A real robot lifts a box',
          'The operational space of [RKR95] (17) is that of any branching robot; the experiments '
          'of the paper are with one in the plane. Here it is a model of a robot that can be '
          'bought, PAL Robotics TIAGo, with two arms of seven joints and a torso that lifts; the '
          'box of 3 kg in its hands is lifted, moved ahead, turned, set down and let go.',
          demo_robot('tiago_dual'), (DemoRobot.axes,) * 2, (), 3.0, _judge,
          joint='torso_lift_joint', unit='m', max_linear_velocity=0.1,
          moves=((0.0, 0.0, 0.12, 0.0), (0.05, 0.0, 0.12, 0.2), (0.0, 0.0, 0.12, 0.0),
                 (0.0, 0.0, 0.0, 0.0))),
    Carry('plate', 'three arms carry a plate between them, [RKR95] (23)',
          'Three hands on one plate',
          'The virtual linkage that [RKR95] (23) takes from Williams and Khatib has, for three '
          'effectors, the sides of a triangle as its members. Here three arms on a turning column '
          'hold a plate of 4 kg, 15 N of pressure in each side of their triangle; the plate is '
          'lifted, moved, turned to either side, set down and let go.',
          _THREE_ARMS, (DemoRobot.axes,) * 3, (), 2.5, _judge, joint='turn',
          max_linear_velocity=0.15, kp=(100.0,) * 3,
          moves=((0.0, 0.0, 0.1, 0.0), (0.05, 0.0, 0.1, 0.3), (0.0, 0.05, 0.08, -0.3),
                 (0.0, 0.0, 0.0, 0.0)),
          size=(0.56, 0.56, 0.02), mass=4.0, squeeze=15.0),
)
