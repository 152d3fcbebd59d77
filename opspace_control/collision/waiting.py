# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which pairs of shapes count for nothing, as told without their distance.

Bounds of the distance and of the speed with which it decreases are enough where their shapes cannot
have to brake. A pair counts or not as if its distance were found.
"""

from typing import NamedTuple

from opspace_control.collision.cores import TOUCHING, extent
from opspace_control.collision.speeds import approach_along
from opspace_control.compiled import inlined
from opspace_control.dynamics.braking import braking_distance


class PairBraking(NamedTuple):
    """The law by which pairs brake, as `braking_speed`."""

    margin: float         # distance at which they have stopped, m
    acceleration: float   # m/s²
    approach_rate: float  # 1/s
    return_rate: float    # that turns speeds to accelerations, 1/s
    furthest: float       # margin of speed from which on pairs do not count, m/s, and
    always: float         # that of pairs that are further apart than their influence
    reach: float          # pairs that are nearer are looked at, at whatever speed, m


@inlined
def may_wait(gap, limit, speed, braking, most):
    """
    Return whether a pair further apart than the gap counts for nothing.

    Its margin of speed is ``most`` or more then, or `PairBraking.always` if it is beyond its
    influence.
    """
    return gap - braking.margin >= braking_distance(
        min(most, braking.always) + speed, braking.acceleration, braking.approach_rate) and (
            most <= braking.always or not gap <= limit) and not gap <= braking.reach


@inlined
def gap_along(pair, a, b):
    """Return a lower bound of the distance of two placed shapes, along the normal, m."""
    x, y, z = pair.normal[0], pair.normal[1], pair.normal[2]
    return (x * (a.p[0] - b.p[0]) + y * (a.p[1] - b.p[1]) + z * (a.p[2] - b.p[2])
            - extent(a, x, y, z) - extent(b, x, y, z) - a.radius - b.radius)


@inlined
def moves_across(pair, path, a, b, one, motion, limit, braking, most):
    """
    Return whether a pair counts for nothing as its shapes hardly approach along their distance.

    ``one`` is the smaller shape, ``motion`` that of `relative_motion`.
    The distance of their cores is the length of the shortest vector between points of them. Along
    the normal of a distance found before all these vectors are as long as the gap of both cores
    there, at least, and the shortest has become longer by their path, at most. So the cosine of the
    angle by which its direction has turned is that gap over that length, at least.
    """
    radii, gap = a.radius + b.radius, gap_along(pair, a, b)
    cosine = (gap + radii) / (pair.within + path + radii)
    if cosine > 0.0 and may_wait(
            gap - TOUCHING, limit,
            approach_along(motion, one.p, one.bounding_radius, pair.normal, pair.sign,
                           min(cosine, 1.0) - TOUCHING), braking, most):
        pair.clear = max(pair.clear, gap + path)
        return True
    return False
