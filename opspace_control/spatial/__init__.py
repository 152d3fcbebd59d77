# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Mathematics of rotations and 6-vectors, without robots."""

import numpy as np


def read_numbers(values):
    """Return a new array of floats, of any shape; one NaN, of shape (), for anything else."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        return np.array(np.nan)
