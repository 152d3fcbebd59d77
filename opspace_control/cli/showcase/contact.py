# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of [K87] IX with a PUMA 560: impact, square waves of force, slide, insertion.

Each is done twice, once as the paper says it and once without what the paper is about.
"""

import numpy as np

from opspace_control.cli.showcase.contact_scene import ContactScene, hole, plate
from opspace_control.cli.showcase.experiment import Finding
from opspace_control.cli.showcase.studies import Panel, Study


def _task(force, **options):
    from opspace_control import PoseTask
    return PoseTask('tip', kp=400.0, max_linear_velocity=0.2, max_angular_velocity=1.0,
                    force=force, **options)


# Impact ---------------------------------------------------------------------------------------

_WANTED = 20.0  # N
_FALL = 0.1     # m


def impact(label, velocity, **control):
    """Return the Trial of a finger that comes down on a stiff plate, to press with 20 N."""
    from opspace_control import ForceControl
    scene = ContactScene(
        lambda sensor: _task(ForceControl(sensor, approach_velocity=velocity, **control),
                             force_axes='z'), lambda start: plate(start, _FALL))
    scene.press(_WANTED)
    return scene.run(label, 0.5 + 2.0 * _FALL / max(velocity, 0.2))


def speed_at_impact(trial):
    """Return how fast the finger was just before the first touch, m/s."""
    hit = int(np.argmax(trial.pressed > 0.0))
    return -float(np.diff(trial.positions[hit - 3:hit - 1, 2])[0] / np.diff(trial.times[:2])[0])


def _touch():
    return [impact('with the impact transition, (5.7)', 0.5, damping=150.0),
            impact('the force at once', 0.0, damping=5.0, approach_rate=0.0)]


def _judge_touch(gentle, forced):
    return [Finding('with the transition, the finger comes at', speed_at_impact(gentle), 0.48,
                    'm/s', True),
            Finding('it touches so often', gentle.touches, 1, ''),
            Finding('in the end the force is wrong by', _off(gentle.since(0.5)), 0.02 * _WANTED,
                    'N'),
            Finding('the force at once: it touches so often', forced.touches, 2, '', True)]


def _off(trial):
    """Return how far the force ends from what is wanted, mean of the last 50 ms, N."""
    return float(abs(trial.pressed - trial.wanted)[-50:].mean())


# Square waves of force ------------------------------------------------------------------------

_HALF_WAVE = 0.25  # s
_LOW, _HIGH = 10.0, 20.0  # N


def square_wave(label, closed, **control):
    """Return the Trial of a finger that presses with 20 N and 10 N in turns, a mass unknown."""
    from opspace_control import ForceControl
    scene = ContactScene(
        lambda sensor: _task(ForceControl(sensor if closed else None, damping=150.0, **control),
                             force_axes='z'),
        lambda start: plate(start, 0.005), joint_friction=True, burden=0.5)
    scene.press(_LOW)
    scene.run('before', 1.5)
    return scene.run(label, 4 * _HALF_WAVE, lambda time: scene.press(
        _LOW if int(time / _HALF_WAVE + 1e-9) % 2 else _HIGH))


def rise_and_error(trial):
    """Return the longest time from 10 to 90 % of a step, s, and the worst error before the next."""
    cycles = round(_HALF_WAVE / (trial.times[1] - trial.times[0]))
    rises, errors, before = [], [], _LOW
    for first in range(0, len(trial.times), cycles):
        force, wanted = trial.pressed[first:first + cycles], trial.wanted[first + 1]
        part = (force - before) / (wanted - before)
        reached = [np.append(np.flatnonzero(part > level), cycles)[0] for level in (0.1, 0.9)]
        rises.append((reached[1] - reached[0]) * _HALF_WAVE / cycles)
        errors.append(abs(force[-50:] / wanted - 1.0).max())
        before = wanted
    return max(rises), max(errors)


def _square():
    return [square_wave('by the wrist sensor', True), square_wave('open loop', False)]


def _judge_square(closed, opened):
    rise, error = rise_and_error(closed)
    return [Finding('by the sensor: rise of the force', 1e3 * rise, 20.0, 'ms'),
            Finding('its error before the next step', 100.0 * error, 2.0, '%'),
            Finding('open loop: its error', 100.0 * rise_and_error(opened)[1], 12.0, '%',
                    True)]


# Slide ----------------------------------------------------------------------------------------

_PRESSED = 15.0  # N
_TILT = 0.05     # rad


def _sliding(label, pressing):
    from opspace_control import ForceControl
    scene = ContactScene(
        lambda sensor: _task(ForceControl(sensor), force_axes='z' if pressing else ''),
        lambda start: plate(start, 0.01, _TILT))
    if pressing:
        scene.press(_PRESSED)
    else:  # so far that it presses about as much where it comes down
        goal = scene.task.pose
        goal[2] -= 0.0102
        scene.task.set_target(goal)
    scene.run('before', 1.0)
    goal = scene.task.target
    goal[:2] += -0.12, 0.12
    scene.task.set_target(goal)
    return scene.run(label, 1.8)


def _slide():
    return [_sliding('pressing with 15 N', True), _sliding('keeping its height', False)]


def _judge_slide(pressing, keeping):
    away = np.linalg.norm(np.diff(pressing.positions[[0, -1], :2], axis=0))
    return [Finding('pressing, the finger slides', away, 0.16, 'm', True),
            Finding('the plate, which nobody told of, rises',
                    1e3 * np.ptp(pressing.positions[:, 2]), 4.0, 'mm', True),
            Finding('the force is wrong by', abs(pressing.pressed - _PRESSED).max(), 1.5, 'N'),
            Finding('keeping its height, by', abs(keeping.pressed - _PRESSED).max(), 10.0, 'N',
                    True)]


# Insertion ------------------------------------------------------------------------------------

_OFFSET = np.array([0.003, -0.002])  # m, of the peg from the middle of the hole
_WIDTH, _DEPTH, _CHAMFER = 0.021, 0.03, 0.006  # m
_BELOW = 0.02  # m, the rim below the peg at the start


def _inserting(label, compliant):
    from opspace_control import ForceControl
    scene = ContactScene(
        lambda sensor: _task(ForceControl(sensor, approach_velocity=0.02),
                             force_axes='x y z' if compliant else 'z'),
        lambda start: hole(*(start[:2] - _OFFSET), start[2] - _BELOW, _WIDTH, _DEPTH), peg=True,
        friction=0.1, softness=0.01)
    scene.press(_PRESSED)
    return scene.run(label, 3.2)


def _insert():
    return [_inserting('no force to the sides', True), _inserting('holding its place', False)]


def _judge_insert(compliant, holding):
    free, sides = compliant.since(3.0), holding.since(3.0)
    return [Finding('the peg is short of the bottom by', 1e3 * _short(compliant), 0.5, 'mm'),
            Finding('it has moved to the sides by',
                    1e3 * np.linalg.norm(np.diff(compliant.positions[[0, -1], :2], axis=0)), 3.0,
                    'mm', True),
            Finding('the sides of the hole feel', _sideways(free), 3.0, 'N'),
            Finding('those of a peg that holds its place', _sideways(sides), 6.0, 'N', True)]


def _short(trial):
    return float(_BELOW + _DEPTH + _CHAMFER + np.diff(trial.positions[[0, -1], 2])[0])


def _sideways(trial):
    return float(np.linalg.norm(trial.forces[:, :2], axis=1).max())


_FORCE = Panel('Force downwards, N; dotted what is wanted', lambda trial: trial.pressed,
               wanted=lambda trial: trial.wanted)
_HEIGHT = Panel('Height of the fingertip above its start, mm',
                lambda trial: 1e3 * (trial.positions[:, 2] - trial.positions[0, 2]))
_SIDES = Panel('Way of the fingertip to the sides, mm',
               lambda trial: 1e3 * (trial.positions[:, :2] - trial.positions[0, :2]))

CONTACTS = (
    Study(
        'impact', 'a finger hits a stiff plate at 0.5 m/s and does not bounce, [K87] (5.7), IX',
        'An impact without a bounce',
        '[K87] (5.7) and IX tell of impacts of a PUMA 560 on a highly stiff surface, at up to 4 '
        'inches (0.1 m) a second, that the transition of (5.7), pure damping, keeps from '
        'bouncing. Here the finger comes at 0.5 m/s, five times as fast, touches a plate of '
        '2.5e5 N/m once, and presses with the 20 N that it is to press with; with the force '
        'switched on from the beginning it bounces.',
        _touch, _judge_touch, (_FORCE, _HEIGHT)),
    Study(
        'square', 'square waves of force: rise below 20 ms, error below 2 %, [K87] (5.5), IX',
        'Square waves of force',
        '[K87] (5.5) has the force in its command, and IX tells of square waves of force with '
        'rise times below 20 ms and steady errors below 12 %. Here all joints rub as the real '
        'ones do, up to 6 N·m, and half a kilogram hangs at the wrist; nobody has told the '
        'controller. By its wrist sensor the force rises within 20 ms and is within 2 %; open '
        'loop it is wrong by more than 12 %.',
        _square, _judge_square, (_FORCE,)),
    Study(
        'slide', 'a finger slides on a plate that is not where it is said to be, [K87] (5.4), IX',
        'Sliding while pressing',
        'Contact and slide of [K87] IX, by the command of [K87] (5.4): force is controlled '
        'downwards, motion along the other axes. The plate leans by 3°, which nobody has told '
        'the controller. The finger slides by 0.17 m and presses with 15 N, within 1.5 N; one '
        'that keeps its height instead loses the plate, or is wrong by more than 10 N.',
        _slide, _judge_slide, (_FORCE, _HEIGHT)),
    Study(
        'insert', 'a peg finds its way into a hole by its chamfer, [K87] (5.4), IX',
        'An insertion',
        'Insertion of [K87] IX, by the command of [K87] (5.4): the peg comes down 3.6 mm beside '
        'the middle of a hole that is 1 mm wider than itself. With no force to the sides it '
        'slides down the chamfer, finds the middle and goes to the bottom, where the sides feel '
        'next to nothing. One that holds its place to the sides is pushed aside by force, and '
        'may get stuck half way.',
        _insert, _judge_insert, (_FORCE, _HEIGHT, _SIDES)),
)
