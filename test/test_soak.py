# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The soak runs, and what does not depend on the machine is as it must be after some seconds."""

import subprocess
import sys

import pytest

from opspace_control.cli.processes import private_environment
from opspace_control.share import share_directory

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')


def test_some_seconds():
    run = subprocess.run(
        [sys.executable, str(share_directory() / 'benchmark' / 'soak.py'), '--seconds', '4'],
        env=private_environment(0), capture_output=True, text=True, timeout=600, check=False)
    met = [line for line in run.stdout.splitlines() if line.endswith('| met |')]
    assert run.returncode in (0, 1), run.stderr
    for what in ('largest effort', 'largest step', 'trips'):
        assert any(what in line for line in met), run.stdout + run.stderr
