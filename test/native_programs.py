# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""C++ programs of native/, compiled with warnings as errors, and libraries without kernels."""

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


def compile_program(folder, *sources, options=()):
    """Return the program of these files of native/, named after the last one, or skip the test."""
    if not has_compiler():
        pytest.skip(f'there is no C++ compiler {" ".join(_COMPILER)!r}')
    program = folder / Path(sources[-1]).stem
    subprocess.run(
        [*_COMPILER, '-std=c++17', '-O2', *_WARNINGS, *options, f'-I{NATIVE / "include"}',
         f'-I{NATIVE / "ros2_control/include"}', *(NATIVE / source for source in sources),
         '-o', program, '-ldl', '-pthread'], check=True)
    return program


def link_library(path, features):
    """Link a library of these sources that has no kernels and needs features of a processor."""
    from opspace_control import library
    from opspace_control.compilation.build import link
    from opspace_control.compilation.objects import text_object
    objects = []
    for name, text in (('processor', features), ('sources', library.sources_digest())):
        objects.append(path.with_name(f'{name}.o'))
        objects[-1].write_bytes(text_object(f'opspace_{name}', text))
    link(objects, path)
