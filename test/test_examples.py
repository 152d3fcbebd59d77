# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Every example runs, and what it prints is true."""

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / 'examples').glob('*.py'))


def run(name, capsys):
    """Run an example; return its variables and what it printed."""
    path, = (path for path in EXAMPLES if path.stem.startswith(name))
    values = runpy.run_path(str(path), run_name='__main__')
    return values, capsys.readouterr().out


def test_they_are_numbered_and_each_is_tested():
    assert [path.stem[:2] for path in EXAMPLES] == [f'{i:02}' for i in range(1, len(EXAMPLES) + 1)]
    source = Path(__file__).read_text()
    assert [path.stem for path in EXAMPLES if f"run('{path.stem[:2]}'" not in source] == []


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_they_are_short_and_need_no_ros(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 60
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split('.')[0] for name in imported} <= {'numpy', 'time', 'math', 'opspace_control'}
    assert not any(name.startswith('opspace_control.ros') for name in imported)


def test_01_robot(capsys):
    values, text = run('01', capsys)
    assert all(name in text for name in values['model'].dof_names)
    assert np.linalg.norm(values['hands']['l_hand'][:3, 3]) > 0.5


def test_02_operational_space(capsys):
    values, text = run('02', capsys)
    assert abs(values['leak']).max() < 1e-9
    assert 'of rank 12' in text


def test_03_controller(capsys):
    values, text = run('03', capsys)
    for task in values['controller'].tasks.values():
        assert np.linalg.norm(task.error) < 1e-4
    assert len(text.splitlines()) == 6


def test_04_null_space(capsys):
    values, _ = run('04', capsys)
    assert values['furthest'] < 1e-4
    assert min(values['swing']) < -0.3 and max(values['swing']) > 0.3


def test_05_axes(capsys):
    values, _ = run('05', capsys)
    moved = values['moved']
    assert np.linalg.norm(moved[:2]) > 0.1
    assert abs(moved[2]) < 5e-3
    assert np.degrees(values['tilt']) < 3.0


def test_06_speed_limit(capsys):
    _, text = run('06', capsys)
    speeds = [float(line.split(' at ')[1].split()[0]) for line in text.splitlines()]
    assert speeds[0] > 0.6
    assert speeds[1:] == pytest.approx([0.5, 0.2], rel=0.01)


def test_07_feed_forward(capsys):
    values, _ = run('07', capsys)
    lag = values['lag']
    assert lag['position'] > 3.0 * lag['velocity'] > 30.0 * lag['acceleration']


def test_08_singularity(capsys):
    _, text = run('08', capsys)
    rows = [line.split() for line in text.splitlines()[1:]]
    assert max(float(row[2]) for row in rows) > 1000.0
    assert max(float(row[3]) for row in rows) < 50.0
    assert float(rows[0][4]) == pytest.approx(1.0)


def test_09_real_robot(capsys):
    values, text = run('09', capsys)
    assert (values['torque'][values['model'].locked] == 0.0).all()
    assert 0.0 < values['microseconds'] < 1000.0
    assert '32 joints and two hands' in text


def test_10_passive_joint(capsys):
    values, _ = run('10', capsys)
    assert values['knowing'] < 0.1
    assert values['believing'] > 10.0


def test_11_grasp(capsys):
    values, text = run('11', capsys)
    assert abs(values['grasp'].task.error).max() < 0.5e-3
    np.testing.assert_allclose([values['right'][1], values['left'][1]], [20.0, -20.0], atol=0.1)
    np.testing.assert_allclose([values['right'][2], values['left'][2]], 9.81 * 1.5, atol=0.1)
    assert 'press with 20.0 N' in text


def test_12_force(capsys):
    values, text = run('12', capsys)
    assert values['stages'] == ['none', 'impact', 'contact']
    assert values['pressed'] == pytest.approx(20.0, rel=0.01)
    assert abs(values['forces'] - 20.0).max() < 0.5
    assert abs(values['hand'].error[1]) < 1e-3
    assert len(text.splitlines()) == 2


def test_13_impedance(capsys):
    values, _ = run('13', capsys)
    assert values['yielded'] == pytest.approx(20.0, rel=0.01)
    overshoots = values['overshoots']
    assert overshoots[1.0] < 0.01 < overshoots[0.7] < 0.1 < overshoots[0.3] < 0.4


def test_14_trot(capsys):
    values, text = run('14', capsys)
    assert values['speed'] > 3.6
    assert values['tilt'] < 3.0
    assert values['fastest'] < 1.0
    assert text.startswith(f'{values["speed"]:.2f} m/s')
