# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace check`: a report on a robot and its parameters, for a terminal or as JSON."""

import json
import math
import os
import sys
import textwrap
from collections import Counter

from opspace_control.arguments import make_parser, names, positions
from opspace_control.cli.preflight import verdict
from opspace_control.cli.preflight.report import examine
from opspace_control.cli.preflight.tree import draw

_DESCRIPTION = """\
Look at a robot and its parameters before anything moves: its tree, limits and interfaces, what its
tasks can reach at the home posture, what gravity takes of its efforts, how long a cycle lasts.
Needs no ROS. The exit code is 0 if all is well, 1 after a warning, 2 after a failure."""

_WIDTH = 100
_COLOURS = {'OK': '32', 'WARN': '33', 'FAIL': '1;31', 'heading': '1', 'faint': '2'}
_LONGEST_BRANCH = 56
_SHORTEST_NAME = 7
_MOST_NAMES = 12
# Of more joints than this, only those are shown that gravity takes this share of the effort of.
_MOST_ROWS, _NOTABLE = 40, 0.05
_NONE = '–'
_JOINTS = 'Active joints (rad, N·m; m, N), and what gravity takes of their effort'


def main(arguments=None):
    """Print the report; return 0 (all OK), 1 (a WARN) or 2 (a FAIL)."""
    options = _parser().parse_args(arguments)
    report = examine(
        options.urdf, options.parameters, frames=options.frames, home=options.home,
        floating_base=options.floating_base, collision=options.collision, run=options.run,
        progress=lambda message: print(message, file=sys.stderr, flush=True))
    if options.json:
        # Infinite numbers and NaN, which JSON does not know, are null.
        finite = json.loads(json.dumps(report), parse_constant=lambda _: None)
        text = json.dumps(finite, indent=1, ensure_ascii=False)
    else:
        text = '\n'.join(write(report, colour=(
            sys.stdout.isatty() and not os.environ.get('NO_COLOR')
            and os.environ.get('TERM') != 'dumb')))
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(errors='replace')  # a terminal without these characters
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader has closed the pipe, like head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return verdict.LEVELS.index(report['verdict'])


def _parser():
    parser = make_parser('check', _DESCRIPTION)
    parser.add_argument('urdf', metavar='URDF', help='the robot, a URDF or xacro file')
    parser.add_argument('parameters', metavar='PARAMS', nargs='?',
                        help="a ROS 2 parameter file of the controller, and the simulator's")
    parser.add_argument('--frames', metavar='A,B', type=names, default=(),
                        help='links to look at as if each were a task of all six axes')
    parser.add_argument('--home', metavar='JOINT=VALUE,...', type=positions, default={},
                        help='home posture, rad or m (default: the initial_positions of PARAMS, '
                             'or else the middle of the joint ranges)')
    parser.add_argument('--collision', metavar='YAML',
                        help='collision shapes by opspace collision (default: those beside URDF, '
                             'if any)')
    parser.add_argument('--run', metavar='MCAP',
                        help='a run by opspace record: its periods and delays are held against '
                             'what the gains tolerate')
    parser.add_argument('--floating-base', action='store_true', help='the root link moves freely')
    parser.add_argument('--json', action='store_true', help='print the report as JSON')
    return parser


def write(report, colour=False):
    """Return the lines of a report, in colour for a terminal that has it."""
    def paint(text, style):
        return f'\x1b[{_COLOURS[style]}m{text}\x1b[0m' if colour and style else text

    lines = [paint(f'opspace check {report["file"]}', 'heading')]
    if report['parameter_file']:
        lines[0] += f' {report["parameter_file"]}'
    if 'robot' in report:
        source = report['home']['source']
        for heading, body in (
                ('Robot', _robot(report['robot'])), ('Tree', _tree(report['tree'], paint)),
                (f'Tasks at the home posture ({source})', _tasks(report, paint)),
                (_JOINTS, _joints(report, paint))):
            if body:
                lines += ['', paint(heading, 'heading'), *body]
    lines += ['', paint('Verdict', 'heading')]
    for finding in sorted(report['findings'],
                          key=lambda finding: verdict.LEVELS.index(finding['level'])):
        level = finding['level']
        head, *rest = _wrapped(finding['what'], 8)
        lines += [f'  {paint(level, level)}{head[2 + len(level):]}', *rest]
        if finding['cure']:
            lines += _wrapped('→ ' + finding['cure'], 8, 10)
    return [*lines, '', _summary(report['findings'], paint)]


