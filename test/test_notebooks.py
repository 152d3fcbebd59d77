# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Notebooks run from their first cell to the last, and are stored without outputs."""

import json
from pathlib import Path

import pytest

pytest.importorskip('mujoco', reason='MuJoCo is not installed')
matplotlib = pytest.importorskip('matplotlib', reason='Matplotlib is not installed')

NOTEBOOKS = sorted((Path(__file__).parents[1] / 'examples' / 'notebooks').glob('*.ipynb'))


@pytest.fixture
def cells(request):
    content = json.loads(request.param.read_text())
    assert content['nbformat'] == 4
    return content['cells']


@pytest.mark.parametrize('cells', NOTEBOOKS, indirect=True, ids=lambda path: path.stem)
def test_runs(cells):
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
    values = {}
    for number, cell in enumerate(cells):
        if cell['cell_type'] == 'code':
            exec(compile(''.join(cell['source']), f'cell {number}', 'exec'), values)
    assert plt.get_fignums()
    plt.close('all')


@pytest.mark.parametrize('cells', NOTEBOOKS, indirect=True, ids=lambda path: path.stem)
def test_is_stored_without_outputs(cells):
    assert cells[0]['cell_type'] == 'markdown'
    code = [cell for cell in cells if cell['cell_type'] == 'code']
    assert all(cell['outputs'] == [] and cell['execution_count'] is None for cell in code)
