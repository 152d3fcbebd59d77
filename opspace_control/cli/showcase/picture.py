# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of a demo: robot, paths, errors, posture and efforts; and that of a comparison."""

import contextlib

import numpy as np

from opspace_control.cli.showcase.record import sizes
from opspace_control.runs.pictures import COLORS, STYLE, draw_errors, draw_lines, draw_loads, plt

_GREYS = ('0.85', '0.65')  # of the robot at its start, and later
_FLAT = 1e-3  # m; paths that rise by less are in a horizontal plane
_CASE_LINES = ('-', '--', ':', '-.')  # of the joints in a comparison
_CASE_FLOOR = 1e-4  # mm: below is numerical noise


@contextlib.contextmanager
def _picture(path, title, rows, size, robot=True):
    """Yield a panel for the robot, if there is one, and ``rows`` panels over time; write a PNG."""
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=size, layout='constrained')
        figure.suptitle(title, fontsize=13, fontweight='bold', x=0.01, ha='left')
        grid = figure.add_gridspec(rows, 1 + robot, width_ratios=[1, 1.35][-1 - robot:])
        left = figure.add_subplot(grid[:, 0]) if robot else None
        panels = [figure.add_subplot(grid[row, -1]) for row in range(rows)]
        yield left, panels
        for panel in panels[:-1]:
            panel.tick_params(labelbottom=False)
        panels[-1].set_xlabel('time, s')
        figure.savefig(path, dpi=110)
        plt.close(figure)


def draw(record, title, skeletons, path):
    """
    Write a PNG of a `Record` to a path.

    ``skeletons`` are lines (k, 2, 3), m, that show the robot from its start on.
    """
    course = record.course()
    with _picture(path, title, 4 if course.momentum is None else 5, (13, 7.5)) as (left, panels):
        _paths(left, record, course.paths, skeletons)
        draw_errors(panels[:2], [(hand, COLORS[i % 4], course.times, sizes(course.errors[:, i]))
                                 for i, hand in enumerate(record.hands)])
        _posture(panels[2], record.plan, course)
        joints, loads = record.loads
        title = 'Joint efforts, % of their limits'
        if joints:
            draw_loads(panels[3], course.times, loads, title)
        else:
            panels[3].set_title(title)
            panels[3].text(0.5, 0.5, 'the robot description has no effort limits', ha='center',
                           transform=panels[3].transAxes)
        if course.momentum is not None:
            _momentum(panels[4], course)
        for panel in panels:
            panel.set_xlim(0.0, course.times[-1])
            for start in record.plan.starts:
                panel.axvline(start, color='0.6', lw=0.7, ls=':')


def _paths(panel, record, paths, skeletons):
    """Draw the paths in the plane where they are largest; up is up, or the robot's left is left."""
    _, y_extent, z_extent = np.ptp(paths.reshape(-1, 3), axis=0)
    flat = z_extent < _FLAT
    right, up = (1, 0) if flat else (1 if y_extent > 0.05 else 0, 2)
    for k, skeleton in enumerate(skeletons):
        draw_lines(panel, skeleton, _GREYS[k % len(_GREYS)], right, up)
    for i, hand in enumerate(record.hands):
        color = COLORS[i % 4]
        goals = record.plan.goals[:, i, :3]
        corners = np.vstack([paths[0, i], goals])
        panel.plot(corners[:, right], corners[:, up], color='0.3', lw=0.8, ls='--', zorder=2)
        panel.plot(paths[:, i, right], paths[:, i, up], color=color, lw=2, label=hand, zorder=3)
        panel.plot(goals[:, right], goals[:, up], ls='', marker='o', ms=9, mfc='none', mec=color,
                   zorder=4)
        for k, goal in enumerate(goals):
            panel.annotate(f'{k + 1}', (goal[right], goal[up]), textcoords='offset points',
                           xytext=(8, 5), color=color)
    panel.set_title('Hands: goals (numbered) and the straight lines to them (dashed)')
    views = {(1, 0): ' (seen from above)', (1, 2): ' (seen from the front)', (0, 2): ''}
    panel.set_xlabel(panel.get_xlabel() + views[right, up])
    if flat:
        panel.xaxis.set_inverted(True)
    panel.legend(loc='upper right')


