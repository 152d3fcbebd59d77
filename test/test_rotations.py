# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations by every angle, the awkward ones (0, a half turn) first."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from opspace_control.spatial.rotations import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_vector,
    turn_about,
    turn_by_quaternion,
)

ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 3e-8, 1e-4, 0.3, 1.0, math.pi / 2, 2.0, 2.0 * math.pi / 3, 3.0,
          math.pi - 1e-4, math.pi - 1e-8, math.pi - 1e-12, math.pi]
AXES = np.array([
    [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, -1.0],
    [0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 2.0, 0.5], [1e-9, 1.0, 1e-9], [0.1, -0.2, 3.0]])
AXES /= np.linalg.norm(AXES, axis=1)[:, None]
by_rotation = pytest.mark.parametrize('angle', ANGLES)
vectors = st.tuples(*[st.floats(-3.0, 3.0)] * 3).map(np.array)


def quaternion(axis, angle):
    return np.append(math.sin(0.5 * angle) * axis, math.cos(0.5 * angle))


def rodrigues(axis, angle):
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


@njit
def _log(R, out, first):
    rotation_vector(R, out, first)


def log(R):
    out = np.full(5, np.nan)
    _log(R, out, 1)
    assert math.isnan(out[0])
    assert math.isnan(out[4])
    return out[1:4]


@by_rotation
def test_quaternion_to_matrix(angle):
    for axis in AXES:
        np.testing.assert_allclose(matrix_from_quaternion(quaternion(axis, angle)),
                                   rodrigues(axis, angle), atol=1e-15)


@by_rotation
def test_matrix_to_quaternion(angle):
    for axis in AXES:
        found = quaternion_from_matrix(rodrigues(axis, angle))
        expected = quaternion(axis, angle)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-15)
        assert found[3] >= 0.0
        # At half a turn both signs say the same.
        np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-15)


@by_rotation
def test_rotation_vector(angle):
    for axis in AXES:
        found = log(rodrigues(axis, angle))
        if abs(angle - math.pi) < 1e-9:
            found *= np.sign(found @ axis)
        np.testing.assert_allclose(found, angle * axis, rtol=1e-14, atol=1e-15)


@by_rotation
def test_rotation_vector_goes_the_short_way_round(angle):
    for axis in AXES:
        assert np.linalg.norm(log(rodrigues(axis, angle + math.pi))) <= math.pi + 1e-15


@by_rotation
def test_turn_about_a_frames_own_axis(angle):
    start = rodrigues(AXES[7], 0.8)
    for axis in AXES:
        R = start.copy()
        turn_about(axis, math.sin(angle), math.cos(angle), R)
        np.testing.assert_allclose(R, start @ rodrigues(axis, angle), atol=2e-15)


def test_turn_by_a_quaternion_among_other_coordinates():
    start, axis = rodrigues(AXES[7], 0.8), AXES[9]
    R, q = start.copy(), np.full(9, np.nan)
    q[3:7] = quaternion(axis, 1.3)
    turn_by_quaternion(q, 3, R)
    np.testing.assert_allclose(R, start @ rodrigues(axis, 1.3), atol=1e-15)


@settings(deadline=None, derandomize=True)
@given(vectors)
def test_rotation_vector_undoes_rotating(vector):
    angle = np.linalg.norm(vector)
    if angle >= math.pi:
        vector, angle = vector / angle, 1.0
    axis = vector / angle if angle > 0.0 else AXES[0]
    np.testing.assert_allclose(log(rodrigues(axis, angle)), vector, atol=1e-14)


@settings(deadline=None, derandomize=True)
@given(vectors, st.floats(1e-16, 1e-7))
def test_rotation_vector_is_continuous(vector, step):
    # Away from half a turn, where it has to jump.
    angle = np.linalg.norm(vector)
    if angle > 3.0:
        vector = vector * (3.0 / angle)
    angle = np.linalg.norm(vector)
    axis = vector / angle if angle > 0.0 else AXES[0]
    R = rodrigues(axis, angle)
    assert np.linalg.norm(log(R @ rodrigues(AXES[6], step)) - log(R)) < 30.0 * step + 1e-13


@pytest.mark.parametrize('entry', [0, 4, 5])
def test_nan_stays_visible(entry):
    R = np.eye(3)
    R.flat[entry] = np.nan
    assert np.isnan(log(R)).any()
    assert np.isnan(quaternion_from_matrix(R)).any()
