# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The reference pages that are made from the tables of the code; `make reference` writes them."""

import argparse
from pathlib import Path

from opspace_control.cli.main import VERBS
from opspace_control.cli.parameters import tables

_MADE = '<!-- Made by `make reference` from the tables of the code. -->\n'
_PARAMETERS = """\
Gains and limits may change at any time; a refused change changes nothing. Read-only parameters are
read once, when the node is configured. The block of a task is named after the task, as in
`left_hand.kp`; names of the user are in angle brackets. Every parameter has a value, so
`ros2 param dump` writes the whole configuration of a node; `--params-file` reads it again, and so
does `ros2 param load`, which changes what may change (it cannot read a `robot_description` with
`: ` in a comment). `opspace parameters` prints this list, with `--robot NAME` a parameter file.
"""


def pages():
    """Return the text of each page by the name of its file."""
    return {'parameters.md': f'# Parameters\n\n{_MADE}\n{_PARAMETERS}\n{tables()}',
            'commands.md': f'# Commands\n\n{_MADE}\n{_commands()}'}


def _commands():
    rows = [f'| `opspace {verb}` | {summary} |' for verb, (*_, summary) in VERBS.items()]
    return '\n'.join(['Each command is also `ros2 run opspace_control <name>`; `--help` lists its '
                      'arguments.\n', '| command | what it does |', '|---|---|', *rows, ''])


def main():
    """Write the pages into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path)
    folder = parser.parse_args().folder
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == '__main__':
    main()
