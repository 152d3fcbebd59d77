# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where compiled code is kept, and who makes it."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np

from opspace_control.compiled import kernel, rare

ROOT = Path(__file__).parents[1]
# Says that it is ready, waits for a word, compiles, and says how often it could not load.
PROCESS = """
import numpy as np
from opspace_control.safety.envelope import EFFORT_GUARD, clamp_efforts
print(flush=True)
input()
guards, tau = np.zeros(1, EFFORT_GUARD), np.ones(1)
guards['effort_limit'], guards['effort_rate'] = 2.0, 1.0
clamp_efforts(guards, 0.25, tau)
print(tau.item(), clamp_efforts.dispatcher.stats.cache_misses.total())
"""


@rare
def scaled(_unused, factor, numbers, out):
    for i in range(numbers.size):
        out[i] = factor * numbers[i] + i


@kernel
def scale(unused, factor, numbers, out):
    scaled(unused, factor, numbers, out)


@numba.njit
def scale_elsewhere(unused, factor, numbers, out):
    scaled(unused, factor, numbers, out)


def test_code_of_others_does_not_call_a_part_of_a_kernel():
    """LLVM drops arguments of parts of kernels; the linker finds symbols by name alone."""
    for function in scale, scale_elsewhere:
        out = np.zeros(3)
        function(np.eye(4), 2.0, np.arange(3.0), out)
        assert out.tolist() == [0.0, 3.0, 6.0]


def compile_in(directory, processes):
    """Have so many processes call a kernel at once; return what each prints."""
    environment = {**os.environ, 'NUMBA_CACHE_DIR': str(directory), 'PYTHONPATH': str(ROOT),
                   'OPSPACE_KERNELS': 'jit'}
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


# Recursions of a robot, by whatever compiles them.
FORCES = """
import sys
import numba
numba.version_info = numba.version_info._replace(short=eval(sys.argv[1]))
import numpy as np
from opspace_control import RobotModel, RobotState
from opspace_control.safety.envelope import clamp_efforts
from opspace_control.share import share_directory
model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'arm_7r.urdf')
state = RobotState(model, np.linspace(-1.0, 1.0, model.nq), np.linspace(1.0, 2.0, model.nv))
own = clamp_efforts.dispatcher._compiler.pipeline_class.__module__.startswith('numba.')
print(own, *model.inverse_dynamics(state, np.ones(model.nv)))
"""


def test_a_version_of_numba_that_nobody_has_tried_compiles_by_itself(tmp_path):
    """What is done to its insides may be wrong there."""
    said = []
    for version in (numba.version_info.short, (99, 0), (0, 57)):
        environment = {**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path / str(version)),
                       'PYTHONPATH': str(ROOT), 'OPSPACE_KERNELS': 'jit'}
        process = subprocess.run([sys.executable, '-c', FORCES, str(version)], env=environment,
                                 capture_output=True, text=True, check=True)
        said.append(process.stdout.split())
    assert [own for own, *_ in said] == ['False', 'True', 'True']
    forces = np.array([numbers for _, *numbers in said], dtype=float)
    np.testing.assert_allclose(forces[1:], forces[:1].repeat(2, axis=0), rtol=1e-12)
