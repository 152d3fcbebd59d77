# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Random postures of robots."""

import numpy as np


def ranges(model):
    """Return the least and the greatest positions, (nv,) each; ±π where there is no limit."""
    ends = model.lower_position_limits, model.upper_position_limits
    return [np.where(np.isfinite(end), end, turn)
            for end, turn in zip(ends, (-np.pi, np.pi), strict=True)]


def random_posture(model, rng, part=1.0):
    """Return positions q of a robot with a fixed base, in this part of the ranges of its joints."""
    lower, upper = ranges(model)
    q = model.neutral()
    q[model.q_index] = 0.5 * (lower + upper) + 0.5 * part * (upper - lower) * rng.uniform(
        -1.0, 1.0, model.nv)
    return q
