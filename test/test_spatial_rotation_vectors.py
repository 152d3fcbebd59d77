# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Rotation vectors that move, against differences of rotation matrices."""

import numpy as np
import pytest

from opspace_control.spatial.rotations import (
    angular_acceleration,
    angular_velocity,
    matrix_from_vector,
    vector_from_matrix,
    vector_rate,
    vector_second_rate,
)

ANGLES = [0.0, 1e-9, 0.9e-4, 1.1e-4, 0.01, 1.0, 2.0, 3.1]


def motion(angle, seed=0):
    """Return a rotation vector of this angle, and its first and second rate."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    return angle * axis / np.linalg.norm(axis), rng.normal(size=3), rng.normal(size=3)


@pytest.mark.parametrize('angle', ANGLES)
def test_there_and_back(angle):
    phi, rate, second = motion(angle)
    R = matrix_from_vector(phi)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(vector_from_matrix(R), phi, atol=1e-12)
    np.testing.assert_allclose(vector_rate(phi, angular_velocity(phi, rate)), rate, atol=1e-12)
    np.testing.assert_allclose(
        vector_second_rate(phi, rate, angular_acceleration(phi, rate, second)), second, atol=1e-12)


@pytest.mark.parametrize('angle', ANGLES)
def test_velocity_is_that_of_the_turning_frame(angle):
    phi, rate, _ = motion(angle)
    h = 1e-5
    later, earlier = (matrix_from_vector(phi + t * rate) for t in (h, -h))
    np.testing.assert_allclose(vector_from_matrix(later @ earlier.T) / (2 * h),
                               angular_velocity(phi, rate), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize('angle', ANGLES)
def test_acceleration_is_the_change_of_velocity(angle):
    phi, rate, second = motion(angle)
    h = 1e-5
    later, earlier = (angular_velocity(phi + t * rate + 0.5 * t * t * second, rate + t * second)
                      for t in (h, -h))
    np.testing.assert_allclose((later - earlier) / (2 * h),
                               angular_acceleration(phi, rate, second), rtol=1e-7, atol=1e-7)
