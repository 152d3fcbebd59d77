# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a recorded run: where the hands went, how well, and what it took."""

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

_COLORS = ('tab:blue', 'tab:red', 'tab:green', 'tab:purple', 'tab:orange', 'tab:cyan')
_STYLE = {'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3, 'axes.spines.top': False,
          'axes.spines.right': False, 'legend.frameon': False, 'axes.titlesize': 10,
          'axes.titleweight': 'bold', 'axes.titlelocation': 'left'}
# Plots of errors begin here: below is numerical noise.
_FLOOR = 1e-3  # mm, degrees


def draw_all(course, write):
    """
    Draw everything there is of a run.

    Parameters
    ----------
    course : Course
        What happened.
    write : callable
        Called with a title, a sentence that explains the picture, and the figure, which is closed
        afterwards.

    """
    with plt.rc_context(_STYLE):
        for there, title, words, draw in (
                (course.tasks, 'Robot and paths', 'The robot at the begin of the run, light, and '
                 'at its end, dark, from the front and from the side, and the paths of the '
                 "tasks' frames.", _paths),
                (course.tasks, 'Errors', 'Goal minus pose: it jumps with each new goal.', _errors),
                (course.efforts[0].size, 'Efforts',
                 'What was commanded, in parts of the limits of the joints.', _loads),
                (course.periods.size, 'Time between two commands',
                 'As the recorder received them, with the delays of the network.', _periods),
                (course.diagnostics, 'Condition number',
                 'Of the inverse inertia of the acting tasks: large is near a singularity.',
                 _condition)):
            if not np.size(there):
                continue
            figure = draw(course)
            write(title, words, figure)
            plt.close(figure)


def _paths(course):
    figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout='constrained')
    for panel, across in zip(axes, (1, 0), strict=True):
        for moment, shade in ((0.0, '0.8'), (1.0, '0.4')):
            for line in course.links_at(moment):
                panel.plot(line[:, across], line[:, 2], color=shade, lw=3, solid_capstyle='round')
        for i, task in enumerate(course.tasks):
            color = _COLORS[i % len(_COLORS)]
            if task.path.size:
                panel.plot(task.path[:, across], task.path[:, 2], color=color, lw=2,
                           label=task.name)
                panel.plot(*task.path[-1, [across, 2]], color=color, marker='o')
        panel.set_xlabel(f'{"xy"[across]}, m')
        panel.set_ylabel('z, m')
        panel.set_aspect('equal', adjustable='datalim')
    axes[0].legend()
    return figure


def _errors(course):
    figure, axes = plt.subplots(2, 1, figsize=(10, 5), sharex=True, layout='constrained')
    for panel, column, scale, title in ((axes[0], 0, 1e3, 'position, mm'),
                                        (axes[1], 1, np.degrees(1.0), 'orientation, degrees')):
        for i, task in enumerate(course.tasks):
            panel.semilogy(task.times, np.maximum(scale * task.errors[:, column], _FLOOR),
                           color=_COLORS[i % len(_COLORS)], lw=1.2, label=task.name)
        panel.set_title(title)
        panel.set_ylim(bottom=_FLOOR)
    axes[0].legend()
    axes[1].set_xlabel('time, s')
    return figure


def _loads(course):
    times, joints, loads = course.loads
    figure, panel = plt.subplots(figsize=(10, 3.2), layout='constrained')
    if joints:
        panel.plot(times, 100.0 * loads, lw=0.6, alpha=0.7)
        panel.plot(times, 100.0 * abs(loads).max(axis=1), color='k', lw=1.4, label='largest')
        panel.set_ylabel('%')
        panel.legend()
    else:
        times, _, efforts = course.efforts
        panel.plot(times, efforts, lw=0.8)
        panel.set_ylabel('N·m or N')
    panel.set_xlabel('time, s')
    return figure


def _periods(course):
    figure, panel = plt.subplots(figsize=(10, 2.6), layout='constrained')
    milliseconds = 1e3 * course.periods
    high = 3.0 * np.median(milliseconds)
    panel.hist(np.minimum(milliseconds, high), bins=120, range=(0.0, high), log=True)
    panel.set_xlabel('ms; what is longer is in the last bar')
    panel.set_ylabel('commands')
    return figure


def _condition(course):
    figure, panel = plt.subplots(figsize=(10, 2.6), layout='constrained')
    rows = [(time, float(facts['condition number'])) for time, *_, facts in course.diagnostics
            if 'condition number' in facts]
    if rows:
        panel.semilogy(*np.array(rows).T, marker='.')
    panel.set_xlabel('time, s')
    return figure
