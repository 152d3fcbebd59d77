# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The gallery has every experiment: what it repeats, the command, and the picture."""

import re
import struct
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control.cli.showcase.carry import CARRIED
from opspace_control.cli.showcase.experiments import EXPERIMENTS

DOC = Path(__file__).parents[1] / 'doc'
SECTIONS = re.split('^## ', (DOC / 'gallery.md').read_text(), flags=re.MULTILINE)[1:]


@pytest.mark.parametrize('experiment', (*EXPERIMENTS, *CARRIED),
                         ids=lambda experiment: experiment.name)
def test_experiment_has_its_section(experiment):
    command = f'opspace demo --experiment {experiment.name}\n'
    (section,) = [section for section in SECTIONS if command in section]
    cited = re.search(r'\[\w+\] (Fig\. \d+|\([\d.]+\))', experiment.summary).group()
    assert cited in section
    assert f'](gallery/{experiment.name}.png)' in section


def test_every_picture_is_there():
    names = re.findall(r'\]\((gallery/[^)]*)\)', ''.join(SECTIONS))
    assert len(names) == len(SECTIONS)
    for name in names:
        data = (DOC / name).read_bytes()
        assert data.startswith(b'\x89PNG')
        assert min(struct.unpack('>II', data[16:24])) > 400
