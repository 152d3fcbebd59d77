# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pictures of a report, each as the text of an SVG."""

import io

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

_TASKS = ('tab:blue', 'tab:red', 'tab:green', 'tab:purple', 'tab:orange', 'tab:cyan')
_STYLE = {'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3, 'axes.spines.top': False,
          'axes.spines.right': False, 'legend.frameon': False, 'axes.titlesize': 10,
          'axes.titleweight': 'bold', 'axes.titlelocation': 'left', 'svg.fonttype': 'none',
          'svg.hashsalt': 'opspace'}
_FLOOR = 1e-3   # mm, degrees: below is numerical noise
_POINTS = 1500  # of a curve, at most: a picture has no more columns
# No word of where the picture comes from: the page says that.
_BARE = dict.fromkeys(('Creator', 'Date', 'Format', 'Type'))
_GREYS = ('0.8', '0.6', '0.25')  # of the robot, from the start to the end


def paths(tasks, skeletons):
    """
    Draw where the tasks' frames went, from two sides.

    Parameters
    ----------
    tasks : sequence of TaskCourse
        What was seen of them.
    skeletons : sequence of (k, 2, 3) array
        Lines that show the robot, m; the last one is darkest.

    """
    with _figure(1, 2, 5.0) as (svg, panels):
        for panel, across, side in zip(panels, (0, 1), ('the right', 'the front'), strict=True):
            for lines, grey in zip(skeletons, _GREYS[len(_GREYS) - len(skeletons):], strict=True):
                for line in lines:
                    panel.plot(line[:, across], line[:, 2], color=grey, lw=2.5,
                               solid_capstyle='round', zorder=1)
            for task, color in _colored(tasks):
                path = thinned(task.pose.values)
                panel.plot(path[:, across], path[:, 2], color=color, lw=1.6, label=task.name,
                           zorder=3)
                panel.plot(*path[-1, [across, 2]], 'o', color=color, ms=5, zorder=4)
            panel.set_title(f'From {side}: paths, and the robot from light to dark')
            panel.set_xlabel(f'{"xy"[across]}, m')
            panel.set_ylabel('z, m')
            panel.set_aspect('equal', adjustable='datalim')
        if tasks:
            panels[0].legend(loc='upper right')
    return svg.getvalue()


def errors(tasks):
    """Draw the sizes of the tasks' errors; dotted lines are goals that came."""
    with _figure(2, 1, 4.6, sharex=True) as (svg, panels):
        for column, (panel, title) in enumerate(zip(
                panels, ('Position error, mm', 'Orientation error, degrees'), strict=True)):
            panel.set_title(title)
            for task, color in _colored(tasks):
                times, sizes = envelope(task.error.times, task.sizes()[:, column])
                panel.semilogy(times, np.maximum(sizes, _FLOOR), color=color, lw=1.2,
                               label=task.name)
                for goal in task.goals if len(task.goals) < 100 else ():
                    panel.axvline(goal, color=color, lw=0.6, ls=':')
            panel.set_ylim(bottom=_FLOOR)
        panels[0].legend(loc='upper right', ncols=3)
        panels[-1].set_xlabel('time, s')
    return svg.getvalue()


def joint_errors(tasks):
    """Draw the errors of the tasks of joints."""
    with _figure(1, 1, 2.6) as (svg, (panel,)):
        for task in tasks:
            for k, joint in enumerate(task.joints if len(task.error) else ()):
                panel.plot(*envelope(task.error.times, task.error.values[:, k]), lw=1.2,
                           label=f'{task.name}: {joint}')
        panel.set_title('Joint error, rad or m')
        panel.set_xlabel('time, s')
        if any(len(task.error) for task in tasks):
            panel.legend(loc='upper right', ncols=3)
    return svg.getvalue()


def efforts(summary):
    """Draw the efforts as parts of their limits: each joint thin, the largest one thick."""
    with _figure(1, 1, 2.6) as (svg, (panel,)):
        loads, times = 100.0 * summary.loads(), summary.efforts.times
        for joint in range(loads.shape[1]):
            panel.plot(*envelope(times, loads[:, joint]), lw=0.6, alpha=0.7)
        panel.plot(*envelope(times, abs(loads).max(axis=1)), color='k', lw=1.4, label='largest')
        panel.set_title('Efforts commanded, % of their limits')
        panel.set_xlabel('time, s')
        panel.legend(loc='upper right')
    return svg.getvalue()


def forces(tasks):
    """Draw the size of the force that each task commands."""
    with _figure(1, 1, 2.4) as (svg, (panel,)):
        for task, color in _colored(tasks):
            panel.plot(*envelope(task.wrench.times,
                                 np.linalg.norm(task.wrench.values[:, :3], axis=1)),
                       color=color, lw=1.2, label=task.name)
        panel.set_title('Force commanded by the tasks, N')
        panel.set_xlabel('time, s')
        panel.legend(loc='upper right', ncols=3)
    return svg.getvalue()


def timing(summary):
    """Draw how the time from command to command, and from state to command, is distributed."""
    with _figure(1, 2, 2.6) as (svg, panels):
        for panel, seconds, title in (
                (panels[0], summary.latency, 'From joint state to command, ms'),
                (panels[1], summary.period, 'From command to command, ms')):
            milliseconds = 1e3 * seconds
            if len(milliseconds):
                top = np.quantile(milliseconds, 0.999)
                panel.hist(np.minimum(milliseconds, top), 60, color='tab:blue', log=True)
                panel.axvline(np.median(milliseconds), color='k', lw=1.0)
            panel.set_title(title)
            panel.set_ylabel('cycles')
    return svg.getvalue()


def thinned(rows):
    """Return some of many rows, the first and the last among them."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _POINTS)).astype(int))]


def envelope(times, values):
    """Return a curve with few points whose peaks, to either side, are those of all points."""
    if len(values) <= _POINTS:
        return times, values
    starts = np.linspace(0, len(values), _POINTS // 2 + 1).astype(int)[:-1]
    chosen = []
    for first, end in zip(starts, [*starts[1:], len(values)], strict=True):
        part = values[first:end]
        chosen += sorted({first + int(part.argmin()), first + int(part.argmax())})
    return times[chosen], values[chosen]


class _figure:  # noqa: N801 (a context manager that reads as a function)
    """A figure of some panels; what is drawn in the context becomes an SVG at its end."""

    def __init__(self, rows, columns, height, **options):
        self._shape, self._height, self._options = (rows, columns), height, options
        self._context, self._svg = plt.rc_context(_STYLE), io.StringIO()

    def __enter__(self):
        self._context.__enter__()
        self._figure, panels = plt.subplots(
            *self._shape, figsize=(10.0, self._height), layout='constrained', squeeze=False,
            **self._options)
        return self._svg, panels.ravel()

    def __exit__(self, *error):
        self._figure.savefig(self._svg, format='svg', metadata=_BARE)
        plt.close(self._figure)
        self._context.__exit__(*error)


def _colored(tasks):
    """Yield the tasks of which something was seen, each with its color."""
    for i, task in enumerate(tasks):
        if len(task.error) and len(task.pose):
            yield task, _TASKS[i % len(_TASKS)]
