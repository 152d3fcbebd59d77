# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace report`: one page about a recorded run.

What ran, on what, where it went, errors, efforts against limits, timing and what was said, in one
HTML file that needs no other file, no network and no ROS to look at.
"""

import argparse
from pathlib import Path

from opspace_control.errors import OpspaceError


def main(arguments):
    """Write the page; return 0."""
    from opspace_control.ros.parameters.controller_parameters import table_of
    from opspace_control.runs.page import page
    from opspace_control.runs.run import Run
    from opspace_control.runs.summary import Summary

    options = _parse(arguments)
    path = options.output or options.run.with_suffix('.html')
    run = Run(options.run)
    text = page(Summary(run), {row.name: row.default for row in table_of(run.parameters)})
    try:
        path.write_text(text)
    except OSError as error:
        raise OpspaceError(f'{path} cannot be written: {error.strerror}.',
                           cure='Give another --output.') from error
    print(f'Report: {path}')
    return 0


def _parse(arguments):
    parser = argparse.ArgumentParser(prog='opspace report', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('run', type=Path, metavar='RUN', help='a file of opspace record')
    parser.add_argument('--output', type=Path, metavar='HTML',
                        help='where the page goes (default: beside the run)')
    return parser.parse_args(arguments)
