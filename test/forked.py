# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Nodes as forks of a process that has imported what they need, which would take a second for each.

Run as a program this is that process. It reads requests, JSON in lines, and answers each: how the
nodes end is for it alone to see.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

from opspace_control.cli.main import VERBS, main
from opspace_control.safety.envelope import EFFORT_GUARD, clamp_efforts

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_LOOK = 0.005  # s
_PATIENCE = 20.0  # s, for a server to end
# What may differ from node to node; all else is as it was when the process began.
_OF_EACH = ('ROS_DOMAIN_ID', 'PYTEST_CURRENT_TEST')
# With the path of `python -m`, on which this folder is not.
_PROGRAM = f'import runpy; runpy.run_path({__file__!r}, run_name="__main__")'
_SERVERS = {}


class Fork:
    """A verb of the `opspace` command with its arguments, to be used like a `subprocess.Popen`."""

    def __init__(self, verb, arguments, environment, log):
        log.write_bytes(b'')  # for who reads it before the node has opened it
        self._ask = _server(environment).ask
        self.pid = self._ask('start', [verb, *arguments], dict(environment), str(log))
        self._code = None

    def poll(self):
        """Return the exit code, or None while it runs."""
        if self._code is None:
            self._code = self._ask('poll', self.pid)
        return self._code

    def wait(self, timeout=None):
        """Return the exit code when there is one."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(f'process {self.pid}', timeout)
            time.sleep(_LOOK)
        return self._code

    def send_signal(self, number):
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class ServerDiedError(Exception):
    """Says which process it was that nodes are forks of, and its last words."""


class _Server:
    """The process that nodes of an environment are forks of."""

    def __init__(self, environment):
        self._environment = environment
        self._log = tempfile.TemporaryFile('w+')  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, '-c', _PROGRAM], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self._log, text=True, start_new_session=True,
            preexec_fn=_die_with_parent)  # noqa: PLW1509
        atexit.register(self._end)

    def ask(self, *request):
        """Return its answer."""
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise ServerDiedError(self._died_of(request))
        return json.loads(answer)

    def _died_of(self, request):
        code = self.process.wait(_PATIENCE)
        self._log.seek(0)
        own = ' '.join(f'{name}={value}' for name, value in self._environment.items()
                       if os.environ.get(name) != value)
        return (f'The server of {own or "the environment of the tests"} has ended with {code} '
                f'when it was asked to {request[0]} {request[1]}. It said:\n'
                f'{self._log.read()[-4000:]}')

    def _end(self):
        try:
            self.process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _server(environment):
    """Return the server of this environment; start it if there is none."""
    rest = {name: value for name, value in environment.items() if name not in _OF_EACH}
    key = tuple(sorted(rest.items()))
    if key not in _SERVERS or _SERVERS[key].process.poll() is not None:
        _SERVERS[key] = _Server(rest)
    return _SERVERS[key]


def _die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _serve():
    """Answer requests; return the arguments of a node in the process that is to be it, or None."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), 'w')
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Loads the library, or has Numba fill its tables.
    clamp_efforts(np.zeros(1, EFFORT_GUARD), 1.0, np.ones(1))
    inspect.getmodule(sys._getframe())  # goes through all modules, as the first line of a log does
    codes = {}
    for line in sys.stdin:
        match json.loads(line):
            case 'start', arguments, environment, log:
                importlib.import_module(f'opspace_control.{VERBS[arguments[0]][0]}')
                gc.freeze()
                answer = _fork()
                if not answer:
                    answers.close()
                    _become_node(environment, log)
                    return arguments
                codes[answer] = None
            case 'poll', answer:
                pid = answer
                if codes[pid] is None:
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    codes[pid] = os.waitstatus_to_exitcode(status) if ended else None
                answer = codes[pid]
        print(json.dumps(answer), file=answers, flush=True)
    return None


def _fork():
    with warnings.catch_warnings():
        # Threads of libraries, which wait for work and are begun anew where there is some.
        warnings.simplefilter('ignore', DeprecationWarning)
        return os.fork()


def _become_node(environment, log):
    """Have what a process that is started with these would have."""
    os.setsid()
    _die_with_parent()
    os.environ.clear()
    os.environ.update(environment)
    for file, flags, numbers in (os.devnull, os.O_RDONLY, (0,)), (log, os.O_WRONLY, (1, 2)):
        opened = os.open(file, flags)
        for number in numbers:
            os.dup2(opened, number)
        os.close(opened)


if __name__ == '__main__':
    asked = _serve()
    sys.exit(main(asked) if asked else 0)
