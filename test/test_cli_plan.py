# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace plan` as users call it: plan, file, replay, and what it says."""

import re

import pytest

from opspace_control.cli.main import main
from opspace_control.control.planning.plan import Plan
from opspace_control.share import share_directory

ARM = str(share_directory() / 'urdf' / 'planar_3r.urdf')
ARMS = str(share_directory() / 'urdf' / 'dual_arm.urdf')
WRIST = ['--passive', 'wrist', '--home', 'shoulder=0.9,elbow=-1.2,wrist=-0.6', '--axes', 'x z']


def test_plan_and_replay(tmp_path, capsys):
    path = str(tmp_path / 'palm.csv')
    assert main(['plan', ARM, *WRIST, '--by', 'palm=1.0:0.1,0,0.1', '--output', path]) == 0
    said = capsys.readouterr().out
    assert 'planar_3r: 1.5 s, 1501 samples' in said
    assert 'wrist: no drive' in said
    assert 'Effort limits' not in said
    assert main(['plan', ARM, '--replay', path]) == 0
    said = capsys.readouterr().out
    assert float(re.search(r'palm: (\S+) mm', said)[1]) < 1.0
    assert float(re.search(r'wrist: without a drive, at most (\S+) from', said)[1]) < 0.05


def test_several_goals_in_order_of_time_and_poses(tmp_path, capsys):
    path = tmp_path / 'plan.csv'
    assert main(['plan', ARM, *WRIST, '--by', 'palm=1.5:0.05,0,0.0', '--by', 'palm=0.7:0,0,0.05',
                 '--output', str(path), '--timestep', '0.002']) == 0
    plan = Plan.load(path)
    begin = plan.poses[0, 0, :3]
    assert plan.time[-1] == pytest.approx(2.0)
    assert plan.poses[350, 0, :3] - begin == pytest.approx([0.0, 0.0, 0.05], abs=1e-3)
    assert plan.poses[-1, 0, :3] - begin == pytest.approx([0.05, 0.0, 0.0], abs=1e-3)
    x, _, z = begin
    assert main(['plan', ARM, *WRIST, '--to', f'palm=0.5:{x + 0.03},0,{z},0,0,0,1', '--seconds',
                 '1.0', '--output', str(path)]) == 0
    plan = Plan.load(path)
    assert plan.poses[-1, 0, 0] - x == pytest.approx(0.03, abs=1e-3)


def test_a_free_flyer_may_be_asked_to_keep_its_orientation(tmp_path, capsys):
    """[JR94] FIG. 8b: what is left of the arms disturbs the base the least."""
    turned = {}
    for steady in ((), ('--steady', 'base_link')):
        path = tmp_path / 'plan.csv'
        assert main(['plan', ARMS, '--floating-base', '--passive', 'base', '--no-gravity',
                     '--home', 'l_elbow=-1.5,r_elbow=-1.5', '--by', 'l_hand=1.0:0.1,0,0.2',
                     *steady, '--output', str(path)]) == 0
        turned[bool(steady)] = abs(Plan.load(path).q[:, 3:6]).max()
    assert turned[False] > 1e-2
    assert turned[True] < 1e-5


def test_a_goal_that_is_not_reached_is_said(tmp_path, capsys):
    path = str(tmp_path / 'plan.csv')
    assert main(['plan', ARM, '--passive', 'elbow,wrist', *WRIST[2:], '--by', 'palm=1:0.1,0,0.1',
                 '--output', path]) == 1
    assert 'Not all directions of the goals could be moved, first at 0.000 s' in (
        capsys.readouterr().out)


@pytest.mark.parametrize(('arguments', 'message'), [
    ([], 'There is no goal'),
    (['--by', 'nose=1:0,0,0'], "no link 'nose'"),
    (['--by', 'palm=1:0,0,0', '--passive', 'nose'], "'nose'"),
    (['--replay', 'missing.csv'], "'missing.csv' is no plan"),
])
def test_errors_are_one_line_with_a_cure(arguments, message, capsys):
    assert main(['plan', ARM, *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count('\n') == 1


@pytest.mark.parametrize('goal', ['palm', 'palm=1', 'palm=1:2,3', 'palm=x:1,2,3', '=1:1,2,3',
                                  'palm=1:1,2,nan'])
def test_goals_that_cannot_be_read(goal, capsys):
    with pytest.raises(SystemExit) as leaving:
        main(['plan', ARM, '--to', goal])
    assert leaving.value.code == 2
    assert 'is not LINK=SECONDS' in capsys.readouterr().err
