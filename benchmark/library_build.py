# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The CPU time that the library of kernels takes to build, in a copy of the package."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import Figure, Spread

import opspace_control
from opspace_control.errors import OpspaceError

_BUILD = '-m', 'opspace_control.compilation'


def measure():
    """Return the figure; the library of this package stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        copy_package(folder)
        seconds = cpu_time(_BUILD, folder)
    return [Figure('library_build.cpu', 'CPU time of building the library of kernels',
                   Spread.of(seconds), 60.0, 's')]


def copy_package(folder):
    """Copy the package, without a library of kernels, into a folder."""
    package = Path(opspace_control.__file__).parent
    shutil.copytree(package, Path(folder, package.name),
                    ignore=shutil.ignore_patterns('kernels-*', '__pycache__'))


def cpu_time(arguments, folder):
    """
    Return the CPU time of Python with arguments, run in a folder, s.

    It is that of the process and of all its children, in user and in system mode. An OpspaceError
    tells how Python failed.
    """
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(
        filter(None, (str(folder), os.environ.get('PYTHONPATH'))))}
    before = os.times()
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = os.times()
    if done.returncode:
        raise OpspaceError(f'The library cannot be built: {done.stderr.strip()}')
    return (after.children_user + after.children_system
            - before.children_user - before.children_system)
