# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The recursions as [CK00] prints them, against the compiled ones, and where the print misleads."""

import numpy as np
import printed_tables as tables
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import robots
from samples import by_sample, by_spatial_sample, difference, random_state, sample

from opspace_control import RobotModel, operational_space

TOLERANCE = 1e-10


def assert_tables_agree(model, state, frames):
    osd = operational_space(model, state, frames)
    acceleration = np.random.default_rng(0).standard_normal(model.nv)
    assert difference(tables.jacobian(model, state, frames), osd.jacobian) < TOLERANCE
    assert difference(tables.bias_acceleration(model, state, frames),
                      osd.bias_acceleration) < TOLERANCE
    assert difference(tables.inverse_inertia(model, state, frames),
                      osd.inverse_inertia) < TOLERANCE
    assert difference(tables.newton_euler(model, state, acceleration),
                      model.inverse_dynamics(state, acceleration)) < TOLERANCE


@by_sample
def test_tables_agree_with_the_compiled_recursions(name, floating_base):
    _, model, frames = sample(name, floating_base)
    assert_tables_agree(model, random_state(model, 1), frames)


@by_spatial_sample
def test_inertia_is_the_inverse_of_the_whole(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 2)
    assert difference(tables.inertia(model, state, frames),
                      operational_space(model, state, frames).inertia) < TOLERANCE


def test_locked_joints_have_no_column():
    _, model, frames = sample('dual_arm', locked_joints=('torso_pitch', 'l_elbow'))
    assert_tables_agree(model, random_state(model, 3), frames)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(robots(max_joints=20), st.booleans(), st.integers(0, 2**32 - 1), st.data())
def test_tables_agree_on_random_robots(urdf, floating_base, seed, data):
    model = RobotModel.from_urdf(urdf, floating_base=floating_base)
    frames = data.draw(st.lists(st.sampled_from(model.frame_names), min_size=1, max_size=3))
    assert_tables_agree(model, random_state(model, seed), frames)


@pytest.mark.parametrize('frames', [('chest', 'l_hand'), ('l_hand', 'chest'), ('l_palm', 'l_hand'),
                                    ('feet', 'r_hand'), ('l_hand', 'l_hand')])
def test_points_on_one_path_couple_through_the_inner_link(frames):
    # Step 4 where one link is the nearest common ancestor itself, in either order.
    _, model, _ = sample('humanoid')
    assert_tables_agree(model, random_state(model, 4), frames)


def test_the_print_below_28_lacks_the_bias_of_the_point_itself():
    """``h_e = Xᵀ h_i``, taken literally, is wrong by ``ω × (ω × r)``."""
    _, model, frames = sample('dual_arm')
    frames = frames[:1]
    state = random_state(model, 5)
    links, number = tables.read_links(model, state)
    v, c = tables.spatial_velocities(links, state.v)
    h = {tables.ROOT: np.zeros(6)}
    for i, link in enumerate(links):
        h[i] = link.X.T @ h[link.h] + c[i]
    (i, X), = tables.operational_points(model, frames, links, number)
    literal = X.T @ h[i]

    true = model.bias_acceleration(state, frames)
    omega = (X.T @ v[i])[3:]
    frame = model.frames[model.frame_index(frames[0])]
    r = links[i].orientation @ frame['position']
    assert np.linalg.norm(r) > 0.01
    np.testing.assert_allclose((true - literal)[:3], np.cross(omega, np.cross(omega, r)),
                               atol=1e-12)
    np.testing.assert_allclose((true - literal)[3:], 0.0, atol=1e-12)


def test_19_makes_the_acceleration_of_18_the_classical_one():
    """Without its ``ω X v`` terms (18) gives the spatial acceleration: an error of ``ω × v``."""
    model = sample('dual_arm').model
    state = random_state(model, 6)
    links, _ = tables.read_links(model, state)
    v, c = tables.spatial_velocities(links, state.v)
    classical, spatial = {tables.ROOT: np.zeros(6)}, {tables.ROOT: np.zeros(6)}
    for i, link in enumerate(links):
        classical[i] = link.X.T @ classical[link.h] + c[i]
        spatial[i] = (link.X.T @ spatial[link.h]
                      + tables.cross(v[i]) @ link.S @ state.v[link.dofs])
        np.testing.assert_allclose(
            classical[i] - spatial[i], tables.cross(tables.angular(v[i])) @ v[i], atol=1e-12)


def test_branches_at_the_root_do_not_feel_each_other():
    _, model, _ = sample('talos')
    state = random_state(model, 7)
    frames = ('left_sole_link', 'gripper_left_base_link')
    assert not tables.inverse_inertia(model, state, frames)[:6, 6:].any()
    assert not operational_space(model, state, frames).inverse_inertia[:6, 6:].any()
