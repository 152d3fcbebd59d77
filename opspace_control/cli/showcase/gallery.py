# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
doc/gallery.md and its pictures, from one table.

``make gallery`` has every experiment run and draw its picture, and writes the page.
"""

import argparse
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

from opspace_control.cli.demo import main as demo
from opspace_control.cli.showcase.experiments import all_experiments

_WIDTH = 100
_HEAD = """\
# Gallery

The experiments of the papers, repeated by this code with a simulated robot, judged, and drawn.
Each picture is made by the one command above it, which also prints what was measured and fails
where a bound is not met.

Most go over ROS 2: with `--view` they can be watched in a browser, with `--record run.mcap` kept.
In their pictures, on the left the robot at its start in grey, the paths of the hands in colour,
their goals as numbered circles and the straight lines to them dashed; on the right the errors of
the hands, the posture that was asked for and the one that came, and the efforts of the joints as
parts of their limits. Others compare two controllers on one robot, in lock-step and without ROS:
one in blue, the other in red.

<!-- Made from the tables in opspace_control/cli/showcase: make gallery -->
"""


@dataclass(frozen=True)
class Exhibit:
    """
    A picture, and what is to be seen in it.

    Attributes
    ----------
    name : str
        Of the picture's file.
    title : str
        Headline.
    words : str
        The paper's figure, described and cited, and what is to be seen here.
    command : str
        That makes it.
    drawn : bool
        Whether the command does all of it; otherwise it is a screenshot.

    """

    name: str
    title: str
    words: str
    command: str
    drawn: bool = True

    def section(self):
        """Return its part of the page."""
        words = '\n'.join(textwrap.wrap(self.words, _WIDTH, break_on_hyphens=False))
        return (f'\n## {self.title}\n\n```bash\n{self.command}\n```\n\n'
                f'![{self.title}](gallery/{self.name}.png)\n\n{words}\n')


EXHIBITS = (
    *(Exhibit(one.name, one.title, one.figure, f'opspace demo --experiment {one.name}')
      for one in all_experiments()),
    Exhibit('view', 'The view', 'The same robot in the browser, with its goals as handles to drag.',
            'opspace demo --view', drawn=False),
)


def page():
    """Return the text of doc/gallery.md."""
    return _HEAD + ''.join(exhibit.section() for exhibit in EXHIBITS)


def main(arguments=None):
    """Draw the chosen pictures, and write the page; return 0 if every bound was met."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=Path, help='that gets gallery.md and gallery/*.png')
    parser.add_argument('--only', metavar='NAME', help='draw one picture; none, if it is empty')
    options = parser.parse_args(arguments)
    worst = 0
    for exhibit in EXHIBITS:
        if exhibit.drawn and options.only in (None, exhibit.name):
            _, _, *words = shlex.split(exhibit.command)
            output = options.folder / 'gallery' / f'{exhibit.name}.png'
            worst = max(worst, demo([*words, '--output', str(output)]))
    (options.folder / 'gallery.md').write_text(page())
    return worst


if __name__ == '__main__':
    raise SystemExit(main())
