# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The commanded response of a hand to a goal, a unit mass: [K87] (4.3)-(4.5)."""

import numpy as np

_STEP = 1e-3  # s
# Latency from the sender of a goal to the control cycle.
_DELAYS = np.arange(0.0, 0.1, 0.005)  # s


def commanded_response(start, goal, times, kp, limit):
    """
    Return where a critically damped unit mass is on its way, (..., 3), m.

    ``a* = kd (ν kp/kd (x_d − x) − v)``, ``ν = min(1, V_max / |kp/kd (x_d − x)|)``, from rest.

    Parameters
    ----------
    start, goal : (3,) arrays
        m.
    times : (...) array
        s since the goal was given.
    kp : float
        1/s².
    limit : float
        V_max, m/s.

    """
    kd = 2.0 * np.sqrt(kp)
    x, v = np.array(start, float), np.zeros(3)
    grid = np.arange(0.0, max(times.max(), 0.0) + 2.0 * _STEP, _STEP)
    path = np.empty((len(grid), 3))
    for k in range(len(grid)):
        path[k] = x
        wanted = kp / kd * (goal - x)
        speed = np.linalg.norm(wanted)
        if speed > limit:
            wanted *= limit / speed
        v += _STEP * kd * (wanted - v)
        x += _STEP * v
    return np.stack([np.interp(times, grid, path[:, axis]) for axis in range(3)], axis=-1)


def farthest_from_response(path, goal, times, kp, limit):
    """
    Return how far a path (k, 3) is from the commanded response at most, m.

    When the goal arrived is not known to a tenth of a second; the best guess counts.
    """
    begun = times[:, None] - times[0] - _DELAYS
    wanted = commanded_response(path[0], goal, begun, kp, limit)
    return np.linalg.norm(path[:, None] - wanted, axis=2).max(axis=0).min()
