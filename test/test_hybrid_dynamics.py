# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Hybrid dynamics against (4.2)-(4.5) of [JR94], dense over Pinocchio, for any mix of joints."""

import numpy as np
import printed_tables as tables
import pytest
from dense_hybrid import TOLERANCE, at_random_state, masked, real_robot
from oracles import pinocchio_forward_dynamics
from random_robots import random_urdf
from robots import REAL_ROBOTS, TALOS, chain, robot_file
from samples import by_base, by_real_robot, difference, random_state, sample

from opspace_control import ModelError, RobotModel, RobotState, StateError, hybrid_dynamics
from opspace_control.dynamics.hybrid_dynamics import responding_nodes

MASKS = range(3)


def inputs(model, dense, seed):
    """Return accelerations, joint forces and wrenches that move light and heavy joints alike."""
    rng = np.random.default_rng(seed)
    units = dense.oracle.joint_units
    wrenches = rng.standard_normal(dense.oracle.jacobian.shape[0]) / dense.oracle.row_units
    return (rng.standard_normal(model.nv) * units, rng.standard_normal(model.nv) / units,
            wrenches)


def errors(model, state, dense, frames, seed):
    """Return how far accelerations and forces are from the dense ones, in natural units."""
    acceleration, torque, wrenches = inputs(model, dense, seed)
    motion = hybrid_dynamics(model, state, acceleration, torque,
                             dict(zip(frames, wrenches.reshape(-1, 6), strict=True)))
    a, tau = dense.motion(acceleration, torque, wrenches)
    units = dense.oracle.joint_units
    return difference(motion.acceleration, a, units), difference(motion.torque, tau, 1.0 / units)


@by_base
@by_real_robot
def test_any_mix_of_joints_of_real_robots(name, floating_base):
    for seed in MASKS:
        model, state, dense = real_robot(name, floating_base, seed)
        assert max(errors(model, state, dense, REAL_ROBOTS[name], seed)) < TOLERANCE


@by_base
@pytest.mark.parametrize('seed', range(12))
def test_multi_dof_joints_mixed_within(seed, floating_base):
    """Planar and floating joints inside the tree, each of their dofs of a status of its own."""
    urdf = random_urdf(seed, n_joints=9, n_fixed=2, n_mimics=1)
    model = masked(urdf, floating_base, seed)
    frames = model.frame_names[-3:]
    state, dense = at_random_state(model, urdf, frames, seed)
    assert max(errors(model, state, dense, frames, seed)) < 1e-10


@by_base
@by_real_robot
def test_all_active_is_recursive_newton_euler(name, floating_base):
    """Held against [CK00] Table 2 as printed, in link coordinates, and Pinocchio's."""
    model, state, dense = real_robot(name, floating_base, 0, shares=(1.0, 0.0, 0.0))
    acceleration, torque, wrenches = inputs(model, dense, 0)
    motion = hybrid_dynamics(model, state, acceleration, torque)
    np.testing.assert_array_equal(motion.acceleration, acceleration)
    units = 1.0 / dense.oracle.joint_units
    printed = tables.newton_euler(model, state, acceleration)
    assert difference(motion.torque, printed, units) < 1e-12
    theirs = dense.motion(acceleration, torque, 0.0 * wrenches)[1]
    assert difference(motion.torque, theirs, units) < 1e-12
    np.testing.assert_array_equal(motion.torque, model.inverse_dynamics(state, acceleration))


@by_base
@by_real_robot
def test_all_passive_is_the_articulated_body_algorithm(name, floating_base):
    """Held against Pinocchio's, as far as either is exact: the forces of the motion are met."""
    model, state, dense = real_robot(name, floating_base, 0, shares=(0.0, 1.0, 0.0))
    acceleration, torque, _ = inputs(model, dense, 0)
    motion = hybrid_dynamics(model, state, acceleration, torque)
    units = dense.oracle.joint_units
    theirs = pinocchio_forward_dynamics(model, robot_file(name).read_text(), state, torque)
    assert difference(motion.acceleration, theirs, units) < max(1e-12, dense.rounding)
    met = dense.oracle.A @ motion.acceleration + dense.oracle.b + dense.oracle.g
    assert difference(met, torque, 1.0 / units) < max(1e-12, dense.rounding)
    np.testing.assert_array_equal(motion.torque, torque)
    np.testing.assert_array_equal(motion.acceleration, model.forward_dynamics(state, torque))


@by_base
def test_only_what_is_known_is_read(floating_base):
    """No accelerations of passive or locked joints, no forces but those of passive ones."""
    model, state, dense = real_robot(TALOS, floating_base, 1)
    acceleration, torque, _ = inputs(model, dense, 0)
    motion = hybrid_dynamics(model, state, acceleration, torque)
    other = hybrid_dynamics(model, state, np.where(model.active, acceleration, 1e3),
                            np.where(model.passive, torque, -1e6))
    np.testing.assert_array_equal(other.acceleration, motion.acceleration)
    np.testing.assert_array_equal(other.torque, motion.torque)
    np.testing.assert_array_equal(motion.acceleration[model.active], acceleration[model.active])
    np.testing.assert_array_equal(motion.torque[model.passive], torque[model.passive])
    assert not motion.acceleration[model.locked].any()
    assert motion.torque[model.locked].any()


