# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The library of kernels, compiled when the package was installed: machine code without a compiler.

Each function takes one pointer, to a table of 64-bit numbers that says where the arguments are: the
address and the shape of an array, which is C-contiguous, a number itself. A function is named by a
digest of the kernel's name and of the kinds of its arguments, layouts of records included, and the
library by that of the sources, so that no call can meet other code than its own.
"""

import ctypes
import functools
import hashlib
import logging
import os
import struct
from pathlib import Path

import numpy as np

_PACKAGE = Path(__file__).parent
_SOURCES = ('compiled.py', 'library.py')
FOLDERS = ('compilation', 'spatial', 'model', 'dynamics', 'collision', 'tasks', 'control',
           'safety')
_BYTE = ctypes.c_char
# The library's function that Python calls, and where it finds those of Python.
CALLER, PYTHON_API = 'opspace_call', 'opspace_python_api'
_NO_ARGUMENTS = 4  # METH_NOARGS of Python
_PYTHON = ctypes.PyDLL(None)  # not ctypes.pythonapi, whose functions others give types
_PYTHON.PyCapsule_New.restype = _PYTHON.PyCFunction_NewEx.restype = ctypes.py_object
_NUMBERS, _INTEGERS = struct.Struct('d'), struct.Struct('q')
_COPIED = struct.Struct('3q')  # target, source and size
ABSENT = 'There is no library of compiled kernels for these sources: Numba, if installed, ' \
    'compiles them at the first start. To build it: python -m opspace_control.compilation'
FOREIGN = '%s is damaged, or for another architecture: Numba compiles for this one at the first ' \
    'start. To build it: python -m opspace_control.compilation'


class _Method(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = [('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('doc', ctypes.c_char_p)]


@functools.cache
def sources_digest():
    """Return the digest of all sources of compiled code, and of what compiles them."""
    digest = hashlib.sha256()
    for source in (*(_PACKAGE / name for name in _SOURCES), *(
            path for folder in FOLDERS
            for path in sorted((_PACKAGE / folder).rglob('*.py')))):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def library_path():
    """Return the path of the library of exactly these sources."""
    # No name that Python takes for that of an extension module.
    return _PACKAGE / 'compilation' / f'kernels-{sources_digest()}.so.0'


@functools.cache
def processor():
    """Return the names of this processor's features, from Linux; none if they are not known."""
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split(':')[1].split() for line in lines
                           if line.startswith(('flags', 'Features'))), ()))


@functools.cache
def loaded():
    """Return the library, or None where there is none for these sources and this processor."""
    if os.environ.get('OPSPACE_KERNELS') == 'jit':
        return None
    path, warn = library_path(), logging.getLogger(__name__).warning
    if not path.exists():
        warn(ABSENT)
        return None
    try:
        code, needed = opened()
    except OSError:
        warn(FOREIGN, path)
        return None
    if not needed <= processor():
        warn('%s needs a processor with %s: Numba compiles for this one at the first start.',
             path, ', '.join(sorted(needed - processor())))
        return None
    (ctypes.c_void_p * 2).in_dll(code, PYTHON_API)[:] = [
        ctypes.cast(each, ctypes.c_void_p).value
        for each in (_PYTHON.PyCapsule_GetPointer, _PYTHON.PyLong_FromLongLong)]
    return code


def opened():
    """
    Return the library's code, and the features that it needs of a processor.

    An OSError is raised if there is none, or none for this architecture.
    """
    # Not CDLL: other threads must not take turns with a cycle of some microseconds.
    code = ctypes.PyDLL(str(library_path()))
    return code, frozenset(ctypes.string_at(ctypes.addressof(
        ctypes.c_char.in_dll(code, 'opspace_processor'))).decode().split())


def is_there():
    """Return whether kernels come from the library."""
    return loaded() is not None


def symbol(name, kinds):
    """Return the name of a kernel's function for these kinds of arguments."""
    return f'opspace_{hashlib.sha256(f"{name} {_layout(kinds)}".encode()).hexdigest()[:24]}'


def _layout(kinds):
    """Return kinds of arguments as nested tuples, with the layout of their records."""
    if isinstance(kinds, np.dtype):
        return _layout_of(kinds)
    return tuple(map(_layout, kinds)) if isinstance(kinds, tuple) else kinds


