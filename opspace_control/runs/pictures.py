# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pictures of a report, each as the text of an SVG, and drawing that the demo shares."""

import functools
import io

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

STYLE = {'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3, 'axes.spines.top': False,
         'axes.spines.right': False, 'legend.frameon': False, 'axes.titlesize': 10,
         'axes.titleweight': 'bold', 'axes.titlelocation': 'left', 'svg.fonttype': 'none',
         'svg.hashsalt': 'opspace'}
COLORS = ('tab:blue', 'tab:red', 'tab:green', 'tab:purple', 'tab:orange', 'tab:cyan')
_FLOOR = 1e-3   # mm, degrees: below is numerical noise
_POINTS = 1500  # of a curve, at most: a picture has no more columns
# Without the origin of the picture, which the page tells.
_BARE = dict.fromkeys(('Creator', 'Date', 'Format', 'Type'))
_GREYS = ('0.8', '0.6', '0.25')  # of the robot, from the start to the end


def draw_lines(panel, lines, color, across, up=2, width=3.0):
    """Draw a robot, lines (k, 2, 3) in m, in the plane of two axes, 0 to 2."""
    for line in lines:
        panel.plot(line[:, across], line[:, up], color=color, lw=width, solid_capstyle='round',
                   zorder=1)
    panel.set_xlabel(f'{"xyz"[across]}, m')
    panel.set_ylabel(f'{"xyz"[up]}, m')
    panel.set_aspect('equal', adjustable='datalim')


def draw_errors(panels, curves):
    """Draw positions and orientations of (label, color, times (k,), errors (k, 2) mm, degrees)."""
    for column, (panel, title) in enumerate(zip(
            panels, ('Position error, mm', 'Orientation error, degrees'), strict=True)):
        panel.set_title(title)
        for label, color, times, errors in curves:
            times, errors = envelope(times, errors[:, column])  # noqa: PLW2901
            panel.semilogy(times, np.maximum(errors, _FLOOR), color=color, lw=1.2, label=label)
        panel.set_ylim(bottom=_FLOOR)
        if curves and not any(errors[:, column].any() for *_, errors in curves):
            panel.set_yticks([])
            panel.text(0.5, 0.5, 'not controlled', ha='center', transform=panel.transAxes)


def draw_loads(panel, times, loads, title):
    """Draw efforts (k, joints) as parts of their limits: each thin, the largest one thick."""
    panel.set_title(title)
    for load in 100.0 * loads.T:
        panel.plot(*envelope(times, load), lw=0.6, alpha=0.7)
    panel.plot(*envelope(times, 100.0 * abs(loads).max(axis=1)), color='k', lw=1.4, label='largest')
    panel.legend(loc='upper right')


def _figure(rows, columns, height, time=True, **options):
    """Return a decorator: a function that draws on panels returns the text of an SVG instead."""
    def decorate(draw):
        @functools.wraps(draw)
        def drawn(*arguments):
            svg = io.StringIO()
            with plt.rc_context(STYLE):
                figure, panels = plt.subplots(rows, columns, figsize=(10.0, height), squeeze=False,
                                              layout='constrained', **options)
                draw(panels.ravel(), *arguments)
                if time:
                    panels.ravel()[-1].set_xlabel('time, s')
                figure.savefig(svg, format='svg', metadata=_BARE)
                plt.close(figure)
            return svg.getvalue()
        return drawn
    return decorate


@_figure(1, 2, 5.0, time=False)
def paths(panels, tasks, skeletons):
    """
    Draw the paths of the frames of `TaskCourse`s from two sides.

    ``skeletons`` are lines (k, 2, 3), m, that show the robot; the last one is darkest.
    """
    for panel, across, side in zip(panels, (0, 1), ('the right', 'the front'), strict=True):
        for lines, grey in zip(skeletons, _GREYS[len(_GREYS) - len(skeletons):], strict=True):
            draw_lines(panel, lines, grey, across, width=2.5)
        for task, color in _colored(tasks):
            path = thinned(task.pose.values)
            panel.plot(path[:, across], path[:, 2], color=color, lw=1.6, label=task.name, zorder=3)
            panel.plot(*path[-1, [across, 2]], 'o', color=color, ms=5, zorder=4)
        panel.set_title(f'From {side}: paths, and the robot from light to dark')
    if tasks:
        panels[0].legend(loc='upper right')


@_figure(2, 1, 4.6, sharex=True)
def errors(panels, tasks):
    """Draw the sizes of the tasks' errors; dotted lines are goals that came."""
    draw_errors(panels, [(task.name, color, task.error.times, task.sizes())
                         for task, color in _colored(tasks)])
    for task, color in _colored(tasks):
        for goal in task.goals if len(task.goals) < 100 else ():
            for panel in panels:
                panel.axvline(goal, color=color, lw=0.6, ls=':')
    panels[0].legend(loc='upper right', ncols=3)


@_figure(1, 1, 2.6)
def joint_errors(panels, tasks):
    """Draw the errors of the tasks of joints."""
    panel, = panels
    for task in tasks:
        for k, joint in enumerate(task.joints if len(task.error) else ()):
            panel.plot(*envelope(task.error.times, task.error.values[:, k]), lw=1.2,
                       label=f'{task.name}: {joint}')
    panel.set_title('Joint error, rad or m')
    if any(len(task.error) for task in tasks):
        panel.legend(loc='upper right', ncols=3)


@_figure(1, 1, 2.6)
def efforts(panels, summary):
    """Draw the efforts as parts of their limits."""
    panel, = panels
    draw_loads(panel, summary.efforts.times, summary.loads(),
               'Efforts commanded, % of their limits')


@_figure(1, 1, 2.4)
def forces(panels, tasks):
    """Draw the size of the force that each task commands."""
    panel, = panels
    for task, color in _colored(tasks):
        panel.plot(*envelope(task.wrench.times,
                             np.linalg.norm(task.wrench.values[:, :3], axis=1)),
                   color=color, lw=1.2, label=task.name)
    panel.set_title('Force commanded by the tasks, N')
    panel.legend(loc='upper right', ncols=3)


@_figure(1, 2, 2.6, time=False)
def timing(panels, summary):
    """Draw how the time between two cycles, and from state to command, is distributed."""
    for panel, seconds, title in (
            (panels[0], summary.latency, 'From joint state to command, ms'),
            (panels[1], summary.period, f'From {summary.period_events}, ms')):
        milliseconds = 1e3 * seconds
        if len(milliseconds):
            top = np.quantile(milliseconds, 0.999)
            panel.hist(np.minimum(milliseconds, top), 60, color='tab:blue', log=True)
            panel.axvline(np.median(milliseconds), color='k', lw=1.0)
        panel.set_title(title)
        panel.set_ylabel('cycles')


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


def _colored(tasks):
    """Yield the tasks with recorded errors and poses, each with its color."""
    for i, task in enumerate(tasks):
        if len(task.error) and len(task.pose):
            yield task, COLORS[i % len(COLORS)]
