# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Collection of the tests where launch_testing is installed: its plug-in imports every file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PLUGIN = """
def pytest_pycollect_makemodule(module_path, parent):
    exec(module_path.read_text(), {})
"""


def test_a_file_that_skips_itself_hides_no_other(tmp_path):
    here = Path(__file__).parent
    shutil.copy(here / 'conftest.py', tmp_path)
    for name, text in {'importing': PLUGIN, 'test_present': 'def test(): pass',
                       'test_missing': "import pytest; pytest.importorskip('no_such_module')"
                       }.items():
        (tmp_path / f'{name}.py').write_text(text)
    run = subprocess.run([sys.executable, '-m', 'pytest', '-p', 'importing', '.'], cwd=tmp_path,
                         env=os.environ | {'PYTHONPATH': str(here)}, capture_output=True,
                         text=True, check=False)
    assert '1 passed, 1 skipped' in run.stdout, run.stdout + run.stderr
