# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of a demo: paths and errors of the hands, posture and efforts."""

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

_HANDS = ('tab:blue', 'tab:red', 'tab:green', 'tab:purple')
STYLE = {'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3, 'axes.spines.top': False,
          'axes.spines.right': False, 'legend.frameon': False, 'axes.titlesize': 10,
          'axes.titleweight': 'bold', 'axes.titlelocation': 'left'}
# Of the robot at its start, and later.
_GREYS = ('0.85', '0.65')
# Paths that rise by less are in a horizontal plane.
_FLAT = 1e-3  # m
# Plots of errors begin here: below is numerical noise.
_FLOOR = 1e-3  # mm, degrees


def draw(record, title, skeletons, path):
    """
    Write a PNG.

    Parameters
    ----------
    record : Record
        What happened.
    title : str
        Of the whole.
    skeletons : sequence of (k, 2, 3) arrays
        Lines that show the robot from its start on, m.
    path : path
        File to write.

    """
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(13, 7.5), layout='constrained')
        figure.suptitle(title, fontsize=13, fontweight='bold', x=0.01, ha='left')
        rows = 4 if record.momentum is None else 5
        grid = figure.add_gridspec(rows, 2, width_ratios=[1, 1.35])
        _paths(figure.add_subplot(grid[:, 0]), record, skeletons)
        axes = [figure.add_subplot(grid[row, 1]) for row in range(rows)]
        _errors(axes[0], axes[1], record)
        _posture(axes[2], record)
        _loads(axes[3], record)
        if record.momentum is not None:
            _momentum(axes[4], record)
        for panel in axes:
            panel.set_xlim(0.0, record.times[-1])
            for start in record.plan.starts:
                panel.axvline(start, color='0.6', lw=0.7, ls=':')
        for panel in axes[:-1]:
            panel.tick_params(labelbottom=False)
        axes[-1].set_xlabel('time, s')
        figure.savefig(path, dpi=110)
        plt.close(figure)


def _paths(panel, record, skeletons):
    """Draw the paths in the plane where they are largest; up is up, or the robot's left is left."""
    points = record.paths.reshape(-1, 3)
    _, y_extent, z_extent = np.ptp(points, axis=0)
    flat = z_extent < _FLAT
    right, up = (1, 0) if flat else (1 if y_extent > 0.05 else 0, 2)
    for k, skeleton in enumerate(skeletons):
        for line in skeleton:
            panel.plot(line[:, right], line[:, up], color=_GREYS[k % len(_GREYS)], lw=3,
                       solid_capstyle='round', zorder=1)
    for i, hand in enumerate(record.hands):
        color = _HANDS[i % len(_HANDS)]
        goals = record.plan.goals[:, i, :3]
        corners = np.vstack([record.paths[0, i], goals])
        panel.plot(corners[:, right], corners[:, up], color='0.3', lw=0.8, ls='--', zorder=2)
        panel.plot(record.paths[:, i, right], record.paths[:, i, up], color=color, lw=2,
                   label=hand, zorder=3)
        panel.plot(goals[:, right], goals[:, up], ls='', marker='o', ms=9, mfc='none', mec=color,
                   zorder=4)
        for k, goal in enumerate(goals):
            panel.annotate(f'{k + 1}', (goal[right], goal[up]), textcoords='offset points',
                           xytext=(8, 5), color=color)
    panel.set_title('Hands: goals (numbered) and the straight lines to them (dashed)')
    views = {(1, 0): ' (seen from above)', (1, 2): ' (seen from the front)', (0, 2): ''}
    panel.set_xlabel(f'{"xyz"[right]}, m{views[right, up]}')
    panel.set_ylabel(f'{"xyz"[up]}, m')
    panel.set_aspect('equal', adjustable='datalim')
    if flat:
        panel.xaxis.set_inverted(True)
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


def _momentum(panel, record):
    """Draw what the body exchanges with the arms, and that the sum stays as it is."""
    whole, body = (record.momentum[:, i] - record.momentum[0, i] for i in (0, 1))
    panel.plot(record.times, body, lw=1.0, alpha=0.7)
    panel.plot(record.times, whole, color='k', lw=1.4)
    panel.plot([], [], color='k', label='of everything')
    panel.set_title('Momentum since the start, of the body: kg m/s and kg m²/s')
    panel.legend(loc='upper right')
