# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: the inverse of inverse dynamics, brakes, energy, and robots of any size."""

import numpy as np
import pytest
from random_robots import SCALAR_TYPES, random_urdf
from samples import by_sample, difference, random_state, sample

from opspace_control import RobotModel, RobotState, operational_space

GRAVITY = 9.81


def random_torque(model, state, seed=0):
    """Return joint forces that move light joints and heavy ones alike."""
    scale = np.sqrt(model.mass_matrix(state).diagonal())
    return np.random.default_rng(seed).standard_normal(model.nv) * scale


def potential_energy(model, state):
    """Return the potential energy in J, from the frames and where masses sit in their bodies."""
    energy, weighed = 0.0, set()
    for name, pose in model.forward_kinematics(state).items():
        frame = model.frames[model.frame_index(name)]
        node = frame['node']
        if node < 0 or node in weighed:
            continue
        weighed.add(node)
        R = pose[:3, :3] @ frame['rotation'].T
        p = pose[:3, 3] - R @ frame['position']
        body = model.nodes[node]
        energy += GRAVITY * body['mass'] * (p + R @ body['center_of_mass'])[2]
    return energy


def energy(model, q, v):
    state = RobotState(model, q, v)
    return 0.5 * v @ model.mass_matrix(state) @ v + potential_energy(model, state)


@by_sample
def test_forward_undoes_inverse(name, floating_base):
    model = sample(name, floating_base).model
    state = random_state(model, 1)
    a = np.random.default_rng(0).standard_normal(model.nv)
    torque = model.inverse_dynamics(state, a)
    assert difference(model.forward_dynamics(state, torque), a) < 1e-10


@by_sample
def test_inverse_undoes_forward(name, floating_base):
    model = sample(name, floating_base).model
    state = random_state(model, 2)
    torque = random_torque(model, state)
    a = model.forward_dynamics(state, torque)
    assert difference(model.inverse_dynamics(state, a), torque) < 1e-10


@by_sample
def test_power_is_what_energy_gains(name, floating_base):
    """d/dt (kinetic + potential) = τᵀ v along the motion that the joint forces make."""
    model = sample(name, floating_base).model
    state = random_state(model, 3)
    torque = model.inverse_dynamics(state, np.random.default_rng(0).standard_normal(model.nv))
    a = model.forward_dynamics(state, torque)
    h = 1e-5
    before, after = (
        energy(model, model.integrate(state.q, state.v + 0.5 * t * a, t), state.v + t * a)
        for t in (-h, h))
    power = torque @ state.v
    assert (after - before) / (2.0 * h) == pytest.approx(power, abs=1e-7 * abs(torque).max())


@pytest.mark.parametrize('floating_base', [False, True], ids=['fixed', 'floating'])
@pytest.mark.parametrize('locked', [('torso_pitch',), ('torso_yaw', 'l_elbow', 'r_wrist_roll'),
                                    ('l_shoulder_pitch', 'l_shoulder_roll', 'l_shoulder_yaw')])
def test_locked_joints_do_not_move_and_carry(locked, floating_base):
    """The free joints move as if their part of A, b and g were the whole robot's."""
    _, model, frames = sample('dual_arm', floating_base, locked)
    state = random_state(model, 4)
    torque = random_torque(model, state)
    free = ~model.locked
    A, bias = model.mass_matrix(state), model.bias_force(state) + model.gravity(state)
    A_ff = A[np.ix_(free, free)]
    a = model.forward_dynamics(state, torque)
    assert not a[model.locked].any()
    assert difference(a[free], np.linalg.solve(A_ff, (torque - bias)[free])) < 1e-10
    # What the brakes must bear follows from the motion.
    np.testing.assert_allclose(model.inverse_dynamics(state, a)[free], torque[free], rtol=1e-9)

    osd = operational_space(model, state, frames)
    J_f = osd.jacobian[:, free]
    X_f = np.linalg.solve(A_ff, J_f.T)
    assert difference(osd.inverse_inertia, J_f @ X_f) < 1e-10
    J_bar = osd.dynamically_consistent_inverse
    assert not J_bar[model.locked].any()
    assert difference(J_bar[free], X_f @ osd.inertia) < 1e-10


def test_torque_of_a_brake_is_ignored():
    model = sample('dual_arm', locked_joints=('torso_pitch',)).model
    state = random_state(model, 5)
    torque = random_torque(model, state)
    a = model.forward_dynamics(state, torque)
    torque[model.dof_index('torso_pitch')] = 1e6
    np.testing.assert_array_equal(model.forward_dynamics(state, torque), a)


def test_free_body_falls_and_keeps_its_angular_momentum():
    model = RobotModel.from_urdf(random_urdf(seed=0, n_joints=0), floating_base=True)
    state = random_state(model, 6)
    a = model.forward_dynamics(state, np.zeros(6))
    body = model.nodes[5]
    R = model.forward_kinematics(state, 'link_0')['link_0'][:3, :3]
    omega, alpha, r = state.v[3:], a[3:], R @ body['center_of_mass']
    center = a[:3] + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
    np.testing.assert_allclose(center, [0.0, 0.0, -GRAVITY], atol=1e-10)
    inertia = R @ body['inertia'] @ R.T
    np.testing.assert_allclose(inertia @ alpha + np.cross(omega, inertia @ omega), 0.0, atol=1e-12)


@pytest.mark.parametrize(('n_joints', 'branching'), [(400, 0.0), (1000, 0.3), (1000, 1.0)])
def test_large_robots(n_joints, branching):
    """A chain of 400 joints and trees of 1000."""
    model = RobotModel.from_urdf(
        random_urdf(seed=7, n_joints=n_joints, joint_types=SCALAR_TYPES, branching=branching))
    assert model.nv == n_joints
    rng = np.random.default_rng(0)
    state = RobotState(model, rng.uniform(-0.3, 0.3, model.nq), np.zeros(model.nv))
    a = rng.standard_normal(model.nv)
    torque = model.inverse_dynamics(state, a)
    # Rounding grows with the length of the chain: the joint forces are met to 1e-9 of the largest.
    found = model.forward_dynamics(state, torque)
    assert difference(model.inverse_dynamics(state, found), torque) < 1e-9
    osd = operational_space(model, state, [model.frame_names[-1], model.frame_names[1]])
    assert np.isfinite(osd.inertia).all()
    assert difference(osd.jacobian @ osd.dynamically_consistent_inverse @ osd.jacobian,
                      osd.jacobian) < 1e-6
