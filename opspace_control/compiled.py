# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Decorators of compiled functions, and the cache of their machine code."""

import contextlib
import functools
import hashlib
import os
import time
from pathlib import Path

from numba import config, njit, typeof, version_info

from opspace_control.compilers import compilers_for

try:
    import fcntl
except ImportError:  # not a POSIX system: every process compiles for itself
    fcntl = None

# Relaxed floating point that keeps NaN and infinity visible: never 'nnan' or 'ninf'.
FAST_MATH = {'contract', 'reassoc', 'nsz', 'arcp'}

# Without Numba's memory management a kernel that allocates does not compile, and a call allocates
# no heap block for each of its arrays.
_OPTIONS = {'fastmath': FAST_MATH, 'error_model': 'numpy', '_nrt': False}

_KERNELS, _PARTS, _RARE_PARTS = compilers_for(version_info.short)

# Options of functions that Python does not call.
_PART = {'pipeline_class': _PARTS, 'no_cpython_wrapper': True, 'no_cfunc_wrapper': True,
         **_OPTIONS}

# How long a process waits for another one that compiles the same, and how often it looks.
_TIMEOUT, _LOOK = 120.0, 0.05  # s

_PACKAGE = Path(__file__).parent
_COMPILATION = ('compiled.py', 'compilers.py', 'folding.py', 'lowering.py')
_COMPILED_FOLDERS = ('spatial', 'model', 'dynamics', 'tasks', 'control', 'safety')


@functools.cache
def cache_directory():
    """
    Return the directory of the compiled code of exactly these sources.

    Numba judges staleness by the file of the outermost function alone, so an edited or upgraded
    helper would leave old machine code in use. Naming the directory by a digest of all kernel
    sources cannot go stale, and works where the package itself is installed read-only.
    """
    digest = hashlib.sha256()
    for source in (*(_PACKAGE / name for name in _COMPILATION), *(
            path for folder in _COMPILED_FOLDERS
            for path in sorted((_PACKAGE / folder).rglob('*.py')))):
        digest.update(source.read_bytes())
    root = os.environ.get('NUMBA_CACHE_DIR') or os.path.join(
        os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'opspace_control')
    return os.path.join(root, digest.hexdigest()[:16])


def kernel(function):
    """
    Compile a function that Python calls, on first call, and keep the machine code on disk.

    Of several processes that need it at once, one compiles it and the others load it.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = cache_directory()
    try:
        compiled = njit(cache=True, pipeline_class=_KERNELS, **_OPTIONS)(function)
    finally:
        config.CACHE_DIR = before
    compile_or_load = compiled.compile

    def compile_in_turn(signature):
        with _turn(f'{function.__module__}.{function.__qualname__}.lock'):
            return compile_or_load(signature)

    compiled.compile = compile_in_turn
    return compiled


@contextlib.contextmanager
def _turn(name):
    """Wait until no other process has this file locked, at most for the timeout."""
    directory = Path(cache_directory())
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # nothing can be kept there, or locked
            directory.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context((directory / name).open('a'))
            end = time.monotonic() + _TIMEOUT
            while fcntl and not _locked(file) and time.monotonic() < end:
                time.sleep(_LOOK)
        yield


def _locked(file):
    """Lock a file until it is closed; return whether no other process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def inlined(function):
    """Compile a step of a recursion into whatever kernel uses it; Python cannot call it."""
    return njit(forceinline=True, **_PART)(function)


def called(function):
    """
    Compile a part of a kernel that stays a function of its own; Python cannot call it.

    For what is run once a cycle, or rarely: a call costs nanoseconds, a copy in every place that
    uses it costs seconds of compilation.
    """
    return njit(**_PART)(function)


def rare(function):
    """
    Compile a part of a kernel that is not needed in most cycles, in half the time.

    LLVM neither copies it to where it is called, as it does with others as it likes, nor unrolls
    its loops. Numba would have it copied, too, where an `inlined` function is the first to use it.
    """
    return njit(forceinline=False, **{**_PART, 'pipeline_class': _RARE_PARTS})(function)


def entry_point(compiled, *arguments):
    """
    Compile ``compiled`` for ``arguments`` and return the machine code's own entry.

    Calling that skips Numba's look-up of argument types, about half of the cost of a call, so from
    then on every argument must be of exactly the kind given here.
    """
    signature = tuple(typeof(argument) for argument in arguments)
    compiled.compile(signature)
    return compiled.overloads[signature].entry_point
