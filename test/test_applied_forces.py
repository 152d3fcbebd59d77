# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Forces of force control where drives cannot exert all of them beside the motion."""

import numpy as np
import pytest
from prioritised import Problem

from opspace_control import (
    DisturbanceObserver,
    ForceControl,
    ForceSensor,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.control.limits.applied_forces import COST
from opspace_control.share import share_directory

HAND, NO_LIMIT = 'hand', 1e6
ARM = RobotModel.from_urdf((share_directory() / 'urdf' / 'arm_7r.urdf').read_text())
F = np.array([0.0, 0.0, -200.0, 0.0, 0.0, 0.0])


def at(offset=0.0):
    """Return a state at rest in the plane of joints 2, 4 and 6, or so far out of it."""
    q = ARM.neutral() + offset
    for name, angle in {'joint_2': 0.5, 'joint_4': 1.4, 'joint_6': 0.8}.items():
        q[ARM.q_index[ARM.dof_index(name)]] = angle
    return RobotState(ARM, q, np.zeros(ARM.nv))


def pressing(state, efforts, force=F, above=None, sensor=None, **gains):
    """
    Return a controller that presses with a force (6,), within efforts and hardly other limits.

    ``above`` is a frame that a task above holds along x and y.
    """
    task = PoseTask(HAND, force_axes='z', priority=2, force=ForceControl(
        sensor, approach=(0.0, 0.0), max_force=500.0, **gains))
    tasks = [PoseTask(above, axes='x y'), task] if above else [task]
    controller = OperationalSpaceController(
        ARM, tasks, PostureTask(target=state.q + 0.1), effort_limits=efforts,
        limits=JointLimits(ARM, acceleration=1e4))
    task.set_target(ARM.forward_kinematics(state, HAND)[HAND])
    task.force.set_target(force)
    return controller


def limits_of(k, effort):
    limits = np.full(ARM.nv, NO_LIMIT)
    limits[k] = effort
    return limits


def most_loaded(state, above=None):
    """Return the joint whose effort the force changes most, its effort with the force, without."""
    free, rest = (pressing(state, NO_LIMIT, force, above).compute_torque(state)
                  for force in (F, 0.0 * F))
    k = int(np.argmax(abs(free - rest)))
    return k, free[k], rest[k]


@pytest.mark.parametrize('share', [0.99, 0.8, 0.5])
def test_the_force_is_reduced_and_all_motion_axes_are_met(share):
    """No joint is free to relieve the drive: three joints move in the plane of three axes."""
    state = at()
    k, free, rest = most_loaded(state)
    controller = pressing(state, limits_of(k, abs(rest + share * (free - rest))))
    for _ in range(4):
        tau = controller.compute_torque(state)
    assert controller.limited_joints == 0  # a bound, no cut
    assert [(each.name, each.limit) for each in controller.active_limits] == [
        (ARM.dof_names[k], 'effort')]
    assert controller.force_share == pytest.approx(share, abs=1e-6)
    np.testing.assert_allclose(
        tau, pressing(state, NO_LIMIT, share * F).compute_torque(state), atol=1e-4)
    assert not any(abs(a).max() > 1e-4 for a in controller.residual_accelerations.values())


@pytest.mark.parametrize('share', [0.99, 0.6])
def test_the_share_is_that_of_a_dense_problem(share):
    """With a joint to spare; force and posture give way as their costs say, the tasks do not."""
    state = at(0.2)
    k, free, rest = most_loaded(state)
    limit = abs(rest + share * (free - rest))
    controller = pressing(state, limits_of(k, limit))
    for _ in range(4):
        tau = controller.compute_torque(state)
    A, J = ARM.mass_matrix(state), ARM.jacobian(state, HAND)
    w, h = J.T @ F, ARM.gravity(state)
    bare = OperationalSpaceController(ARM, [], PostureTask(target=state.q + 0.1))
    a_null = np.linalg.solve(A, bare.compute_torque(state) - h)
    metric = np.zeros((ARM.nv + 1, ARM.nv + 1))
    metric[:-1, :-1], metric[-1, -1] = A, COST * w @ np.linalg.solve(A, w)
    rows = np.vstack([np.c_[J, np.zeros(6)], np.r_[A[k], w[k]]])
    wanted, spare = -J @ a_null, np.sign(free) * limit - (A @ a_null + h + w)[k]
    x = Problem(rows, np.r_[wanted, spare], np.r_[wanted, spare], metric).by_quadprog()
    assert 0.0 < 1.0 + x[-1] < 1.0
    assert controller.force_share == pytest.approx(1.0 + x[-1], abs=1e-5)
    np.testing.assert_allclose(
        tau, A @ (a_null + x[:-1]) + h + (1.0 + x[-1]) * w, atol=1e-4 * abs(tau).max())


def test_a_drive_that_the_weight_alone_overloads_presses_with_nothing():
    """Then motion gives way; the force is never turned round to relieve the drive."""
    state = at()
    k, _, rest = most_loaded(state)
    tau = {}
    for name, force in (('with', -F), ('without', 0.0 * F)):  # upwards, as the weight loads k
        controller = pressing(state, limits_of(k, 0.9 * abs(rest)), force)
        for _ in range(4):
            tau[name] = controller.compute_torque(state)
        assert controller.limited_joints == 0
        assert controller.force_share == pytest.approx(0.0 if name == 'with' else 1.0, abs=1e-12)
    np.testing.assert_allclose(tau['with'], tau['without'], atol=1e-6)


def test_a_force_that_relieves_the_drive_is_not_increased():
    state = at()
    k, _, rest = most_loaded(state)
    limit, small = 0.9 * abs(rest), 0.02 * F  # relieves joint k by less than it lacks
    controller = pressing(state, limits_of(k, limit), small)
    for _ in range(4):
        tau = controller.compute_torque(state)
    assert controller.force_share == pytest.approx(1.0, abs=1e-9)
    assert abs(tau[k]) == pytest.approx(limit)
    assert controller.limited_joints == 0


def test_a_task_above_compensates_for_the_force_that_is_exerted():
    """It does for all forces below it, [K87] (5.6); so it must know their share."""
    state, above = at(0.2), 'link_4'
    k, free, rest = most_loaded(state, above)
    controller = pressing(state, limits_of(k, abs(rest + 0.7 * (free - rest))), above=above)
    for _ in range(4):
        tau = controller.compute_torque(state)
    share = controller.force_share
    assert 0.1 < share < 0.99
    A, J = ARM.mass_matrix(state), ARM.jacobian(state, 'link_4')[:2]
    exerted = np.linalg.solve(A, tau - ARM.gravity(state))
    wanted = controller.tasks['link_4'].error[:2] * controller.tasks['link_4'].kp[:2]
    np.testing.assert_allclose(J @ exerted, wanted, atol=1e-6 * abs(exerted).max())


def test_the_integral_of_a_reduced_force_does_not_grow():
    """The sensor lacks what the drive cannot exert: the integral would never stop."""
    state = at()
    k, free, rest = most_loaded(state)
    controller = pressing(state, limits_of(k, abs(rest + 0.5 * (free - rest))),
                          sensor=ForceSensor(HAND, cutoff=np.inf), kp=0.0, ki=20.0)
    turn = ARM.forward_kinematics(state, HAND)[HAND][:3, :3]
    reading = np.r_[turn.T @ (-0.5 * F[:3]), np.zeros(3)]
    task = controller.tasks[HAND]
    for _ in range(300):
        task.force.sensor.update(reading)
        controller.compute_torque(state, dt=1e-3)
    assert controller.force_share == pytest.approx(0.5, abs=0.01)


def hold(load, efforts, cycles):
    """Return the controller that compensates for a load (6,) at the hand, and its last efforts."""
    controller = OperationalSpaceController(
        ARM, [PoseTask(HAND)], effort_limits=efforts, limits=JointLimits(ARM, acceleration=1e4))
    controller.disturbance = DisturbanceObserver(20.0, max_force=100.0, max_moment=50.0)
    state = at(0.2)
    for _ in range(cycles):
        tau = controller.compute_torque(state, dt=1e-3)
        a = ARM.forward_dynamics(state, tau + ARM.jacobian(state, HAND).T @ load)
        v = state.v + 1e-3 * a
        state = RobotState(ARM, ARM.integrate(state.q, v, 1e-3), v)
    return controller, tau


def test_what_a_load_is_held_with_is_not_reduced():
    """A force against a disturbance acts as long as this does: as the weight, it takes effort."""
    load = np.array([0.0, 0.0, -40.0, 0.0, 0.0, 0.0])
    tau = hold(load, NO_LIMIT, 600)[1]
    k = int(np.argmax(abs(tau - ARM.gravity(at(0.2)))))
    limit = 0.97 * abs(tau[k])
    controller, tau = hold(load, limits_of(k, limit), 60)
    assert controller.force_share == 1.0
    assert controller.limited_joints == 0
    assert abs(tau[k]) == pytest.approx(limit)
