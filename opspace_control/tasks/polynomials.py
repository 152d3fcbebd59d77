# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Polynomials of time between two points of a trajectory."""

import numpy as np


def segment_coefficients(duration, way, rates=None, seconds=None):
    """
    Return the coefficients (5, ...) of time¹ ... time⁵ of a motion by ``way`` in ``duration``, s.

    Linear without rates, cubic with rates, quintic with second derivatives, too: pairs of arrays at
    the first and at the second point.
    """
    h = duration
    result = np.zeros((5, *np.shape(way)))
    if rates is None:
        result[0] = way / h
        return result
    v0, v1 = (h * rate for rate in rates)
    if seconds is None:
        result[:3] = v0, 3.0 * way - 2.0 * v0 - v1, v0 + v1 - 2.0 * way
    else:
        a0, a1 = (h * h * second for second in seconds)
        result[:] = (v0, 0.5 * a0,
                     10.0 * way - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
                     -15.0 * way + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
                     6.0 * way - 3.0 * (v0 + v1) + 0.5 * (a1 - a0))
    for k in range(5):
        result[k] /= h ** (k + 1.0)
    return result
