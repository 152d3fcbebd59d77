# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What was measured: a number, what it is compared with, and the limit it has to keep."""

import argparse
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of repeated measurements."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, values):
        """Return the spread of some numbers; of a single one, without width."""
        lower, median, upper = np.percentile(values, (25.0, 50.0, 75.0))
        return cls(float(median), float(lower), float(upper))

    def text(self, unit=''):
        """Return 'median unit (lower to upper)', without the quartiles if there is no width."""
        median, lower, upper = (_number(x) for x in (self.median, self.lower, self.upper))
        width = f' ({lower} to {upper})' if self.lower < self.upper else ''
        return f'{median}{" " if unit else ""}{unit}{width}'


@dataclass(frozen=True)
class Figure:
    """
    One line of the table.

    Attributes
    ----------
    key : str
        Name for machines.
    what : str
        What was measured, in words.
    value : Spread
        Compared with the limit: a ratio where there is a peer.
    limit : float or None
        The most that ``value.median`` may be.
    unit : str
        Of ours and peer, or of the value where there is no peer.
    ours, peer : Spread or None
        What the ratio is of.

    """

    key: str
    what: str
    value: Spread
    limit: float | None = None
    unit: str = ''
    ours: Spread | None = None
    peer: Spread | None = None

    @classmethod
    def ratio(cls, key, what, ours, peer, limit=None, unit='µs'):
        """Return the figure of two series that were measured in turn, one pair a round."""
        ours, peer = np.asarray(ours), np.asarray(peer)
        return cls(key, what, Spread.of(ours / peer), limit, unit, Spread.of(ours), Spread.of(peer))

    @property
    def met(self):
        """Whether the limit is kept."""
        return self.limit is None or self.value.median <= self.limit

    def as_dict(self):
        """Return everything as plain data."""
        return {**asdict(self), 'met': self.met}


def markdown(figures):
    """Return the figures as a Markdown table."""
    rows = [('', 'ours', 'peer', 'ours / peer', 'target', '')]
    for figure in figures:
        if figure.peer is None:
            cells = (figure.value.text(figure.unit), '', '')
        else:
            cells = (f'{_number(figure.ours.median)} {figure.unit}',
                     f'{_number(figure.peer.median)} {figure.unit}', f'**{figure.value.text()}**')
        target = '' if figure.limit is None else f'≤ {figure.limit:g}'
        verdict = '' if figure.limit is None else ('met' if figure.met else 'missed')
        rows.append((figure.what, *cells, target, verdict))
    rows.insert(1, ('---', '---:', '---:', '---:', '---:', '---'))
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in rows)


def processor_name():
    """Return the name of the processor."""
    try:
        for line in Path('/proc/cpuinfo').read_text().splitlines():
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def put_into(page, name, text):
    """Put a text between the lines ``<!-- name:begin -->`` and ``<!-- name:end -->`` of a page."""
    begin, end = f'<!-- {name}:begin -->', f'<!-- {name}:end -->'
    head, begun, rest = page.read_text().partition(begin)
    _, ended, tail = rest.partition(end)
    if not (begun and ended):
        raise SystemExit(f'{page} has no lines {begin} and {end}.')
    page.write_text(f'{head}{begin}\n{text}\n{end}{tail}')


def tabulate_goals(doc, page, name, goals, robots, seek, table):
    """
    Measure random goals of robots as the command line asks; print the table, and write it.

    Parameters
    ----------
    doc : str
        Of the program.
    page, name : path, str
        Where ``--write`` puts the table, as in `put_into`.
    goals : int
        For each robot, unless the command line says otherwise.
    robots : sequence of (robot, callable)
        Robots with a ``name``, each with what makes so many goals of it.
    seek : callable
        Of a robot and a goal; returns outcomes.
    table : callable
        Of rows: a robot, and for each outcome those of all goals; returns text.

    """
    parser = argparse.ArgumentParser(description=doc.split('\n\n')[0])
    parser.add_argument('--goals', type=int, default=goals)
    parser.add_argument('--write', action='store_true', help=f'put the table in doc/{page.name}')
    arguments = parser.parse_args()
    rows = []
    with ProcessPoolExecutor() as pool:
        for robot, random_goals in robots:
            outcomes = pool.map(partial(seek, robot), random_goals(arguments.goals))
            rows.append((robot, *zip(*outcomes, strict=True)))
            print(table(rows[-1:]), file=sys.stderr, flush=True)
    text = table(rows)
    print(text)
    if arguments.write:
        put_into(page, name, text)


def _number(value):
    """Return a number with three digits, or as many as a whole one needs."""
    if value == 0.0 or abs(value) >= 100.0:
        return f'{value:.0f}'
    return f'{value:.{max(0, 2 - int(np.floor(np.log10(abs(value)))))}f}'
