# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Velocities of placed shapes, and how fast two of them may approach each other."""

import math

from opspace_control.compiled import inlined


@inlined
def world_velocity(shape, point, normal):
    """Return the velocity of a shape of the world along the normal at a point, m/s."""
    if shape.node >= 0:
        return 0.0
    t, p = shape.twist, shape.p
    x, y, z = point[0] - p[0], point[1] - p[1], point[2] - p[2]
    return (normal[0] * (t[0] + t[4] * z - t[5] * y)
            + normal[1] * (t[1] + t[5] * x - t[3] * z)
            + normal[2] * (t[2] + t[3] * y - t[4] * x))


@inlined
def moving(shape, states, x, y, z):
    """Return the velocity of a shape's body at a point (x, y, z), and its angular velocity."""
    if shape.node < 0:
        t = shape.twist
        x, y, z = x - shape.p[0], y - shape.p[1], z - shape.p[2]
    else:
        t = states[shape.node].V
    return (t[0] + t[4] * z - t[5] * y, t[1] + t[5] * x - t[3] * z, t[2] + t[3] * y - t[4] * x,
            t[3], t[4], t[5])


@inlined
def approach_bound(a, b, states):
    """
    Return an upper bound of the speed with which the distance of two shapes may decrease, m/s.

    The rate is that of both bodies at one and the same of the nearest points: what a body turns
    about the other's point is across the normal.
    """
    one = b if b.bound < a.bound else a
    x, y, z = one.p[0], one.p[1], one.p[2]
    v0, v1, v2, w0, w1, w2 = moving(a, states, x, y, z)
    u0, u1, u2, r0, r1, r2 = moving(b, states, x, y, z)
    v0, v1, v2, w0, w1, w2 = v0 - u0, v1 - u1, v2 - u2, w0 - r0, w1 - r1, w2 - r2
    turning = w0 * w0 + w1 * w1 + w2 * w2
    speed = math.sqrt(v0 * v0 + v1 * v1 + v2 * v2)
    return speed + one.bound * math.sqrt(turning) if turning > 0.0 else speed


@inlined
def approach_along(a, b, states, normal, cosine):
    """
    Return the bound of `approach_bound` for a distance whose direction is known.

    The direction and the ``normal`` have a scalar product of at least ``cosine``, above 0.
    """
    one = b if b.bound < a.bound else a
    x, y, z = one.p[0], one.p[1], one.p[2]
    v0, v1, v2, w0, w1, w2 = moving(a, states, x, y, z)
    u0, u1, u2, r0, r1, r2 = moving(b, states, x, y, z)
    v0, v1, v2, w0, w1, w2 = v0 - u0, v1 - u1, v2 - u2, w0 - r0, w1 - r1, w2 - r2
    along = normal[0] * v0 + normal[1] * v1 + normal[2] * v2
    across = math.sqrt(max(v0 * v0 + v1 * v1 + v2 * v2 - along * along, 0.0))
    turning = w0 * w0 + w1 * w1 + w2 * w2
    speed = max(-along, -cosine * along) + math.sqrt(max(1.0 - cosine * cosine, 0.0)) * across
    return speed + one.bound * math.sqrt(turning) if turning > 0.0 else speed


@inlined
def body_velocity(shape, states, point, normal):
    """Return the velocity of a shape's body along the normal at a point, m/s; 0 of the world."""
    if shape.node < 0:
        return 0.0
    V = states[shape.node].V
    return (normal[0] * (V[0] + V[4] * point[2] - V[5] * point[1])
            + normal[1] * (V[1] + V[5] * point[0] - V[3] * point[2])
            + normal[2] * (V[2] + V[3] * point[1] - V[4] * point[0]))
