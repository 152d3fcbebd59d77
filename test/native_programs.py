# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""C++ programs of native/, compiled with warnings as errors."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / 'native'
_COMPILER = os.environ.get('CXX', 'c++').split()
_WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror']


def has_compiler():
    """Return whether there is a C++ compiler: that of CXX, or c++."""
    return shutil.which(_COMPILER[0]) is not None


def compile_program(folder, *sources):
    """Return the program of these files of native/, named after the last one, or skip the test."""
    if not has_compiler():
        pytest.skip(f'there is no C++ compiler {" ".join(_COMPILER)!r}')
    program = folder / Path(sources[-1]).stem
    subprocess.run(
        [*_COMPILER, '-std=c++17', '-O2', *_WARNINGS, f'-I{NATIVE / "include"}',
         f'-I{NATIVE / "ros2_control/include"}', *(NATIVE / source for source in sources),
         '-o', program, '-ldl', '-pthread'], check=True)
    return program
