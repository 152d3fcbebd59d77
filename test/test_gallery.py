# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The gallery has every experiment: what it repeats, the command, and the picture."""

import re
import struct
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control.cli.showcase.experiments import all_experiments
from opspace_control.cli.showcase.gallery import EXHIBITS, page

DOC = Path(__file__).parents[1] / 'doc'


def test_page_is_that_of_the_table():
    """Write it anew with: make gallery ARGS='--only ""'."""
    assert (DOC / 'gallery.md').read_text() == page()


@pytest.mark.parametrize('experiment', all_experiments(), ids=lambda experiment: experiment.name)
def test_every_experiment_is_shown_and_cites_what_it_repeats(experiment):
    exhibit, = (exhibit for exhibit in EXHIBITS if exhibit.name == experiment.name)
    cited = re.search(r'\[\w+\] (Fig\. \d+|\([\d.]+\))', experiment.summary).group()
    assert cited in exhibit.words
    assert exhibit.command == f'opspace demo --experiment {experiment.name}'


@pytest.mark.parametrize('exhibit', EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_picture_is_there(exhibit):
    data = (DOC / 'gallery' / f'{exhibit.name}.png').read_bytes()
    assert data.startswith(b'\x89PNG')
    assert min(struct.unpack('>II', data[16:24])) > 400


def test_no_picture_is_there_that_nothing_shows():
    there = {path.stem for path in (DOC / 'gallery').glob('*.png')}
    assert there == {exhibit.name for exhibit in EXHIBITS}
