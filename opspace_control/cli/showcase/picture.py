# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of a demo: where the hands went, how well, and what the posture and drives did."""

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

_HANDS = ('tab:blue', 'tab:red', 'tab:green', 'tab:purple')
STYLE = {'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3, 'axes.spines.top': False,
          'axes.spines.right': False, 'legend.frameon': False, 'axes.titlesize': 10,
          'axes.titleweight': 'bold', 'axes.titlelocation': 'left'}
# Plots of errors begin here: below is numerical noise.
_FLOOR = 1e-3  # mm, degrees


def draw(record, title, skeleton, path):
    """
    Write a PNG.

    Parameters
    ----------
    record : Record
        What happened.
    title : str
        Of the whole.
    skeleton : (k, 2, 3) array
        Lines that show the robot at its start, m.
    path : path
        File to write.

    """
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(13, 7.5), layout='constrained')
        figure.suptitle(title, fontsize=13, fontweight='bold', x=0.01, ha='left')
        grid = figure.add_gridspec(4, 2, width_ratios=[1, 1.35])
        _paths(figure.add_subplot(grid[:, 0]), record, skeleton)
        axes = [figure.add_subplot(grid[row, 1]) for row in range(4)]
        _errors(axes[0], axes[1], record)
        _posture(axes[2], record)
        _loads(axes[3], record)
        for panel in axes:
            panel.set_xlim(0.0, record.times[-1])
            for start in record.plan.starts:
                panel.axvline(start, color='0.6', lw=0.7, ls=':')
        for panel in axes[:-1]:
            panel.tick_params(labelbottom=False)
        axes[-1].set_xlabel('time, s')
        figure.savefig(path, dpi=110)
        plt.close(figure)


def _paths(panel, record, skeleton):
    """Draw the paths in the plane where they are largest; up is up."""
    points = record.paths.reshape(-1, 3)
    across = 1 if np.ptp(points[:, 1]) > 0.05 else 0
    for line in skeleton:
        panel.plot(line[:, across], line[:, 2], color='0.75', lw=3, solid_capstyle='round',
                   zorder=1)
    for i, hand in enumerate(record.hands):
        color = _HANDS[i % len(_HANDS)]
        goals = record.plan.goals[:, i, :3]
        corners = np.vstack([record.paths[0, i], goals])
        panel.plot(corners[:, across], corners[:, 2], color='0.3', lw=0.8, ls='--', zorder=2)
        panel.plot(record.paths[:, i, across], record.paths[:, i, 2], color=color, lw=2,
                   label=hand, zorder=3)
        panel.plot(goals[:, across], goals[:, 2], ls='', marker='o', ms=9, mfc='none', mec=color,
                   zorder=4)
        for k, goal in enumerate(goals):
            panel.annotate(f'{k + 1}', (goal[across], goal[2]), textcoords='offset points',
                           xytext=(8, 5), color=color)
    panel.set_title('Hands: goals (numbered) and the straight lines to them (dashed)')
    panel.set_xlabel(f'{"xy"[across]}, m' + (' (seen from the front)' if across else ''))
    panel.set_ylabel('z, m')
    panel.set_aspect('equal', adjustable='datalim')
    panel.legend(loc='upper right')


def _errors(positions, angles, record):
    lengths = np.linalg.norm(record.errors[..., :3], axis=-1) * 1e3
    turns = np.degrees(np.linalg.norm(record.errors[..., 3:], axis=-1))
    for panel, sizes, title in ((positions, lengths, 'Position error, mm'),
                                (angles, turns, 'Orientation error, degrees')):
        for i, hand in enumerate(record.hands):
            panel.semilogy(record.times, np.maximum(sizes[:, i], _FLOOR),
                           color=_HANDS[i % len(_HANDS)], lw=1.2, label=hand)
        panel.set_title(title)
        panel.set_ylim(bottom=_FLOOR)
        if not sizes.any():
            panel.set_yticks([])
            panel.text(0.5, 0.5, 'not controlled', ha='center', transform=panel.transAxes)


def _posture(panel, record):
    wanted = [record.plan.posture_at(time)[record.plan.joint] for time in record.times]
    panel.plot(record.times, wanted, color='0.3', lw=0.8, ls='--', label='commanded')
    panel.plot(record.times, record.posture, color='tab:orange', lw=1.5, label='measured')
    panel.set_title(f'Posture, in the null space: {record.plan.joint}, {record.plan.unit}')
    panel.margins(y=0.3)
    panel.legend(loc='upper right', ncols=2)


def _loads(panel, record):
    joints, loads = record.loads
    panel.set_title('Joint efforts, % of their limits')
    if not joints:
        panel.text(0.5, 0.5, 'the robot description has no effort limits', ha='center',
                   transform=panel.transAxes)
        return
    panel.plot(record.times, 100.0 * loads, lw=0.6, alpha=0.7)
    panel.plot(record.times, 100.0 * abs(loads).max(axis=1), color='k', lw=1.4, label='largest')
    panel.legend(loc='upper right')
