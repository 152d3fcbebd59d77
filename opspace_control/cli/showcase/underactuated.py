# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Experiments with robots that fly freely, [RKR95] 4.1, and with drives that are dead, [JR94]."""

from dataclasses import replace

import numpy as np

from opspace_control.cli.robots import DemoRobot, demo_robot
from opspace_control.cli.showcase.experiment import Experiment, Finding, reaches
from opspace_control.cli.showcase.response import farthest_from_response
from opspace_control.spatial.quaternions import turned
from opspace_control.tasks.targets import AXES

_THRUSTERS = ('base_x', 'base_y', 'base_yaw')
_ALL = DemoRobot.axes


def _follows(experiment, course, bound, hands=('left', 'right')):
    """Return the findings of hands that go to their goals as they are commanded to, mm."""
    findings = []
    for i, hand in enumerate(hands):
        goal = course.paths[0, i] + course.errors[0, i, :3]
        controlled = np.array([axis in experiment.axes[i].split() for axis in 'xyz'])
        away = farthest_from_response(
            course.paths[:, i] * controlled, goal * controlled, course.times, experiment.kp[i],
            experiment.max_linear_velocity)
        gone = np.linalg.norm(course.paths[-1, i] - course.paths[0, i])
        findings += [Finding(f'{hand} hand leaves its commanded response', 1e3 * away, bound, 'mm'),
                     Finding(f'{hand} hand travels', gone, 0.1, 'm', True),
                     reaches(hand, course.errors[:, i])]
    return findings


def _rests(course):
    """Return the finding of a robot that has come to rest."""
    return Finding('the fastest joint at the end', course.speed[-1], 0.01, 'rad/s')


def _momentum(experiment, course):
    """Return how much of what body and arms exchange is lost or gained, of both kinds."""
    free = np.array([axis in experiment.robot.axes.split() for axis in AXES])  # of the table, say
    whole, body = (free * (course.momentum[:, i] - course.momentum[0, i]) for i in (0, 1))
    findings = []
    for name, part in (('linear', slice(0, 3)), ('angular', slice(3, 6))):
        lost = np.linalg.norm(whole[:, part], axis=1).max()
        exchanged = max(np.linalg.norm(body[:, part], axis=1).max(), 1e-12)
        findings.append(Finding(f'{name} momentum lost of that exchanged', 1e3 * lost / exchanged,
                                1.0, '‰'))
    return findings


def _judge_slew(experiment, course):
    wanted = [experiment.moved[joint] for joint in _THRUSTERS]
    there = course.positions[-1, :3]
    return [*_follows(experiment, course, 2.0),
            Finding('base misses its new place', 1e3 * np.hypot(*(there - wanted)[:2]), 5.0, 'mm'),
            Finding('base misses its new heading', np.degrees(abs(there - wanted)[2]), 0.5, 'deg')]


def _judge_coasting(experiment, course):
    moved = np.linalg.norm(course.positions[-1, :2] - course.positions[0, :2])
    return [*_follows(experiment, course, 2.0), *_momentum(experiment, course),
            Finding('the base gives way by', 1e3 * moved, 5.0, 'mm', True), _rests(course)]


def _judge_space(experiment, course):
    return [*_follows(experiment, course, 2.0), *_momentum(experiment, course)]


def _judge_dead(experiment, course):
    return [*_follows(experiment, course, 2.0, ['the']), _rests(course),
            Finding(f'{experiment.joint} gives way by', np.ptp(course.posture), 0.02, 'rad', True)]


def _judge_stuck(experiment, course):
    distance = 1e3 * np.linalg.norm(course.errors[-1, 0, :3])
    return [Finding('the hand misses its goal, as it must', distance, 20.0, 'mm', True),
            Finding('the fastest joint ever', course.speed.max(), 2.0, 'rad/s'), _rests(course)]


def _by(x, y, z=0.0, yaw=0.0):
    """Return a target: so many metres from the start, and turned about z, rad."""
    def target(pose):
        pose[:3] += x, y, z
        pose[3:] = turned(pose[3:], (0.0, 0.0, yaw))
        return pose
    return target


_FREE_FLYER = demo_robot('free_flyer')
_HINGED = DemoRobot(
    'planar_4r', 'four joints in a horizontal plane, one of them without a drive',
    'planar_4r.urdf', ('hand',), {'shoulder': -0.5, 'hinge': 0.5, 'elbow': 1.0, 'wrist': -1.5},
    axes='x y', joint_friction=False, ours=True)