def _summary(findings, paint):
    """Return how many warnings and failures there are."""
    counts = Counter(finding['level'] for finding in findings)
    parts = [paint(f'{counts[level]} {word}{"s" if counts[level] > 1 else ""}', level)
             for level, word in (('FAIL', 'failure'), ('WARN', 'warning')) if counts[level]]
    return '  ' + (', '.join(parts) or paint('All is well', 'OK')) + '.'


def _robot(robot):
    base = ('floating base' if robot['floating_base'] else 'fixed base') + f' {robot["root_link"]}'
    lines = [f'  {robot["name"]}: {robot["degrees_of_freedom"]} degrees of freedom, '
             f'{robot["links"]} links, {robot["mass"]:.4g} kg, {base}']
    blocks = [f'{block["name"]} ({_interfaces(block)})' for block in robot['hardware']]
    mimicked_joints = Counter(mimicked for mimicked, _, _ in robot['mimics'].values())
    for label, joints, count in (
            ('commanded', robot['commanded'], len(robot['commanded'])),
            ('passive', robot['passive'], len(robot['passive'])),
            ('locked', robot['locked'], len(robot['locked'])),
            ('mimic', [f'{count} of {mimicked}' for mimicked, count in mimicked_joints.items()],
             len(robot['mimics'])),
            ('ros2_control', blocks or ['no block'], len(blocks))):
        text = ', '.join(joints[:_MOST_NAMES])
        if len(joints) > _MOST_NAMES:
            text += f' and {len(joints) - _MOST_NAMES} more'
        lines += _wrapped(f'{label:<13}{count:>3}  {text}', 2, 20)
    return lines


def _interfaces(block):
    """Return how many joints of a hardware block have each command interface."""
    commands = [name for names in block['command_interfaces'].values() for name in names]
    return ', '.join(f'{commands.count(name)} {name}' for name in dict.fromkeys(commands)) or (
        'no command interface')


def _tree(bodies, paint):
    rows = draw(bodies)
    width = min(_LONGEST_BRANCH, max(len(names) for names, *_ in rows))
    lines = []
    for branch, kinds, mass, links in rows:
        weight = f'{mass:.3g} kg' if mass else ''
        left = f'  {_shortened(branch, width):<{width}}  {kinds:<11} {weight:>8}'
        rest = _WIDTH - len(left) - 2
        right = _shortened(_links(links, rest), rest) if rest > 8 else ''
        lines.append(f'{left}  {paint(right, "faint")}'.rstrip() if right else left.rstrip())
    return lines


def _links(links, width):
    """Return as many names of links as fit the width, and the number of the others."""
    text = ', '.join(links)
    for count in range(len(links) - 1, 0, -1):
        if len(text) <= width:
            break
        text = f'{", ".join(links[:count])} + {len(links) - count}'
    return text


