# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations: matrices, unit quaternions ``[x y z w]`` and rotation vectors."""

import math

import numpy as np

from opspace_control.compiled import kernel


@kernel
def turn_about(axis, sine, cosine, R):
    """
    Turn the frame ``R`` in place about its own unit ``axis``: ``R ← R rot(axis, angle)``.

    Row by row this is Rodrigues' formula for the opposite angle.
    """
    a0, a1, a2 = axis[0], axis[1], axis[2]
    for r in range(3):
        x, y, z = R[r, 0], R[r, 1], R[r, 2]
        along = (1.0 - cosine) * (x * a0 + y * a1 + z * a2)
        R[r, 0] = cosine * x + sine * (y * a2 - z * a1) + along * a0
        R[r, 1] = cosine * y + sine * (z * a0 - x * a2) + along * a1
        R[r, 2] = cosine * z + sine * (x * a1 - y * a0) + along * a2


@kernel
def quaternion_to_matrix(quaternion, R):
    """Write the rotation matrix of a unit quaternion ``[x y z w]``."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    R[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    R[0, 1] = 2.0 * (x * y - z * w)
    R[0, 2] = 2.0 * (x * z + y * w)
    R[1, 0] = 2.0 * (x * y + z * w)
    R[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    R[1, 2] = 2.0 * (y * z - x * w)
    R[2, 0] = 2.0 * (x * z - y * w)
    R[2, 1] = 2.0 * (y * z + x * w)
    R[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def turn_by_quaternion(quaternion, R):
    """Turn the frame ``R`` in place by a unit quaternion in its own axes: ``R ← R R(quaternion)``."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    for r in range(3):
        a, b, c = R[r, 0], R[r, 1], R[r, 2]
        R[r, 0] = (a * (1.0 - 2.0 * (y * y + z * z)) + b * 2.0 * (x * y + z * w)
                   + c * 2.0 * (x * z - y * w))
        R[r, 1] = (a * 2.0 * (x * y - z * w) + b * (1.0 - 2.0 * (x * x + z * z))
                   + c * 2.0 * (y * z + x * w))
        R[r, 2] = (a * 2.0 * (x * z + y * w) + b * 2.0 * (y * z - x * w)
                   + c * (1.0 - 2.0 * (x * x + y * y)))


@kernel
def matrix_to_quaternion(R, quaternion):
    """
    Write the unit quaternion ``[x y z w]``, w ≥ 0, of a rotation matrix.

    The largest of the four components is found first and divided by, so no angle is ill-conditioned.
    """
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    if trace > 0.0:
        w = 1.0 + trace
        x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    elif R[0, 0] >= R[1, 1] and R[0, 0] >= R[2, 2]:
        x = 1.0 + R[0, 0] - R[1, 1] - R[2, 2]
        y, z, w = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]
    elif R[1, 1] >= R[2, 2]:
        y = 1.0 - R[0, 0] + R[1, 1] - R[2, 2]
        x, z, w = R[0, 1] + R[1, 0], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]
    else:
        z = 1.0 - R[0, 0] - R[1, 1] + R[2, 2]
        x, y, w = R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[1, 0] - R[0, 1]
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    if w < 0.0:
        scale = -scale
    quaternion[0], quaternion[1], quaternion[2] = x * scale, y * scale, z * scale
    quaternion[3] = w * scale


@kernel
def rotation_vector(R, out):
    """
    Write the rotation vector of ``R``, the short way round: angle in [0, π], rad.

    Continuous in R for angles below π, [K87] V's instantaneous rotation from one frame to another.
    """
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    if trace > 0.0:
        # 2 sin(angle) is safely away from the loss of significance near π.
        sine2 = math.sqrt(x * x + y * y + z * z)
        angle = math.atan2(sine2, trace - 1.0)
        factor = 0.5 if sine2 < 1e-8 else angle / sine2
        out[0], out[1], out[2] = factor * x, factor * y, factor * z
        return
    if R[0, 0] >= R[1, 1] and R[0, 0] >= R[2, 2]:
        qx = 1.0 + R[0, 0] - R[1, 1] - R[2, 2]
        qy, qz, qw = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], x
    elif R[1, 1] >= R[2, 2]:
        qy = 1.0 - R[0, 0] + R[1, 1] - R[2, 2]
        qx, qz, qw = R[0, 1] + R[1, 0], R[1, 2] + R[2, 1], y
    else:
        qz = 1.0 - R[0, 0] - R[1, 1] + R[2, 2]
        qx, qy, qw = R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], z
    length = math.sqrt(qx * qx + qy * qy + qz * qz)
    angle = 2.0 * math.atan2(length, abs(qw))
    factor = (angle if qw >= 0.0 else -angle) / length
    out[0], out[1], out[2] = factor * qx, factor * qy, factor * qz


def matrix_from_quaternion(quaternion):
    """
    Return the (3, 3) rotation matrix of a unit quaternion.

    Parameters
    ----------
    quaternion : (4,) array
        ``[x y z w]``, of norm 1; not checked.

    """
    R = np.empty((3, 3))
    quaternion_to_matrix(np.asarray(quaternion, dtype=float), R)
    return R


def quaternion_from_matrix(R):
    """
    Return the unit quaternion ``[x y z w]``, w ≥ 0, (4,), of a rotation matrix.

    Parameters
    ----------
    R : (3, 3) array
        Orthonormal up to rounding; not checked.

    """
    quaternion = np.empty(4)
    matrix_to_quaternion(np.ascontiguousarray(R, dtype=float), quaternion)
    return quaternion
