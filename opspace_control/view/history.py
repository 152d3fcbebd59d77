# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of the last half minute."""

from collections import deque

import numpy as np

_LENGTH = 30.0     # s
_SAMPLE = 0.1      # s, between two points
_DRAW = 0.5        # s, between two pictures
# From zero, and to one at least: noise is not worth to fill a plot.
_RANGE = {'min': {'soft': 0.0, 'mode': 1, 'pad': 0.0}, 'max': {'soft': 1.0, 'mode': 1, 'pad': 0.1}}
_COLORS = ('#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#17becf', '#8c564b', '#e377c2')


class Plot:
    """
    A plot of some curves over the last half minute.

    Parameters
    ----------
    gui : viser.GuiApi
    title : str
    curves : sequence of str

    """

    def __init__(self, gui, title, curves):
        self._times, self._rows = deque(), deque()
        empty = np.zeros(1)
        self._plot = gui.add_uplot(
            (empty,) * (len(curves) + 1),
            ({'label': 's'}, *({'label': curve, 'stroke': _COLORS[i % len(_COLORS)], 'width': 1.5}
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
    All plots.

    Parameters
    ----------
    gui : viser.GuiApi
    tasks : sequence of str
        Those at points.
    groups : sequence of str
        Those of joints.

    """

    def __init__(self, gui, tasks, groups=()):
        self._tasks, self._groups = tasks, groups
        self._positions = Plot(gui, 'position error, mm', tasks)
        self._angles = Plot(gui, 'orientation error, degrees', tasks)
        self._joints = Plot(gui, 'largest joint error, rad or m', groups) if groups else None
        self._load = Plot(gui, 'largest effort, % of its limit', ['load'])
        self._period = Plot(gui, 'cycle period, ms', ['mean', 'p99'])
        self._condition = Plot(gui, 'condition number', ['condition'])
        self._sampled = self._drawn = 0.0

    def update(self, now, errors, joint_errors, load, facts):
        """
        Take what is now, if it is time for it.

        Parameters
        ----------
        now : float
            s
        errors : dict
            (6,) by task, m and rad; None where there is none.
        joint_errors : dict
            (error, effort) by joint, by task of joints; None where there is none.
        load : float
            Largest effort as a part of its limit.
        facts : dict of str to str
            Of the diagnostics.

        """
        if now - self._sampled < _SAMPLE:
            return
        self._sampled = now
        sizes = [(np.nan, np.nan) if errors[task] is None else
                 (1e3 * np.linalg.norm(errors[task][:3]),
                  np.degrees(np.linalg.norm(errors[task][3:]))) for task in self._tasks]
        self._positions.add(now, [length for length, _ in sizes])
        self._angles.add(now, [angle for _, angle in sizes])
        if self._joints:
            self._joints.add(now, [
                max((abs(error) for error, _ in (joint_errors[group] or {}).values()),
                    default=np.nan) for group in self._groups])
        self._load.add(now, [100.0 * load])
        self._period.add(now, [number(facts, 'period mean [ms]'), number(facts, 'period p99 [ms]')])
        self._condition.add(now, [number(facts, 'condition number')])
        if now - self._drawn > _DRAW:
            self._drawn = now
            for plot in filter(None, (self._positions, self._angles, self._joints, self._load,
                                      self._period, self._condition)):
                plot.draw()


def number(facts, key):
    """Return a number of the diagnostics, NaN where there is none."""
    try:
        return float(facts.get(key, 'nan'))
    except ValueError:
        return np.nan