def _tasks(report, paint):
    tasks, together = report['tasks'], report['together']
    groups = [f'  {group["name"]}: {", ".join(group["joints"])}' for group in report['joint_tasks']]
    if not tasks:
        return groups
    rows = [('task', 'frame', 'axes', 'joints', 'reaches', 'at best', 'least λ', 'condition', '')]
    styles = ['faint']
    for task in tasks:
        level, words = verdict.state_of_task(task, verdict.axes_of(report))
        axes = 'all six' if len(task['axes']) == 6 else ' '.join(task['axes'])
        frame = '' if task['frame'] == task['name'] else task['frame']
        rows.append((task['name'], frame, axes, str(task['joints']), *_freedom(task), words))
        styles.append(None if level == 'OK' else level)
    if len(tasks) > 1:
        rows.append(('together', '', '', '', *_freedom(together),
                     f'{together["redundancy"]} redundant'))
        styles.append(None)
    return [*_table(rows, styles, '<<<>>>>><', paint, flexible=(0, 1)), *groups,
            *_sag(tasks, paint)]


def _sag(tasks, paint):
    """Return how far a load moves and turns the frame of each task of which it is known."""
    rows = [('moved by 1 kg at its frame', 'gains alone', 'with disturbance.*')]
    for task in tasks:
        if task['sag']:
            rows.append((task['name'], *(
                f'{1e3 * task["sag"][key][0]:.0f} mm, {math.degrees(task["sag"][key][1]):.1f}°'
                for key in ('bare', 'compensated'))))
    return ['', *_table(rows, ['faint'] + [None] * (len(rows) - 1), '<>>', paint, flexible=(0,))
            ] if len(rows) > 1 else []


def _freedom(task):
    least, condition = task['least_eigenvalue'], task['condition']
    return (f'{task["rank"]} of {task["wanted"]}', str(task['best_rank']),
            f'{least:.2g}' if least else _NONE,
            verdict.condition_number(condition))


def _joints(report, paint):
    rows = [('joint', 'at home', 'lower', 'upper', 'velocity', 'effort', 'gravity', 'at home',
             'at most')]
    styles = ['faint']
    joints = [joint for joint in report['joints'] if joint['status'] == 'active']
    shown = joints if len(joints) <= _MOST_ROWS else [
        joint for joint in joints if joint['largest_gravity_share'] >= _NOTABLE]
    for joint in shown:
        rows.append((joint['name'], f'{joint["home"]:.2f}', *(
            f'{joint[key]:.4g}' if math.isfinite(joint[key]) else _NONE
            for key in ('lower', 'upper', 'velocity', 'effort')),
            f'{joint["gravity"]:.2f}'.replace('-0.00', '0.00'), *(_percent(joint, key) for key in (
                'gravity_share', 'largest_gravity_share'))))
        styles.append(verdict.level_of_share(joint))
    lines = _table(rows, styles, '<>>>>>>>>', paint, flexible=(0,)) if shown else []
    if len(shown) < len(joints):
        lines.append(f'  {len(joints) - len(shown)} more need less than {_NOTABLE:.0%} of their '
                     'effort, or have no limit (--json lists them)')
    return lines


def _percent(joint, key):
    if math.isinf(joint['effort']):
        return _NONE
    return '> limit' if math.isinf(joint[key]) else f'{joint[key]:.0%}'


def _table(rows, styles, alignments, paint, flexible):
    """Return the lines of a table; its ``flexible`` columns are shortened to fit the width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * len(widths) > _WIDTH:
        widest = max(flexible, key=lambda column: widths[column])
        if widths[widest] <= _SHORTEST_NAME:
            break
        widths[widest] -= 1
    return [paint(('  ' + '  '.join(
        f'{_shortened(cell, width):{side}{width}}'
        for cell, side, width in zip(row, alignments, widths, strict=True))).rstrip(), style)
        for row, style in zip(rows, styles, strict=True)]


def _wrapped(text, indent, hanging=None):
    hanging = indent if hanging is None else hanging
    return textwrap.wrap(text, _WIDTH, initial_indent=' ' * indent,
                         subsequent_indent=' ' * hanging, break_long_words=False,
                         break_on_hyphens=False)


def _shortened(text, width):
    """Return text that fits, the middle of a long one left out."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f'{text[:width - 1 - tail]}…{text[len(text) - tail:]}'
