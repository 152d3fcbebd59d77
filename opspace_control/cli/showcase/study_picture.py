# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of a study: both cases in one, each in its colour."""

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
        Has the title.
    cases : sequence of Case
        What happened.
    path : path
        File to write.

    """
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(13, 7.5), layout='constrained')
        figure.suptitle(f'opspace demo: {study.summary}', fontsize=13, fontweight='bold', x=0.01,
                        ha='left')
        grid = figure.add_gridspec(3, 2, width_ratios=[1, 1.35])
        _robots(figure.add_subplot(grid[:, 0]), cases)
        panels = [figure.add_subplot(grid[row, 1]) for row in range(3)]
        for case, color in zip(cases, _COLORS, strict=True):
            for joint in range(case.positions.shape[1]):
                line = _LINES[joint % len(_LINES)]
                panels[0].plot(case.times, case.positions[:, joint], line, color=color, lw=1.2)
                panels[1].plot(case.times, case.velocities[:, joint], line, color=color, lw=1.2)
            panels[2].semilogy(case.times, np.maximum(case.errors, _FLOOR), color=color, lw=1.2,
                               label=case.label)
        for panel, title in zip(panels, (
                'Joints, rad: the first solid, the second dashed, the third dotted',
                'Joints, rad/s', "Distance of the task's frame from its goal, mm"), strict=True):
            panel.set_title(title)
            panel.set_xlim(0.0, cases[0].times[-1])
        panels[2].legend(loc='upper right')
        panels[2].set_xlabel('time, s')
        figure.savefig(path, dpi=110)
        plt.close(figure)


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
