# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations: matrices, unit quaternions ``[x y z w]`` and rotation vectors."""

import math

import numpy as np

from opspace_control.compiled import called, inlined, shared


@inlined
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


@inlined
def turn_by_quaternion(q, first, R):
    """
    Turn the frame ``R`` in place by a unit quaternion in its own axes: ``R ← R R(quaternion)``.

    Its ``[x y z w]`` start at ``q[first]``.
    """
    x, y, z, w = q[first], q[first + 1], q[first + 2], q[first + 3]
    for r in range(3):
        a, b, c = R[r, 0], R[r, 1], R[r, 2]
        R[r, 0] = (a * (1.0 - 2.0 * (y * y + z * z)) + b * 2.0 * (x * y + z * w)
                   + c * 2.0 * (x * z - y * w))
        R[r, 1] = (a * 2.0 * (x * y - z * w) + b * (1.0 - 2.0 * (x * x + z * z))
                   + c * 2.0 * (y * z + x * w))
        R[r, 2] = (a * 2.0 * (x * z + y * w) + b * 2.0 * (y * z - x * w)
                   + c * (1.0 - 2.0 * (x * x + y * y)))


@shared
def rotation_vector(R, out, first):
    """
    Write the rotation vector of ``R`` to ``out[first:first + 3]``, the short way round, in rad.

    Its angle is in [0, π] and as precise near π as near 0, [K87] V's instantaneous rotation that
    takes one frame to another.
    """
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    xy, xz, yz = R[0, 1], R[0, 2], R[1, 2]
    yx, zx, zy = R[1, 0], R[2, 0], R[2, 1]
    trace = xx + yy + zz
    x, y, z = zy - yz, xz - zx, yx - xy
    if trace > 0.0:
        # Well below half a turn: the skew part has the direction and 2 sin(angle).
        sine = math.sqrt(x * x + y * y + z * z)
        factor = 0.5 if sine < 1e-8 else math.atan2(sine, trace - 1.0) / sine
    else:
        # Near half a turn it vanishes; the largest column of the symmetric part has the direction.
        if xx >= yy and xx >= zz:
            w = x
            x, y, z = 1.0 + xx - yy - zz, xy + yx, xz + zx
        elif yy >= zz:
            w = y
            x, y, z = xy + yx, 1.0 - xx + yy - zz, yz + zy
        else:
            w = z
            x, y, z = xz + zx, yz + zy, 1.0 - xx - yy + zz
        length = math.sqrt(x * x + y * y + z * z)
        factor = 2.0 * math.atan2(length, abs(w)) / length
        if w < 0.0:
            factor = -factor
    out[first], out[first + 1], out[first + 2] = factor * x, factor * y, factor * z


@inlined
def turn_between(goal, present, first, out, at):
    """
    Write the rotation vector that turns one quaternion into another, the short way round.

    Both ``[x y z w]`` start at ``first``. The vector goes to ``out[at:at + 3]``, in rad, in the
    axes that the quaternions turn from.
    """
    x, y, z, w = goal[first], goal[first + 1], goal[first + 2], goal[first + 3]
    a, b, c, d = present[first], present[first + 1], present[first + 2], present[first + 3]
    # The goal times the conjugate of the present: the sine of half the angle, along the axis, ...
    e0 = x * d - w * a - y * c + z * b
    e1 = y * d - w * b - z * a + x * c
    e2 = z * d - w * c - x * b + y * a
    sine = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
    # ... and its cosine; the opposite quaternion is the same orientation.
    cosine = w * d + x * a + y * b + z * c
    factor = 2.0 if sine < 1e-12 else 2.0 * math.atan2(sine, abs(cosine)) / sine
    if cosine < 0.0:
        factor = -factor
    out[at] = factor * e0
    out[at + 1] = factor * e1
    out[at + 2] = factor * e2


@called
def vector_coefficients(square):
    """
    Return b, c, and their derivatives by θ over θ, all even functions of θ, for θ².

    ``R(φ) = 1 + (1 − c θ²) [φ]× + b [φ]×²`` and ``ω = (1 + b [φ]× + c [φ]×²) φ̇``.
    """
    if square < _SMALL ** 2:
        return 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0, -1.0 / 12.0, -1.0 / 60.0
    angle = math.sqrt(square)
    sine_over = math.sin(angle) / angle
    # 1 − cos would lose half of the digits of a small angle.
    b = 0.5 * (math.sin(0.5 * angle) / (0.5 * angle)) ** 2
    c = (1.0 - sine_over) / square
    return b, c, (sine_over - 2.0 * b) / square, (b - 3.0 * c) / square


