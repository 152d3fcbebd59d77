# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Inertias of links against second differences of what forces do."""

import numpy as np
import pytest
from test_distance_limits import moved
from test_geometric_stiffness import START, arm, behind_a_post, hand

from opspace_control import (
    CenterOfMassTask,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.link_inertia import (
    add_inertias_at_center,
    add_inertias_by_force,
    kinetic_energy,
    oppose_motion,
    stiffness_along,
)
from opspace_control.model.nodes import WORLD
from opspace_control.share import share_directory


def rotations(robot):
    """Return J_ω (3, nv) of each link."""
    found, dofs = [], robot.nodes['v_index'].max() + 1
    for i in range(robot.nodes.size):
        J, k = np.zeros((3, dofs)), i
        while k >= 0:
            if robot.nodes[k]['v_index'] >= 0:
                J[:, robot.nodes[k]['v_index']] = robot.states[k]['S'][3:]
            k = robot.nodes[k]['parent']
        found.append(J)
    return found


def test_the_inertia_is_the_geometric_stiffness_of_a_stretched_arm():
    """``k J_ωᵀ I J_ω`` against second differences of ``−F·x``, all links of a planar arm pulled."""
    controller, _, _ = behind_a_post(1.2, 0.95)
    nodes, states = controller._arguments.robot.nodes, controller._arguments.robot.states
    force, stiffness, h = np.array([0.0, 0.0, 60.0]), 100.0, 1e-4
    q = START
    controller.compute_torque(RobotState(arm(), q, np.zeros(3)), dt=1e-3)
    inertia = np.zeros((2, nodes.size, 3, 3))
    point = controller._arguments.robot.points[0]
    add_inertias_by_force(nodes.view(np.recarray), states.view(np.recarray), point['p'],
               int(point['frame']['node']), WORLD, force, (stiffness, 20.0), inertia)
    sums = stiffness * sum(J.T @ inertia[0, i] @ J
                           for i, J in enumerate(rotations(controller._arguments.robot)))
    x = lambda d: force @ hand(q + d)[:3, 3]  # noqa: E731
    K, unit = np.zeros((3, 3)), h * np.eye(3)
    for i in range(3):
        for j in range(3):
            K[i, j] = -(x(unit[i] + unit[j]) - x(unit[i] - unit[j]) - x(unit[j] - unit[i])
                        + x(-unit[i] - unit[j])) / (4.0 * h * h)
    assert np.linalg.eigvalsh(K)[0] > 1.0  # all links are pulled
    np.testing.assert_allclose(sums, K, atol=1e-4 * abs(K).max())
    np.testing.assert_allclose(inertia[1], 20.0 * inertia[0])


def test_that_of_a_force_at_a_centre_of_mass():
    """``k J_ωᵀ I J_ω`` against second differences of ``−F·c``, c being the centre of mass."""
    whole = CenterOfMassTask()
    controller = OperationalSpaceController(arm(), [whole], limits=JointLimits(arm()))

    def x(q):
        controller.compute_torque(RobotState(arm(), q, np.zeros(3)), dt=1e-3)
        return whole.pose[2]
    robot, force, stiffness, h = controller._arguments.robot, 60.0, 100.0, 1e-3
    second = np.zeros((3, 3))
    for i, j in np.ndindex(3, 3):
        a, b = h * np.eye(3)[[i, j]]
        second[i, j] = (x(START + a + b) - x(START + a - b) - x(START + b - a)
                        + x(START - a - b)) / (4.0 * h * h)
    x(START)
    inertia = np.zeros((2, robot.nodes.size, 3, 3))
    add_inertias_at_center(
        robot.nodes.view(np.recarray), robot.states.view(np.recarray), robot.supports, 0,
        robot.points[0]['mass'], np.array([0.0, 0.0, force, 0.0, 0.0, 0.0]),
        (stiffness, 20.0), inertia)
    sums = stiffness * sum(J.T @ inertia[0, i] @ J for i, J in enumerate(rotations(robot)))
    assert np.linalg.eigvalsh(-second)[0] > 0.01
    np.testing.assert_allclose(sums, -force * second, rtol=1e-4, atol=1e-4)


class Moving:
    """An arm of seven joints that moves at v (7,)."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'arm_7r.urdf')
        self.q, self.v = rng.uniform(-1.5, 1.5, 7), rng.normal(size=7)
        self.wrench = np.concatenate([60.0 * rng.normal(size=3), 30.0 * rng.normal(size=3)])
        controller = OperationalSpaceController(
            self.model, [PoseTask('hand')], limits=JointLimits(self.model))
        controller.compute_torque(RobotState(self.model, self.q, self.v), dt=1e-3)
        self.robot, self.dofs = controller._arguments.robot, controller._arguments.demand.dofs
        self.nodes, self.states = (
            part.view(np.recarray) for part in (self.robot.nodes, self.robot.states))
        self.mass_matrix = self.model.mass_matrix(RobotState(self.model, self.q, self.v))

    def curvature(self):
        """Return the symmetric part of ``−∂(Jᵀ w)/∂q`` (7, 7), by differences."""
        def torque(q):
            return self.model.jacobian(
                RobotState(self.model, q, np.zeros(7)), ['hand']).T @ self.wrench
        h = 1e-5
        K = np.array([torque(self.q - d) - torque(self.q + d) for d in h * np.eye(7)]) / (2.0 * h)
        return 0.5 * (K + K.T)

    def of_links(self):
        """Return ``J_ωᵀ I J_ω`` (7, 7) of what `add_inertias_by_force` adds, for k of 1 1/s²."""
        inertia, point = np.zeros((2, self.nodes.size, 3, 3)), self.robot.points[0]
        add_inertias_by_force(
            self.nodes, self.states, point['p'], int(point['frame']['node']), WORLD, self.wrench,
            (1.0, 1.0), inertia)
        return sum(J.T @ inertia[0, i] @ J for i, J in enumerate(rotations(self.robot)))


@pytest.mark.parametrize('seed', range(6))
def test_what_links_leave_of_the_geometric_stiffness(seed):
    """Along v against differences of the joint forces of a wrench, less the inertias of links."""
    arm = Moving(seed)
    point, v = arm.robot.points[0], arm.v
    assert kinetic_energy(arm.nodes, arm.states, v) == pytest.approx(v @ arm.mass_matrix @ v)
    found = stiffness_along(arm.nodes, arm.states, point['p'], int(point['frame']['node']), WORLD,
                            arm.wrench, v)
    assert found == pytest.approx(v @ (arm.curvature() - arm.of_links()) @ v, rel=1e-5)


def test_damping_is_along_the_momentum():
    """``−r A w``, without inertia and damping of links."""
    arm, none, tau = Moving(7), np.zeros(7), np.zeros(7)
    damped = np.linspace(-0.3, 0.3, 7)
    oppose_motion(arm.nodes, arm.states, np.zeros((2, arm.nodes.size, 3, 3)), 40.0, none, none,
                  arm.dofs.view(np.recarray), arm.v, damped.copy(), tau)
    np.testing.assert_allclose(tau, -40.0 * arm.mass_matrix @ damped, atol=1e-9)


def test_inertias_decay_once_nothing_opposes_a_residual():
    """In 5 ms, from 90 kg m² to 1e-4 of it; efforts stepped by 11 N m where they ended."""
    controller, task, start = behind_a_post(1.2, 0.95)
    sizes, efforts = [], []
    for k, (_, tau) in enumerate(moved(controller, start, 1100)):
        if k == 1000:
            task.set_target(hand(START - [0.3, 0.0, 0.0]))
        if k >= 1000:
            stiffened = controller._cycle['stiffened'][0]
            sizes.append(controller._limits.memory.link_inertia[0].sum() if stiffened else 0.0)
            efforts.append(tau.copy())
    left = np.array(sizes) / sizes[0]
    end = np.flatnonzero(left == 0.0)[0]
    assert sizes[0] > 50.0
    np.testing.assert_allclose(left[1:end] / left[:end - 1], 0.8, rtol=1e-6)
    assert 1e-4 < left[end - 1] < 1.25e-4
    steps = np.diff(efforts, axis=0)[1:]  # the first one is that of the goal
    assert abs(np.diff(steps, axis=0)).max() < 0.5
    assert abs(np.diff(steps, axis=0))[end - 4:end + 4].max() < 0.15  # N m


@pytest.mark.parametrize('dt', [1e-3, 5e-3, 8e-3])
def test_the_mean_acceleration_is_followed_at_any_cycle_time(dt):
    """Also where I is that of the last cycle alone."""
    controller, _, start = behind_a_post(1.2, 0.95)
    *_, (state, _) = moved(controller, start, 1000)
    memory, results = controller._limits.memory, controller._arguments.storage.results
    for _ in range(3):
        before = memory.mean_acceleration.copy()
        controller.compute_torque(state, dt=dt)
        assert controller._cycle['stiffened'][0]
        np.testing.assert_allclose(
            memory.mean_acceleration, before + dt / 0.5 * (results.a_joints - before), rtol=1e-9)
    assert abs(memory.mean_acceleration).max() > 0.01