UNDERACTUATED = (
    Experiment(
        'slew', 'both hands slew while the base goes to a new place in their null space, '
        '[RKR95] Fig. 5',
        'A base that moves while the hands do as they are told',
        '[RKR95] Fig. 5 is a slew of a free-flying robot on an air bearing: both hands execute '
        'step responses while the thrusters take the base, in the dynamically consistent null '
        'space, to a new desired location. Here the hands are within 2 mm of their commanded '
        'response at any time, arrive after two seconds and stay, while the base takes its time. '
        'In grey the robot at the start and at the end; from a body of 40 kg to arms of 6 kg '
        'each, the thrusters change the momentum of everything.',
        _FREE_FLYER, ('x y rz', 'x y rz'),
        (_by(0.12, 0.10, yaw=0.3), _by(0.08, -0.15, yaw=-0.3)), 12.0, _judge_slew,
        joint='base_x', unit='m', max_linear_velocity=0.15, posture_kp=1.0,
        # The posture of the arms is that in which they reach the goals from the new place.
        moved={'base_x': 0.15, 'base_y': -0.10, 'base_yaw': 0.2, 'l_shoulder': 1.105,
               'l_elbow': -1.616, 'l_wrist': 0.31, 'r_shoulder': -1.725, 'r_elbow': 2.105,
               'r_wrist': -0.58}),
    Experiment(
        'coasting', 'both hands slew with the thrusters off: momentum is exchanged, [JR94] (4.7)',
        'The same robot with its thrusters off',
        'Momentum is the integral of motion of a free-flying robot, [JR94] (4.7). Here the base of '
        'the robot of [RKR95] has no thrust: it gives way to the arms, which know that it will, so '
        'the hands are within 2 mm of their commanded response. What body and arms exchange is '
        "lost or gained by less than a thousandth of it, and the posture of the base is nobody's "
        'to command.',
        replace(_FREE_FLYER, passive=_THRUSTERS), ('x y rz', 'x y rz'),
        (_by(0.08, 0.08, yaw=0.2), _by(0.06, -0.10, yaw=-0.2)), 6.0, _judge_coasting,
        joint='base_x', unit='m', max_linear_velocity=0.15),
    Experiment(
        'space', 'both hands go to their goals in space, on a base that nothing holds, '
        '[JR94] (4.7)',
        'Two arms in space',
        'The momentum of [JR94] (4.7) in space: a body of 70 kg that drifts and turns slowly, '
        'with two arms of seven joints. Its state comes from odometry. Position and orientation '
        'of both hands are commanded in the world, twelve axes in all; they are within 2 mm of '
        'their commanded response and arrive, while the body gives way, and linear and angular '
        'momentum about a fixed point are conserved to a thousandth of what is exchanged.',
        replace(demo_robot('free_flyer_3d'), drift=(5e-3, 3e-3, -2e-3, 5e-3, -5e-3, 5e-3)),
        (_ALL, _ALL), (_by(0.10, 0.08, 0.10), _by(0.08, -0.10, -0.05)), 5.0, _judge_space,
        joint='l_elbow', max_linear_velocity=0.1),
    Experiment(
        'hinge', 'the hand reaches its goal over a joint without a drive, [JR94] (5.2)',
        'An arm with a joint that nobody drives',
        'The recursions of [JR94] (5.2) give the forces of the active joints of an arm whose '
        'other joints move as they must. Here the second of four joints has an encoder and some '
        'friction, but no drive. The other three take it along: the hand goes 0.3 m on its '
        'commanded response, and the robot comes to rest.',
        _HINGED, ('x y',), (_by(-0.15, 0.27),), 6.0, _judge_dead, joint='hinge',
        max_linear_velocity=0.25),
    Experiment(
        'motor', 'the third of seven motors fails on the way, and the hand arrives, [JR94] (5.2)',
        'A motor that fails on the way',
        'Joints may change their status at run time, [JR94] (5.2). Here the third motor of a '
        'seven-joint arm fails 0.4 s after the goal was given; from then on the joint is passive, '
        'and its elbow swings to where gravity wants it. The hand neither leaves its commanded '
        'response by 2 mm nor misses its goal by 1 mm. A controller that is not told (`--untold`) '
        'leaves it by 20 mm and comes to rest 4 mm away from the goal.',
        replace(demo_robot('arm_7r'), start={
            'joint_1': 0.2, 'joint_2': 0.9, 'joint_3': 0.5, 'joint_4': 1.3, 'joint_5': 0.6,
            'joint_6': -0.4, 'joint_7': 0.4}),
        ('x y z',), (_by(0.03, -0.20, 0.17),), 10.0, _judge_dead, joint='joint_3',
        max_linear_velocity=0.4, dead=('joint_3',), failing_at=0.4),
    Experiment(
        'stuck', 'one drive is left of three, two brakes are on: the goal is out of its power, '
        '[JR94] (6.8)',
        'A goal that is out of reach for what is left',
        'Directions that the generalized Jacobian of [JR94] (6.8) does not reach cannot be moved '
        'by the active joints. Here two brakes come on 0.3 s after the goal was given, and one '
        'drive is left, that of the elbow: for a hand in the plane, one direction of two. The '
        'robot does what it can and comes to rest, without thrashing; the diagnostics name the '
        'direction that is lost.',
        _HINGED, ('x y',), (_by(-0.15, 0.27),), 10.0, _judge_stuck, joint='elbow',
        max_linear_velocity=0.25, braked=('shoulder', 'wrist'), failing_at=0.3),
)
