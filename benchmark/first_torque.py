# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From the start of a process to the first torque, with the library of kernels and without."""

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from contest import swing
from figures import Figure, Spread
from timing import interleave

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    library,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.compilation.compilers import replaced
from opspace_control.compilation.targets import target
from opspace_control.control.planning.postures import named_posture
from opspace_control.errors import OpspaceError

_COMMAND = [sys.executable, '-m', 'opspace_control.cli.main', 'demo']
_SIGN = 'first effort command'
_REPETITIONS = 5
_ROUNDS = 30
_PROCESS = """
import numpy as np
import opspace_control as osc
from opspace_control.share import share_directory
model = osc.RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
controller = osc.OperationalSpaceController(
    model, [osc.PoseTask('l_hand'), osc.PoseTask('r_hand')], limits=osc.JointLimits(model))
controller.compute_torque(osc.RobotState(model, model.neutral(), np.zeros(model.nv)))
moving = osc.RobotState(model, model.neutral() + 0.3, np.full(model.nv, 0.2))
torque = controller.compute_torque(moving, dt=1e-3)
# That of getrusage may be the parent's, from before exec.
with open('/proc/self/status') as status:
    peak, = (int(line.split()[1]) for line in status if line.startswith('VmHWM'))
print(peak / 1024.0, torque.tobytes().hex(), flush=True)
"""


def measure():
    """Return the figures; those of the demo need ROS 2, the first ones the library."""
    if not library.is_there():
        raise OpspaceError('There is no library of kernels.', cure=library.ABSENT)
    _process()  # files are read from the disk once
    runs = [_process() for _ in range(_REPETITIONS)]
    compiling = _process(OPSPACE_KERNELS='jit', **_processors())
    figures = [
        Figure('first_torque.process', 'A process to its first torque, dual arm within limits',
               Spread.of([seconds for seconds, *_ in runs]), 0.4, 's'),
        Figure('first_torque.memory', 'Its memory', Spread.of([size for _, size, _ in runs]), 60.0,
               'MB'),
        Figure('first_torque.compiling', 'The same without the library: Numba compiles',
               Spread.of(compiling[0]), None, 's'),
        Figure('first_torque.compiling_memory', 'Its memory, without the library',
               Spread.of(compiling[1]), None, 'MB'),
        Figure('first_torque.difference', 'Largest difference of its torques from those with it',
               Spread.of(abs(compiling[2] - runs[0][2]).max()), 0.0, 'N·m'),
        _cycle()]
    if importlib.util.find_spec('rclpy'):
        demo = [_start() for _ in range(_REPETITIONS)]
        figures.append(Figure('first_torque.demo', '`opspace demo` to its first torque, every time',
                              Spread.of(demo), 1.5, 's'))
    return figures


def _process(**environment):
    """Return the seconds from the start of a process to its first torque, its MB, and torques."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, **environment, 'XDG_CACHE_HOME': cache}
        environment.pop('NUMBA_CACHE_DIR', None)
        began = time.perf_counter()
        said = subprocess.run([sys.executable, '-c', _PROCESS], env=environment, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              ).stdout.split()
        return time.perf_counter() - began, float(said[0]), np.frombuffer(bytes.fromhex(said[1]))


def _processors():
    """Return the environment in which Numba compiles for the processors of the library."""
    name, features = target()
    return {'NUMBA_CPU_NAME': name, 'NUMBA_CPU_FEATURES': ''} if (
        name and library.opened()[1] == features) else {}


def _cycle():
    """Return the figure of cycles by the library and by what Numba compiles, in one run."""
    robot = demo_robot('dual_arm')
    model = RobotModel.from_urdf_file(robot.path())
    ours, theirs = (OperationalSpaceController(
        model, [PoseTask(frame) for frame in robot.hands], limits=JointLimits(model))
        for _ in range(2))
    ours.warm_up()
    with replaced(library, 'is_there', lambda: False):
        theirs.warm_up()
    inputs = [(state,) for state in swing(model, named_posture(model, robot.start))]
    out = np.empty(model.nv)
    times = interleave({
        'ours': (lambda state: ours.compute_torque(state, out=out), inputs),
        'peer': (lambda state: theirs.compute_torque(state, out=out), inputs)}, _ROUNDS)
    return Figure.ratio('first_torque.cycle', 'A cycle of the dual arm that moves within '
                        'limits, by the library and by Numba', times['ours'], times['peer'], 0.9)


def _start():
    """Return the seconds from the start of the process to the first effort command."""
    environment = dict(os.environ, PYTHONUNBUFFERED='1')
    began = time.perf_counter()
    command = [*_COMMAND, '--output', os.devnull]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as demo:
        said = []
        for line in demo.stdout:
            said.append(line)
            if _SIGN in line:
                took = time.perf_counter() - began
                demo.send_signal(signal.SIGINT)
                demo.stdout.read()
                return took
    raise OpspaceError('The demo commands nothing.', cure='See what it says:\n' + ''.join(said))
