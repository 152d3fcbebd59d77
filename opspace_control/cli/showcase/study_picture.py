# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of a study: both cases, each in its colour."""

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

from opspace_control.cli.showcase.picture import STYLE

_COLORS = ('tab:blue', 'tab:red')
_LINES = ('-', '--', ':', '-.')  # of the joints
_FLOOR = 1e-4  # mm: below is numerical noise


def draw(study, cases, path):
    """
    Write a PNG.

    Parameters
    ----------
    study : Study
        Has the title, and what is drawn.
    cases : sequence of Case or Trial
        What happened; a Case shows the robot as well.
    path : path
        File to write.

    """
    rows, robot = len(study.panels), hasattr(cases[0], 'skeletons')
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(13, 7.5) if robot else (11, 1.2 + 2.7 * rows),
                            layout='constrained')
        figure.suptitle(f'opspace demo: {study.summary}', fontsize=13, fontweight='bold', x=0.01,
                        ha='left')
        grid = figure.add_gridspec(rows, 1 + robot, width_ratios=[1, 1.35][-1 - robot:])
        if robot:
            _robots(figure.add_subplot(grid[:, 0]), cases)
        panels = [figure.add_subplot(grid[row, -1]) for row in range(rows)]
        for panel, drawn in zip(panels, study.panels, strict=True):
            _draw(panel, drawn, cases)
        for panel in panels[:-1]:
            panel.tick_params(labelbottom=False)
        panels[-1 if robot else 0].legend(loc='upper right')
        panels[-1].set_xlabel('time, s')
        figure.savefig(path, dpi=110)
        plt.close(figure)


def _draw(panel, drawn, cases):
    """Draw what a `Panel` shows of both cases, each in its colour."""
    panel.set_title(drawn.title)
    panel.set_xlim(0.0, max(case.times[-1] for case in cases))
    if drawn.logarithmic:
        panel.set_yscale('log')
    for case, color in zip(cases, _COLORS, strict=True):
        seen = drawn.look(case).reshape(len(case.times), -1)
        for k, column in enumerate(seen.T):
            panel.plot(case.times, np.maximum(column, _FLOOR) if drawn.logarithmic else column,
                       _LINES[k % len(_LINES)], color=color, lw=1.2,
                       label=None if k else case.label)
    if drawn.wanted:
        wanted = drawn.wanted(cases[0])
        panel.plot(cases[0].times, wanted, ':', color='0.3', lw=1.0)
        panel.set_ylim(-2.0, 3.0 * wanted.max())


def _robots(panel, cases):
    """Draw the robot in the plane x z: at the start in grey, where it ends in colour."""
    for line in cases[0].skeletons[0]:
        panel.plot(line[:, 0], line[:, 2], color='0.75', lw=4, solid_capstyle='round')
    for case, color in zip(cases, _COLORS, strict=True):
        for line in case.skeletons[1]:
            panel.plot(line[:, 0], line[:, 2], color=color, lw=2, solid_capstyle='round')
        panel.plot(case.paths[:, 0], case.paths[:, 2], color=color, lw=1, label=case.label)
        panel.plot(*case.paths[-1, [0, 2]], 'o', color=color, ms=5)
    panel.set_title('The arm at the start (grey) and at the end')
    panel.set_xlabel('x, m')
    panel.set_ylabel('z, m')
    panel.set_aspect('equal', adjustable='datalim')
    panel.legend(loc='upper left')
