# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pictures of doc/gallery.md: ``make gallery`` runs and draws every experiment."""

import argparse
from pathlib import Path

from opspace_control.cli.demo import main as demo
from opspace_control.cli.showcase.experiments import all_experiments


def main(arguments=None):
    """Draw the chosen pictures; return 0 if every bound was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path, help='that gets gallery/*.png')
    parser.add_argument('--only', metavar='NAME', help='draw one picture')
    options = parser.parse_args(arguments)
    return max((demo(['--experiment', each.name, '--output',
                      str(options.folder / 'gallery' / f'{each.name}.png')])
                for each in all_experiments() if options.only in (None, each.name)), default=0)


if __name__ == '__main__':
    raise SystemExit(main())
