# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes as child processes that cannot outlive their parent."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


class Process:
    """
    A verb of the `opspace` command in a process of its own.

    It has a session of its own: Ctrl-C in a terminal reaches only the parent, which then ends
    the nodes in the right order. Make it before the first thread of the parent: the death signal
    is set between fork and exec.

    Parameters
    ----------
    verb : str
        Such as ``controller``.
    arguments : sequence of str
        After the verb.
    environment : dict
        Of the process.
    log : path
        File that receives what it says.

    """

    program = ('-m', 'opspace_control.cli.main')
    grace_time = 3.0  # s, for a node to leave

    def __init__(self, verb, arguments, environment, log):
        self.verb = verb
        self.log = log
        with open(log, 'wb') as output:
            self._process = subprocess.Popen(
                [sys.executable, *self.program, verb, *arguments],
                env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=_die_with_parent)  # noqa: PLW1509

    @property
    def pid(self):
        """Process id."""
        return self._process.pid

    def exit_code(self):
        """Return the exit code, or None while the process runs."""
        return self._process.poll()

    def said(self):
        """Return the log so far."""
        return self.log.read_text(errors='replace')

    def send_signal(self, number):
        """Send a signal, if the process still runs."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def end(self, number=signal.SIGINT):
        """Ask the process to leave; kill it if it does not. Return its exit code."""
        self.send_signal(number)
        try:
            return self._process.wait(self.grace_time)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def process_age():
    """Return how long ago this process was started, interpreter and imports included, s."""
    fields = Path('/proc/self/stat').read_text().rpartition(')')[2].split()
    start = int(fields[19]) / os.sysconf('SC_CLK_TCK')  # field 22 of proc(5): ticks since boot
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start


def _die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until(condition, timeout, poll=0.01):
    """Return whether ``condition()`` came true within ``timeout`` s."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(poll)
    return True
