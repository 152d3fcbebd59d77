# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Velocities of placed shapes, and how fast two of them may approach each other."""

import math

from opspace_control.compiled import inlined
from opspace_control.spatial.vectors import linear_at


@inlined
def world_velocity(shape, point, normal):
    """Return the velocity of a shape of the world along the normal at a point, m/s."""
    if shape.node >= 0:
        return 0.0
    p = shape.p
    x, y, z = linear_at(shape.twist, (point[0] - p[0], point[1] - p[1], point[2] - p[2]))
    return normal[0] * x + normal[1] * y + normal[2] * z


@inlined
def moving(shape, states, x, y, z):
    """Return the velocity of a shape's body at a point (x, y, z), and its angular velocity."""
    if shape.node < 0:
        t = shape.twist
        x, y, z = x - shape.p[0], y - shape.p[1], z - shape.p[2]
    else:
        t = states[shape.node].V
    x, y, z = linear_at(t, (x, y, z))
    return x, y, z, t[3], t[4], t[5]


@inlined
def relative_motion(a, b, states):
    """Return how the body of a shape moves relative to another one: velocity at the origin, ω."""
    v0, v1, v2, w0, w1, w2 = moving(a, states, 0.0, 0.0, 0.0)
    u0, u1, u2, r0, r1, r2 = moving(b, states, 0.0, 0.0, 0.0)
    return v0 - u0, v1 - u1, v2 - u2, w0 - r0, w1 - r1, w2 - r2


@inlined
def moved_by(motion, point):
    """Return the velocity of a motion at a point, and the square of its angular velocity."""
    _, _, _, w0, w1, w2 = motion
    x, y, z = linear_at(motion, point)
    return x, y, z, w0 * w0 + w1 * w1 + w2 * w2


@inlined
def greatest_approach(motion, point, reach):
    """
    Return an upper bound of the speed with which the distance of two shapes may decrease, m/s.

    One of them is within ``reach`` of the ``point``. The rate is that of both bodies at one and the
    same of the nearest points, of their relative ``motion``: what a body turns about the other's
    point is across the normal.
    """
    v0, v1, v2, turning = moved_by(motion, point)
    speed = v0 * v0 + v1 * v1 + v2 * v2
    return math.sqrt(speed) + (reach * math.sqrt(turning) if turning > 0.0 else 0.0)


@inlined
def approach_along(motion, point, reach, normal, sign, cosine):
    """
    Return that of `greatest_approach` for a distance whose direction is known.

    The direction and the ``normal`` have a scalar product of at least ``cosine``, above 0. The
    motion along the normal has the ``sign``.
    """
    v0, v1, v2, turning = moved_by(motion, point)
    speed = v0 * v0 + v1 * v1 + v2 * v2
    along = sign * (normal[0] * v0 + normal[1] * v1 + normal[2] * v2)
    across = math.sqrt(max((1.0 - cosine * cosine) * (speed - along * along), 0.0))
    speed = max(-along, -cosine * along) + across
    return speed + (reach * math.sqrt(turning) if turning > 0.0 else 0.0)


@inlined
def body_velocity(shape, states, point, normal):
    """Return the velocity of a shape's body along the normal at a point, m/s; 0 of the world."""
    if shape.node < 0:
        return 0.0
    x, y, z = linear_at(states[shape.node].V, point)
    return normal[0] * x + normal[1] * y + normal[2] * z
