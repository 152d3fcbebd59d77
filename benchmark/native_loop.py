# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Cycles of a saved controller in C++, beside the same cycles called from Python."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from contest import TASK, swing
from figures import Figure, Spread
from ros_latency import real_time

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    library,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.planning.postures import named_posture
from opspace_control.errors import OpspaceError
from opspace_control.share import share_directory

_SECONDS = 20
_ROUNDS = 3
_PERCENTILES = {'median': 50.0, '99.9th percentile': 99.9}


def measure():
    """Return the figures of Talos within limits, two hands; they need a C++ compiler."""
    compiler = os.environ.get('CXX', 'c++').split()
    if shutil.which(compiler[0]) is None:
        raise ModuleNotFoundError(name='a C++ compiler')
    if not library.is_there():
        raise OpspaceError('There is no library of kernels.', cure=library.ABSENT)
    with tempfile.TemporaryDirectory() as temporary, real_time() as realtime:
        folder, native = Path(temporary), share_directory() / 'native'
        subprocess.run(
            [*compiler, '-std=c++17', '-O2', f'-I{native / "include"}',
             native / 'test' / 'replay.cpp', '-o', folder / 'replay', '-ldl'], check=True)
        runs = [_round(folder) for _ in range(_ROUNDS)]
    words = f'Talos within limits, a cycle{", real-time priority" if realtime else ""}: '
    theirs = {name: [np.percentile(python, percentile) for _, python in runs]
              for name, percentile in _PERCENTILES.items()} | {
                  'worst': [python.max() for _, python in runs]}
    return [*(Figure.ratio(f'native.{key}', f'{words}{name} in C++, beside Python',
                           [float(facts[key]) for facts, _ in runs], theirs[name])
              for key, name in (('median', 'median'), ('percentile_99.9', '99.9th percentile'),
                                ('worst', 'worst'))),
            Figure('native.allocations', f'{words}calls of the allocator and of locks in C++',
                   Spread.of([int(facts['allocations']) + int(facts['locks'])
                              for facts, _ in runs]), 0.0)]


def _round(folder):
    """Return what the C++ program prints, and the times of the same cycles from Python, µs."""
    robot = demo_robot('talos')
    model = RobotModel.from_urdf(robot.path().read_text())
    controller = OperationalSpaceController(
        model, [PoseTask(hand, **TASK) for hand in robot.hands], limits=JointLimits(model))
    states = _SECONDS * list(swing(model, named_posture(model, robot.start)))
    content = [np.r_[1e-3, 0.0, state.q, state.v] for state in states]
    (folder / 'inputs').write_bytes(np.concatenate(content).tobytes())
    controller.save(folder / 'block')
    said = subprocess.run(
        [folder / 'replay', folder / 'block', library.library_path(), folder / 'inputs',
         folder / 'outputs'], check=True, capture_output=True, text=True).stdout
    controller.warm_up()
    out, times = np.empty(model.nv), np.empty(len(states))
    torques = np.empty((len(states), model.nv))
    for k, state in enumerate(states):
        began = time.perf_counter()
        controller.compute_torque(state, out=out)
        times[k] = time.perf_counter() - began
        torques[k] = out
    if (folder / 'outputs').read_bytes() != torques.tobytes():
        raise OpspaceError('C++ and Python do not compute the same.', cure='See test_native.py.')
    return dict(line.split() for line in said.splitlines()), 1e6 * times
