# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of the papers that run over ROS 2, and all experiments by name.

Tests run the same experiments in lock-step with the simulator; doc/gallery.md describes them.
"""

from dataclasses import replace

import numpy as np

from opspace_control.cli.robots import DemoRobot, demo_robot
from opspace_control.cli.showcase.experiment import MAX_ANGULAR_VELOCITY, Experiment
from opspace_control.cli.showcase.record import (
    Finding,
    farthest_from_response,
    follows,
    holds,
    reaches,
    rests,
    sizes,
)
from opspace_control.cli.showcase.schedule import SETTLING
from opspace_control.errors import OpspaceError
from opspace_control.model.topology import nearest
from opspace_control.spatial.quaternions import turned

_WINDOW = 0.1  # s, over which speeds are measured: long against the jitter of messages
_THRUSTERS = ('base_x', 'base_y', 'base_yaw')
_ALL = DemoRobot.axes


def all_experiments():
    """Return every `Experiment`."""
    from opspace_control.cli.showcase.collisions import COLLISIONS
    from opspace_control.cli.showcase.contact import CONTACTS
    from opspace_control.cli.showcase.legged import LEGGED
    from opspace_control.cli.showcase.reality import REALITIES
    from opspace_control.cli.showcase.studies import STUDIES
    return (*EXPERIMENTS, *CARRIED, *UNDERACTUATED, *STUDIES, *CONTACTS, *LEGGED,
            *REALITIES, *COLLISIONS)


def experiment(name):
    """Return the experiment of this name; an OpspaceError names the nearest ones otherwise."""
    known = {each.name: each for each in all_experiments()}
    if name in known:
        return known[name]
    raise OpspaceError(f"There is no experiment '{name}'.", cure=nearest(name, list(known)),
                       experiment=name)


def _judge_torso(experiment, course):
    errors, posture = course.errors, course.posture
    center = experiment.robot.start.get(experiment.joint, 0.0)
    return [*holds('left', errors[:, 0]), *holds('right', errors[:, 1]),
            Finding(f'{experiment.joint} swings forwards', posture.max() - center, 0.3, 'rad',
                    True),
            Finding(f'{experiment.joint} swings back', center - posture.min(), 0.3, 'rad', True)]


def _judge_floor(_experiment, course):
    paths, errors = course.paths, course.errors
    return [Finding('left hand misses the floor', sizes(errors)[-1, 0, 0], 1.0, 'mm'),
            Finding('left hand came down', paths[0, 0, 2] - paths[-1, 0, 2], 0.3, 'm', True),
            *holds('right', errors[:, 1])]


def _judge_step(experiment, course):
    times, errors = course.times, course.errors
    path = course.paths[:, 0] - course.paths[0, 0]
    direction = errors[0, 0, :3] / np.linalg.norm(errors[0, 0, :3])
    beside = path - np.outer(path @ direction, direction)
    later = np.minimum(np.searchsorted(times, times + _WINDOW), len(times) - 1)
    gone = np.linalg.norm(path[later] - path, axis=1)
    speed = (gone / np.maximum(times[later] - times, 0.5 * _WINDOW)).max()
    limit = experiment.max_linear_velocity
    return [Finding('left hand leaves the straight line',
                    1e3 * np.linalg.norm(beside, axis=1).max(), 2.0, 'mm'),
            Finding('left hand travels at least at', speed, 0.95 * limit, 'm/s', True),
            Finding('left hand travels at most at', speed, 1.05 * limit, 'm/s'),
            reaches('left', errors[:, 0]), *holds('right', errors[:, 1])]


def _judge_carry(experiment, course):
    """Judge hands that hold a box: at its goals, and at a constant distance from each other."""
    times, paths = course.times, course.paths
    stops = SETTLING + experiment.seconds * np.arange(2, len(experiment.moves) + 2)
    rows = np.minimum(np.searchsorted(times, stops), len(times)) - 1
    away, turn = np.moveaxis(sizes(course.errors[rows]), -1, 0)
    closed = (times > SETTLING + experiment.seconds) & (times < stops[-1])
    apart = np.linalg.norm(paths[closed, 1:] - paths[closed, :1], axis=2)
    raised = 0.8 * max(move[2] for move in experiment.moves)
    return [Finding('the box misses its goals', away.max(), 2.0, 'mm'),
            Finding('the box is turned from them', turn.max(), 0.3, 'deg'),
            Finding('the distance of the hands changes', 1e3 * np.ptp(apart, axis=0).max(), 0.5,
                    'mm'),
            Finding('the box is lifted', np.ptp(paths[closed, :, 2], axis=0).min(), raised, 'm',
                    True),
            Finding('hands that are free again move', sizes(course.errors[-1])[:, 0].max(), 2.0,
                    'mm')]


def _judge_augmented(experiment, course):
    """Judge a bar that follows its commanded response while the base goes somewhere else."""
    begin = SETTLING + experiment.seconds
    seen = course.since(begin)
    bar = seen.paths.mean(axis=1)
    across = seen.paths[:, 0] - seen.paths[:, 1]
    heading = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
    *shift, yaw = experiment.moves[0]
    turn = np.zeros((len(heading), 3))
    turn[:, 0] = heading - heading[0]
    away, turned_away = (
        farthest_from_response(path, goal, seen.times, experiment.kp[0], limit)
        for path, goal, limit in ((bar, bar[0] + shift, experiment.max_linear_velocity),
                                  (turn, np.array([yaw, 0.0, 0.0]), MAX_ANGULAR_VELOCITY)))
    arrived = seen.times > begin + experiment.seconds
    deviation = np.linalg.norm(bar[arrived] - bar[0] - shift, axis=1)
    return [Finding('the bar leaves its commanded response', 1e3 * away, 2.0, 'mm'),
            Finding('and its commanded heading', np.degrees(turned_away), 0.5, 'deg'),
            Finding('the bar is at its goal, and stays', 1e3 * deviation.max(), 1.0, 'mm'),
            Finding('the distance that the base still has to go',
                    np.hypot(*_base_error(experiment, seen)[arrived][0, :2]), 0.05, 'm', True),
            *_base_arrives(experiment, seen)]


def _base_error(experiment, course):
    """Return how far a base is from its new place, (k, 3): x and y, m, heading, rad."""
    return course.positions[:, :3] - [experiment.moved[joint] for joint in _THRUSTERS]


def _base_arrives(experiment, course):
    x, y, heading = _base_error(experiment, course)[-1]
    return [Finding('the base misses its new place', 1e3 * np.hypot(x, y), 5.0, 'mm'),
            Finding('the base misses its new heading', np.degrees(abs(heading)), 0.5, 'deg')]


def _judge_space(experiment, course):
    """Judge hands on a free base: momentum is lost or gained by a part of what is exchanged."""
    # Along the free axes: a table supports the others.
    free = np.array([axis in experiment.robot.axes.split() for axis in _ALL.split()])
    whole, body = (free * (course.momentum[:, i] - course.momentum[0, i]) for i in (0, 1))
    findings = follows(experiment, course)
    for name, part in (('linear', slice(0, 3)), ('angular', slice(3, 6))):
        lost = np.linalg.norm(whole[:, part], axis=1).max()
        exchanged = max(np.linalg.norm(body[:, part], axis=1).max(), 1e-12)
        findings.append(Finding(f'{name} momentum lost of that exchanged', 1e3 * lost / exchanged,
                                1.0, '‰'))
    return findings


def _judge_coasting(experiment, course):
    moved = np.linalg.norm(course.positions[-1, :2] - course.positions[0, :2])
    return [*_judge_space(experiment, course),
            Finding('the base moves by', 1e3 * moved, 5.0, 'mm', True), rests(course)]


def _judge_dead(experiment, course):
    return [*follows(experiment, course, ['the']), rests(course),
            Finding(f'{experiment.joint} moves by', np.ptp(course.posture), 0.02, 'rad', True)]


def _judge_stuck(_experiment, course):
    return [Finding('the hand misses its goal, as it must', sizes(course.errors)[-1, 0, 0], 20.0,
                    'mm', True),
            Finding('the fastest joint ever', course.speed.max(), 2.0, 'rad/s'), rests(course)]


def _by(x=0.0, y=0.0, z=0.0, yaw=0.0):
    """Return a target: so many metres from the start, and turned about z, rad."""
    def target(pose):
        pose[:3] += x, y, z
        pose[3:] = turned(pose[3:], (0.0, 0.0, yaw))
        return pose
    return target


def _to_the_floor(pose):
    """Return the pose with its origin on the floor, before the left foot."""
    pose[:3] = 0.45, 0.25, 0.0
    return pose


_DUAL_ARM, _FREE_FLYER = demo_robot('dual_arm'), demo_robot('free_flyer')
_CROUCH = {'ankle_pitch': 0.4, 'knee_pitch': -1.0, 'hip_pitch': 1.0, 'torso_pitch': 0.2,
           'l_shoulder_pitch': -0.8, 'l_shoulder_roll': 0.3, 'l_elbow': -0.9,
           'r_shoulder_pitch': -0.8, 'r_shoulder_roll': -0.3, 'r_elbow': -0.9}
_THREE_ARMS = DemoRobot(
    'three_arms', 'three 6-joint arms on a column that turns', 'three_arms.urdf',
    ('a_hand', 'b_hand', 'c_hand'),
    {f'{arm}_{joint}': value for arm in 'abc' for joint, value in
     (('shoulder_pitch', 1.0), ('elbow', -1.4), ('wrist_pitch', -1.17))}, ours=True)
_HINGED = DemoRobot(
    'planar_4r', 'four joints in a horizontal plane, one of them without a drive',
    'planar_4r.urdf', ('hand',), {'shoulder': -0.5, 'hinge': 0.5, 'elbow': 1.0, 'wrist': -1.5},
    axes='x y', joint_friction=False, ours=True)

EXPERIMENTS = (
    Experiment(
        'torso', 'the torso rocks in the null space while both hands hold still, [CK00] Fig. 3',
        _judge_torso, _DUAL_ARM, (_ALL, _ALL), (_by(), _by()), 8.0, swing=0.4),
    Experiment(
        'floor', 'the left hand goes down to the floor, the right one holds still, [CK00] Fig. 6',
        _judge_floor, replace(demo_robot('humanoid'), start=_CROUCH), ('x y z', _ALL),
        (_to_the_floor, _by()), 7.0, max_linear_velocity=0.2, kp=(100.0, 900.0)),
    Experiment(
        'step', 'the left hand goes 0.2 m straight at 0.3 m/s, [K87] (4.4)-(4.5)',
        _judge_step, _DUAL_ARM, (_ALL, _ALL), (_by(0.12, 0.08, 0.2 * 0.48**0.5), _by()), 3.0,
        max_linear_velocity=0.3),
)

CARRIED = (
    Experiment(
        'carry', 'both hands squeeze, lift, turn and set down a box of 3 kg, [RKR95] (17)',
        _judge_carry, _DUAL_ARM, (_ALL,) * 2, seconds=2.5, max_linear_velocity=0.3,
        moves=((0.08, 0.0, 0.12, 0.0), (0.08, 0.0, 0.12, 0.4), (0.08, 0.05, 0.15, -0.4),
               (0.0, 0.0, 0.0, 0.0))),
    Experiment(
        'augmented', 'an object slews in both hands while the base goes elsewhere, [RKR95] Fig. 6',
        _judge_augmented, replace(_FREE_FLYER, body='', start={
            'l_shoulder': 1.1, 'l_elbow': -1.6, 'l_wrist': 0.5,
            'r_shoulder': -1.1, 'r_elbow': 1.6, 'r_wrist': -0.5}), ('x y rz',) * 2, seconds=3.0,
        joint='base_x', unit='m', max_linear_velocity=0.15, posture_kp=1.0,
        # The posture of the arms is that in which they hold the bar from the new place.
        moved={'base_x': 0.3, 'base_y': -0.2, 'base_yaw': 0.3, 'l_shoulder': 1.002,
               'l_elbow': -2.243, 'l_wrist': 1.34, 'r_shoulder': -1.523, 'r_elbow': 1.604,
               'r_wrist': 0.019},
        moves=((0.2, -0.15, 0.0, 0.4),) * 4, size=(0.1, None, 0.1), mass=2.0, grasp_force=0.0,
        disengage=False),
    Experiment(
        'lift', 'a TIAGo with two arms lifts a box of 3 kg with both hands, [RKR95] (17)',
        _judge_carry, demo_robot('tiago_dual'), (_ALL,) * 2, seconds=3.0,
        joint='torso_lift_joint', unit='m', max_linear_velocity=0.1,
        moves=((0.0, 0.0, 0.12, 0.0), (0.05, 0.0, 0.12, 0.2), (0.0, 0.0, 0.12, 0.0),
               (0.0, 0.0, 0.0, 0.0))),
    Experiment(
        'plate', 'three arms carry a plate between them, [RKR95] (23)',
        _judge_carry, _THREE_ARMS, (_ALL,) * 3, seconds=2.5, joint='turn',
        max_linear_velocity=0.15, kp=(100.0,) * 3,
        moves=((0.0, 0.0, 0.1, 0.0), (0.05, 0.0, 0.1, 0.3), (0.0, 0.05, 0.08, -0.3),
               (0.0, 0.0, 0.0, 0.0)),
        size=(0.56, 0.56, 0.02), mass=4.0, grasp_force=15.0),
)

UNDERACTUATED = (
    Experiment(
        'slew', 'both hands slew while the base goes to a new place in their null space, '
        '[RKR95] Fig. 5',
        lambda experiment, course: [*follows(experiment, course),
                                    *_base_arrives(experiment, course)],
        _FREE_FLYER, ('x y rz',) * 2,
        (_by(0.12, 0.10, yaw=0.3), _by(0.08, -0.15, yaw=-0.3)), 12.0,
        joint='base_x', unit='m', max_linear_velocity=0.15, posture_kp=1.0,
        # The posture of the arms is that in which they reach the goals from the new place.
        moved={'base_x': 0.15, 'base_y': -0.10, 'base_yaw': 0.2, 'l_shoulder': 1.105,
               'l_elbow': -1.616, 'l_wrist': 0.31, 'r_shoulder': -1.725, 'r_elbow': 2.105,
               'r_wrist': -0.58}),
    Experiment(
        'coasting', 'both hands slew with the thrusters off: momentum is exchanged, [JR94] (4.7)',
        _judge_coasting, replace(_FREE_FLYER, passive=_THRUSTERS), ('x y rz',) * 2,
        (_by(0.08, 0.08, yaw=0.2), _by(0.06, -0.10, yaw=-0.2)), 6.0,
        joint='base_x', unit='m', max_linear_velocity=0.15),
    Experiment(
        'space', 'both hands go to their goals in space, on a free base, [JR94] (4.7)',
        _judge_space,
        replace(demo_robot('free_flyer_3d'), drift=(5e-3, 3e-3, -2e-3, 5e-3, -5e-3, 5e-3)),
        (_ALL, _ALL), (_by(0.10, 0.08, 0.10), _by(0.08, -0.10, -0.05)), 5.0,
        joint='l_elbow', max_linear_velocity=0.1),
    Experiment(
        'hinge', 'the hand reaches its goal over a joint without a drive, [JR94] (5.2)',
        _judge_dead, _HINGED, ('x y',), (_by(-0.15, 0.27),), 6.0, joint='hinge',
        max_linear_velocity=0.25),
    Experiment(
        'motor', 'the third of seven motors fails on the way, and the hand arrives, [JR94] (5.2)',
        _judge_dead, replace(demo_robot('arm_7r'), start={
            'joint_1': 0.2, 'joint_2': 0.9, 'joint_3': 0.5, 'joint_4': 1.3, 'joint_5': 0.6,
            'joint_6': -0.4, 'joint_7': 0.4}),
        ('x y z',), (_by(0.03, -0.20, 0.17),), 10.0, joint='joint_3',
        max_linear_velocity=0.4, dead=('joint_3',), failing_at=0.4),
    Experiment(
        'stuck', 'one drive of three remains, two brakes are on: the goal cannot be reached, '
        '[JR94] (6.8)', _judge_stuck, _HINGED, ('x y',), (_by(-0.15, 0.27),), 10.0, joint='elbow',
        max_linear_velocity=0.25, braked=('shoulder', 'wrist'), failing_at=0.3),
)
