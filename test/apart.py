# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Tests in forks of the process, so that several begin with one robot that has started."""

import functools
import os
import traceback
import warnings


def apart(test):
    """
    Run a test in a fork of the process: what it changes of its fixtures is changed there alone.

    What it raises is an AssertionError here, with the traceback. It must not use threads, as of ROS
    2: a fork has none of those that were there.
    """
    @functools.wraps(test)
    def run(*arguments, **named):
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)  # of threads that others began
            fork = os.fork()
        if fork == 0:
            _report(test, arguments, named, writing)
        os.close(writing)
        with open(reading, encoding='utf-8') as file:
            said = file.read()
        code = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        if code or said:
            raise AssertionError(said or f'The fork has ended with {code}.')
    return run


def _report(test, arguments, named, writing):
    """Run a test, write the traceback of what it raises, and end the process."""
    code = 1
    try:
        try:
            test(*arguments, **named)
        except Exception:
            with open(writing, 'w', encoding='utf-8') as file:
                file.write(traceback.format_exc())
        code = 0
    finally:
        os._exit(code)
