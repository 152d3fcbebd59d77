# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The operational space of robots with passive joints: dense definitions, and its own equation."""

import numpy as np
import pytest
from dense_hybrid import TOLERANCE, at_random_state, masked, real_robot
from robots import REAL_ROBOTS, TALOS, robot_file
from samples import by_base, by_real_robot, difference, sample

from opspace_control import RobotModel, generalized_jacobian, operational_space

# Few passive joints: the points keep all their directions on robots with joints to spare.
FEW = (0.8, 0.12, 0.08)
HUMANOIDS = (TALOS, 'icub.urdf', 'g1_29dof_with_hand_rev_1_0.urdf', 'human.urdf', 'centauro.urdf')


@by_base
@by_real_robot
@pytest.mark.parametrize('shares', [(0.5, 0.35, 0.15), FEW], ids=['many', 'few'])
def test_fields_are_the_dense_ones(name, floating_base, shares):
    frames = REAL_ROBOTS[name]
    model, state, dense = real_robot(name, floating_base, 1, shares)
    osd = operational_space(model, state, frames)
    rows, joints = dense.oracle.row_units, dense.oracle.joint_units
    tolerance = max(TOLERANCE, dense.rounding)
    assert difference(osd.jacobian, dense.oracle.jacobian, rows, 1.0 / joints) < tolerance
    np.testing.assert_array_equal(osd.generalized_jacobian,
                                  generalized_jacobian(model, state, frames))
    np.testing.assert_array_equal(osd.active, model.active)
    # Beside Λ⁻¹ of all free joints: that is what rounding is a part of.
    whole = dense.oracle.inverse_inertia
    left = difference(whole + osd.inverse_inertia, whole + dense.inverse_inertia, rows, rows)
    assert left < tolerance
    # Likewise J̄, by the accelerations of forces: Λ Λ⁻¹ is a projection where directions are lost.
    responses = osd.dynamically_consistent_inverse @ osd.inverse_inertia
    projected = dense.responses @ (osd.inertia @ dense.inverse_inertia)
    everything = dense.oracle.responses
    # Λ magnifies rounding as much as the weakest direction that it has.
    eigenvalues = np.linalg.eigvalsh(osd.inverse_inertia / np.outer(rows, rows))
    weakest = eigenvalues[eigenvalues.size - osd.rank:].min(initial=1.0)
    assert difference(everything + responses, everything + projected, joints, 1.0 / rows) < max(
        100 * tolerance, 1e-17 / max(weakest, 1e-12))
    assert not osd.dynamically_consistent_inverse[model.locked].any()


@pytest.mark.parametrize('name', HUMANOIDS, ids=lambda name: name.split('/')[-1][:-5])
@by_base
def test_equation_of_motion(name, floating_base):
    """Λ a + μ + ρ = F where the motors exert F by J_Gᵀ F, passive joints free of force."""
    frames = REAL_ROBOTS[name][:2]
    urdf = robot_file(name).read_text()
    full = 0
    for seed in range(6):
        model = masked(urdf, floating_base, seed, FEW)
        state, dense = at_random_state(model, urdf, frames, seed)
        osd = operational_space(model, state, frames)
        if osd.rank < 12:
            continue
        full += 1
        units = dense.oracle.row_units
        F = np.random.default_rng(seed).standard_normal(12) / units
        tau = np.zeros(model.nv)
        tau[model.active] = osd.generalized_jacobian.T @ F + 1.0 / dense.units[0]
        a = dense.oracle.jacobian @ dense.oracle.forward_dynamics(tau) + osd.bias_acceleration
        force = osd.dynamically_consistent_inverse.T @ tau
        left = osd.inertia @ a + osd.coriolis + osd.gravity
        points = np.linalg.cond(osd.inverse_inertia / np.outer(units, units))
        tolerance = max(TOLERANCE, 1e-4 * TOLERANCE * points, dense.rounding)
        assert difference(left, force, 1.0 / units) < tolerance
        J_bar = osd.dynamically_consistent_inverse[model.active]
        assert difference(osd.generalized_jacobian @ J_bar, np.eye(12)) < tolerance
    assert full >= 2


@pytest.mark.parametrize('name', HUMANOIDS, ids=lambda name: name.split('/')[-1][:-5])
def test_null_space_torque_accelerates_no_point_and_asks_nothing_of_passive_joints(name):
    frames = REAL_ROBOTS[name][:2]
    urdf = robot_file(name).read_text()
    for seed in range(4):
        model = masked(urdf, True, seed, FEW)
        state, dense = at_random_state(model, urdf, frames, seed)
        osd = operational_space(model, state, frames)
        tau = np.random.default_rng(seed).standard_normal(model.nv) / dense.oracle.joint_units
        tau[~model.active] = 0.0
        rest = osd.null_space_projection.T @ tau
        assert not rest[~model.active].any()
        moved, still = (dense.oracle.jacobian @ dense.oracle._solve(x[:, None])[:, 0]
                        / dense.oracle.row_units for x in (tau, rest))
        weight = np.linalg.cond(osd.inverse_inertia) if osd.rank == 12 else 1e4
        assert abs(still).max() < 1e-13 * max(weight, 1e3) * abs(moved).max()


def test_directions_that_active_joints_cannot_move_are_lost():
    """Of the hand of a planar arm with n active joints, n of three directions are left."""
    urdf = sample('planar_3r').urdf
    for passive, left in (((), 3), (('wrist',), 2), (('elbow', 'wrist'), 1),
                          (('shoulder', 'elbow', 'wrist'), 0)):
        model = RobotModel.from_urdf(urdf, passive_joints=passive)
        state, dense = at_random_state(model, urdf, ['hand'], 3)
        osd = operational_space(model, state, 'hand')
        assert osd.rank == left
        assert np.isfinite(osd.inertia).all()
        reached = osd.inverse_inertia @ osd.inertia @ osd.inverse_inertia
        assert difference(1.0 + reached, 1.0 + dense.inverse_inertia) < 1e-10


def test_a_passive_joint_is_neither_locked_nor_active():
    """Each says something else of the same arm, by much more than rounding."""
    urdf = sample('dual_arm').urdf
    found = []
    for keywords in ({}, {'passive_joints': ['l_elbow']}, {'locked_joints': ['l_elbow']}):
        model = RobotModel.from_urdf(urdf, **keywords)
        state, _ = at_random_state(model, urdf, ['l_hand'], 5)
        found.append(operational_space(model, state, 'l_hand').inverse_inertia)
    active, passive, locked = found
    assert difference(passive, active) > 1e-3
    assert difference(passive, locked) > 1e-3
