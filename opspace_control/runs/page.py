# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one self-contained HTML page."""

import time
from html import escape

import numpy as np

from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.model import RobotState
from opspace_control.model.topology import depth_first
from opspace_control.model.urdf import read_urdf
from opspace_control.runs import pictures

_LEVELS = {0: 'change', 10: 'debug', 20: 'info', 30: 'warning', 40: 'error', 50: 'fatal'}
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;
 color:#1d232b;background:#fff}
h1{font-size:1.6rem;margin-bottom:.2rem}
h2{font-size:1.15rem;margin:2.2rem 0 .6rem;border-bottom:1px solid #d9dde2}
table{border-collapse:collapse;font-size:.9rem;margin:.6rem 0}
th,td{text-align:right;padding:.15rem .7rem;border-bottom:1px solid #eceff2;vertical-align:top}
th:first-child,td:first-child,td.words,th.words{text-align:left}
svg{width:100%;height:auto}
.bar{display:inline-block;width:9rem;height:.7em;background:#eceff2}
.bar i{display:block;height:100%;background:#2a7ab9}
.bar i.full{background:#c8281e}
.good{color:#187a2c}.bad{color:#c8281e}.dim{color:#68717c}
code{font-size:.95em}"""


def page(summary, defaults=None):
    """Return a page about a `Summary` as HTML, without parameters at ``defaults``."""
    run = summary.run
    title = f'{summary.model.name if summary.model else "A robot"} under {run.controller}'
    began = time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(1e-9 * run.start))
    forces = (pictures.forces(summary.tasks)
              if any(len(task.wrench) for task in summary.tasks) else '')
    parts = [
        f'<h1>{escape(title)}</h1>',
        f'<p class="dim">{began}, {run.duration:.1f} s, of which '
        f'{summary.ended - summary.began:.1f} s under control &middot; '
        f'{escape(str(run.path.name))}</p>',
        _verdict(summary),
        _section('Paths', pictures.paths(summary.tasks, _skeletons(summary))),
        _section('Errors', *_errors(summary)),
        _section('Efforts', _effort_table(summary), pictures.efforts(summary), forces),
        _section('Timing', _timing_table(summary), pictures.timing(summary)),
        _section('Messages', _said(summary)),
        _section('Tasks and parameters', _tasks(summary), _parameters(summary.run, defaults or {})),
        _section('Machine', _table(('', ''), run.machine.items(), words=(1,))),
        _section('Topics', _topics(run))]
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>'
            + '\n'.join(parts) + '</body></html>\n')


def _verdict(summary):
    """Return the sentences at the top: trips, warnings, limits and losses."""
    faults = sorted({values.get('fault', 'none') for *_, values in summary.health} - {'none'})
    full = [joint for joint, load in zip(summary.joints, _peaks(summary)[1], strict=True)
            if load > 0.999]
    grave, lost = len(summary.grave()), sum(summary.run.lost.values())
    bad = [f'The controller tripped: {fault}.' for fault in faults]
    bad += [sentence for true, sentence in (
        (grave, f'{grave} warnings or errors were logged.'),
        (full, f'At their effort limit: {", ".join(full)}.'),
        (summary.unanswered, f'{summary.unanswered} joint states had no command of their own.'),
        (lost, f'The recorder lost {lost} messages: its machine was too busy.'),
        (not summary.run.complete, 'The file is cut off: its recorder was killed.')) if true]
    good = [] if bad else ['No trip, no warning, no effort at its limit, no cycle missed.']
    return ''.join(f'<p class="{kind}">{escape(line)}</p>'
                   for kind, lines in (('bad', bad), ('good', good)) for line in lines)


def _skeletons(summary):
    """Return lines (k, 2, 3), m, that show the robot, for each kept joint state."""
    if summary.model is None:
        return []
    text = summary.run.robot
    model = RobotModel.from_urdf(text, floating_base=summary.model.floating_base)
    pairs = [(joint.parent, joint.child) for joint in depth_first(read_urdf(text))[1]]
    bases, found = summary.bases.values, []
    for time_seen, positions in summary.states:
        q = model.neutral()
        if model.floating_base and len(bases):
            q[:7] = bases[min(np.searchsorted(summary.bases.times, time_seen), len(bases) - 1)]
        for joint in positions.keys() & set(model.dof_names):
            q[model.q_index[model.dof_index(joint)]] = positions[joint]
        poses = model.forward_kinematics(RobotState(model, q, np.zeros(model.nv)))
        found.append(np.array([[poses[link][:3, 3] for link in pair] for pair in pairs]))
    return found


def _errors(summary):
    """Yield tables and pictures of the errors of what tasks there were."""
    if summary.tasks or not summary.joint_tasks:
        yield _error_table(summary.tasks)
        yield pictures.errors(summary.tasks)
    if summary.joint_tasks:
        yield _joint_error_table(summary.joint_tasks)
        yield pictures.joint_errors(summary.joint_tasks)


def _error_table(tasks):
    rows = []
    for task in tasks:
        if not len(task.error):
            rows.append((task.name, *['no message'] * 9))
            continue
        sizes, left = task.sizes(), task.left()
        rows.append((task.name, str(len(task.goals)), *(
            f'{value:.3g}' for column in (0, 1) for value in (
                sizes[:, column].max(), np.sqrt(np.mean(sizes[:, column] ** 2)),
                left[:, column].max() if len(left) else np.nan, sizes[-1, column]))))
    return _table(('task', 'goals', 'largest, mm', 'RMS', 'left of a goal', 'at the end',
                   'largest, °', 'RMS', 'left of a goal', 'at the end'), rows) + (
        '<p class="dim">Goal minus pose. Left of a goal: the largest error when the next goal '
        'came, or at the end.</p>')


def _joint_error_table(tasks):
    rows = []
    for task in tasks:
        for joint, e in zip(task.joints, task.error.values.T, strict=True):
            numbers = (abs(e).max(), np.sqrt(np.mean(e ** 2)), e[-1]) if len(e) else ()
            rows.append((task.name, joint, *(
                [f'{value:.3g}' for value in numbers] or ['no message'] * 3)))
    return _table(('task', 'joint', 'largest, rad or m', 'RMS', 'at the end'), rows, words=(1,))


def _effort_table(summary):
    peaks, loads = _peaks(summary)
    rms = np.sqrt(np.mean(summary.efforts.values ** 2, axis=0))
    rows = []
    for joint, peak, mean, limit, load in zip(
            summary.joints, peaks, rms, summary.effort_limits, loads, strict=True):
        known = np.isfinite(limit)
        full = ' class="full"' if load > 0.999 else ''
        bar = (f'<span class="bar"><i{full} style="width:{100 * min(load, 1.0):.0f}%"></i></span> '
               f'{100 * load:.0f} %' if known else '')
        rows.append((joint, f'{peak:.3g}', f'{mean:.3g}', f'{limit:.3g}' if known else 'none',
                     _Html(bar)))
    return _table(('joint', 'peak, N·m or N', 'RMS', 'limit', 'peak / limit'), rows)


def _timing_table(summary):
    rows = []
    for what, seconds in (('joint state to command', summary.latency),
                          (summary.period_events, summary.period)):
        if len(seconds):
            rows.append((what, *(f'{1e3 * value:.3f}' for value in (
                seconds.min(), np.median(seconds), *np.quantile(seconds, (0.99, 0.999)),
                seconds.max())), str(len(seconds))))
    return _table(('ms, as they were sent', 'least', 'median', '99 %', '99.9 %', 'largest',
                   'cycles'), rows)


def _said(summary):
    rows = [(f'{said.time:.2f}', _LEVELS.get(said.level, str(said.level)), said.who, said.text)
            for said in summary.said]
    last = ''
    for time_said, level, text, _ in summary.health:
        if text != last and level:
            rows.append((f'{time_said:.2f}', 'diagnostics', summary.run.controller[1:], text))
        last = text
    rows.sort(key=lambda row: float(row[0]))
    return _table(('s', '', 'who', 'what'), rows, words=(1, 2, 3)) if rows else '<p>Nothing.</p>'


def _tasks(summary):
    parameters = summary.run.parameters
    return _table(('task', 'type', 'frame', 'axes', 'kp', 'kd'), [
        (task.name, *(str(parameters.get(f'{task.name}.{name}', '')) for name in (
            'type', 'frame', 'axes', 'kp', 'kd')))
        for task in (*summary.tasks, *summary.joint_tasks)], words=(1, 2, 3))


def _parameters(run, defaults):
    rows = [(name, str(value)) for name, value in sorted(run.parameters.items())
            if name not in defaults or value != defaults[name]]
    return '<p>Parameters that are not at their defaults:</p>' + _table(
        ('parameter', 'value'), rows, words=(1,))


def _topics(run):
    rows = []
    for topic, kind in sorted(run.topics.items()):
        times = run.times(topic)
        span = times[-1] - times[0] if len(times) > 1 else 0.0
        rows.append((topic, kind, str(len(times)),
                     f'{(len(times) - 1) / span:.1f}' if span else '',
                     str(run.lost.get(topic, ''))))
    return _table(('topic', 'type', 'messages', 'Hz', 'lost'), rows, words=(1,))


def _peaks(summary):
    """Return the largest size of each effort, N·m or N, and as a part of its limit."""
    return abs(summary.efforts.values).max(axis=0), abs(summary.loads()).max(axis=0)


class _Html(str):
    """Text that is HTML already."""


def _table(head, rows, words=()):
    """Return a table; the columns of ``words`` are set to the left, as the first one is."""
    def cells(row, tag):
        return ''.join(
            f'<{tag}{" class=words" if i in words else ""}>'
            f'{cell if isinstance(cell, _Html) else escape(str(cell))}</{tag}>'
            for i, cell in enumerate(row))
    return (f'<table><tr>{cells(head, "th")}</tr>'
            + ''.join(f'<tr>{cells(row, "td")}</tr>' for row in rows) + '</table>')


def _section(title, *parts):
    return f'<h2>{escape(title)}</h2>' + ''.join(
        part[part.index('<svg'):] if part.startswith('<?xml') else part for part in parts)
