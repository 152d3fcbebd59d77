# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The processors that the library of kernels is built for."""

import platform

from opspace_control import library

# What x86-64-v3 means, in the words of Linux; [x86-64 psABI] 3.1.1.
X86_64_V3 = frozenset({'avx', 'avx2', 'bmi1', 'bmi2', 'f16c', 'fma', 'abm', 'movbe'})

# By architecture LLVM's name of the least processor, and the features to be looked for at loading.
# ARMv8-A has floating point, with fused multiply-add, and vectors; Linux itself needs them.
_LEVELS = {'x86_64': ('x86-64-v3', X86_64_V3), 'AMD64': ('x86-64-v3', X86_64_V3),
           'aarch64': ('generic', frozenset())}


def target(native=False):
    """
    Return LLVM's name of the processors that the library is built for, and their features.

    They are all of the level x86-64-v3 or ARMv8-A. If ``native``, and on other architectures, the
    library is for this kind of processor alone, and the name is None.
    """
    this = None, library.processor()
    return this if native else _LEVELS.get(platform.machine(), this)


def is_built(native=False):
    """
    Return whether nothing is to be built.

    The library of these sources is there, and for this kind of processor if ``native``. If not, any
    that can be used here will do, and one that is for the processors of `target`.
    """
    try:
        _, needed = library.opened()
    except OSError:
        return False
    if native:
        return needed == library.processor()
    return needed <= library.processor() or needed == target()[1]
