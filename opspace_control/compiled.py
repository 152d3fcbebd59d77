# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Decorators of compiled functions.

A `kernel` is what Python calls; the other functions are its parts, compiled in it alone. The
machine code of kernels comes from the library that was built when the package was installed. Where
there is none, Numba compiles kernels when they are called first.
"""

import functools

import numpy as np

from opspace_control import library
from opspace_control.errors import OpspaceError

# Relaxed floating point that keeps NaN and infinity visible: never 'nnan' or 'ninf'.
FAST_MATH = {'contract', 'reassoc', 'nsz', 'arcp'}


class Compiled:
    """A function for Numba, which is not imported before it has to compile the function."""

    def __init__(self, function, kind):
        functools.update_wrapper(self, function)
        self._kind = kind

    def __call__(self, *arguments):
        """Call the function as it is, not compiled."""
        return self.__wrapped__(*arguments)

    @functools.cached_property
    def dispatcher(self):
        """The function as a dispatcher of Numba."""
        return getattr(_jit(self), self._kind)(self.__wrapped__)

    @property
    def _numba_type_(self):
        return self.dispatcher._numba_type_


class Kernel(Compiled):
    """A compiled function that Python calls with arrays, tuples of them, numbers and None."""

    def __init__(self, function):
        super().__init__(function, 'kernel')
        self.name = f'{function.__module__}.{function.__qualname__}'
        self._entries = {}  # by the kinds of the arguments

    def __call__(self, *arguments):
        """Call it."""
        if library.is_there():
            entry, table, _ = self.find(arguments)
            if entry:
                return entry(table)
        return self.dispatcher(*arguments)

    def partial(self, *arguments):
        """
        Return a function of the numbers among these arguments, which calls it with the same arrays.

        That takes a fraction of the time of a call with all arguments, whose kinds are looked at.
        Its ``take`` takes numbers, and ``repeat`` calls with them, in less time again;
        ``connect`` takes what ``repeat`` copies, see `library.partial`.
        Of several processes that have no library, one compiles the kernel and the others load it.
        """
        if library.is_there():
            entry, table, places = self.find(arguments)
            if entry:
                return library.partial(entry, table, places, arguments)
        return _jit(self).partial(self.dispatcher, arguments)

    def find(self, arguments):
        """Return the library's function, or None, the table of arguments, and numbers' places."""
        kinds, table, places = library.describe(arguments)
        try:
            entry = self._entries[kinds]
        except KeyError:
            entry = self._entries[kinds] = library.find(self.name, kinds)
        return entry, table, places


def as_record(record):
    """
    Return a record of an array as what compiled functions get, for a call of one from Python.

    It is no copy.
    """
    return np.asarray(record).view(np.recarray)[()]


def recorded(field, doc, *, writable=False, of='_record'):
    """Return a property that copies a field of a record, or of records, the owner's ``of``."""
    def read(owner):
        value = getattr(owner, of)[field]
        return value.copy() if value.ndim else value.item()

    def write(owner, value):
        getattr(owner, of)[field] = value
    return property(read, write if writable else None, doc=doc)


def _jit(compiled):
    """Return what compiles by Numba, or raise an OpspaceError where that is not installed."""
    try:
        from opspace_control.compilation import jit
    except ModuleNotFoundError as error:
        if error.name != 'numba':
            raise
        name = compiled.__qualname__
        raise OpspaceError(
            f'No library has the kernel {name} for this package and processor, and Numba, which '
            'would compile it, is not installed.', kernel=name,
            cure="pip install 'opspace_control[jit]'.") from None
    return jit


def kernel(function):
    """Compile a function that Python calls."""
    return Kernel(function)


def inlined(function):
    """Compile a step of a recursion into whatever kernel uses it."""
    return Compiled(function, 'inlined')


def called(function):
    """
    Compile a part of a kernel that is a function of its own, unless LLVM copies it.

    For what is run once a cycle, or rarely: a call costs nanoseconds, a copy in every place that
    uses it costs seconds of compilation.
    """
    return Compiled(function, 'called')


def shared(function):
    """
    Compile a part of a kernel that several places use to one function in all cases.

    LLVM copies others to where they are called as it likes. A cycle that finds its code in no cache
    loads and decodes each copy, so one of a few hundred bytes costs more than some calls.
    """
    return Compiled(function, 'shared')


def rare(function):
    """
    Compile a part of a kernel that is not needed in most cycles, in half the time.

    LLVM neither copies it to where it is called nor unrolls its loops.
    """
    return Compiled(function, 'rare')


def vectorised(function):
    """Compile a function to vector instructions, which `compilation.vectors` has for its name."""
    return Compiled(function, 'vectorised')
