# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of a study of contact: both trials in one, each in its colour."""

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt

from opspace_control.cli.showcase.picture import STYLE

_COLORS = ('tab:blue', 'tab:red')
_LINES = ('-', '--')


def draw(study, trials, path):
    """
    Write a PNG.

    Parameters
    ----------
    study : ContactStudy
        Has the title, and what is drawn.
    trials : sequence of Trial
        What happened.
    path : path
        File to write.

    """
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            len(study.panels), figsize=(11, 1.2 + 2.7 * len(study.panels)), layout='constrained',
            sharex=True, squeeze=False)
        figure.suptitle(f'opspace demo: {study.summary}', fontsize=13, fontweight='bold', x=0.01,
                        ha='left')
        for panel, (title, look) in zip(panels[:, 0], study.panels, strict=True):
            panel.set_title(title)
            for trial, color in zip(trials, _COLORS, strict=True):
                seen = look(trial).reshape(len(trial.times), -1)
                for k, line in enumerate(_LINES[:seen.shape[1]]):
                    panel.plot(trial.times, seen[:, k], line, color=color, lw=1.2,
                               label=trial.label if k == 0 else None)
            panel.set_xlim(0.0, max(trial.times[-1] for trial in trials))
        force = panels[0, 0]
        force.plot(trials[0].times, trials[0].wanted, ':', color='0.3', lw=1.0)
        force.set_ylim(-2.0, 3.0 * trials[0].wanted.max())
        force.legend(loc='upper right')
        panels[-1, 0].set_xlabel('time, s')
        figure.savefig(path, dpi=110)
        plt.close(figure)

