# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How near hands come to their goals when the robot is not its model, and what helps.

`python benchmark/disturbances.py` prints a table of a Panda; `--write` puts it in
doc/measurements/disturbances.md. `--robots` has that of robots with two arms and of a humanoid on
its feet, `--rates` that of other rates of the observer, `--friction` that of drive friction that is
not known exactly.
"""

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import standing
from figures import put_into

from opspace_control.cli.showcase.reality import (
    FRICTION,
    GOALS,
    OBSERVER,
    REALITY,
    arms,
    random_goals,
    remedy,
    seek,
)
from opspace_control.simulation import Reality

RATE = OBSERVER['rate']            # of the observer, 1/s
RATES = 5.0, 10.0, 20.0, 40.0, 80.0, 160.0
SHARES = 0.7, 1.0, 1.2             # of the friction that is overcome
NODE, LESS = (10.0, 2.0), (5.0, 1.0)  # N and N·m: the defaults of the node's parameters, and half
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'disturbances.md'
REALITIES = {
    'nominal': Reality(),
    'masses wrong by 10 %': Reality(mass_deviation=REALITY['mass_deviation']),
    'Coulomb friction of 3 %': Reality(coulomb_ratio=FRICTION),
    'both, noise of 0.01 rad/s, delay of 2 ms': Reality(**REALITY)}


@dataclass(frozen=True)
class Remedy:
    """What the controller does about it."""

    rate: float = 0.0      # of the observer, 1/s; 0 for none
    share: float = 0.0     # of FRICTION that is overcome
    numbers: tuple = ()    # of `DriveFriction`: pairs of a name and a value
    bounds: tuple = ()     # of the observer, N and N·m, if they are not those of OBSERVER

    @property
    def name(self):
        """In the columns of the table."""
        numbers = ''.join(f', {name} {value:g}' for name, value in self.numbers)
        bounds = ' ({:g} N, {:g} N·m)'.format(*self.bounds) if self.bounds else ''
        rate, share = (f'{value:g}' if value else '–' for value in (self.rate, self.share))
        return f'{rate}{bounds} | {share}{numbers}'

    @property
    def observer(self):
        """Arguments of its `DisturbanceObserver`, or None."""
        bounds = dict(zip(('max_force', 'max_moment'), self.bounds, strict=False))
        return OBSERVER | {'rate': self.rate} | bounds if self.rate else None


def reach(name, reality, remedied, number):
    """Return the `ArmTrial` of the robot of a name to the goals of a number."""
    go = standing.stand if name == standing.NAME else partial(seek, arms(name))
    hands = 1 if name == 'panda' else 2
    goals = random_goals(hands * (number + 1))[-hands:]
    prepare = partial(remedy, observer=remedied.observer, friction=remedied.share * FRICTION,
                      **dict(remedied.numbers))
    return go(replace(REALITIES[reality], seed=number), goals, prepare)


def measure(pool, goals, cases):
    """Return (robot, reality, Remedy, courses) for each case of the first three."""
    runs = [(*case, [pool.submit(reach, *case, number) for number in range(goals)])
            for case in cases]
    return [(*case, [run.result() for run in started]) for *case, started in runs]


def table(rows):
    """Return a table of (robot, name of a Reality, Remedy, courses) in Markdown."""
    def spread(values, scale):
        return f'{scale * min(values):.2f} to {scale * max(values):.2f}'
    lines, several = [], len({robot for robot, *_ in rows}) > 1
    for robot, reality, remedied, courses in rows:
        away, turned = zip(*(course.left for course in courses), strict=True)
        arrived = [course.arrival for course in courses if course.arrival < math.inf]
        lines.append(
            f'| {f"{robot}: " if several else ""}{reality} | {remedied.name} | {spread(away, 1e3)} '
            f'| {"–" if robot == standing.NAME else spread(turned, 180.0 / math.pi)} '
            f'| {len(arrived)} of {len(courses)}{f", {max(arrived):.1f} s" if arrived else ""} '
            f'| {100.0 * max(course.step for course in courses):.1f} % | {_used(courses)} |')
    return '\n'.join([
        '| the robot | rate, 1/s | friction overcome | left, mm | left, degrees '
        '| arrived, the last | largest step of an effort | velocity, of its limit '
        '| beyond a position limit, mrad |',
        f'|---|{"---:|" * 8}', *lines])


def _used(courses):
    """Return the cells of the greatest velocity and of the position farthest beyond its limit."""
    velocity, beyond = np.max([course.limits.max(axis=0) for course in courses], axis=0)
    return f'{100.0 * velocity:.0f} % | {1e3 * max(beyond, 0.0):.1f}'


def cases_of(name):
    """Return the triples of a robot, the name of a Reality and a Remedy of a table."""
    if name == 'robots':
        return [(robot, *case) for robot in ('talos', 'tiago_dual', standing.NAME)
                for case in _of_all_realities()]
    return [('panda', *case) for case in _of_panda(name)]


def _of_panda(name):
    if name == 'rates':
        return [(reality, Remedy(rate)) for reality in REALITIES for rate in RATES]
    nominal, _, friction, all_of_it = REALITIES
    if name == 'friction':
        numbers = [()] + [((quantity, value),) for quantity, values in (
            ('horizon', (0.1, 0.2, 0.8)), ('slip_velocity', (0.02, 0.05, 0.2)))
            for value in values]
        return [(reality, Remedy(RATE, share, changed)) for changed in numbers
                for share in SHARES for reality in (nominal, friction, all_of_it)]
    return _of_all_realities()


def _of_all_realities():
    *_, all_of_it = REALITIES
    return [(reality, Remedy(rate, share)) for reality in REALITIES
            for share in ((0.0, 1.0) if REALITIES[reality].coulomb_ratio else (0.0,))
            for rate in (0.0, RATE)] + [
        (all_of_it, Remedy(RATE, share, bounds=bounds))
        for share, bounds in ((0.0, NODE), (1.0, NODE), (1.0, LESS))]


def main():
    """Print the tables, and write them where they belong if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--goals', type=int, default=GOALS)
    kinds = parser.add_mutually_exclusive_group()
    for name, words in (('robots', 'two arms'), ('rates', 'other rates'),
                        ('friction', 'other numbers of drive friction')):
        kinds.add_argument(f'--{name}', dest='table', action='store_const', const=name, help=words)
    parser.add_argument('--write', action='store_true', help=f'put the table in doc/{_PAGE.name}')
    arguments = parser.parse_args()
    name = arguments.table or 'disturbances'
    cases = cases_of(name)
    with ProcessPoolExecutor(2) as pool:
        print(f'{len(cases)} cases, {arguments.goals} goals', file=sys.stderr, flush=True)
        text = table(measure(pool, arguments.goals, cases))
    print(text)
    if arguments.write:
        put_into(_PAGE, name, text)


if __name__ == '__main__':
    main()
