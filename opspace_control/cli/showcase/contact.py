# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of [K87] IX with a PUMA 560: impact, square waves of force, slide, insertion.

Each is done twice, once as the paper says it and once without what the paper is about.
"""

import numpy as np

import opspace_control
from opspace_control.cli.showcase.contact_scene import CHAMFER, ContactScene, hole, plate
from opspace_control.cli.showcase.experiment import Experiment, Panel
from opspace_control.cli.showcase.record import Finding


def _task(axes, sensed=True, **options):
    """Return what makes, of a sensor, the task that controls force along some axes."""
    return lambda sensor: opspace_control.PoseTask(
        'tip', kp=400.0, max_linear_velocity=0.2, max_angular_velocity=1.0, force_axes=axes,
        force=opspace_control.ForceControl(sensor if sensed else None, **options))


_WANTED = 20.0  # N
_FALL = 0.1     # m


def impact(label, velocity, approach_rate=0.2, **control):
    """Return the Trial of a finger that comes down on a stiff plate, to press with 20 N."""
    scene = ContactScene(_task('z', approach=(velocity, approach_rate), **control),
                         lambda start: plate(start, _FALL))
    scene.press(_WANTED)
    return scene.run(label, 0.5 + 2.0 * _FALL / max(velocity, 0.2))


def speed_at_impact(trial):
    """Return how fast the finger was just before the first touch, m/s."""
    hit = int(np.argmax(trial.pressed > 0.0))
    return -float(np.diff(trial.positions[hit - 3:hit - 1, 2])[0] / np.diff(trial.times[:2])[0])


def _judge_touch(gentle, forced):
    return [Finding('with the transition, the finger comes at', speed_at_impact(gentle), 0.48,
                    'm/s', True),
            Finding('it touches so often', gentle.touches, 1, ''),
            # Mean of the last 50 ms.
            Finding('in the end the force is wrong by',
                    abs(gentle.pressed - gentle.wanted)[-50:].mean(), 0.02 * _WANTED, 'N'),
            Finding('the force at once: it touches so often', forced.touches, 2, '', True)]


_HALF_WAVE = 0.25  # s
_LOW, _HIGH = 10.0, 20.0  # N


def _square_wave(label, closed):
    """Return the Trial of a finger that presses with 20 N and 10 N in turns, a mass unknown."""
    scene = ContactScene(_task('z', closed, damping=150.0), lambda start: plate(start, 0.005),
                         joint_friction=True, burden=0.5)
    scene.press(_LOW)
    scene.run('before', 1.5)
    return scene.run(label, 4 * _HALF_WAVE, lambda time: scene.press(
        _LOW if int(time / _HALF_WAVE + 1e-9) % 2 else _HIGH))


def _rise_and_error(trial):
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


def _judge_square(closed, opened):
    rise, error = _rise_and_error(closed)
    return [Finding('by the sensor: rise of the force', 1e3 * rise, 20.0, 'ms'),
            Finding('its error before the next step', 100.0 * error, 2.0, '%'),
            Finding('open loop: its error', 100.0 * _rise_and_error(opened)[1], 12.0, '%',
                    True)]


_PRESSED = 15.0  # N
_TILT = 0.05     # rad


def _sliding(label, pressing):
    scene = ContactScene(_task('z' if pressing else ''), lambda start: plate(start, 0.01, _TILT))
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


def _judge_slide(pressing, keeping):
    away = np.linalg.norm(np.diff(pressing.positions[[0, -1], :2], axis=0))
    return [Finding('pressing, the finger slides', away, 0.16, 'm', True),
            Finding('the plate, whose tilt is unknown, rises',
                    1e3 * np.ptp(pressing.positions[:, 2]), 4.0, 'mm', True),
            Finding('the force is wrong by', abs(pressing.pressed - _PRESSED).max(), 1.5, 'N'),
            Finding('keeping its height, by', abs(keeping.pressed - _PRESSED).max(), 10.0, 'N',
                    True)]


_OFFSET = np.array([0.003, -0.002])  # m, of the peg from the middle of the hole
_WIDTH, _DEPTH = 0.021, 0.03  # m
_BELOW = 0.02  # m, the rim below the peg at the start


def _inserting(label, compliant):
    scene = ContactScene(
        _task('x y z' if compliant else 'z', approach=(0.02, 0.2)),
        lambda start: hole(*(start[:2] - _OFFSET), start[2] - _BELOW, _WIDTH, _DEPTH), peg=True,
        friction=0.1, softness=0.01)
    scene.press(_PRESSED)
    return scene.run(label, 3.2)


def _judge_insert(compliant, holding):
    x, y, z = 1e3 * (compliant.positions[-1] - compliant.positions[0])
    forces = [np.linalg.norm(trial.forces[trial.times >= 3.0, :2], axis=1).max()
              for trial in (compliant, holding)]
    return [Finding('the peg is short of the bottom by', 1e3 * (_BELOW + _DEPTH + CHAMFER) + z,
                    0.5, 'mm'),
            Finding('it has moved to the sides by', np.hypot(x, y), 3.0, 'mm', True),
            Finding('the force on the sides of the hole', forces[0], 3.0, 'N'),
            Finding('that of a peg that keeps its position', forces[1], 6.0, 'N', True)]


_FORCE = Panel('Force downwards, N; dotted: the target', lambda trial: trial.pressed,
               wanted=lambda trial: trial.wanted)
_HEIGHT = Panel('Height of the fingertip above its start, mm',
                lambda trial: 1e3 * (trial.positions[:, 2] - trial.positions[0, 2]))
_SIDES = Panel('Displacement of the fingertip to the sides, mm',
               lambda trial: 1e3 * (trial.positions[:, :2] - trial.positions[0, :2]))

CONTACTS = tuple(
    Experiment(name, summary, judge, compare=compare, panels=panels)
    for name, summary, compare, judge, panels in (
        ('impact', 'a finger hits a stiff plate at 0.5 m/s and does not bounce, [K87] (5.7), IX',
         lambda: [impact('with the impact transition, (5.7)', 0.5, damping=150.0),
                  impact('the force at once', 0.0, damping=5.0, approach_rate=0.0)],
         _judge_touch, (_FORCE, _HEIGHT)),
        ('square', 'square waves of force: rise below 20 ms, error below 2 %, [K87] (5.5), IX',
         lambda: [_square_wave('by the wrist sensor', True), _square_wave('open loop', False)],
         _judge_square, (_FORCE,)),
        ('slide', 'a finger slides on a plate that leans, [K87] (5.4), IX',
         lambda: [_sliding('pressing with 15 N', True), _sliding('keeping its height', False)],
         _judge_slide, (_FORCE, _HEIGHT)),
        ('insert', 'a peg slides into a hole by its chamfer, [K87] (5.4), IX',
         lambda: [_inserting('no force to the sides', True),
                  _inserting('keeping its position', False)],
         _judge_insert, (_FORCE, _HEIGHT, _SIDES))))
