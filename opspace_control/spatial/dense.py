# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Products of long vectors, which are compiled to vector instructions.

Loops of kernels are over three or six numbers, and are not vectorised by LLVM. Those of a solver
are over as many numbers as a problem has rows.
"""

from opspace_control.compiled import vectorised


@vectorised
def dot_product(x, y, count):
    """Return ``Σ x_k y_k`` of the first ``count`` numbers of contiguous arrays x and y."""
    total = 0.0
    for k in range(count):
        total += x[k] * y[k]
    return total


@vectorised
def add_scaled(y, factor, x, count):
    """Add ``factor x`` to y, the first ``count`` numbers of contiguous arrays."""
    for k in range(count):
        y[k] += factor * x[k]
