# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The gallery has every experiment: its source, the command, and the picture."""

import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control.cli.showcase.experiments import all_experiments

DOC = Path(__file__).parents[1] / 'doc'
sys.path.insert(0, str(DOC))

import moving_picture  # noqa: E402

# By the command of each section: its title, and what stands below the command.
SECTIONS = {command: (title, words) for title, command, words in re.findall(
    r'^## (.*)\n\n```bash\n(.*)\n```\n\n([^#]*)', (DOC / 'gallery.md').read_text(), re.MULTILINE)}


@pytest.mark.parametrize('experiment', all_experiments(), ids=lambda experiment: experiment.name)
def test_every_experiment_is_shown_and_cites_its_source(experiment):
    title, words = SECTIONS[f'opspace demo --experiment {experiment.name}']
    cited = re.search(
        r'\[\w+\] (Fig\. \d+|\([\d.]+\)|abstract|note \d)', experiment.summary).group()
    picture, _, description = words.partition('\n\n')
    assert picture == f'![{title}](gallery/{experiment.name}.png)'
    assert cited in description.replace('\n', ' ')


def test_no_section_is_there_without_an_experiment():
    commands = {f'opspace demo --experiment {each.name}' for each in all_experiments()}
    assert set(SECTIONS) == {*commands, 'opspace demo --view'}


def test_pictures_are_there_and_no_others():
    shown = set(re.findall(r'\(gallery/(\w+)\.png\)', (DOC / 'gallery.md').read_text()))
    assert shown == {path.stem for path in (DOC / 'gallery').glob('*.png')}
    assert len(shown) == len(SECTIONS)
    for name in shown:
        data = (DOC / 'gallery' / f'{name}.png').read_bytes()
        assert data.startswith(b'\x89PNG')
        assert min(struct.unpack('>II', data[16:24])) > 400


def test_moving_picture_moves():
    """As `make gallery` draws it for the README."""
    data = (DOC / 'moving.png').read_bytes()
    assert data.startswith(b'\x89PNG')
    frames, = struct.unpack('>I', data[data.index(b'acTL') + 4:][:4])
    assert frames == round(moving_picture._SECONDS / moving_picture._FRAME)


def test_hands_of_the_moving_picture_stay():
    lines, _, hands = zip(*moving_picture.rocking_torso(), strict=True)
    assert np.ptp(hands, axis=0).max() < 2e-3
    assert np.ptp(lines, axis=0).max() > 0.1
