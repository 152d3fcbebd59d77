# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of the recursions, as plain Python functions against NumPy."""

import numpy as np
import pytest
from printed_tables import cross, transform

from opspace_control.spatial import vectors

# Python cannot call what is only ever inlined; the functions under the decorator are the same.
rotate = vectors.rotate
multiply = vectors.multiply
multiply_transpose = vectors.multiply_transpose
dot = vectors.dot
linear_at = vectors.linear_at
add_cross_motion = vectors.add_cross_motion
add_wrench = vectors.add_wrench


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_rotate(rng):
    R, x, out = rng.standard_normal((3, 3)), rng.standard_normal(3), np.full(3, np.nan)
    rotate(R, x, out)
    np.testing.assert_allclose(out, R @ x, rtol=1e-14)


def test_rotate_in_place(rng):
    R, x = rng.standard_normal((3, 3)), rng.standard_normal(3)
    expected = R @ x
    rotate(R, x, x)
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_linear_part_at_a_point(rng):
    B, p = rng.standard_normal(6), rng.standard_normal(3)
    np.testing.assert_allclose(linear_at(B, p), B[:3] + np.cross(B[3:], p), rtol=1e-14)


@pytest.mark.parametrize(('product', 'of'), [(multiply, lambda A, B: A @ B),
                                             (multiply_transpose, lambda A, B: A @ B.T)])
def test_products(rng, product, of):
    A, B, out = rng.standard_normal((3, 3)), rng.standard_normal((3, 3)), np.full((3, 3), np.nan)
    product(A, B, out)
    np.testing.assert_allclose(out, of(A, B), rtol=1e-13)


def test_dot(rng):
    a, b = rng.standard_normal((2, 6))
    assert dot(a, b) == pytest.approx(a @ b, rel=1e-14)


def test_cross_motion_is_that_of_the_paper_and_adds(rng):
    V, S, before = rng.standard_normal((3, 6))
    out = before.copy()
    add_cross_motion(V, S, 0.7, out)
    np.testing.assert_allclose(out, before + 0.7 * cross(V) @ S, rtol=1e-13)


def test_cross_motion_of_a_vector_with_itself_is_nothing(rng):
    V, out = rng.standard_normal(6), np.zeros(6)
    add_cross_motion(V, V, 1.0, out)
    np.testing.assert_allclose(out, 0.0, atol=1e-15)


def test_wrench_is_moved_and_adds(rng):
    p, wrench, before = rng.standard_normal(3), rng.standard_normal(6), rng.standard_normal(6)
    out = before.copy()
    add_wrench(p, wrench, out)
    np.testing.assert_allclose(out, before + transform(np.eye(3), p) @ wrench, rtol=1e-13)


def test_wrench_does_the_same_work_about_any_point(rng):
    p, wrench, motion = rng.standard_normal(3), rng.standard_normal(6), rng.standard_normal(6)
    about_origin = np.zeros(6)
    add_wrench(p, wrench, about_origin)
    at_p = motion + np.concatenate([np.cross(motion[3:], p), np.zeros(3)])
    assert dot(about_origin, motion) == pytest.approx(wrench @ at_p, rel=1e-13)
