# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Unit quaternions ``[x y z w]``, without compiled code."""

import math

import numpy as np


def product(p, q):
    """Return the quaternion product p q: the rotation q, and then p, in fixed axes."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return np.array([pw * qx + px * qw + py * qz - pz * qy, pw * qy - px * qz + py * qw + pz * qx,
                     pw * qz + px * qy - py * qx + pz * qw, pw * qw - px * qx - py * qy - pz * qz])


def turned(quaternion, vector):
    """Return a quaternion turned further by a rotation vector (3,), rad, fixed axes."""
    vector = np.asarray(vector)
    angle = math.hypot(*vector)
    further = product(
        [*(0.5 * np.sinc(angle / (2.0 * math.pi)) * vector), math.cos(0.5 * angle)], quaternion)
    return further / math.hypot(*further)
