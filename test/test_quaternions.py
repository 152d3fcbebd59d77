# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Quaternions: turning by a vector and finding the vector again."""

import numpy as np

from opspace_control.spatial.quaternions import product, turned
from opspace_control.spatial.rotations import matrix_from_quaternion, vector_from_matrix


def random_quaternion(rng):
    quaternion = rng.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


def test_product_is_that_of_the_rotations():
    rng = np.random.default_rng(2)
    for _ in range(20):
        p, q = random_quaternion(rng), random_quaternion(rng)
        np.testing.assert_allclose(
            matrix_from_quaternion(product(p, q)),
            matrix_from_quaternion(p) @ matrix_from_quaternion(q), atol=1e-12)


def test_turns():
    rng = np.random.default_rng(3)
    for scale in (1e-12, 1e-3, 1.0, 1.8):
        for _ in range(30):
            quaternion = random_quaternion(rng)
            vector = scale * rng.uniform(-1.0, 1.0, 3)
            found = turned(quaternion, vector)
            assert abs(np.linalg.norm(found) - 1.0) < 1e-15
            np.testing.assert_allclose(vector_from_matrix(
                matrix_from_quaternion(found) @ matrix_from_quaternion(quaternion).T), vector,
                atol=1e-12)
