# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""J_G, J_D and S of [JR94] against their dense definitions over Pinocchio, and what they mean."""

import numpy as np
import pytest
from dense_hybrid import TOLERANCE, at_random_state, masked, real_robot
from random_robots import random_urdf
from robots import REAL_ROBOTS, TALOS
from samples import by_base, by_real_robot, difference, random_state, sample

from opspace_control import (
    ModelError,
    StateError,
    disturbance_jacobian,
    generalized_jacobian,
    hybrid_dynamics,
    hybrid_inertia,
)


def check(model, state, dense, frames):
    active, passive = dense.units
    rows = dense.oracle.row_units
    parts, J_D = hybrid_inertia(model, state), disturbance_jacobian(model, state)
    J_G = generalized_jacobian(model, state, frames)
    errors = {
        'S_aa': difference(parts.S_aa, dense.active_inertia, 1.0 / active, 1.0 / active),
        'S_ap': difference(parts.S_ap, dense.coupling, 1.0 / active, 1.0 / passive),
        'S_pp': difference(parts.S_pp, dense.passive_mobility, passive, passive),
        'J_D': difference(J_D, -dense.coupling.T, passive, 1.0 / active),
        'J_G': difference(J_G, dense.generalized_jacobian, rows, 1.0 / active),
    }
    assert max(errors.values()) < TOLERANCE, errors


@by_base
@by_real_robot
def test_matrices_of_real_robots(name, floating_base):
    for seed in range(2):
        model, state, dense = real_robot(name, floating_base, seed)
        check(model, state, dense, REAL_ROBOTS[name])


@by_base
@pytest.mark.parametrize('seed', range(8))
def test_multi_dof_joints_mixed_within(seed, floating_base):
    urdf = random_urdf(seed, n_joints=9, n_fixed=2, n_mimics=1)
    model = masked(urdf, floating_base, seed)
    frames = model.frame_names[-3:]
    check(model, *at_random_state(model, urdf, frames, seed), frames)


@by_base
@pytest.mark.parametrize('shares', [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)],
                         ids=['active', 'passive', 'locked'])
def test_all_joints_alike(shares, floating_base):
    model, state, dense = real_robot(TALOS, floating_base, 0, shares)
    check(model, state, dense, REAL_ROBOTS[TALOS])
    J_G = generalized_jacobian(model, state, REAL_ROBOTS[TALOS])
    assert J_G.shape == (12, model.active.sum())
    assert disturbance_jacobian(model, state).shape == (model.passive.sum(), model.active.sum())
    if model.active.all():
        np.testing.assert_allclose(J_G, model.jacobian(state, REAL_ROBOTS[TALOS]), atol=1e-14)


@by_base
def test_columns_are_what_one_joint_alone_does(floating_base):
    """(6.8) and (6.9) by their meaning: the difference that an acceleration makes."""
    model, state, _ = real_robot(TALOS, floating_base, 4)
    frames = REAL_ROBOTS[TALOS]
    a = np.random.default_rng(0).standard_normal(model.nv) * model.active
    moving, still = (hybrid_dynamics(model, state, x).acceleration for x in (a, 0.0 * a))
    induced = disturbance_jacobian(model, state) @ a[model.active]
    assert difference(induced, (moving - still)[model.passive]) < 1e-10
    reached = generalized_jacobian(model, state, frames) @ a[model.active]
    assert difference(reached, model.jacobian(state, frames) @ (moving - still)) < 1e-10


@by_base
def test_transposed_it_takes_wrenches_to_the_active_joints(floating_base):
    """A wrench on a frame asks J_Gᵀ of it of the motors, whatever else moves."""
    model, state, _ = real_robot(TALOS, floating_base, 5)
    frames = REAL_ROBOTS[TALOS]
    rng = np.random.default_rng(0)
    a, wrenches = rng.standard_normal(model.nv), rng.standard_normal((2, 6))
    pushed = hybrid_dynamics(model, state, a, external=dict(zip(frames, wrenches, strict=True)))
    asked = (hybrid_dynamics(model, state, a).torque - pushed.torque)[model.active]
    J_G = generalized_jacobian(model, state, frames)
    assert difference(asked, J_G.T @ wrenches.ravel()) < 1e-10


def test_one_name_alone_and_a_frame_that_never_moves():
    model = sample('humanoid').model
    state = random_state(model, 0)
    np.testing.assert_array_equal(generalized_jacobian(model, state, 'l_hand'),
                                  generalized_jacobian(model, state, ['l_hand']))
    assert not generalized_jacobian(model, state, model.root_link).any()


def test_what_is_refused():
    model = sample('planar_3r').model
    other = random_state(sample('dual_arm').model, 0)
    with pytest.raises(ModelError, match="no link 'nose'"):
        generalized_jacobian(model, random_state(model, 0), ['nose'])
    for function in (hybrid_inertia, disturbance_jacobian,
                     lambda model, state: generalized_jacobian(model, state, 'hand')):
        with pytest.raises(StateError, match='does not belong'):
            function(model, other)
