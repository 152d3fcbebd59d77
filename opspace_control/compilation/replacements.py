# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What takes the place of parts of Numba while kernels are compiled, to save time."""

import contextlib
import gc
from hashlib import blake2b

from numba.core.transforms import canonicalize_cfg

# Thresholds of the garbage collector during compilation; the default costs a fifth of the time.
_COLLECTION = 100_000, 1000, 1000


@contextlib.contextmanager
def few_collections():
    """Raise the thresholds of the garbage collector: a compiler keeps most of its objects."""
    usual = gc.get_threshold()
    gc.set_threshold(*_COLLECTION)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextlib.contextmanager
def replaced(owner, name, value):
    """Replace an attribute of a module or class."""
    usual = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, usual)


def short_name(mangle):
    """Return a `BaseContext.mangler` with a digest of the types of arguments instead of these."""
    def mangler(context, name, kinds, *, abi_tags=(), uid=None):
        digest = blake2b(str(kinds).encode(), digest_size=12).hexdigest()
        return mangle(context, name, (), abi_tags=(*abi_tags, digest), uid=uid)

    return mangler


def memoise_hashes(compute):
    """Return a memoised `Type.__hash__`, which goes through all parts of tuples and records."""
    known = {}

    def hash_of(kind):
        # The type is kept, so that no other gets its number.
        entry = known.get(id(kind))
        if entry is None:
            entry = known[id(kind)] = kind, compute(kind)
        return entry[1]

    return hash_of


def memoise_call_types(resolve):
    """Return a memoised `BaseFunction.get_call_type`, which tries all overloads of an operator."""
    known = {}

    def get_call_type(operator, context, args, kws):
        key = operator, context, args, tuple(kws.items())
        if key not in known:
            known[key] = resolve(operator, context, args, kws)
        return known[key]

    return get_call_type


def omit_lifetimes(process):
    """Return a `PostProcessor.run` without the lifetimes of variables: no memory is freed."""
    def run(processor, *arguments, **options):
        function = processor.func_ir
        if function.is_generator:
            process(processor, *arguments, **options)
            return
        function.blocks = canonicalize_cfg(function.blocks)
        function.generator_info = None

    return run
