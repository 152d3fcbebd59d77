# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Unit quaternions xyzw; nothing here is compiled."""

import math

import numpy as np

_SMALL = 1e-9  # sine of half an angle


def product(p, q):
    """Return the quaternion product p q: the rotation q, and then p, in fixed axes."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return np.array([pw * qx + px * qw + py * qz - pz * qy, pw * qy - px * qz + py * qw + pz * qx,
                     pw * qz + px * qy - py * qx + pz * qw, pw * qw - px * qx - py * qy - pz * qz])


def turn(goal, present):
    """Return the rotation vector (3,), rad, fixed axes, that takes a quaternion to another."""
    x, y, z, w = product(goal, [*(-np.asarray(present[:3])), present[3]])
    vector, w = np.array([x, y, z]) * (1.0 if w >= 0.0 else -1.0), abs(w)
    sine = np.linalg.norm(vector)
    return 2.0 * vector if sine < _SMALL else vector * (2.0 * np.arctan2(sine, w) / sine)


def turned(quaternion, vector):
    """Return a quaternion turned further by a rotation vector (3,), rad, fixed axes."""
    vector = np.asarray(vector)
    angle = math.hypot(*vector)
    further = product(
        [*(0.5 * np.sinc(angle / (2.0 * math.pi)) * vector), math.cos(0.5 * angle)], quaternion)
    return further / math.hypot(*further)
