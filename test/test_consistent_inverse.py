# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The dynamically consistent inverse: exact, decoupling, and the one of least kinetic energy."""

import numpy as np
import pytest
from samples import by_sample, by_spatial_sample, difference, random_state, sample

from opspace_control import operational_space


@by_spatial_sample
def test_it_inverts_the_jacobian(name, floating_base):
    _, model, frames = sample(name, floating_base)
    osd = operational_space(model, random_state(model, 1), frames)
    np.testing.assert_allclose(osd.jacobian @ osd.dynamically_consistent_inverse, np.eye(12),
                               atol=1e-9)


@by_sample
def test_it_is_the_definition(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 2)
    osd = operational_space(model, state, frames)
    A = model.mass_matrix(state)
    assert difference(osd.dynamically_consistent_inverse,
                      np.linalg.solve(A, osd.jacobian.T) @ osd.inertia) < 1e-10


@by_sample
def test_null_space_torque_accelerates_no_point(name, floating_base):
    """J A⁻¹ Nᵀ = 0, which defines dynamic consistency; also where directions are lost."""
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 3)
    osd = operational_space(model, state, frames)
    response = np.linalg.solve(model.mass_matrix(state), osd.jacobian.T).T    # J A⁻¹
    N = osd.null_space_projection
    assert abs(response @ N.T).max() < 1e-9 * abs(response).max()
    np.testing.assert_allclose(N @ N, N, atol=1e-8 * max(1.0, abs(N).max()))
    assert np.trace(N) == pytest.approx(model.nv - osd.rank, abs=1e-7)


@by_spatial_sample
def test_motion_it_chooses_has_the_least_kinetic_energy(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 4)
    osd = operational_space(model, state, frames)
    A, rng = model.mass_matrix(state), np.random.default_rng(0)
    v = osd.dynamically_consistent_inverse @ rng.standard_normal(12)
    for _ in range(5):
        other = v + osd.null_space_projection @ rng.standard_normal(model.nv)
        np.testing.assert_allclose(osd.jacobian @ other, osd.jacobian @ v, atol=1e-8)
        assert other @ A @ other > v @ A @ v
