# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of all kernels, with all kinds of arguments, into the library."""

import gc
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

from numba import __version__, config, typeof, types, version_info

from opspace_control import library
from opspace_control.compilation.compilers import is_supported
from opspace_control.compilation.jit import OPTIONS
from opspace_control.compilation.objects import caller_object, compile_object, text_object
from opspace_control.compilation.replacements import replaced
from opspace_control.compilation.samples import use_kernels
from opspace_control.compilation.targets import target
from opspace_control.compiled import Kernel
from opspace_control.errors import OpspaceError

_CURE = 'Install gcc, or name the linker by CC, and Numba 0.58 to 0.68; without a library, Numba ' \
    'compiles at the first start.'


def build(native=False):
    """
    Compile the library, for the processors of `target`.

    An OpspaceError tells that the linker is missing or fails, or that this version of Numba is not
    supported.
    """
    if not is_supported(version_info.short):
        raise OpspaceError(f'The library cannot be built by Numba {__version__}.', cure=_CURE)
    linker()  # missed before all that takes long
    processors, features = target(native)
    if processors:
        config.CPU_NAME, config.CPU_FEATURES = processors, ''
    start, path, kernels = time.perf_counter(), library.library_path(), jobs()
    with tempfile.TemporaryDirectory() as folder:
        objects = [Path(folder, f'{k}.o') for k in range(len(kernels))]
        for count, _ in enumerate(_compiled(kernels, objects), 1):
            print(f'Compiling kernels: {count} of {len(kernels)}, '
                  f'{time.perf_counter() - start:.0f} s',
                  end='\n' if count == len(kernels) else '\r', flush=True)
        for code in (text_object('opspace_processor', ' '.join(sorted(features))),
                     text_object('opspace_sources', library.sources_digest()),
                     caller_object(library.CALLER, library.PYTHON_API)):
            objects.append(Path(folder, f'{len(objects)}.o'))
            objects[-1].write_bytes(code)
        made = path.with_name(f'new-{path.name}.{os.getpid()}')  # beside it, to be there at once
        link(objects, made)
    for old in path.parent.glob('kernels-*'):
        old.unlink()
    made.rename(path)


def _compiled(kernels, paths):
    """
    Compile kernels to object files; yield after each.

    The first one is compiled here: the processes for the others begin with the parts of it that
    they have in common. Memory is freed by their end, which is less work.
    """
    gc.disable()
    _compile(kernels[0], paths[0])
    yield
    with ProcessPoolExecutor(os.cpu_count(), get_context('fork'), _keep, (kernels,)) as pool:
        running = [pool.submit(_compile_kept, k, paths[k]) for k in range(1, len(kernels))]
        for each in as_completed(running):
            each.result()
            yield


_KEPT = []  # in each process of the pool: functions and types do not go through a queue


def _keep(kernels):
    _KEPT[:] = kernels


def _compile_kept(k, path):
    _compile(_KEPT[k], path)


def _compile(job, path):
    path.write_bytes(compile_object(job.function, job.kinds, OPTIONS, job.symbol))


def jobs():
    """Return function, types and symbol for each kind of arguments of each kernel."""
    found = {}

    def find(kernel, arguments):
        kinds, table, places = library.describe(arguments)
        symbol = library.symbol(kernel.name, kinds)
        found[symbol] = SimpleNamespace(function=kernel.__wrapped__, symbol=symbol, kinds=tuple(
            _writable(typeof(each)) for each in arguments))
        return (lambda _table: 0), table, places

    def partial(*_):
        def call(*_numbers):
            return 0
        call.take = call.repeat = call.connect = call
        return call

    with (replaced(Kernel, 'find', find), replaced(library, 'partial', partial),
          replaced(library, 'is_there', lambda: True)):
        use_kernels()
    # The long ones first, after the one that most parts are of.
    first = 'control_cycle', 'limited_cycle'
    return sorted(found.values(), key=lambda job: (
        first.index(job.function.__name__) if job.function.__name__ in first else len(first)))


def _writable(kind):
    """Return a type of Numba whose arrays are writable: code for these serves all."""
    if isinstance(kind, types.Array):
        return kind.copy(readonly=False)
    if not isinstance(kind, types.BaseTuple):
        return kind
    parts = tuple(map(_writable, kind.types))
    if isinstance(kind, types.BaseNamedTuple):
        return types.NamedTuple(parts, kind.instance_class)
    return types.Tuple(parts)


def linker():
    """Return the command that links, a list; an OpspaceError tells that there is none."""
    command = os.environ.get('CC', 'cc').split()
    if shutil.which(command[0]) is None:
        raise OpspaceError(f'There is no linker {command[0]!r}.', cure=_CURE)
    return command


def link(objects, path):
    """Link object files into a library; an OpspaceError tells what the linker says, if any."""
    try:
        subprocess.run([*linker(), '-shared', '-s', '-o', path, *objects, '-lm'], check=True,
                       capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise OpspaceError(f'The kernels cannot be linked: {error.stderr.strip()}',
                           cure=_CURE) from None
