# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parameter files for robots that people own fit the robots that are here, which obey them."""

from pathlib import Path

import pytest

pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import recipes
import robots

from opspace_control.cli.preflight.report import examine

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / 'config' / 'robots').glob('*.yaml'))
PAGE = (ROOT / 'doc' / 'how_to' / 'robots.md').read_text()
# Files with the nearest robot of example-robot-data, and what its joints and links are called.
HERE = {
    'robots/franka_fr3': ('panda_description/urdf/panda.urdf', 'panda_', 'fr3_'),
    'robots/ur5e': ('ur_description/urdf/ur5_robot.urdf', '', ''),
    'robots/tiago': ('tiago_description/robots/tiago.urdf', '', ''),
    'robots/unitree_g1': ('g1_description/urdf/g1_29dof_rev_1_0.urdf', '', ''),
    'tiago_dual': ('tiago_description/robots/tiago_dual.urdf', '', ''),
    'talos': ('talos_data/robots/talos_reduced.urdf', '', ''),
}
# Whose robots are not here; run by hand with the URDF of their makers.
ELSEWHERE = {'kinova_gen3', 'kuka_lbr', 'openarm'}


@pytest.fixture(params=HERE)
def recipe(request):
    """Return the URDF text of a robot, and the path of its parameters."""
    urdf, theirs, ours = HERE[request.param]
    text = robots.robot_file(urdf).read_text()
    return text.replace(theirs, ours) if theirs else text, ROOT / 'config' / f'{request.param}.yaml'


def test_hands_arrive_within_limits(recipe):
    errors, effort, velocity = recipes.run(*recipe)
    for position, rotation in errors.values():
        assert position < 0.1  # mm
        assert rotation < 0.1  # degrees
    assert effort <= 1.0 + 1e-9
    assert velocity < 1.0


def test_check_finds_no_failure(recipe, tmp_path):
    text, path = recipe
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(text)
    report = examine(str(urdf), str(path))
    assert report['verdict'] != 'FAIL'


def test_every_file_is_run_or_said_to_be_elsewhere():
    names = {path.stem for path in FILES}
    assert names == {name.removeprefix('robots/') for name in HERE if '/' in name} | ELSEWHERE
    for path in FILES:
        assert f'(../../config/robots/{path.name})' in PAGE