def test_passive_forces_are_zero_unless_given():
    model, state, dense = real_robot(TALOS, True, 2)
    acceleration = inputs(model, dense, 0)[0]
    motion = hybrid_dynamics(model, state, acceleration)
    assert not motion.torque[model.passive].any()
    np.testing.assert_array_equal(
        motion.torque, hybrid_dynamics(model, state, acceleration, np.zeros(model.nv)).torque)


def test_gravity_can_be_another():
    """A robot that floats in orbit: nothing falls."""
    model = RobotModel.from_urdf(sample('humanoid').urdf, floating_base=True,
                                 passive_joints=['base'])
    state = RobotState(model, random_state(model, 0).q, np.zeros(model.nv))
    still = hybrid_dynamics(model, state, np.zeros(model.nv), gravity=np.zeros(3))
    np.testing.assert_allclose(still.acceleration, 0.0, atol=1e-12)
    np.testing.assert_allclose(still.torque, 0.0, atol=1e-12)
    falling = hybrid_dynamics(model, state, np.zeros(model.nv), gravity=[3.0, 0.0, -1.0])
    np.testing.assert_allclose(falling.acceleration[:6], [3.0, 0.0, -1.0, 0.0, 0.0, 0.0],
                               atol=1e-12)
    np.testing.assert_allclose(falling.torque, 0.0, atol=1e-10)


def test_far_from_the_origin_of_the_world():
    """Moments are about the root link: 10 km away the numbers are the same."""
    model, state, dense = real_robot(TALOS, True, 3)
    acceleration, torque, _ = inputs(model, dense, 0)
    here = hybrid_dynamics(model, state, acceleration, torque)
    q = state.q.copy()
    q[:3] += [1e4, -1e4, 1e4]
    there = hybrid_dynamics(model, RobotState(model, q, state.v), acceleration, torque)
    np.testing.assert_array_equal(there.acceleration, here.acceleration)
    np.testing.assert_array_equal(there.torque, here.torque)


@pytest.mark.parametrize('passive', [0.1, 0.5, 0.9])
def test_long_robots(passive):
    """A tree of 1000 joints: what passive joints are induced to do meets their forces."""
    urdf = random_urdf(seed=3, n_joints=1000, joint_types=('revolute', 'continuous'), branching=0.3)
    model = masked(urdf, False, 0, (0.95 - passive, passive, 0.05))
    rng = np.random.default_rng(0)
    state = RobotState(model, rng.uniform(-0.3, 0.3, model.nq), np.zeros(model.nv))
    torque = rng.standard_normal(model.nv)
    motion = hybrid_dynamics(model, state, rng.standard_normal(model.nv), torque)
    met = model.inverse_dynamics(state, motion.acceleration)
    assert difference(met, motion.torque) < 1e-9


def test_bodies_that_yield_are_those_beyond_passive_joints():
    model = RobotModel.from_urdf(chain('revolute', 'planar', 'revolute', 'revolute', inner=(
        '<limit lower="-1" upper="1" effort="1" velocity="1"/>')), passive_joints=['j2/y'])
    assert responding_nodes(model.nodes).tolist() == [False, False, True, True, True, True]
    assert not responding_nodes(sample('talos', True).model.nodes).any()


@pytest.mark.parametrize(('arguments', 'error', 'message'), [
    ({'acceleration': np.zeros(2)}, StateError, 'acceleration has shape'),
    ({'torque': [np.nan, 0.0, 0.0]}, StateError, 'torque of joint'),
    ({'external': {'hand': [1.0, 2.0]}}, StateError, "The wrench on 'hand' = .*Give 6 numbers"),
    ({'external': {'hand': [np.inf] * 6}}, StateError, "The wrench on 'hand' = .*Give 6 numbers"),
    ({'external': {'nose': np.zeros(6)}}, ModelError, "no link 'nose'"),
    ({'gravity': [0.0, 'down', 0.0]}, StateError, 'Gravity = .*Give 3 numbers'),
])
def test_what_is_refused(arguments, error, message):
    model = sample('planar_3r').model
    with pytest.raises(error, match=message):
        hybrid_dynamics(model, random_state(model, 0),
                        **{'acceleration': np.zeros(model.nv), **arguments})


def test_state_of_another_robot():
    model = sample('planar_3r').model
    with pytest.raises(StateError, match='does not belong'):
        hybrid_dynamics(model, random_state(sample('dual_arm').model, 0), np.zeros(model.nv))
