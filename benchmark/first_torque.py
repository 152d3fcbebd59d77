# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How long `opspace demo` takes to command the first effort: the first time, and afterwards."""

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time

from figures import Figure, Spread

from opspace_control.errors import OpspaceError

_COMMAND = [sys.executable, '-m', 'opspace_control.cli.main', 'demo']
_SIGN = 'first effort command'
_COLD, _WARM = 15.0, 3.0  # s
_REPETITIONS = 3


def measure():
    """Return the figures of a start without any compiled code, and of later ones."""
    if importlib.util.find_spec('rclpy') is None:
        raise ModuleNotFoundError(name='rclpy')
    with tempfile.TemporaryDirectory() as cache:
        cold = _start(cache)
        warm = [_start(cache) for _ in range(_REPETITIONS)]
    return [Figure('first_torque.cold', '`opspace demo` to its first torque, compiling first',
                   Spread.of(cold), _COLD, 's'),
            Figure('first_torque.warm', '`opspace demo` to its first torque, afterwards',
                   Spread.of(warm), _WARM, 's')]


def _start(cache):
    """Return the seconds from the start of the process to the first effort command."""
    environment = dict(os.environ, XDG_CACHE_HOME=cache, PYTHONUNBUFFERED='1')
    environment.pop('NUMBA_CACHE_DIR', None)
    began = time.perf_counter()
    command = [*_COMMAND, '--output', os.path.join(cache, 'demo.png')]
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
