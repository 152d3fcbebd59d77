# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How fast what has to stop somewhere may approach it."""

import math

from opspace_control.compiled import inlined


@inlined
def braking_speed(distance, a, k):
    """
    Return the speed s with which the deceleration a stops in time at a distance, and ``ds/dd``.

    ``s = k d`` for ``d ≤ a/k²``, ``s² = 2 a d − (a/k)²`` beyond: on it ``|d̈| ≤ a``, with equality
    beyond.
    """
    if distance * k * k <= a:
        return k * distance, k
    s = math.sqrt(a * (2.0 * distance - a / (k * k)))
    return s, a / s


@inlined
def braking_distance(speed, a, k):
    """Return the distance at which `braking_speed` is the speed."""
    if speed * k <= a:
        return speed / k
    return 0.5 * (speed * speed / a + a / (k * k))
