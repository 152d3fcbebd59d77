# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What half and twice of a constant of the law changes, by random goals that the constant affects.

`python benchmark/constants.py` measures all of `CONSTANTS`, or those that are named, and prints a
table for each kind of goals; `--write` puts them in doc/measurements/constants.md. Each value of
a constant of compiled code takes a copy of the package and its compilation, about a minute.
"""

import argparse
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from figures import put_into

from opspace_control import RobotModel

GOALS, SECONDS = 20, 7.0  # for each robot, and for each goal: of at_rest.py
ROBOTS = 'UR5', 'Panda', 'Talos, torso free'
WILD_GOALS = 15           # for each robot of limits.py
CHAIN_GOALS = 90          # of closed_chains.py, with V_max
CHAIN = 'dual_arm, one hand held in place'  # its joints come to rest at limits
SCENES = 24               # of overlaps.py, for each robot, of
SCENE_SECONDS = 8.0
_ROOT = Path(__file__).resolve().parents[1]
_PAGE = _ROOT / 'doc' / 'measurements' / 'constants.md'
_KEPT = '_at present_'

# In the order of the tables: by the goals that measure them, by module of opspace_control.
_MODULES = {
    'at_rest': {
        'control.cycle': ('_POSTURE_SHARE', '_TIME'),
        'control.limits.limit_law': ('_RETURN',),
        'control.limits.joint_limits': ('BRAKING_SHARE',),
        'control.limits.gravity_torques': ('_LIGHT', '_NEAR', '_SHARE'),
        'control.singular.direction_law': (
            '_CURVED', '_WIDEST', '_VAGUE', '_PLAIN', '_FAST', '_SHARE', '_CURVATURE',
            '_PREFERENCE', '_PERTURBATION')},
    'limits': {'control.limits.joint_limits': (
        'SHORTEST_STOP', 'LONGEST_STOP', '_POSTURES', '_GRAVITY_SHARE', '_HARDEST',
        '_ORDINARY_SPEED')},
    'closed_chains': {'control.problem.resting': ('_STILL', '_TIME', '_LEAST', '_THRESHOLD')},
    'overlaps': {
        'collision.near_features': ('_APART', '_ACROSS'),
        'control.limits.distances': ('_DEEP_GRADIENT', '_DEEP_ANGLE'),
        'control.problem.solution': ('_OVERLAPPING', '_LASTING_SOFTNESS'),
        'control.problem.geometric_stiffness': ('_LEAST_LEFT',)},
}
CONSTANTS = {f'{module}.{name}': kind for kind, modules in _MODULES.items()
             for module, names in modules.items() for name in names}
# Of these half and twice change nothing: they are measured with a tenth and ten times.
_WIDE = ('control.limits.joint_limits._HARDEST', 'control.problem.resting._LEAST',
         'control.problem.resting._THRESHOLD', 'control.problem.geometric_stiffness._LEAST_LEFT',
         'control.problem.solution._LASTING_SOFTNESS')


def seek_rest():
    """Return by column what became of goals of at_rest.py."""
    import at_rest
    at_rest.SECONDS = SECONDS
    outcomes = [[at_rest.seek(robot, goal) for goal in at_rest.random_goals(robot, GOALS)]
                for robot in at_rest.robots() if robot.name in ROBOTS]
    return {
        'more than 1 mm left': _cells('{}', (
            sum(each.left > at_rest.REACHED for each in goals) for goals in outcomes)),
        'in all, m': f'{sum(each.left for goals in outcomes for each in goals):.3f}',
        'not at rest': _cells('{}', (
            sum(each.moving > at_rest.REST for each in goals) for goals in outcomes)),
        'fastest joint at the end, rad/s': _cells('{:.2f}', (
            max(each.moving for each in goals) for goals in outcomes)),
        'largest step of an effort, %': _cells('{:.1f}', (
            100.0 * max(each.step for each in goals) for goals in outcomes))}


def seek_limits():
    """
    Return by column what became of goals of limits.py.

    Also of Talos, whose arms have weak joints, and of two robots without limits of velocity.
    """
    import limits
    from at_rest import robots as robots_at_rest
    talos, outcomes = robots_at_rest()[-1], []
    with TemporaryDirectory() as folder:
        unlimited = []
        for robot in limits.ROBOTS[:2]:
            path = Path(folder, robot.path.name)
            path.write_text(re.sub(
                r'(<limit[^>]*? velocity=)"[^"]*"', r'\1"0"', robot.path.read_text()))
            unlimited.append(replace(robot, path=path))
        joints = RobotModel.from_urdf_file(talos.path).dof_names
        for robot in (*limits.ROBOTS, limits.Robot(
                talos.name, talos.path, talos.hands, talos.start,
                tuple(joint for joint in joints if not joint.startswith(talos.moving))),
                *unlimited):
            trial, worst, left = limits.Trial(robot), [], 0.0
            for _ in range(WILD_GOALS):
                trial.set_random_goal()
                worst.append(trial.run(limits.SECONDS))
                left += sum(np.linalg.norm(task.error[:3])
                            for task in trial.controller.tasks.values())
            outcomes.append((limits.Worst.of(worst), np.mean([each.step for each in worst]), left))
    return {
        'beyond a position limit': f'{max(worst.beyond for worst, _, _ in outcomes):.3f}°',
        'velocity, of its limit': (
            f'{100.0 * max(worst.velocity for worst, _, _ in outcomes):.1f} %'),
        'largest step of an effort, %': _cells('{:.0f}', (
            100.0 * worst.step for worst, _, _ in outcomes)),
        'that of a goal, on average, %': _cells('{:.1f}', (
            100.0 * step for _, step, _ in outcomes)),
        'left after 2 s, of all goals, m': _cells('{:.1f}', (left for _, _, left in outcomes))}


def seek_chains():
    """Return by column what became of goals of closed_chains.py."""
    import closed_chains
    robot = next(each for each in closed_chains.ROBOTS if each.name == CHAIN)
    outcomes = [closed_chains.seek(robot, way, closed_chains.SPEED, closed_chains.WALK)
                for way in closed_chains.random_goals(CHAIN_GOALS)]
    moving = [each.moving for each in outcomes]
    return {
        'not at rest': f'{sum(each > closed_chains.REST for each in moving)}',
        'fastest joint at the end, rad/s': f'{max(moving):.3f}',
        'of all goals, rad/s': f'{sum(moving):.3f}',
        'velocity, of its limit': f'{100.0 * max(each.velocity for each in outcomes):.1f} %',
        'largest step of an effort, %': f'{100.0 * max(each.step for each in outcomes):.1f}'}


def seek_overlaps():
    """Return by column what became of scenes of overlaps.py."""
    import overlaps
    overlaps.SECONDS = SCENE_SECONDS
    outcomes = [overlaps.run_scene(name, seed) for name in overlaps.ROBOTS
                for seed in range(SCENES)]
    last = [each.steps[-1] for each in outcomes]
    return {
        'steps in the last second, limits': f'{sum(last):.2f}',
        'in all': f'{sum(sum(each.steps) for each in outcomes):.0f}',
        'shake': f'{sum(each > overlaps.SHAKING for each in last)}',
        'fastest joint at the end, rad/s': f'{max(each.speed for each in outcomes):.2f}',
        'a pair deeper, mm': f'{1e3 * max(each.pair for each in outcomes):.1f}',
        'out of the obstacle': f'{sum(each.out for each in outcomes)}'}


_SEEK = {'at_rest': seek_rest, 'limits': seek_limits, 'closed_chains': seek_chains,
         'overlaps': seek_overlaps}


def _cells(form, numbers):
    """Return numbers as the text of a cell."""
    return ', '.join(form.format(number) for number in numbers)


def values_of(constant):
    """Return the file of a constant, its value, half of it and twice; a share is 1 at most."""
    module, name = constant.rsplit('.', 1)
    path = Path('opspace_control', *module.split('.')).with_suffix('.py')
    text = re.search(rf'^{name} = (\S+)', (_ROOT / path).read_text(), re.MULTILINE)[1]
    value = int(text) if text.isdigit() else float(text)
    if constant in _WIDE:
        return path, name, value, (0.1 * value, 10.0 * value)
    twice = min(2.0 * value, 1.0) if name.endswith('SHARE') else 2 * value
    return path, name, value, (value // 2 if text.isdigit() else 0.5 * value, twice)


def measure(kind, path=None, name=None, value=None):
    """Return by column what becomes of goals with the package, or with a constant changed."""
    seek = [sys.executable, __file__, '--seek', kind]
    if path is None or 'opspace_control.compiled' not in (_ROOT / path).read_text():
        change = [] if path is None else [
            '--set', '.'.join(path.with_suffix('').parts), name, repr(value)]
        return _result(seek + change, os.environ)
    with TemporaryDirectory() as folder:
        shutil.copytree(_ROOT / 'opspace_control', Path(folder, 'opspace_control'),
                        ignore=shutil.ignore_patterns('*.so.0', '__pycache__'))
        for part in 'package.xml', 'urdf', 'config', 'launch':
            Path(folder, part).symlink_to(_ROOT / part)
        file = Path(folder, path)
        file.write_text(re.sub(rf'^{name} = \S+', f'{name} = {value!r}', file.read_text(),
                               count=1, flags=re.MULTILINE))
        environment = {**os.environ, 'PYTHONPATH': folder}
        subprocess.run([sys.executable, '-m', 'opspace_control.compilation'], env=environment,
                       cwd=folder, stdout=subprocess.DEVNULL, check=True)
        return _result(seek, environment)


def _result(command, environment):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(rows):
    """Return a table of (what, value, texts by column) in Markdown."""
    columns = list(rows[0][2])
    return '\n'.join([
        f'| constant | value | {" | ".join(columns)} |',
        '|---' + '|---:' * (len(columns) + 1) + '|',
        *(f'| {what} | {value} | {" | ".join(texts.values())} |' for what, value, texts in rows)])


def main():
    """Print the tables, and write them where they belong if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('constants', nargs='*', choices=[[], *CONSTANTS], default=[])
    parser.add_argument('--kind', choices=_SEEK, help='only constants that these goals measure')
    parser.add_argument('--write', action='store_true', help=f'put whole tables into {_PAGE.name}')
    parser.add_argument('--seek', choices=_SEEK, help=argparse.SUPPRESS)
    parser.add_argument('--set', nargs=3, help=argparse.SUPPRESS)  # module, name, value
    arguments = parser.parse_args()
    if arguments.set:
        module, name, value = arguments.set
        setattr(importlib.import_module(module), name, json.loads(value))
    if arguments.seek:
        print(json.dumps(_SEEK[arguments.seek]()))
        return
    for kind in _SEEK if arguments.kind is None else [arguments.kind]:
        chosen = [constant for constant in arguments.constants or CONSTANTS
                  if CONSTANTS[constant] == kind]
        if not chosen:
            continue
        rows = [(_KEPT, '', measure(kind))]
        for constant in chosen:
            path, name, value, others = values_of(constant)
            for other in others:
                rows.append((f'`{Path(*path.parts[1:])}`, `{name}`, {value:g}', f'{other:g}',
                             measure(kind, path, name, other)))
                print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
        print(table(rows))
        if arguments.write and not arguments.constants:
            put_into(_PAGE, kind, table(rows))


if __name__ == '__main__':
    main()
