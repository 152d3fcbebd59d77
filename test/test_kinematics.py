# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Poses, Jacobians and bias accelerations against finite differences, and far from the world."""

import numpy as np
import pytest
from robots import joint, link, robot
from samples import by_sample, difference, random_state, sample

from opspace_control import RobotModel, RobotState, operational_space
from opspace_control.spatial.rotations import vector_from_matrix

STEP = 1e-6  # s; a central difference is then right to 1e-9 or so


def twist(before, after, duration):
    """Return the mean velocity [v; ω] (6,) between two poses (4, 4), world axes."""
    turn = vector_from_matrix(after[:3, :3] @ before[:3, :3].T)
    return np.concatenate([after[:3, 3] - before[:3, 3], turn]) / duration


def poses(model, q, frames):
    found = model.forward_kinematics(RobotState(model, q, np.zeros(model.nv)), frames)
    return [found[frame] for frame in frames]


@by_sample
def test_jacobian_is_the_derivative_of_the_poses(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 1)
    J = model.jacobian(state, frames)
    for k in range(model.nv):
        v = np.zeros(model.nv)
        v[k] = 1.0
        before = poses(model, model.integrate(state.q, v, -STEP), frames)
        after = poses(model, model.integrate(state.q, v, STEP), frames)
        numeric = [twist(a, b, 2.0 * STEP) for a, b in zip(before, after, strict=True)]
        np.testing.assert_allclose(J[:, k], np.concatenate(numeric), atol=3e-9)


@by_sample
def test_bias_acceleration_is_the_derivative_of_the_jacobian_times_v(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 2)
    before, after = (
        model.jacobian(RobotState(model, model.integrate(state.q, state.v, t), state.v), frames)
        for t in (-STEP, STEP))
    numeric = (after - before) / (2.0 * STEP) @ state.v
    assert difference(model.bias_acceleration(state, frames), numeric) < 1e-7


@by_sample
def test_poses_are_rigid_and_complete(name, floating_base):
    model = sample(name, floating_base).model
    found = model.forward_kinematics(random_state(model, 3))
    assert tuple(found) == model.frame_names
    for pose in found.values():
        np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-14)
        assert np.linalg.det(pose[:3, :3]) > 0.0
        assert pose[3].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_base_pose_is_the_root_links():
    model = sample('tree', True).model
    state = random_state(model, 4)
    pose = model.forward_kinematics(state)[model.root_link]
    np.testing.assert_allclose(pose[:3, 3], state.q[:3], atol=1e-15)
    J = model.jacobian(state, [model.root_link])
    np.testing.assert_allclose(J[:, :6], np.eye(6), atol=1e-15)
    assert not J[:, 6:].any()
    np.testing.assert_allclose(model.bias_acceleration(state, [model.root_link]), 0.0, atol=1e-15)


def test_root_link_of_a_fixed_base_does_not_move():
    model = sample('talos').model
    state = random_state(model, 5)
    np.testing.assert_array_equal(model.forward_kinematics(state)[model.root_link], np.eye(4))
    assert not model.jacobian(state, [model.root_link]).any()
    assert not model.bias_acceleration(state, [model.root_link]).any()


def test_link_welded_to_a_fixed_root_keeps_its_place():
    weld = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    model = RobotModel.from_urdf(robot(
        link('base'), link('post'), link('arm'), joint('weld', 'base', 'post', 'fixed', weld),
        joint('swing', 'post', 'arm', 'continuous')))
    state = random_state(model, 6)
    pose = model.forward_kinematics(state, 'post')['post']
    np.testing.assert_allclose(pose, [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]],
                               atol=1e-15)
    assert not model.jacobian(state, 'post').any()


def test_follower_moves_by_its_leader_but_carries_no_velocity():
    # The documented meaning of mimic: in place, but as if welded there.
    model = RobotModel.from_urdf(robot(
        link('base'), link('a'), link('b'),
        joint('lead', 'base', 'a', 'continuous', '<axis xyz="0 0 1"/>'),
        joint('follow', 'base', 'b', 'continuous',
              '<axis xyz="0 0 1"/><mimic joint="lead" multiplier="-2" offset="0.5"/>')))
    state = RobotState(model, [0.3], [1.0])
    pose = model.forward_kinematics(state)['b']
    np.testing.assert_allclose(pose[:2, 0], [np.cos(0.5 - 0.6), np.sin(0.5 - 0.6)], atol=1e-15)
    assert not model.jacobian(state, ['b']).any()


@pytest.mark.parametrize('offset', [1e4, 1e7])
def test_robot_far_from_the_world_keeps_its_precision(offset):
    """All that is not a position is the same to the last bit, 10 km away as at the origin."""
    _, model, frames = sample('talos', True)
    near = random_state(model, 7)
    q = near.q.copy()
    q[:3] = 0.0
    near = RobotState(model, q, near.v)
    q[:3] = offset, -offset, offset
    far = RobotState(model, q, near.v)
    torque = np.random.default_rng(0).standard_normal(model.nv)
    for function in (model.mass_matrix, model.bias_force, model.gravity,
                     lambda state: model.jacobian(state, frames),
                     lambda state: model.bias_acceleration(state, frames),
                     lambda state: model.forward_dynamics(state, torque),
                     lambda state: model.inverse_dynamics(state, torque),
                     lambda state: operational_space(model, state, frames).inverse_inertia,
                     lambda state: operational_space(model, state, frames).coriolis):
        np.testing.assert_array_equal(function(far), function(near))
    here, there = poses(model, near.q, frames), poses(model, far.q, frames)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(a[:3, :3], b[:3, :3])
        np.testing.assert_allclose(b[:3, 3] - far.q[:3], a[:3, 3], atol=1e-15 * offset)


def test_the_same_frame_twice_and_none_at_all():
    _, model, frames = sample('dual_arm')
    state = random_state(model, 8)
    once = model.jacobian(state, frames[:1])
    np.testing.assert_array_equal(model.jacobian(state, frames[:1] * 2), np.vstack([once, once]))
    np.testing.assert_array_equal(model.jacobian(state, frames[0]), once)
    assert model.jacobian(state, []).shape == (0, model.nv)
    assert model.bias_acceleration(state, []).shape == (0,)
    assert model.forward_kinematics(state, []) == {}
