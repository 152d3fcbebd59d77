# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace check`: a report on a robot and its parameters before control."""

import json
import math
import os
import sys

from opspace_control.cli.arguments import make_parser, names, positions
from opspace_control.cli.preflight.report import examine
from opspace_control.cli.preflight.text import write
from opspace_control.cli.preflight.verdict import LEVELS

_DESCRIPTION = """\
Look at a robot and its parameters before anything moves: its tree, limits and interfaces, what its
tasks can reach at the home posture, what gravity takes of its efforts, how long a cycle lasts.
Needs no ROS. The exit code is 0 if all is well, 1 after a warning, 2 after a failure."""


def main(arguments=None):
    """Print the report; return 0 (all OK), 1 (a WARN) or 2 (a FAIL)."""
    options = _parser().parse_args(arguments)
    report = examine(
        options.urdf, options.parameters, frames=options.frames, home=options.home,
        floating_base=options.floating_base,
        progress=lambda message: print(message, file=sys.stderr, flush=True))
    if options.json:
        text = json.dumps(_finite(report), indent=1, ensure_ascii=False, allow_nan=False)
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
    return LEVELS.index(report['verdict'])


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
    parser.add_argument('--floating-base', action='store_true', help='the root link moves freely')
    parser.add_argument('--json', action='store_true', help='print the report as JSON')
    return parser


def _finite(value):
    """Return a value for JSON: null for an infinite number and for NaN."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
