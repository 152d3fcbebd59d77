# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of functions by Numba, and the cache of their machine code."""

import contextlib
import ctypes
import fcntl
import os
import time
from pathlib import Path

from numba import config, njit, typeof, types, version_info

from opspace_control.compilation.compilers import compilers_for
from opspace_control.compilation.vectors import vectorised  # noqa: F401  as the next three
from opspace_control.compiled import FAST_MATH
from opspace_control.library import sources_digest

# Without Numba's memory management a kernel that allocates does not compile, and a call allocates
# no heap block for each of its arrays.
OPTIONS = {'fastmath': FAST_MATH, 'error_model': 'numpy', '_nrt': False}

_KERNELS, _PARTS, _SHARED_PARTS, _RARE_PARTS = compilers_for(version_info.short)

# Options of functions that Python does not call.
_PART = {'pipeline_class': _PARTS, 'no_cpython_wrapper': True, 'no_cfunc_wrapper': True,
         **OPTIONS}

# How long a process waits for another one that compiles the same, and how often it looks.
_TIMEOUT, _LOOK = 120.0, 0.05  # s


def cache_directory():
    """
    Return the directory of the compiled code of exactly these sources.

    Numba judges staleness by the file of the outermost function alone, so an edited or upgraded
    helper would leave old machine code in use. Naming the directory by a digest of all kernel
    sources cannot go stale, and works where the package itself is installed read-only.
    """
    root = os.environ.get('NUMBA_CACHE_DIR') or os.path.join(
        os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'opspace_control')
    return os.path.join(root, sources_digest())


def kernel(function):
    """
    Compile a function that Python calls, on first call, and keep the machine code on disk.

    Of several processes that need it at once, one compiles it and the others load it.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = cache_directory()
    try:
        compiled = njit(cache=True, pipeline_class=_KERNELS, **OPTIONS)(function)
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
            while not _locked(file) and time.monotonic() < end:
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
    """Return the dispatcher of `compiled.inlined`."""
    return _once(njit(forceinline=True, **_PART)(function))


def called(function):
    """Return the dispatcher of `compiled.called`."""
    return _uninlined(function, _PARTS)


def shared(function):
    """Return the dispatcher of `compiled.shared`."""
    return _uninlined(function, _SHARED_PARTS)


def rare(function):
    """Return the dispatcher of `compiled.rare`."""
    return _uninlined(function, _RARE_PARTS)


def _uninlined(function, compiler):
    # Without the option Numba hands on that of the function which is the first to use it.
    return _once(njit(forceinline=False, **{**_PART, 'pipeline_class': compiler})(function))


def _once(dispatcher):
    """Return a dispatcher that compiles once for a number, and not for each constant as well."""
    template_for = dispatcher.get_call_template
    dispatcher.get_call_template = lambda arguments, named: template_for(
        tuple(map(types.unliteral, arguments)), named)
    return dispatcher


def partial(compiled, arguments):
    """
    Compile for these arguments; return a function of the numbers among them.

    It calls the machine code's own entry, which skips Numba's look-up of argument types; ``take``,
    ``repeat`` and ``connect`` are those of `library.partial`.
    """
    signature = tuple(typeof(argument) for argument in arguments)
    compiled.compile(signature)
    entry = compiled.overloads[signature].entry_point
    given, copied = list(arguments), [(0, 0, 0), (0, 0, 0)]
    places = [k for k, argument in enumerate(arguments) if isinstance(argument, float)]

    def take(*numbers):
        for place, number in zip(places, numbers, strict=True):
            given[place] = number

    def connect(pair, *target_source_size):
        copied[pair] = target_source_size

    def repeat():
        ctypes.memmove(*copied[0])
        result = entry(*given)
        ctypes.memmove(*copied[1])
        return result

    def call(*numbers):
        take(*numbers)
        return repeat()

    call.take, call.repeat, call.connect = take, repeat, connect
    return call
