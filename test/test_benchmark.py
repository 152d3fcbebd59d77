# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the benchmark compares is the same, and it says what it measured; nothing is timed."""

import importlib
import json
import subprocess
import sys

import pytest

from opspace_control.cli.robots import demo_robot
from opspace_control.share import share_directory

BENCH = [sys.executable, '-m', 'opspace_control.cli.main', 'bench']


@pytest.fixture
def module(monkeypatch):
    """Return a function that imports a module of the benchmark."""
    monkeypatch.syspath_prepend(str(share_directory() / 'benchmark'))
    return importlib.import_module


@pytest.fixture
def contest(module):
    robot = demo_robot('dual_arm')
    return module('contest').Contest.set_up(
        robot.path().read_text(), robot.hands, robot.start, states=5)


def engine(module, library, name):
    pytest.importorskip(library)
    return getattr(module(f'{library}_peer'), name)


@pytest.mark.parametrize(('library', 'name'), [
    ('mujoco', 'MujocoEngine'), ('pinocchio', 'PinocchioEngine')])
def test_peers_compute_the_same_law(module, contest, library, name):
    function, inputs = contest.peer(engine(module, library, name))
    assert len(inputs) == len(contest.states)
    assert function(*inputs[0]).shape == (contest.controller.model.nv,)


def test_a_peer_of_another_law_is_found_out(module, contest):
    contest.targets[0][0, 3] += 1e-3
    with pytest.raises(module('contest').DisagreementError):
        contest.peer(engine(module, 'mujoco', 'MujocoEngine'))


def test_ratio_is_that_of_rounds(module):
    figure = module('figures').Figure.ratio('key', 'What', [1.0, 2.0, 9.0], [2.0, 4.0, 6.0], 0.6)
    assert (figure.value.median, figure.ours.median, figure.peer.median) == (0.5, 2.0, 4.0)
    assert figure.met
    assert json.loads(json.dumps(figure.as_dict()))['value']['upper'] == 1.0


@pytest.mark.parametrize(('value', 'text'), [
    (0.0, '0'), (0.0514, '0.0514'), (1.0, '1.00'), (4.137, '4.14'), (99.94, '99.9'),
    (837.4, '837')])
def test_three_digits(module, value, text):
    assert module('figures').Spread.of(value).text() == text


def test_table_says_which_target_is_missed(module):
    figures = module('figures')
    table = figures.markdown([
        figures.Figure('a', 'Fast', figures.Spread.of(1.0), 2.0, 's'),
        figures.Figure('b', 'Slow', figures.Spread.of(3.0), 2.0, 's')]).splitlines()
    assert table[2] == '| Fast | 1.00 s |  |  | ≤ 2 | met |'
    assert table[3] == '| Slow | 3.00 s |  |  | ≤ 2 | missed |'


def bench(*arguments):
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, check=False)


def test_json_of_a_section():
    done = bench('allocation', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {figure['key']: figure['value']['median'] for figure in found['figures']} == {
        'allocation.blocks': 0.0, 'allocation.entries': 1.0}
    assert found['skipped'] == {}
    assert found['machine']['numpy'].startswith('numpy ')


def test_unknown_section():
    done = bench('tea')
    assert done.returncode == 2
    assert "no section 'tea'" in done.stderr


def test_dynamics_at_a_lower_rate_cost_accuracy(module):
    """What doc/performance.md says of the two levels of [K87] (4.13)."""
    errors = module('two_rates').effort_errors((500, 50))
    assert 1e-4 < errors[500] < 0.005
    assert 0.01 < errors[50] < 0.06
