# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Recursive Newton-Euler: textbook arms in closed form, and what superposition must give."""

import numpy as np
import pytest
from robots import joint, link, robot
from samples import by_sample, difference, random_state, sample

from opspace_control import RobotModel, RobotState

# Turns x towards the vertical, so that angles are counted as in the textbook's plane.
UPWARDS = '<axis xyz="0 -1 0"/>'


def point_mass(name, mass, distance):
    return (f'<link name="{name}"><inertial><origin xyz="{distance} 0 0"/><mass value="{mass}"/>'
            '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>')


def two_link_arm(m1, m2, l1, l2):
    return RobotModel.from_urdf(robot(
        link('base'), point_mass('upper', m1, l1), point_mass('fore', m2, l2),
        joint('shoulder', 'base', 'upper', 'continuous', UPWARDS),
        joint('elbow', 'upper', 'fore', 'continuous',
              f'<origin xyz="{l1} 0 0"/>{UPWARDS}')))


def test_two_link_arm_of_point_masses():
    """Craig, Introduction to Robotics, 2nd edition, (6.58): [CK00]'s reference [3]."""
    m1, m2, l1, l2, g = 3.0, 2.0, 0.7, 0.4, 9.81
    model = two_link_arm(m1, m2, l1, l2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        (q1, q2), (v1, v2), (a1, a2) = rng.uniform(-3.0, 3.0, (3, 2))
        c1, c2, s2, c12 = np.cos(q1), np.cos(q2), np.sin(q2), np.cos(q1 + q2)
        expected = [
            m2 * l2**2 * (a1 + a2) + m2 * l1 * l2 * c2 * (2 * a1 + a2) + (m1 + m2) * l1**2 * a1
            - m2 * l1 * l2 * s2 * v2**2 - 2 * m2 * l1 * l2 * s2 * v1 * v2
            + m2 * l2 * g * c12 + (m1 + m2) * l1 * g * c1,
            m2 * l1 * l2 * c2 * a1 + m2 * l1 * l2 * s2 * v1**2 + m2 * l2 * g * c12
            + m2 * l2**2 * (a1 + a2)]
        state = RobotState(model, [q1, q2], [v1, v2])
        np.testing.assert_allclose(model.inverse_dynamics(state, [a1, a2]), expected, rtol=1e-12)


def test_bead_on_a_turning_rod():
    """Centrifugal and Coriolis force: r̈ = r θ̇², torque m (r² θ̈ + 2 r ṙ θ̇)."""
    m, r, dr, dtheta = 2.0, 0.6, 0.3, 1.5
    model = RobotModel.from_urdf(robot(
        link('base'), link('rod', mass=None), point_mass('bead', m, 0.0),
        joint('turn', 'base', 'rod', 'continuous', '<axis xyz="0 0 1"/>'),
        joint('slide', 'rod', 'bead', 'prismatic', '<axis xyz="1 0 0"/>'
              '<limit lower="0" upper="1" effort="1" velocity="1"/>')))
    state = RobotState(model, [0.9, r], [dtheta, dr])
    np.testing.assert_allclose(model.bias_force(state), [2 * m * r * dr * dtheta,
                                                         -m * r * dtheta**2], rtol=1e-12)
    np.testing.assert_allclose(model.inverse_dynamics(state, [0.0, r * dtheta**2])[1], 0.0,
                               atol=1e-12)


def test_weight_of_a_floating_body():
    model = RobotModel.from_urdf(
        robot(link('body', 4.0, inner='').replace('<mass', '<origin xyz="0.5 0 0"/><mass')),
        floating_base=True)
    state = RobotState(model, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0], np.zeros(6))
    np.testing.assert_allclose(model.gravity(state), [0, 0, 4 * 9.81, 0, -4 * 9.81 * 0.5, 0],
                               atol=1e-12)


@by_sample
def test_terms_add_up(name, floating_base):
    model = sample(name, floating_base).model
    state = random_state(model, 1)
    a = np.random.default_rng(0).standard_normal(model.nv)
    terms = model.mass_matrix(state) @ a + model.bias_force(state) + model.gravity(state)
    assert difference(model.inverse_dynamics(state, a), terms) < 1e-13


@by_sample
def test_bias_force_is_quadratic_in_the_velocity(name, floating_base):
    model = sample(name, floating_base).model
    state = random_state(model, 2)
    faster = RobotState(model, state.q, -3.0 * state.v)
    resting = RobotState(model, state.q, np.zeros(model.nv))
    assert difference(model.bias_force(faster), 9.0 * model.bias_force(state)) < 1e-13
    assert not model.bias_force(resting).any()


@pytest.mark.parametrize('name', ['talos', 'tree'])
def test_weight_of_a_floating_robot_is_felt_at_its_base_alone(name):
    model = sample(name, True).model
    weight = model.gravity(random_state(model, 3))[:3]
    mass = model.nodes['mass'].sum()
    np.testing.assert_allclose(weight, [0.0, 0.0, 9.81 * mass], rtol=1e-12, atol=1e-10)
