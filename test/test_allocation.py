# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A control cycle allocates nothing and enters compiled code once."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import _nrt_python, rtsys

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
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


@pytest.fixture
def cycle(model):
    """Return a function that runs cycles of everything: V_max, feed-forward, limits that cut."""
    controller = OperationalSpaceController(
        model, [PoseTask(hand, max_linear_velocity=0.1, max_angular_velocity=0.1)
                for hand in HANDS], PostureTask(target=np.full(model.nq, 0.2)), effort_limits=20.0)
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
    assert controller.limited_joints > 0
    return run


def blocks_allocated(function):
    """Return how many heap blocks Numba's memory management handed out during a call."""
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    function()
    after = rtsys.get_allocation_stats()
    return after.alloc - before.alloc


def compiled_code_entered(function):
    """Return the names of the machine code functions that Python called during a call."""
    dispatched = {item.py_func.__code__: item.py_func.__name__
                  for item in gc.get_objects() if issubclass(type(item), Dispatcher)}
    entered = []

    def watch(frame, event, argument):
        if event == 'call' and frame.f_code in dispatched:
            entered.append(dispatched[frame.f_code])
        elif event == 'c_call' and type(getattr(argument, '__self__', None)).__name__ == '_Closure':
            entered.append(argument.__name__)

    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered


def test_counter_sees_an_allocation():
    @njit
    def allocate(n):
        return np.zeros(n).sum()

    allocate(3)
    assert blocks_allocated(lambda: allocate(3)) > 0


def test_compiled_code_allocates_nothing(cycle):
    assert blocks_allocated(lambda: cycle(CYCLES)) == 0


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


def test_no_memory_is_needed_where_tasks_cannot_be_met(model):
    """The arms stretched out, and the same point asked for twice: the other branch."""
    controller = OperationalSpaceController(
        model, [PoseTask('l_hand'), PoseTask('l_hand', name='again')])
    state = RobotState(model, model.neutral(), np.zeros(model.nv))
    out = np.empty(model.nv)
    controller.compute_torque(state, out=out)
    assert controller.least_eigenvalue == 0.0
    assert blocks_allocated(lambda: controller.compute_torque(state, out=out)) == 0


def test_one_cycle_enters_compiled_code_once(cycle):
    assert compiled_code_entered(lambda: cycle(1)) == ['control_cycle'] * 5
