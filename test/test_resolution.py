# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Task forces by themselves: exact where that is possible, bounded and continuous everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from opspace_control.control.data import (
    ACTIVATION,
    APPLIED,
    COMPLIANT,
    FORCE,
    MOVING,
    SCALE,
)
from opspace_control.control.stack.resolution import resolve_forces
from opspace_control.control.stack.scaling import regularise_rows, scale_rows
from opspace_control.control.storage import make_storage

THRESHOLD = 2.5e-2
LEAST_MOBILITY = 1e-2  # 1/kg


@njit
def _resolve(stack, scratch, levels, least_mobility, threshold):
    mobility, activation = scratch.mobility, stack[ACTIVATION]
    scale_rows(mobility, activation, np.zeros_like(activation), np.full_like(activation, np.inf),
               least_mobility, 1e-3, 0.0, stack[SCALE])
    regularise_rows(mobility, mobility, 0, activation)
    return resolve_forces(stack, scratch, levels, threshold, None)


def resolve(mobility, b, asked=None, threshold=THRESHOLD, least_mobility=LEAST_MOBILITY,
            levels=None, push=None, moving=None, compliant=None):
    """Return the forces and the eigenvalue bound; only the lower triangle of Λ⁻¹ is given."""
    n = len(b)
    storage = make_storage(1, 1, n, n, 0, None)
    stack, scratch = storage.results.stack, storage.scratch
    scratch.mobility[:] = np.where(np.tri(n, dtype=bool), mobility, np.nan)
    stack[FORCE] = b
    for row, values, default in ((ACTIVATION, asked, 1.0), (APPLIED, push, 0.0),
                                 (MOVING, moving, 0.0), (COMPLIANT, compliant, 0.0)):
        stack[row] = default if values is None else values
    levels = np.array([0, n] if levels is None else levels)
    least = _resolve(stack, scratch, levels, least_mobility, threshold)
    return stack[FORCE], least


def scaling(L, least_mobility=LEAST_MOBILITY):
    """Return the documented scale: one number per point and kind."""
    mobility = L.diagonal().reshape(-1, 3).mean(axis=1)
    mobility[::2] = np.maximum(mobility[::2], least_mobility)
    with np.errstate(divide='ignore'):
        return np.repeat(np.where(mobility > 0.0, 1.0 / np.sqrt(mobility), 0.0), 3)


def filtered(L, b, threshold=THRESHOLD):
    """Return the documented solution by eigenvalues, φ(λ) = t² (3 − 2 t), t = λ / threshold."""
    s = scaling(L)
    eigenvalues, vectors = np.linalg.eigh(s[:, None] * L * s)
    t = np.clip(eigenvalues / (threshold / len(b)), 0.0, 1.0)
    gains = t * t * (3.0 - 2.0 * t) / np.where(t > 0.0, eigenvalues, 1.0)
    return s * (vectors @ (gains * (vectors.T @ (s * b))))


def inverse_inertia(rng, points, least, rank_loss=1):
    """Return a random Λ⁻¹ whose scaled form has ``rank_loss`` eigenvalues of ``least``."""
    n = 6 * points
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    eigenvalues = rng.uniform(0.3, 3.0, n)
    eigenvalues[:rank_loss] = least
    L = (vectors * eigenvalues) @ vectors.T
    s = scaling(L)  # not yet scaled to one: a few steps of fixed point make it so
    for _ in range(50):
        L = s[:, None] * L * s
        s = scaling(L)
    size = np.repeat(10.0 ** rng.uniform(-1.0, 2.0, 2 * points), 3)  # masses, inertias
    return size[:, None] * L * size, np.linalg.eigvalsh(s[:, None] * L * s)[0]


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_regular_is_the_exact_inverse(seed, points):
    rng = np.random.default_rng(seed)
    L, _ = inverse_inertia(rng, points, 0.5)
    b = rng.normal(size=6 * points)
    x, least = resolve(L, b)
    expected = np.linalg.solve(L, b)
    np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-12 * abs(expected).max())
    true = np.linalg.eigvalsh(scaling(L)[:, None] * L * scaling(L))[0]
    assert true / (6 * points) <= least <= true * (1.0 + 1e-9)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(-12.0, -3.0), st.integers(1, 5))