@functools.cache
def _layout_of(dtype):
    if dtype.subdtype:
        element, shape = dtype.subdtype
        return _layout_of(element), shape
    if not dtype.names:
        return dtype.str
    return dtype.itemsize, tuple(
        (name, dtype.fields[name][1], _layout_of(dtype.fields[name][0])) for name in dtype.names)


def find(name, kinds):
    """Return the library's function of a kernel for these kinds of arguments, or None."""
    function = getattr(loaded(), symbol(name, kinds), None)
    if function is None:
        logging.getLogger(__name__).warning(
            'The library has no %s for arguments of these kinds: Numba compiles it.', name)
        return None
    function.restype, function.argtypes = ctypes.c_int64, (ctypes.c_void_p,)
    return function


def describe(arguments, arrays=None):
    """
    Return the kinds of arguments, a nested tuple, and the table that says where they are.

    The places of the numbers among them in the table are returned, too. The list ``arrays``, if
    given, receives each array, with the place of its address in the table before it.
    """
    table, numbers = [], []
    kinds = _describe(arguments, table, numbers, [] if arrays is None else arrays)
    return kinds, (ctypes.c_int64 * len(table))(*table), numbers


def _describe(arguments, table, numbers, arrays):
    kinds = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            arrays.append((len(table), argument))
            kinds.append((argument.dtype, argument.ndim,
                          'C' if argument.flags.c_contiguous else 'A'))
            table.append(address(argument))
            table += argument.shape
        elif argument is None:
            kinds.append('none')
        elif isinstance(argument, tuple):
            kinds.append((type(argument).__name__, _describe(argument, table, numbers, arrays)))
        else:
            kinds.append('float')
            numbers.append(len(table))
            table += _INTEGERS.unpack(_NUMBERS.pack(argument))
    return tuple(kinds)


def address(array):
    """Return the address of an array's memory."""
    flags = array.flags
    # By the buffer it takes a quarter of the time, but that has to be writable.
    if flags.c_contiguous and flags.writeable and array.size:
        return ctypes.addressof(_BYTE.from_buffer(array))
    return array.ctypes.data


def partial(entry, table, places, arguments):
    """
    Return a function of the numbers at these places, which calls with this table.

    Its ``take`` takes numbers, and its ``repeat`` calls with those taken last. The places follow
    each other: all numbers are written at once, in half of the time. ``connect`` takes what
    ``repeat`` copies, by its addresses, to and from, and its size in bytes: before the call for
    pair 0, after it for pair 1. That memory has to be kept.
    """
    first, count = (places or [0])[0], len(places)
    if places != [*range(first, first + count)]:
        raise ValueError('Between the numbers of a kernel there is another argument.')
    take = functools.partial(
        struct.Struct(f'{count}d').pack_into, table, _NUMBERS.size * first)
    addresses = (ctypes.c_int64 * 8)(
        ctypes.cast(entry, ctypes.c_void_p).value, ctypes.addressof(table))
    repeat = _python_function(addresses, (table, arguments))

    def connect(pair, target, source, size):
        _COPIED.pack_into(addresses, _COPIED.size * pair + 2 * _INTEGERS.size, target, source, size)

    def call(*numbers):
        take(*numbers)
        return repeat()

    call.take, call.repeat, call.connect = take, repeat, connect
    return call


def _python_function(addresses, memory):
    """
    Return a function that calls `CALLER` with these addresses, and keeps other memory.

    It is one of Python's own. A call takes 0.1 µs, by ctypes 0.3, and 1.0 where other programs have
    emptied the caches.
    """
    capsule = _PYTHON.PyCapsule_New(ctypes.byref(addresses), None, None)
    # As its module, which it would keep; nothing else that it keeps can be given.
    kept = ctypes.py_object((addresses, memory))
    return _PYTHON.PyCFunction_NewEx(ctypes.byref(_method()), ctypes.py_object(capsule), kept)


@functools.cache
def _method():
    """Return the definition of that function, which Python may read as long as there is one."""
    return _Method(CALLER.encode(), ctypes.cast(loaded()[CALLER], ctypes.c_void_p), _NO_ARGUMENTS)
