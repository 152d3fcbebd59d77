# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A control cycle allocates nothing and enters compiled code once."""

import gc
import shutil
import subprocess
import tracemalloc

import allocation
import numpy as np
import pytest

from opspace_control import (
    CollisionDescription,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    library,
)
from opspace_control.share import share_directory

HANDS = ('l_hand', 'r_hand')
CYCLES = 500  # of five states: more than the 2000 argument tuples that CPython 3.11 sets aside


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


def random_state(model, seed):
    random = np.random.default_rng(seed)
    return RobotState(model, 0.5 * random.normal(size=model.nq), random.normal(size=model.nv))


@pytest.fixture(params=['cut', 'kept'])
def cycle(model, request):
    """
    Return a function that runs cycles of everything: V_max, feed-forward, limits that cut.

    Or limits and distances that are kept; random postures are beyond some of both.
    """
    kept = {}
    if request.param == 'kept':
        file = share_directory() / 'urdf' / 'dual_arm.collision.yaml'
        kept = {'limits': JointLimits(model), 'distances': DistanceLimits(
            CollisionDescription.read(file).model(model))}
    controller = OperationalSpaceController(
        model, [PoseTask(hand, max_linear_velocity=0.1, max_angular_velocity=0.1)
                for hand in HANDS], PostureTask(target=np.full(model.nq, 0.2)), effort_limits=20.0,
        **kept)
    for task in controller.tasks.values():
        task.set_target(np.eye(4), np.full(6, 0.1), np.full(6, 0.1))
    states = [random_state(model, seed) for seed in range(5)]
    out = np.empty(model.nv)

    def run(times):
        for _ in range(times):
            for state in states:
                controller.compute_torque(state, out=out)
        return out

    assert np.isfinite(run(1)).all()
    if kept:
        assert controller.limit_solutions > 0 and controller.near_pairs
    else:
        assert controller.limited_joints > 0
    run.kernel = 'limited_cycle' if kept else 'control_cycle'
    return run


@pytest.fixture
def entered():
    """Return the names of kernels that Python enters from now on, in order."""
    with allocation.entries() as names:
        yield names


@pytest.mark.skipif(not (library.is_there() and shutil.which('nm')), reason='no library, or no nm')
def test_compiled_code_needs_functions_of_numbers_alone():
    """No heap, no Python, no lock: what else a kernel calls would be a symbol."""
    said = subprocess.run(['nm', '--dynamic', '--undefined-only', library.library_path()],
                          check=True, capture_output=True, text=True).stdout
    needed = {line.split()[-1].partition('@')[0] for line in said.splitlines() if ' U ' in line}
    assert 'atan2' in needed
    assert needed <= {'atan2', 'cos', 'exp', 'expm1', 'log', 'memcpy', 'memmove', 'memset',
                      'pow', 'sin', 'sincos', 'tanh'}


def test_python_keeps_nothing_and_needs_little(cycle):
    gc.collect()
    tracemalloc.start()
    try:
        cycle(CYCLES)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        cycle(CYCLES)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < CYCLES  # bytes: less than one a cycle
    # Call frames and arguments come and go; a matrix of the task's size would be seen.
    assert peak - before < 1000


def test_one_cycle_enters_compiled_code_once(entered, cycle):
    entered.clear()
    cycle(2)
    assert entered == [cycle.kernel] * 10
