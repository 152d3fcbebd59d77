# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace collision` writes a file that `opspace check` reads."""

import shutil

import pytest
import robots

from opspace_control import CollisionDescription, RobotModel
from opspace_control.cli.collision import main
from opspace_control.cli.preflight.report import examine
from opspace_control.errors import OpspaceError
from opspace_control.share import share_directory

DUAL_ARM = share_directory() / 'urdf' / 'dual_arm.urdf'


@pytest.fixture
def urdf(tmp_path):
    return shutil.copy(DUAL_ARM, tmp_path / 'arm.urdf')


def found(report, level):
    return [finding['what'] for finding in report['findings'] if finding['level'] == level]


def test_writes_a_file_beside_the_robot_that_the_check_finds(urdf, capsys):
    assert examine(urdf)['collision'] is None
    assert main([str(urdf), '--samples', '100']) == 0
    said = capsys.readouterr().out
    assert f'{urdf.with_name("arm.collision.yaml")}: Collision shapes: 23 (' in said
    report = examine(urdf)
    facts = report['collision']
    assert sum(facts['shapes'].values()) == 23
    assert f'{facts["pairs"]} pairs' in said
    assert facts['overlaps'] == facts['fits'] == facts['guessed'] == []
    assert any(what.startswith('Collision shapes: 23') for what in found(report, 'OK'))


def test_check_tells_what_overlaps_and_fits_badly(urdf, tmp_path):
    file = tmp_path / 'other.yaml'
    file.write_text("""
shapes:
  l_palm: [{kind: sphere, size: [2.0], too_fat: 0.06, too_thin: 0.0}]
  r_palm: [{kind: sphere, size: [2.0], source: joint}]
excluded_pairs: {}
""")
    report = examine(urdf, collision=file)
    warnings = '\n'.join(found(report, 'WARN'))
    assert "The sphere 'l_palm' is too fat by up to 60 mm" in warnings
    assert any('Fits are too fat by up to 60 mm, too thin by up to 0 mm.' in what
               for what in found(report, 'OK'))
    assert 'The shapes of r_palm are guessed.' in warnings
    assert "Shapes overlap at home: 'l_palm' and 'r_palm'" in warnings
    file.write_text('shapes: {third_hand: [{kind: sphere, size: [0.5]}]}\nexcluded_pairs: {}')
    assert "no link 'third_hand'" in '\n'.join(found(examine(urdf, collision=file), 'FAIL'))


def test_replaces_no_file_unless_told_so(urdf):
    file = urdf.with_name('arm.collision.yaml')
    file.write_text('mine')
    with pytest.raises(OpspaceError, match='--force'):
        main([str(urdf)])
    assert file.read_text() == 'mine'
    assert main([str(urdf), '--samples', '10', '--force']) == 0
    assert file.read_text() != 'mine'


def test_reads_the_srdf_beside_the_robot(urdf):
    urdf.with_suffix('.srdf').write_text(
        '<robot name="arm"><disable_collisions link1="r_palm" link2="l_palm"/></robot>')
    description = CollisionDescription.from_urdf_file(urdf, samples=10)
    assert description.excluded['l_palm', 'r_palm'] == 'srdf'


def test_of_a_real_robot_with_an_srdf(tmp_path, capsys):
    pytest.importorskip('trimesh', reason='trimesh is not installed')
    panda = robots.robot_file('panda.urdf')
    output = tmp_path / 'panda.yaml'
    assert main([str(panda), '--srdf', str(panda.parents[1] / 'srdf' / 'panda.srdf'),
                 '--output', str(output), '--samples', '100']) == 0
    assert 'too fat by up to' in capsys.readouterr().out
    description = CollisionDescription.read(output)
    assert description.excluded['panda_link3', 'panda_link5'] == 'srdf'
    model = description.model(RobotModel.from_urdf_file(panda))
    links = {tuple(name.split('/')[0] for name in pair) for pair in model.pairs}
    assert ('panda_link0', 'panda_hand') in links
    assert ('panda_link3', 'panda_link5') not in links
