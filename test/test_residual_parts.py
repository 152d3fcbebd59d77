# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals are split into friction, an error of a payload, and contact."""

import numpy as np
import pytest
from robots import robot_file

from opspace_control import Payload, RobotModel, RobotState, StateError
from opspace_control.identification import ResidualSplitter, residual_parts
from opspace_control.model.bodies import attach_payloads

PANDA = RobotModel.from_urdf_file(
    robot_file('panda.urdf'), locked_joints=['panda_finger_joint1'])
HAND = 'panda_hand'
HOME = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.78, 0.0])
FREE = ~PANDA.locked
COULOMB = np.where(FREE, 0.03 * PANDA.effort_limits, 0.0)
VISCOUS = 0.3 * COULOMB
LOAD = Payload.of_box(1.5, (0.1, 0.06, 0.2), (0.02, -0.03, 0.1))
FORCE = np.array([5.0, -8.0, 12.0, 0.5, 0.2, -0.4])


def loaded():
    """Return the model with the payload."""
    model = RobotModel.from_urdf_file(
        robot_file('panda.urdf'), locked_joints=['panda_finger_joint1'])
    nodes = model.nodes.copy()
    attach_payloads(nodes, model.nodes, [(model.frames[model.frame_index(HAND)], LOAD)])
    object.__setattr__(model, 'nodes', nodes)
    return model


def measured(spread, speed, touched, noise=0.0):
    """Return states of a slow motion, and their residuals; a third of them touch something."""
    rng, truth = np.random.default_rng(0), loaded()
    states, residuals = [], []
    for k in range(120):
        q = HOME + np.where(FREE, rng.uniform(-spread, spread, PANDA.nv), 0.0)
        v = np.where(FREE, rng.uniform(-speed, speed, PANDA.nv), 0.0)
        v[PANDA.dof_index('panda_joint1')] = 0.0
        state = RobotState(PANDA, q, v)
        r = PANDA.gravity(state) - truth.gravity(RobotState(truth, q, v))
        r -= COULOMB * np.tanh(v / 0.1) + VISCOUS * v
        if touched and k % 3 == 0:
            r += PANDA.jacobian(state, HAND).T @ FORCE
        states.append(state)
        residuals.append(np.where(FREE, r + noise * rng.normal(size=PANDA.nv), 0.0))
    return states, residuals


@pytest.mark.parametrize(('noise', 'tolerance'), [(0.0, 1e-4), (0.05, 0.1)])
def test_friction_payload_and_contact_are_told_apart(noise, tolerance):
    parts = residual_parts(PANDA, *measured(0.6, 0.8, True, noise), HAND)
    moved = FREE.copy()
    moved[PANDA.dof_index('panda_joint1')] = False
    assert np.isnan(parts.coulomb[~moved]).all() and np.isnan(parts.viscous[~moved]).all()
    np.testing.assert_allclose(parts.coulomb[moved], COULOMB[moved], rtol=tolerance,
                               atol=0.5 * tolerance)
    assert parts.mass == pytest.approx(LOAD.mass, rel=tolerance)
    np.testing.assert_allclose(parts.moment, LOAD.mass * LOAD.center_of_mass, atol=tolerance)
    touching = np.arange(120) % 3 == 0
    np.testing.assert_allclose(np.median(parts.contact[touching], axis=0), FORCE,
                               atol=10.0 * tolerance)
    assert np.median(np.linalg.norm(parts.contact[~touching], axis=1)) < 20.0 * tolerance


def test_one_posture_tells_no_centre_of_mass_along_gravity():
    parts = residual_parts(PANDA, *measured(0.0, 0.8, False), HAND)
    assert np.isnan(parts.moment).any()
    assert parts.mass == pytest.approx(LOAD.mass, rel=1e-6) or np.isnan(parts.mass)


def test_a_residual_is_split_while_the_robot_moves():
    states, residuals = measured(0.6, 0.8, True)
    splitter = ResidualSplitter(PANDA, [HAND], span=12.0, interval=0.1)
    found = [splitter.split(0.1 * k, state, residual) for k, (state, residual) in enumerate(
        zip(states, residuals, strict=True))]
    for k in range(90, 120):
        parts, v = found[k], states[k].v
        np.testing.assert_allclose(sum(parts.values()), residuals[k], atol=1e-9)
        np.testing.assert_allclose(
            parts['friction'], -COULOMB * np.tanh(v / 0.1) - VISCOUS * v, atol=0.02)
        contact = PANDA.jacobian(states[k], HAND).T @ FORCE if k % 3 == 0 else np.zeros(PANDA.nv)
        np.testing.assert_allclose(parts['contact'], np.where(FREE, contact, 0.0), atol=0.05)
    # A payload that is gone is forgotten with the time span; a clock that goes back begins anew.
    for k in range(130):
        parts = splitter.split(12.0 + 0.1 * k, states[k % 120], np.zeros(PANDA.nv))
    assert all(abs(part).max() < 1e-9 for part in parts.values())
    parts = splitter.split(0.0, states[0], residuals[0])
    np.testing.assert_allclose(sum(parts.values()), residuals[0], atol=1e-9)


def test_joints_with_brakes_have_no_part():
    states, residuals = measured(0.6, 0.8, True)
    splitter, locked = ResidualSplitter(PANDA, [HAND]), ~FREE
    locked[1] = True
    for k, state in enumerate(states):
        parts = splitter.split(0.1 * k, state, np.where(locked, 0.0, residuals[k]), locked)
    assert all((part[locked] == 0.0).all() for part in parts.values())


def test_what_is_refused():
    states, residuals = measured(0.1, 0.1, False)
    for bad in (residuals[:-1], np.full((120, PANDA.nv), np.nan)):
        with pytest.raises(StateError, match='residuals = '):
            residual_parts(PANDA, states, bad, HAND)
