# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The regressor against the inverse dynamics that it writes linearly, and against Pinocchio's."""

import numpy as np
import pytest
from robots import robot_file
from samples import by_sample, difference, random_state, sample
from test_model_against_pinocchio import pinocchio_model, pinocchio_position

from opspace_control import RobotModel, RobotState, StateError
from opspace_control.identification.inertia import (
    body_of_parameters,
    moved_parameters,
    parameters_at,
    parameters_of_body,
    parameters_of_pseudo_inertia,
    pseudo_inertia,
    upper_factor,
)
from opspace_control.identification.regressor import (
    inertial_parameters,
    inertial_regressor,
    inverse_dynamics,
    moving_bodies,
)


def motion(model, count=5):
    """Return random positions, velocities and accelerations of some samples."""
    states = [random_state(model, seed) for seed in range(count)]
    a = np.random.default_rng(9).standard_normal((count, model.nv))
    return np.array([state.q for state in states]), np.array([state.v for state in states]), a


def expected_forces(model, q, v, a):
    return np.array([model.inverse_dynamics(RobotState(model, *pair), row)
                     for *pair, row in zip(q, v, a, strict=True)])


def assert_linear(model):
    q, v, a = motion(model)
    bodies, armature = moving_bodies(model), np.zeros(model.nv)
    tau = inertial_regressor(model, q, v, a) @ inertial_parameters(model.nodes, bodies)
    driven = model.nodes['v_index'] >= 0
    armature[model.nodes['v_index'][driven]] = model.nodes['armature'][driven]
    expected = expected_forces(model, q, v, a)
    assert difference(tau + armature * a, expected) < 1e-12
    assert difference(inverse_dynamics(model, model.nodes, q, v, a), expected) < 1e-12


@by_sample
def test_it_is_the_inverse_dynamics(name, floating_base):
    assert_linear(sample(name, floating_base).model)


@pytest.mark.parametrize('file', ['panda.urdf', 'ur5_robot.urdf', 'tiago_pro.urdf'])
def test_it_is_the_inverse_dynamics_of_real_arms(file):
    assert_linear(RobotModel.from_urdf_file(robot_file(file)))


@pytest.mark.parametrize('file', ['panda.urdf', 'ur5_robot.urdf'])
def test_it_is_that_of_pinocchio(file):
    pin = pytest.importorskip('pinocchio')
    model = RobotModel.from_urdf_file(robot_file(file))
    theirs = pinocchio_model(robot_file(file), False)
    data = theirs.createData()
    leading = [k for k, name in enumerate(theirs.names[1:]) if name not in model.mimics]
    q, v, a = motion(model)
    ours = inertial_regressor(model, q, v, a, range(len(model.nodes)))
    theirs.gravity.linear = np.array([0.0, 0.0, -9.81])
    for k in range(len(q)):
        full = np.zeros((2, theirs.nv))
        full[:, leading] = v[k], a[k]
        expected = pin.computeJointTorqueRegressor(
            theirs, data, pinocchio_position(theirs, model, q[k]), *full)
        assert difference(ours[k], expected[leading]) < 1e-12


def test_a_pseudo_inertia_has_the_parameters_of_its_body():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((3, 3))
    body = 2.0, rng.standard_normal(3), A @ A.T + 5.0 * np.eye(3)
    theta = parameters_of_body(*body)
    for mine, given in zip(body_of_parameters(theta), body, strict=True):
        np.testing.assert_allclose(mine, given, atol=1e-12)
    np.testing.assert_allclose(parameters_of_pseudo_inertia(pseudo_inertia(theta)), theta)
    # Seen from another frame: the same body about the same centre.
    turn, way = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal(3)
    turn *= np.linalg.det(turn)
    mass, center, inertia = body_of_parameters(moved_parameters(turn, way) @ theta)
    np.testing.assert_allclose(mass, 2.0)
    np.testing.assert_allclose(center, way + turn @ body[1])
    np.testing.assert_allclose(inertia, turn @ body[2] @ turn.T)


def test_all_coordinates_are_those_of_a_possible_body():
    theta = parameters_of_body(2.0, [0.1, 0.0, 0.3], np.diag([0.02, 0.03, 0.04]))
    U = upper_factor(theta)
    np.testing.assert_allclose(parameters_at(U, np.zeros(10))[0], theta, atol=1e-15)
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = rng.standard_normal(10)
        found, jacobian = parameters_at(U, x)
        assert np.linalg.eigvalsh(pseudo_inertia(found))[0] > 0.0
        mass, _, inertia = body_of_parameters(found)
        small, middle, large = np.linalg.eigvalsh(inertia)
        assert mass > 0.0
        assert small + middle > large
        for k, step in enumerate(1e-6 * np.eye(10)):
            slope = (parameters_at(U, x + step)[0] - parameters_at(U, x - step)[0]) / 2e-6
            np.testing.assert_allclose(jacobian[:, k], slope, atol=1e-7)


def test_a_point_mass_gets_a_little_extent():
    U = upper_factor(parameters_of_body(2.0, [0.1, 0.0, 0.3], np.zeros((3, 3))))
    mass, center, inertia = body_of_parameters(parameters_at(U, np.zeros(10))[0])
    assert mass == pytest.approx(2.0)
    np.testing.assert_allclose(center, [0.1, 0.0, 0.3], atol=1e-15)
    np.testing.assert_allclose(inertia, 4e-6 * np.eye(3), atol=1e-15)


def test_what_is_refused():
    model = sample('planar_3r').model
    q, v, a = motion(model)
    for wrong in ((q[:, :2], v, a), (q[:2], v, a), (q, v * np.nan, a)):
        with pytest.raises(StateError):
            inertial_regressor(model, *wrong)
