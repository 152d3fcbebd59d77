# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The processors that the library of kernels is built for."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from native_programs import link_library

from opspace_control import library
from opspace_control.compilation import targets

ROOT = Path(__file__).parents[1]
# Compile three kernels as build() does on ARM64; say of what architecture the code is.
FOR_ARM64 = """
import platform
import sys
import llvmlite.binding as llvm
from llvmlite.binding import targets as llvm_targets
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
for module in (llvm, llvm_targets):
    module.get_default_triple = module.get_process_triple = lambda: 'aarch64-unknown-linux-gnu'
try:
    llvm.Target.from_default_triple()
except RuntimeError:
    sys.exit()
platform.machine = lambda: 'aarch64'
from numba import config
from opspace_control.compilation import build, targets
config.CPU_NAME, config.CPU_FEATURES = targets.target()[0], ''
for job in build.jobs():
    if job.function.__name__ in {'clamp_efforts', 'mass_matrix', 'solve_hybrid'}:
        code = build.compile_object(job.function, job.kinds, build.OPTIONS, job.symbol)
        print(int.from_bytes(code[18:20], 'little'), job.symbol.encode() in code)
"""


@pytest.mark.parametrize(('machine', 'target'), [
    ('x86_64', ('x86-64-v3', targets.X86_64_V3)), ('aarch64', ('generic', frozenset())),
    ('riscv64', (None, library.processor()))])
def test_of_an_architecture(monkeypatch, machine, target):
    monkeypatch.setattr(platform, 'machine', lambda: machine)
    assert targets.target() == target
    assert targets.target(native=True) == (None, library.processor())


@pytest.mark.parametrize(('features', 'built', 'native'), [
    ('avx2 fma', True, False),  # as any processor of the level can use
    ('avx2 fma ssbs', True, True),  # made here
    ('sve', False, False),  # made for another one
    (' '.join(sorted(targets.X86_64_V3)), True, False)])  # to be used elsewhere
def test_is_built(monkeypatch, tmp_path, features, built, native):
    path = tmp_path / 'kernels-made.so.0'
    link_library(path, features)
    monkeypatch.setattr(library, 'library_path', lambda: path)
    monkeypatch.setattr(library, 'processor', lambda: {'avx2', 'fma', 'ssbs'})
    monkeypatch.setattr(platform, 'machine', lambda: 'x86_64')
    assert [targets.is_built(), targets.is_built(native=True)] == [built, native]


def test_kernels_are_compiled_for_arm64():
    """By LLVM's code generator for ARM64, which does not need such a processor."""
    done = subprocess.run([sys.executable, '-c', FOR_ARM64], check=False, capture_output=True,
                          text=True, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == 0, done.stderr
    if not done.stdout:
        pytest.skip('this LLVM has no code generator for ARM64')
    assert done.stdout.split() == ['183', 'True'] * 3  # EM_AARCH64
