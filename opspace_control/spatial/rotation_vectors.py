# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Rotation vectors, ``R = exp([φ]×)``, and angular velocity and acceleration of φ̇ and φ̈.

``ω = L φ̇``, ``L = 1 + b [φ]× + c [φ]×²`` with ``θ = |φ|``, ``b = (1 − cos θ) / θ²`` and
``c = (θ − sin θ) / θ³``.
"""

import math

import numpy as np

from opspace_control.spatial.rotations import rotation_vector

# Up to this angle, in rad, the first two terms of a series are exact to rounding.
_SMALL = 1e-4


def vector_from_matrix(R):
    """Return the rotation vector φ (3,), rad, of a rotation matrix, the short way round."""
    phi = np.empty(3)
    rotation_vector.py_func(np.asarray(R, dtype=float), phi, 0)  # rare: not worth compiling
    return phi


def matrix_from_vector(phi):
    """Return the rotation matrix (3, 3) of a rotation vector (3,), rad: Rodrigues' formula."""
    b, c, _, _ = _coefficients(phi)
    skew = _skew(phi)
    return np.eye(3) + (1.0 - c * (phi @ phi)) * skew + b * skew @ skew


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
    skew = _skew(phi)
    return np.eye(3) + b * skew + c * skew @ skew


def _bias(phi, rate):
    """Return L̇ φ̇: ω̇ for constant φ̇."""
    _, c, b_slope, c_slope = _coefficients(phi)
    skew = _skew(phi)
    once = skew @ rate  # np.cross takes five times as long
    return (phi @ rate) * (b_slope * once + c_slope * skew @ once) + c * _skew(rate) @ once


def _coefficients(phi):
    """Return b, c, and their derivatives by θ over θ, all even functions of θ."""
    square = phi @ phi
    if square < _SMALL ** 2:
        return 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0, -1.0 / 12.0, -1.0 / 60.0
    angle = math.sqrt(square)
    sine_over = math.sin(angle) / angle
    # 1 − cos would lose half of the digits of a small angle.
    b = 0.5 * (math.sin(0.5 * angle) / (0.5 * angle)) ** 2
    c = (1.0 - sine_over) / square
    return b, c, (sine_over - 2.0 * b) / square, (b - 3.0 * c) / square


def _skew(v):
    """Return [v]×: ``[v]× w = v × w``."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
