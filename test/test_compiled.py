# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where compiled code is kept, and who makes it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Says that it is ready, waits for a word, compiles, and says how often it could not load.
PROCESS = """
import numpy as np
from opspace_control.safety.ramps import approach
print(flush=True)
input()
numbers = np.zeros((1, 1))
approach(numbers, np.ones((1, 1)), np.ones((1, 1)), 0.25)
print(numbers.item(), approach.stats.cache_misses.total())
"""


def compile_in(directory, processes):
    """Have so many processes call a kernel at once; return what each prints."""
    environment = {**os.environ, 'NUMBA_CACHE_DIR': str(directory), 'PYTHONPATH': str(ROOT)}
    running = [subprocess.Popen(
        [sys.executable, '-c', PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment) for _ in range(processes)]
    for process in running:
        process.stdout.readline()
    for process in running:
        process.stdin.write('\n')
        process.stdin.flush()
    return [process.communicate()[0].split() for process in running]


def test_one_process_compiles_and_the_others_load(tmp_path):
    said = compile_in(tmp_path, 3)
    assert [float(number) for number, _ in said] == [0.25] * 3
    assert sorted(int(misses) for _, misses in said) == [0, 0, 1]