@called
def cross_twice(a, u, once, twice, out):
    """Write ``u + once a × u + twice a × (a × u)``, (3,)."""
    x = a[1] * u[2] - a[2] * u[1]
    y = a[2] * u[0] - a[0] * u[2]
    z = a[0] * u[1] - a[1] * u[0]
    out[0] = u[0] + once * x + twice * (a[1] * z - a[2] * y)
    out[1] = u[1] + once * y + twice * (a[2] * x - a[0] * z)
    out[2] = u[2] + once * z + twice * (a[0] * y - a[1] * x)


# What follows is called from Python, a few times a second: compiling it would take longer than it
# ever runs, and might have to be done in the middle of control.

def matrix_from_quaternion(quaternion):
    """Return the (3, 3) rotation matrix of a quaternion ``[x y z w]`` of norm 1, not checked."""
    x, y, z, w = np.asarray(quaternion, dtype=float).tolist()
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])


def yaw_of(quaternion):
    """Return the rotation about the vertical axis of x, y, z, w, an angle from −π to π, rad."""
    x, y, z, w = quaternion
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def quaternion_from_matrix(R):
    """
    Return the unit quaternion ``[x y z w]``, w ≥ 0, (4,), of a rotation matrix, not checked.

    The largest of the four is found first and divided by, so no angle is ill-conditioned.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.asarray(R, dtype=float).tolist()
    if xx + yy + zz > 0.0:
        x, y, z, w = zy - yz, xz - zx, yx - xy, 1.0 + xx + yy + zz
    elif xx >= yy and xx >= zz:
        x, y, z, w = 1.0 + xx - yy - zz, xy + yx, xz + zx, zy - yz
    elif yy >= zz:
        x, y, z, w = xy + yx, 1.0 - xx + yy - zz, yz + zy, xz - zx
    else:
        x, y, z, w = xz + zx, yz + zy, 1.0 - xx - yy + zz, yx - xy
    norm = math.copysign(math.sqrt(x * x + y * y + z * z + w * w), w)
    return np.array([x, y, z, w]) / norm


# Angular velocity and acceleration of rotation vectors φ: ``ω = L φ̇``, ``L = 1 + b [φ]× + c [φ]×²``
# with ``θ = |φ|``, ``b = (1 − cos θ) / θ²`` and ``c = (θ − sin θ) / θ³``. Up to this angle, in rad,
# the first two terms of a series of these are exact to rounding.
_SMALL = 1e-4


def vector_from_matrix(R):
    """Return the rotation vector φ (3,), rad, of a rotation matrix, the short way round."""
    phi = np.empty(3)
    rotation_vector(np.asarray(R, dtype=float), phi, 0)  # rare: not worth compiling
    return phi


def matrix_from_vector(phi):
    """Return the rotation matrix (3, 3) of a rotation vector (3,), rad: Rodrigues' formula."""
    b, c, _, _ = _coefficients(phi)
    skew = cross_matrix(phi)
    return np.eye(3) + (1.0 - c * (phi @ phi)) * skew + b * skew @ skew


def matrix_from_rpy(angles):
    """Return the rotation matrix (3, 3) of a URDF's roll, pitch and yaw, rad: z, then y, then x."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(angles), np.cos(angles)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])


def rpy_from_matrix(R):
    """Return roll, pitch and yaw (3,) of a rotation matrix, rad; roll is 0 where they are many."""
    R = np.asarray(R, dtype=float)
    across = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], across)
    if across < 1e-9:
        return np.array([0.0, pitch, math.atan2(-R[0, 1], R[1, 1])])
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def angular_velocity(phi, rate):
    """Return ω = L φ̇ (3,), rad/s, in the axes in which φ is given."""
    return _rates(phi) @ rate


def angular_acceleration(phi, rate, second_rate):
    """Return ω̇ = L φ̈ + L̇ φ̇ (3,), rad/s²."""
    return _rates(phi) @ second_rate + _bias(phi, rate)


def vector_rate(phi, velocity):
    """Return φ̇ = L⁻¹ ω (3,), rad/s, for φ of less than a whole turn."""
    return np.linalg.solve(_rates(phi), velocity)


def vector_second_rate(phi, rate, acceleration):
    """Return φ̈ = L⁻¹ (ω̇ − L̇ φ̇) (3,), rad/s², for φ of less than a whole turn."""
    return np.linalg.solve(_rates(phi), acceleration - _bias(phi, rate))


def _rates(phi):
    """Return L."""
    b, c, _, _ = _coefficients(phi)
    skew = cross_matrix(phi)
    return np.eye(3) + b * skew + c * skew @ skew


def _bias(phi, rate):
    """Return L̇ φ̇: ω̇ for constant φ̇."""
    _, c, b_slope, c_slope = _coefficients(phi)
    skew = cross_matrix(phi)
    once = skew @ rate  # np.cross takes five times as long
    return (phi @ rate) * (b_slope * once + c_slope * skew @ once) + c * cross_matrix(rate) @ once


def _coefficients(phi):
    return vector_coefficients(phi @ phi)


def cross_matrix(v):
    """Return [v]×: ``[v]× w = v × w``."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
