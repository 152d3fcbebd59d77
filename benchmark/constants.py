# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What half and twice of a constant of the law changes: random goals of at_rest.py.

`python benchmark/constants.py` measures all of `CONSTANTS`, or those that are named, and prints a
table; `--write` puts it in doc/measurements/constants.md. Each value takes a copy of the package
and its compilation, about two minutes.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from figures import put_into

GOALS, SECONDS = 20, 7.0  # for each robot, and for each goal
ROBOTS = 'UR5', 'Panda', 'Talos, torso free'
_ROOT = Path(__file__).resolve().parents[1]
_PAGE = _ROOT / 'doc' / 'measurements' / 'constants.md'
_KEPT = '_at present_'

# In the order of the table, by the module of opspace_control.control.
CONSTANTS = tuple(f'{module}.{name}' for module, names in {
    'cycle': ('_POSTURE_SHARE', '_TIME'),
    'limits.limit_law': ('_RETURN',),
    'limits.joint_limits': ('BRAKING_SHARE',),
    'limits.gravity_torques': ('_LIGHT', '_NEAR', '_SHARE'),
    'singular.direction_law': (
        '_CURVED', '_WIDEST', '_VAGUE', '_PLAIN', '_FAST', '_SHARE', '_CURVATURE', '_PREFERENCE',
        '_PERTURBATION'),
}.items() for name in names)


def summary():
    """Return what became of the goals with the package that is imported."""
    import at_rest
    at_rest.SECONDS = SECONDS
    outcomes = [[at_rest.seek(robot, goal) for goal in at_rest.random_goals(robot, GOALS)]
                for robot in at_rest.robots() if robot.name in ROBOTS]
    return {
        'left': [sum(each.left > at_rest.REACHED for each in goals) for goals in outcomes],
        'away': sum(each.left for goals in outcomes for each in goals),
        'moving': [sum(each.moving > at_rest.REST for each in goals) for goals in outcomes],
        'fastest': [max(each.moving for each in goals) for goals in outcomes],
        'step': [max(each.step for each in goals) for goals in outcomes]}


def values_of(constant):
    """Return the file of a constant, its value, half of it and twice, a share being 1 at most."""
    module, name = constant.rsplit('.', 1)
    path = Path('opspace_control', 'control', *module.split('.')).with_suffix('.py')
    value = float(re.search(rf'^{name} = (\S+)', (_ROOT / path).read_text(), re.MULTILINE)[1])
    twice = min(2.0 * value, 1.0) if name.endswith('SHARE') else 2.0 * value
    return path, name, value, (0.5 * value, twice)


def measure(path=None, name=None, value=None):
    """Return the `summary` of a copy of the package, in which a constant has another value."""
    with TemporaryDirectory() as folder:
        shutil.copytree(_ROOT / 'opspace_control', Path(folder, 'opspace_control'),
                        ignore=shutil.ignore_patterns('*.so.0', '__pycache__'))
        for part in 'package.xml', 'urdf', 'config', 'launch':
            Path(folder, part).symlink_to(_ROOT / part)
        if path:
            file = Path(folder, path)
            file.write_text(re.sub(rf'^{name} = \S+', f'{name} = {value!r}', file.read_text(),
                                   count=1, flags=re.MULTILINE))
        environment = {**os.environ, 'PYTHONPATH': folder, 'OPSPACE_KERNELS': 'jit',
                       'XDG_CACHE_HOME': folder}
        done = subprocess.run([sys.executable, __file__, '--summary'], env=environment,
                              stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(rows):
    """Return a table of (what, value, summary) in Markdown."""
    def cells(numbers, form):
        return ', '.join(form.format(x) for x in numbers)

    return '\n'.join([
        '| constant | value | more than 1 mm left | in all, m | not at rest '
        '| fastest joint at the end, rad/s | largest step of an effort, % |',
        '|---|---:|---:|---:|---:|---:|---:|',
        *(f'| {what} | {value} | {cells(row["left"], "{}")} | {row["away"]:.3f} '
          f'| {cells(row["moving"], "{}")} | {cells(row["fastest"], "{:.2f}")} '
          f'| {cells([100.0 * step for step in row["step"]], "{:.1f}")} |'
          for what, value, row in rows)])


def main():
    """Print the table, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('constants', nargs='*', choices=[[], *CONSTANTS], default=[])
    parser.add_argument('--write', action='store_true', help=f'put all into {_PAGE.name}')
    parser.add_argument('--summary', action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.summary:
        print(json.dumps(summary(), default=np.generic.item))
        return
    rows = [(_KEPT, '', measure())]
    for constant in arguments.constants or CONSTANTS:
        path, name, value, others = values_of(constant)
        for other in others:
            rows.append((f'`{Path(*path.parts[1:])}`, `{name}`, {value:g}', f'{other:g}',
                         measure(path, name, other)))
            print(table(rows[-1:]).splitlines()[-1], file=sys.stderr)
    text = table(rows)
    print(text)
    if arguments.write and not arguments.constants:
        put_into(_PAGE, 'constants', text)


if __name__ == '__main__':
    main()
