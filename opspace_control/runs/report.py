# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace report`: a recorded run as a page, one file with everything in it.

What ran and on what, how well the tasks did, what it took, how regular the commands were, what was
complained of, and pictures.
"""

import argparse
import base64
import io
from html import escape
from pathlib import Path

import numpy as np

from opspace_control.errors import OpspaceError
from opspace_control.runs.course import Course
from opspace_control.runs.recording import Recording

_LEVELS = ('OK', 'warning', 'error', 'stale')
_MOST_COMPLAINTS = 50
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse } td, th { padding: .15rem .9rem .15rem 0; text-align: left;
       vertical-align: top } th { font-weight: 600 } td.number { text-align: right }
img { max-width: 100% } .words { color: #666 } details { margin: .5rem 0 }
"""


def main(arguments):
    """Write the page of a recording; return the exit code."""
    options = _parse(arguments)
    output = options.output or options.run.with_suffix('.html')
    page = report(Recording(options.run))
    try:
        output.write_text(page)
    except OSError as error:
        raise OpspaceError(f'{output} cannot be written: {error.strerror}.',
                           cure='Give another --output.') from error
    print(output)
    return 0


def report(recording):
    """Return the page of a recording as HTML, with its pictures inside."""
    # Imports pyplot, which nobody else may want.
    from opspace_control.runs.pictures import draw_all

    course = Course(recording)
    pictures = []
    draw_all(course, lambda *picture: pictures.append(_picture(*picture)))
    name = course.model.name if course.model else recording.path.stem
    title = f'{name}, {recording.machine.get("began", recording.path.name)}'
    return '\n'.join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{escape(title)}</title><style>{_STYLE}</style></head><body>',
        f'<h1>{escape(title)}</h1>',
        '<h2>What ran</h2>', _table(_what_ran(course)),
        '<h2>How well</h2>', _how_well(course),
        *pictures,
        '<h2>Complaints</h2>', _complaints(course),
        '<h2>On what</h2>', _table(recording.machine),
        '<h2>Recorded</h2>', _fold('messages by topic', _table(
            {topic: f'{count}' for topic, count in sorted(recording.counts.items())})),
        _fold('parameters of the controller', _table(
            {key: f'{value}' for key, value in sorted(recording.parameters.items())
             if key != 'robot_description'})),
        '</body></html>'])


def _what_ran(course):
    recording, model = course.recording, course.model
    facts = {'robot': f'{model.name}, {model.nv} degrees of freedom' if model else 'not recorded',
             'controller': recording.controller,
             'tasks': ', '.join(
                 f'{task} ({recording.parameters.get(f"{task}.frame") or task})'
                 for task in recording.tasks) or 'none was recorded',
             'time': f'{recording.length:.1f} s'}
    if course.periods.size:
        milliseconds = 1e3 * course.periods
        facts['commands'] = (
            f'{len(milliseconds) + 1}, {1e3 / milliseconds.mean():.0f} a second; between two '
            f'{np.median(milliseconds):.2f} ms, p99 {np.percentile(milliseconds, 99):.2f} ms, '
            f'longest {milliseconds.max():.2f} ms')
    _, joints, loads = course.loads
    if loads.size:
        most = int(abs(loads).max(axis=0).argmax())
        facts['largest effort'] = (f'{100.0 * abs(loads[:, most]).max():.0f} % of its limit, '
                                   f'{joints[most]}')
    if course.diagnostics:
        worst = max(level for _, level, *_ in course.diagnostics)
        facts['diagnostics'] = f'at worst {_LEVELS[min(worst, 3)]}, at the end: ' + (
            course.diagnostics[-1][2])
    return facts


def _how_well(course):
    if not course.tasks:
        return '<p>No errors of tasks were recorded.</p>'
    head = ('task', 'largest error', '', 'in the last second', '')
    rows = [(task.name, *_sizes(task.largest), *_sizes(task.last)) for task in course.tasks]
    return ('<table><tr>' + ''.join(f'<th>{cell}</th>' for cell in head) + '</tr>' + ''.join(
        '<tr>' + f'<td>{escape(row[0])}</td>'
        + ''.join(f'<td class="number">{cell}</td>' for cell in row[1:]) + '</tr>'
        for row in rows) + '</table>')


def _sizes(errors):
    return f'{1e3 * errors[0]:.3f} mm', f'{np.degrees(errors[1]):.3f}°'


def _complaints(course):
    if not course.complaints:
        return '<p>None was recorded.</p>'
    rows = [(f'{time:.2f} s', f'{who}: {text}')
            for time, who, text in course.complaints[:_MOST_COMPLAINTS]]
    more = len(course.complaints) - len(rows)
    return _table(rows) + (f'<p>And {more} more.</p>' if more > 0 else '')


def _picture(title, words, figure):
    data = io.BytesIO()
    figure.savefig(data, format='png', dpi=110)
    return (f'<h2>{escape(title)}</h2><p class="words">{escape(words)}</p>'
            f'<img alt="{escape(title)}" src="data:image/png;base64,'
            f'{base64.b64encode(data.getvalue()).decode()}">')


def _table(facts):
    """Return rows of two cells, or a dict, as a table."""
    rows = ''.join(f'<tr><td>{escape(str(name))}</td><td>{escape(str(value))}</td></tr>'
                   for name, value in (facts.items() if isinstance(facts, dict) else facts))
    return f'<table>{rows}</table>'


def _fold(title, content):
    return f'<details><summary>{escape(title)}</summary>{content}</details>'


def _parse(arguments):
    parser = argparse.ArgumentParser(prog='opspace report', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('run', type=Path, metavar='RUN', help='a file of opspace record')
    parser.add_argument('--output', type=Path, metavar='HTML',
                        help='the page; beside the run if not said')
    return parser.parse_args(arguments)
