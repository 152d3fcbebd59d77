# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes as child processes that end with their parent, and their private ROS 2 domain."""

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from opspace_control.errors import OpspaceError
from opspace_control.share import share_directory

# Domains whose ports lie below the ephemeral ones of Linux; 0 is the default of all users.
_DOMAINS = range(1, 102)
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


class Process:
    """
    A verb of the `opspace` command in a process of its own.

    It has a session of its own: Ctrl-C in a terminal reaches only the parent, which then ends
    the nodes in the right order. Make it before the first thread of the parent: the death signal
    is set between fork and exec. The file ``log`` receives its output.
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
        self.pid = self._process.pid

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


@contextlib.contextmanager
def own_domain():
    """Reserve a ROS_DOMAIN_ID on this machine, or raise an OpspaceError if all are taken."""
    for i in range(os.getpid(), os.getpid() + len(_DOMAINS)):
        domain = _DOMAINS[i % len(_DOMAINS)]
        with contextlib.ExitStack() as stack:
            try:
                lock = stack.enter_context(
                    open(Path(tempfile.gettempdir(), f'opspace_control_domain_{domain}'), 'w'))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # another process has the lock, or another user the file
                continue
            yield domain
            return
    raise OpspaceError('Every ROS_DOMAIN_ID is taken.', cure='End other demos and tests.')


def private_environment(domain):
    """
    Return the environment of processes that communicate on this machine only.

    A demo must not command a robot on the ROS 2 network of the user's shell.
    """
    environment = dict(os.environ)
    environment.pop('ROS_LOCALHOST_ONLY', None)
    environment.update(
        ROS_DOMAIN_ID=str(domain),
        ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST',
        PYTHONUNBUFFERED='1')
    # The ROS 2 wheels do not set this.
    environment.setdefault('AMENT_PREFIX_PATH', sys.prefix)
    profile = str(share_directory() / 'config' / 'quick_discovery.xml')
    for variable in ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'):
        environment.setdefault(variable, profile)
    return environment
