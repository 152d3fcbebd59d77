# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Notebooks run from their first cell to the last, are pages of the site, and keep no outputs."""

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('matplotlib', reason='Matplotlib is not installed')

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / 'doc'))

from notebook_pages import NOTEBOOKS, page  # noqa: E402

LIST = ROOT / 'doc' / 'tutorials' / 'notebooks.md'
every = pytest.mark.parametrize('notebook', NOTEBOOKS, ids=lambda path: path.stem)


@every
def test_runs(notebook, tmp_path):
    """Its cells check themselves; every figure is on the page."""
    text = ''.join(page(notebook, tmp_path))
    figures = {path.name for path in tmp_path.glob('*.png')}
    assert len(figures) >= 2
    assert set(re.findall(r'\]\((.*?\.png)\)', text)) == figures


def test_a_cell_that_fails_names_itself(tmp_path):
    notebook = tmp_path / 'bad.ipynb'
    notebook.write_text(json.dumps({'cells': [{'cell_type': 'code', 'source': ['assert 1 > 2']}]}))
    with pytest.raises(AssertionError) as error:
        list(page(notebook, tmp_path))
    assert str(error.traceback[-1].path) == 'bad.ipynb, cell 0'


@every
def test_is_stored_without_outputs(notebook):
    content = json.loads(notebook.read_text())
    assert content['nbformat'] == 4
    cells = content['cells']
    assert cells[0]['cell_type'] == 'markdown'
    code = [cell for cell in cells if cell['cell_type'] == 'code']
    assert all(cell['outputs'] == [] and cell['execution_count'] is None for cell in code)


def test_they_are_numbered_and_listed():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f'{i}_' for i in range(1, 7)]
    text = LIST.read_text()
    for path in NOTEBOOKS:
        assert f'examples/notebooks/{path.name}' in text
        assert f'generated/notebooks/{path.stem}' in text
