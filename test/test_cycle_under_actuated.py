# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The cycle of real robots whose joints are active, passive or locked at random, against its law.

``τ_a = hybrid(q̈_null) + J_Gᵀ Λ_U (a* − a_null)`` with every term dense, from Pinocchio and [JR94]
(4.4), (6.8). The goals are what the robot first sees: the tasks ask for damping, as the posture.
"""

import numpy as np
import pytest
from dense_hybrid import at_random_state, masked
from robots import PR2, REAL_ROBOTS, TALOS, TIAGO_DUAL, robot_file
from samples import by_base, difference

from opspace_control import (
    OperationalSpaceController,
    OrientationTask,
    PassiveForces,
    PoseTask,
    PostureTask,
    RobotModel,
    disturbance_jacobian,
    hybrid_dynamics,
)

ROBOTS = (TALOS, PR2, TIAGO_DUAL, 'icub.urdf', 'g1_29dof_with_hand_rev_1_0.urdf', 'human.urdf',
          'simple_humanoid.urdf', 'romeo_small.urdf')
FEW = (0.8, 0.12, 0.08)
KP, KD = 100.0, 20.0
POSTURE_KP, POSTURE_KD = 25.0, 10.0


def controlled(name, floating_base, seed):
    """Return a robot of random status, its state, dense terms, controller and torques."""
    frames = REAL_ROBOTS[name][:2]
    urdf = robot_file(name).read_text()
    model = masked(urdf, floating_base, seed, FEW)
    state, dense = at_random_state(model, urdf, frames, seed)
    forces = PassiveForces(model)
    forces.set_applied(np.random.default_rng(seed).standard_normal(model.nv)
                     / dense.oracle.joint_units)
    controller = OperationalSpaceController(
        model, [PoseTask(frame, kp=KP, kd=KD) for frame in frames],
        PostureTask(POSTURE_KP, POSTURE_KD), passive_forces=forces, effort_limits=np.inf,
        singularity_threshold=1e-9)
    tau = controller.compute_torque(state, out=np.full(model.nv, np.nan))
    return model, state, dense, controller, forces, tau


def law(state, dense, forces):
    """Return the torques of the active joints by the law, and how well they are conditioned."""
    J, rows = dense.oracle.jacobian, dense.oracle.row_units
    a_null, tau = dense.motion(-POSTURE_KD * state.v, forces.applied, np.zeros(len(J)))
    asked = -KD * J @ state.v - (J @ a_null + dense.oracle.bias_acceleration)
    L = dense.inverse_inertia / np.outer(rows, rows)
    f = np.linalg.solve(L, asked / rows) / rows
    tau[dense.active] += dense.generalized_jacobian.T @ f
    return np.where(dense.active, tau, 0.0), np.linalg.cond(L)


@by_base
@pytest.mark.parametrize('name', ROBOTS, ids=lambda name: name.split('/')[-1][:-5])
def test_torques_are_those_of_the_law(name, floating_base):
    regular = 0
    for seed in range(8):
        model, state, dense, _, forces, tau = controlled(name, floating_base, seed)
        assert not tau[~model.active].any()
        if np.linalg.matrix_rank(dense.inverse_inertia, tol=1e-12) < 12:
            continue
        expected, condition = law(state, dense, forces)
        if condition > 1e4:
            continue
        regular += 1
        units = 1.0 / dense.oracle.joint_units
        assert difference(tau, expected, units) < max(1e-10, dense.rounding)
    assert regular >= 2


@by_base
@pytest.mark.parametrize('name', ROBOTS, ids=lambda name: name.split('/')[-1][:-5])
def test_inverse_inertia_is_that_of_the_active_joints(name, floating_base):
    """Λ_U⁻¹ = J_G S_aa⁻¹ J_Gᵀ, by the propagation over all joints less that over passive ones."""
    for seed in range(4):
        _, _, dense, controller, _, _ = controlled(name, floating_base, seed)
        rows = dense.oracle.row_units
        whole = dense.oracle.inverse_inertia
        found = controller.inverse_inertia
        assert difference(whole + found, whole + dense.inverse_inertia, rows, rows) < 1e-10


@by_base
def test_what_the_robot_does_then(floating_base):
    """The hands accelerate as asked; passive joints have no drive, locked ones do not move."""
    for seed in range(3):
        model, state, dense, _, forces, tau = controlled(TALOS, floating_base, seed)
        a = dense.oracle.forward_dynamics(tau + np.where(model.passive, forces.applied, 0.0))
        reached = dense.oracle.jacobian @ a + dense.oracle.bias_acceleration
        wanted = -KD * dense.oracle.jacobian @ state.v
        assert difference(reached, wanted, dense.oracle.row_units) < 1e-8
        again = hybrid_dynamics(model, state, a, forces.applied)
        assert difference(again.acceleration, a, dense.oracle.joint_units) < 1e-9


@pytest.mark.parametrize('seed', range(3))
def test_a_base_that_nothing_drives_is_disturbed_the_least(seed):
    """[JR94] FIG. 8b: J_D of the base as a task of lower priority, met by what the hand leaves."""
    urdf, hand = robot_file(TALOS).read_text(), REAL_ROBOTS[TALOS][:1]
    model = RobotModel.from_urdf(urdf, floating_base=True, passive_joints=['base'])
    state, dense = at_random_state(model, urdf, [*hand, model.root_link], seed)
    moved = {}
    for steady in (False, True):
        tasks = [PoseTask(hand[0], kp=KP, kd=KD)]
        if steady:
            tasks.append(OrientationTask(model.root_link, kp=KP, kd=KD, priority=1))
        controller = OperationalSpaceController(
            model, tasks, passive_forces=PassiveForces(model), effort_limits=np.inf,
            singularity_threshold=1e-9)
        tau = controller.compute_torque(state)
        a = dense.oracle.forward_dynamics(tau)
        moved[steady] = dense.oracle.jacobian @ a + dense.oracle.bias_acceleration
    wanted = -KD * dense.oracle.jacobian @ state.v
    np.testing.assert_allclose(moved[True][:6], wanted[:6], atol=1e-8 * abs(wanted).max())
    np.testing.assert_allclose(moved[True][9:], wanted[9:], atol=1e-8 * abs(wanted).max())
    assert abs(moved[False][9:] - wanted[9:]).max() > 1e-2 * abs(wanted).max()
    # What moves the base is J_D of the joints' own accelerations.
    a_p = disturbance_jacobian(model, state) @ a[model.active]
    still = hybrid_dynamics(model, state, np.zeros(model.nv)).acceleration[model.passive]
    assert difference(a_p + still, a[model.passive]) < 1e-9
