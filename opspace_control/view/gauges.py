# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Texts and bars of the page, as HTML, and plots of the last half minute."""

from collections import deque
from html import escape

import numpy as np

_FULL = 0.999  # of a limit
_COLORS = ('#2a9d3a', '#d98a00', '#d62728', '#d62728')  # OK, warning, error, stale
_BOX = 'font-size:0.85em;line-height:1.5;padding:0 0.8em 0.4em'
_LENGTH, _SAMPLE, _DRAW = 30.0, 0.1, 0.5  # s: of a plot, between two points, two pictures
# From zero, and to one at least, so that noise does not fill a plot.
_RANGE = {'min': {'soft': 0.0, 'mode': 1, 'pad': 0.0}, 'max': {'soft': 1.0, 'mode': 1, 'pad': 0.1}}
_CURVES = ('#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#17becf', '#8c564b', '#e377c2')


def status(level, text):
    """Return the line of the controller's state; ``level`` is as in DiagnosticStatus."""
    return _box(f'<span style="color:{_COLORS[level]}">&#9679;</span> {escape(text)}')


def words(lines):
    """Return lines of text, the last one first."""
    return _box(''.join(f'<div>{escape(line)}</div>' for line in reversed(lines)))


def task(goal, error, wrench):
    """
    Return the lines of a task.

    Its ``goal`` is (frame, pose (7,) ``[x y z qx qy qz qw]``), its ``error`` (6,), m and rad, and
    ``wrench`` (6,) what it commands, N and N·m; None where no message has come.
    """
    if goal is None:
        return _box(_error(error, wrench))
    frame, pose = goal
    numbers = [f'{x:.3f}' for x in pose]
    return _box(f'goal {" ".join(numbers[:3])} m, quaternion {" ".join(numbers[3:])}, in '
                f'{escape(frame)}<br>{_error(error, wrench)}')


def _error(six, wrench):
    parts = []
    if six is not None:
        distance, angle = _sizes(six)
        parts.append(f'error {distance:.1f} mm, {angle:.2f}°')
    if wrench is not None:
        parts.append(f'commands {np.linalg.norm(wrench[:3]):.1f} N, '
                     f'{np.linalg.norm(wrench[3:]):.1f} N·m')
    return ' &middot; '.join(parts) or 'no message yet'


def joint_error(joints):
    """Return the line of a task of joints: (error, effort) by joint, the largest of each."""
    if not joints:
        return task(None, None, None)
    parts = []
    for k, (word, figures, units) in enumerate((
            ('error', '.4f', 'rad or m'), ('commands', '.1f', 'N·m or N'))):
        joint = max(joints, key=lambda name: abs(joints[name][k]))
        of = f' ({escape(joint)})' if len(joints) > 1 else ''
        parts.append(f'{word} {abs(joints[joint][k]):{figures}} {units}{of}')
    return _box(' &middot; '.join(parts))


def wrenches(rows):
    """Return a table of wrenches: (what, frame, six, kind)."""
    return _table((what if kind == 'commanded' else f'{what} ({kind})',
                   ' '.join(f'{x:.1f}' for x in six[:3]) + ' N, '
                   + ' '.join(f'{x:.2f}' for x in six[3:]) + ' N·m')
                  for what, _, six, kind in rows)


def facts(values):
    """Return a table of names and texts."""
    return _table(values.items())


def efforts(values, limits):
    """Return a bar for each joint: its effort, N·m or N, against its limit, perhaps infinite."""
    rows = []
    for joint, effort in values.items():
        limit = limits.get(joint, np.inf)
        part = min(abs(effort) / limit, 1.0) if limit > 0.0 else 1.0
        color = _COLORS[2 if part > _FULL else 1 if part > 0.8 else 0]
        side = 'left' if effort >= 0.0 else 'right'
        against = f' / {limit:g}' if np.isfinite(limit) else ''
        rows.append(
            f'<div style="display:flex;gap:0.6em;align-items:center">'
            f'<span style="width:40%;overflow:hidden;text-overflow:ellipsis">{escape(joint)}</span>'
            f'<span style="position:relative;flex:1;height:0.7em;background:#8883">'
            f'<span style="position:absolute;{side}:50%;width:{50 * part:.1f}%;height:100%;'
            f'background:{color}"></span></span>'
            f'<span style="width:27%;text-align:right">{effort:.1f}{against}</span></div>')
    return _box(''.join(rows) or 'no message yet')


