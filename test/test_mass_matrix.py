# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The joint-space inertia: symmetric, positive, and the one that kinetic energy is made of."""

import numpy as np
import printed_tables as tables
import pytest
from robots import joint, link, robot
from samples import by_sample, difference, random_state, sample

from opspace_control import RobotModel, RobotState


@by_sample
def test_symmetric_and_positive_definite(name, floating_base):
    model = sample(name, floating_base).model
    A = model.mass_matrix(random_state(model, 1))
    np.testing.assert_array_equal(A, A.T)
    assert np.linalg.eigvalsh(A)[0] > 0.0


@by_sample
def test_kinetic_energy_is_that_of_the_links(name, floating_base):
    model = sample(name, floating_base).model
    state = random_state(model, 2)
    links, _ = tables.read_links(model, state)
    v, _ = tables.spatial_velocities(links, state.v)
    energy = 0.5 * sum(v[i] @ link.I_i @ v[i] for i, link in enumerate(links))
    assert 0.5 * state.v @ model.mass_matrix(state) @ state.v == pytest.approx(energy, rel=1e-12)


@by_sample
def test_columns_are_the_joint_forces_of_unit_accelerations(name, floating_base):
    model = sample(name, floating_base).model
    state = random_state(model, 3)
    resting = RobotState(model, state.q, np.zeros(model.nv))
    g = model.gravity(state)
    columns = [model.inverse_dynamics(resting, column) - g for column in np.eye(model.nv)]
    assert difference(model.mass_matrix(state), np.array(columns).T) < 1e-13


@by_sample
def test_bias_force_does_the_work_of_the_changing_inertia(name, floating_base):
    """vᵀ b = ½ vᵀ Ȧ v, which makes Ȧ − 2C skew: Coriolis forces neither make nor eat energy."""
    model = sample(name, floating_base).model
    state = random_state(model, 4)
    h = 1e-6
    before, after = (
        model.mass_matrix(RobotState(model, model.integrate(state.q, t * state.v, 1.0), state.v))
        for t in (-h, h))
    b = model.bias_force(state)
    rate = state.v @ (after - before) @ state.v / (2.0 * h)
    assert state.v @ b == pytest.approx(0.5 * rate, abs=1e-7 * abs(b) @ abs(state.v))


def test_total_mass_is_felt_at_the_base():
    model = sample('humanoid', True).model
    A = model.mass_matrix(random_state(model, 5))
    np.testing.assert_allclose(A[:3, :3], model.nodes['mass'].sum() * np.eye(3), atol=1e-11)

def test_a_massless_link_resists_with_its_inertia():
    model = RobotModel.from_urdf(robot(
        link('l0'), link('l1', mass=0.0, moments=(0.3, 0.2, 0.4)), link('l2'),
        joint('j1', 'l0', 'l1', 'continuous', '<axis xyz="0 0 1"/>'),
        joint('j2', 'l1', 'l2', 'continuous', '<axis xyz="0 1 0"/>')))
    state = random_state(model, 4)
    a = np.array([1.0, 2.0])
    np.testing.assert_allclose(
        model.inverse_dynamics(state, a),
        model.mass_matrix(state) @ a + model.bias_force(state) + model.gravity(state), atol=1e-13)
    np.testing.assert_allclose(
        model.forward_dynamics(state, model.inverse_dynamics(state, a)), a, atol=1e-13)