def test_singular_is_the_documented_filter(seed, points, exponent, rank_loss):
    rng = np.random.default_rng(seed)
    L, _ = inverse_inertia(rng, points, 10.0 ** exponent, rank_loss)
    b = rng.normal(size=6 * points)
    x, least = resolve(L, b)
    s = scaling(L)
    np.testing.assert_allclose(x / s, filtered(L, b) / s, rtol=0.0,
                               atol=1e-7 * np.linalg.norm(s * b))
    assert least == 0.0


@pytest.mark.parametrize('least', [0.5, 3e-4])
def test_more_axes_than_joints_are_the_documented_filter(least):
    """Zeros beside eigenvalues that are met exactly, and beside one that is truncated, too."""
    rng = np.random.default_rng(10)
    for points, joints in ((2, 7), (6, 32), (12, 32)):
        n = 6 * points
        basis = np.linalg.qr(rng.normal(size=(n, joints)))[0]
        eigenvalues = rng.uniform(0.5, 3.0, joints)
        eigenvalues[0] = least
        L, b = (basis * eigenvalues) @ basis.T, rng.normal(size=n)
        x, bound = resolve(L, b)
        s = scaling(L)
        np.testing.assert_allclose(
            x / s, filtered(L, b) / s, rtol=0.0, atol=1e-7 * np.linalg.norm(s * b))
        assert bound == 0.0


def test_branches_agree_at_the_threshold():
    rng = np.random.default_rng(0)
    for points in (1, 2, 4):
        L, _ = inverse_inertia(rng, points, 0.1)
        b = rng.normal(size=6 * points)
        exact, by_trace = resolve(L, b)
        _, least = resolve(L, b, threshold=by_trace * 6 * points * 1.000001)  # by the norm
        assert least > by_trace > 0.0
        above, below = (resolve(L, b, threshold=least * 6 * points * factor)
                        for factor in (0.999999, 1.000001))
        assert above[1] == least and below[1] == 0.0
        np.testing.assert_array_equal(above[0], exact)
        np.testing.assert_allclose(below[0], exact, atol=1e-11 * abs(exact).max())


@pytest.mark.parametrize('points', [1, 2, 4])
def test_forces_are_bounded_and_continuous_as_a_direction_is_lost(points):
    rng = np.random.default_rng(points)
    vectors = np.linalg.qr(rng.normal(size=(6 * points, 6 * points)))[0]
    b = rng.normal(size=6 * points)
    lost = np.geomspace(1.0, 1e-20, 8000)
    forces = []
    for eigenvalue in [*lost, 0.0]:
        eigenvalues = np.ones(6 * points)
        eigenvalues[0] = eigenvalue
        forces.append(resolve((vectors * eigenvalues) @ vectors.T, b)[0])
    forces = np.array(forces)
    assert abs(forces).max() < 9 / 8 / (THRESHOLD / (6 * points)) * np.linalg.norm(b)
    assert abs(np.diff(forces, axis=0)).max() < 0.02 * abs(forces).max()
    # In the end the wrench that moves nothing is not used at all.
    lost = vectors[:, 0] / scaling((vectors * eigenvalues) @ vectors.T) ** 2
    assert abs(forces[-1] @ lost) < 1e-8


def test_remaining_directions_are_met_exactly():
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    L = (basis[:, 1:] * rng.uniform(0.5, 2.0, 11)) @ basis[:, 1:].T
    b = rng.normal(size=12)
    residual = scaling(L) * (L @ resolve(L, b)[0] - b)
    # All that is left of it is along the one wrench that moves nothing.
    lost = basis[:, 0] / scaling(L)
    lost /= np.linalg.norm(lost)
    np.testing.assert_allclose(residual - lost * (lost @ residual), 0.0, atol=1e-10)


def test_a_direction_along_an_axis_is_lost_like_any_other():
    """Also where it is the only one asked for: it is measured by the whole point, not by itself."""
    L = np.diag([1e-12, 0.5, 0.5, 20.0, 20.0, 20.0])
    for asked in ([1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]):
        x, least = resolve(L, np.ones(6), asked)
        assert least == 0.0
        assert abs(x[0]) < 1e5
        np.testing.assert_allclose(x[1], 2.0 * asked[1], rtol=1e-12)