def _posture(panel, plan, course):
    wanted = [plan.posture_at(time)[plan.joint] for time in course.times]
    panel.plot(course.times, wanted, color='0.3', lw=0.8, ls='--', label='commanded')
    panel.plot(course.times, course.posture, color='tab:orange', lw=1.5, label='measured')
    panel.set_title(f'Posture, in the null space: {plan.joint}, {plan.unit}')
    panel.margins(y=0.3)
    panel.legend(loc='upper right', ncols=2)


def _momentum(panel, course):
    """Draw the momentum that the body exchanges with the arms, and the constant sum."""
    whole, body = (course.momentum[:, i] - course.momentum[0, i] for i in (0, 1))
    panel.plot(course.times, body, lw=1.0, alpha=0.7)
    panel.plot(course.times, whole, color='k', lw=1.4)
    panel.plot([], [], color='k', label='of everything')
    panel.set_title('Momentum since the start, of the body: kg m/s and kg m²/s')
    panel.legend(loc='upper right')


def draw_cases(experiment, cases, path):
    """Write a PNG of both cases of a comparison, each in its colour; a Case shows the robot."""
    rows, robot = len(experiment.panels), hasattr(cases[0], 'skeletons')
    with _picture(path, f'opspace demo: {experiment.summary}', rows,
                  (13, 7.5) if robot else (11, 1.2 + 2.7 * rows), robot) as (left, panels):
        if robot:
            _robots(left, cases)
        for panel, drawn in zip(panels, experiment.panels, strict=True):
            _draw_panel(panel, drawn, cases)
        panels[-1 if robot else 0].legend(loc='upper right', frameon=True, framealpha=0.9,
                                          edgecolor='none')


def _draw_panel(panel, drawn, cases):
    panel.set_title(drawn.title)
    panel.set_xlim(0.0, max(case.times[-1] for case in cases))
    if drawn.logarithmic:
        panel.set_yscale('log')
    for case, color in zip(cases, COLORS, strict=False):
        seen = drawn.look(case).reshape(len(case.times), -1)
        for k, column in enumerate(seen.T):
            panel.plot(case.times, np.maximum(column, _CASE_FLOOR) if drawn.logarithmic else column,
                       _CASE_LINES[k % len(_CASE_LINES)], color=color, lw=1.2,
                       label=None if k else case.label)
    if drawn.wanted:
        wanted = drawn.wanted(cases[0])
        panel.plot(cases[0].times, wanted, ':', color='0.3', lw=1.0)
        panel.set_ylim(-2.0, 3.0 * wanted.max())


def _robots(panel, cases):
    """Draw the robot in a plane, x z if not another: at the start in grey, at the end in colour."""
    right, up = getattr(cases[0], 'plane', (0, 2))
    draw_lines(panel, cases[0].skeletons[0], '0.75', right, up, width=4)
    for radius, path in getattr(cases[0], 'obstacles', ()):
        panel.plot(path[:, right], path[:, up], ':', color='0.5', lw=1)
        panel.add_patch(plt.Circle(path[0, [right, up]], radius, fc='0.9', ec='0.5'))
    for case, color in zip(cases, COLORS, strict=False):
        draw_lines(panel, case.skeletons[1], color, right, up, width=2)
        paths = case.paths.reshape(len(case.paths), -1, 3)
        for hand in range(paths.shape[1]):
            panel.plot(paths[:, hand, right], paths[:, hand, up], color=color, lw=1,
                       label=None if hand else case.label)
            panel.plot(*paths[-1, hand, [right, up]], 'o', color=color, ms=5)
    if (right, up) == (1, 0):
        panel.xaxis.set_inverted(True)
    panel.set_title('The robot at the start (grey) and at the end')
    panel.legend(loc='upper left')