def load(values, limits):
    """Return the largest effort as a part of its limit, 0 where nothing is limited."""
    return max((abs(effort) / limits[joint] for joint, effort in values.items()
                if 0.0 < limits.get(joint, np.inf) < np.inf), default=0.0)


def _table(rows):
    cells = ''.join(f'<tr><td style="padding-right:1em;vertical-align:top">{escape(name)}</td>'
                    f'<td>{escape(text)}</td></tr>' for name, text in rows)
    return _box(f'<table>{cells}</table>')


def _box(html):
    return f'<div style="{_BOX}">{html}</div>'


def _sizes(six):
    """Return the sizes of an error (6,), mm and degrees; NaN for None."""
    return (np.nan, np.nan) if six is None else (
        1e3 * np.linalg.norm(six[:3]), np.degrees(np.linalg.norm(six[3:])))


class _Plot:
    """A plot of curves, by their names, over the last half minute."""

    def __init__(self, gui, title, curves):
        self._times, self._rows = deque(), deque()
        empty = np.zeros(1)
        self._plot = gui.add_uplot(
            (empty,) * (len(curves) + 1),
            ({'label': 's'}, *({'label': curve, 'stroke': _CURVES[i % len(_CURVES)], 'width': 1.5}
                               for i, curve in enumerate(curves))),
            title=title, height=150, scales={'x': {'time': False}, 'y': {'range': _RANGE}},
            legend={'show': len(curves) > 1})

    def add(self, time, values):
        """Add a point of each curve at a time, s; NaN is a gap."""
        self._times.append(time)
        self._rows.append(values)
        while time - self._times[0] > _LENGTH:
            self._times.popleft()
            self._rows.popleft()

    def draw(self):
        """Show it; the present is at zero."""
        if self._times:
            times = np.array(self._times)
            self._plot.data = (times - times[-1], *np.array(self._rows, dtype=float).T)


class History:
    """
    All plots: of ``tasks`` at points, ``groups`` (tasks of joints), and of the controller.

    There may be none of either: ROS 2 discovers the topics of a controller one by one.
    """

    def __init__(self, gui, tasks, groups=()):
        self._tasks, self._groups = tasks, groups
        titles = {'position error, mm': tasks, 'orientation error, degrees': tasks,
                  'largest joint error, rad or m': groups,
                  'largest effort, % of its limit': ['load'], 'cycle period, ms': ['mean', 'p99'],
                  'condition number': ['condition']}
        self._plots = [_Plot(gui, title, curves) for title, curves in titles.items() if curves]
        self._sampled = self._drawn = 0.0

    def update(self, now, errors, joint_errors, load, facts):
        """
        Add the values of a time, s, if it is time for a point.

        ``errors`` are (6,) by task, m and rad, and ``joint_errors`` (error, effort) by joint, by
        task of joints; None where there is none. ``load`` is the largest effort as a part of its
        limit, ``facts`` the texts of the diagnostics.
        """
        if now - self._sampled < _SAMPLE:
            return
        self._sampled = now
        sizes = [_sizes(errors[task]) for task in self._tasks]
        rows = [[length for length, _ in sizes], [angle for _, angle in sizes],
                [max((abs(error) for error, _ in (joint_errors[group] or {}).values()),
                     default=np.nan) for group in self._groups],
                [100.0 * load], _numbers(facts, 'period mean [ms]', 'period p99 [ms]'),
                _numbers(facts, 'condition number')]
        for plot, row in zip(self._plots, filter(None, rows), strict=True):
            plot.add(now, row)
        if now - self._drawn > _DRAW:
            self._drawn = now
            for plot in self._plots:
                plot.draw()


def _numbers(facts, *keys):
    """Return numbers of the diagnostics, NaN for other texts."""
    found = []
    for key in keys:
        try:
            found.append(float(facts.get(key, 'nan')))
        except ValueError:
            found.append(np.nan)
    return found