def test_a_point_that_hardly_moves_is_measured_by_the_robot():
    """A frame on its joints' axes: what is left of its linear mobility is rounding errors."""
    L = np.diag([1e-33, 3e-34, 1e-35, 2.0, 3.0, 4.0])
    x, least = resolve(L, np.ones(6))
    assert least == 0.0
    assert abs(x[:3]).max() < 1e-9
    np.testing.assert_allclose(x[3:], [1 / 2.0, 1 / 3.0, 1 / 4.0], rtol=1e-12)


def test_a_point_that_cannot_move_gets_no_force():
    x, _ = resolve(np.zeros((6, 6)), np.ones(6))
    np.testing.assert_array_equal(x, np.zeros(6))
    x, least = resolve(np.diag([1.0] * 6 + [0.0] * 6), np.arange(1.0, 13.0))
    np.testing.assert_array_equal(x[6:], np.zeros(6))
    np.testing.assert_allclose(x[:6], np.arange(1.0, 7.0), rtol=1e-14)
    assert least > 0.0


def test_axes_not_asked_for_take_no_part():
    rng = np.random.default_rng(2)
    L, _ = inverse_inertia(rng, 2, 0.5)
    b = rng.normal(size=12)
    for _ in range(20):
        asked = rng.permutation([1.0] * 5 + [0.0] * 7)
        on = asked == 1.0
        x, _ = resolve(L, b, asked)
        assert (x[~on] == 0.0).all()
        expected = np.linalg.solve(L[np.ix_(on, on)], b[on])
        np.testing.assert_allclose(x[on], expected, atol=1e-12 * abs(expected).max())


def test_the_same_task_twice_is_shared_and_conflicting_ones_are_averaged():
    single, _ = inverse_inertia(np.random.default_rng(3), 1, 0.5)
    L = np.kron(np.ones((2, 2)), single)
    b = np.random.default_rng(4).normal(size=6)
    x, least = resolve(L, np.r_[b, b])
    assert least == 0.0
    np.testing.assert_allclose(x[:6], x[6:], rtol=1e-9)
    np.testing.assert_allclose(L @ x, np.r_[b, b], atol=1e-9)
    x, _ = resolve(L, np.r_[b, -3.0 * b])
    np.testing.assert_allclose(L @ x, np.r_[-b, -b], atol=1e-9)


def test_a_row_asked_for_by_half_is_as_if_its_diagonal_were_larger():
    L, _ = inverse_inertia(np.random.default_rng(8), 2, 0.5)
    b = np.random.default_rng(9).normal(size=12)
    asked = np.r_[np.ones(6), np.full(6, 0.3)]
    inflated = L.copy()
    inflated[range(6, 12), range(6, 12)] /= 0.3**2
    np.testing.assert_allclose(resolve(L, b, asked)[0], np.linalg.solve(inflated, b), rtol=1e-10)


def test_units_and_masses_do_not_matter():
    """A robot of half the size and a thousandth of the mass loses the same directions."""
    L, _ = inverse_inertia(np.random.default_rng(5), 2, 1e-3)
    b = np.random.default_rng(6).normal(size=12)
    unit = np.tile([1.0, 1.0, 1.0, 7.0, 7.0, 7.0], 2)  # of rotations against lengths
    x, _ = resolve(L, b, least_mobility=0.0)
    y, _ = resolve(1e3 * unit[:, None] * L * unit, unit * b, least_mobility=0.0)
    np.testing.assert_allclose(1e3 * unit * y, x, atol=1e-9 * abs(x).max())


@pytest.mark.parametrize('singular', [False, True])
def test_nan_and_infinity_stay_visible(singular):
    L, _ = inverse_inertia(np.random.default_rng(7), 2, 0.0 if singular else 0.5)
    b = np.ones(12)
    for row, column in ((0, 0), (7, 3), (11, 11)):
        for bad in (np.nan, np.inf):
            broken = L.copy()
            broken[row, column] = broken[column, row] = bad
            assert not np.isfinite(resolve(broken, b)[0]).all()
    for bad in (np.nan, np.inf):
        demand = b.copy()
        demand[5] = bad
        assert not np.isfinite(resolve(L, demand)[0]).all()
