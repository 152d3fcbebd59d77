# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What tasks miss within limits, held against a dense lexicographic optimum, level by level."""

import numpy as np
import pytest
import quadprog

from opspace_control import (
    Constraint,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.control.data import SCALE
from opspace_control.control.limits.kinds import MOTION
from opspace_control.share import share_directory


def nearest(rows, wanted, A, bound, fixed, values):
    """
    Return the accelerations (nv,) within ±bound that are nearest to what rows want.

    Fixed rows keep their values, to rounding. Of several the smallest by A is as good as nothing.
    """
    n, slack = len(A), 1e-6 * bound
    conditions = np.vstack([fixed, -fixed, np.eye(n), -np.eye(n)])
    right = np.concatenate([values - slack, -values - slack, np.full(2 * n, -bound)])
    return quadprog.solve_qp(
        rows.T @ rows + 1e-9 * A, rows.T @ wanted, conditions.T, right)[0]


ARMS = [('arm_7r.urdf', ('hand',), {'joint_2': 0.5, 'joint_4': 1.4, 'joint_6': 0.8}),
        ('dual_arm.urdf', ('l_hand', 'r_hand'), {'l_elbow': -1.7, 'r_elbow': -1.7})]


def with_limits(robot, hands, start):
    """Return model, start, tasks of the hands, one a level, and a controller within limits."""
    model = RobotModel.from_urdf((share_directory() / 'urdf' / robot).read_text())
    home = model.neutral()
    for name, angle in start.items():
        home[model.q_index[model.dof_index(name)]] = angle
    tasks = [PoseTask(hand, priority=k) for k, hand in enumerate(hands)]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=home), limits=JointLimits(model), effort_limits=1e4)
    return model, home, tasks, controller


@pytest.mark.parametrize(('robot', 'hands', 'start'), ARMS)
def test_tasks_miss_the_least_in_order_of_priority(robot, hands, start):
    """Far goals, weak brakes: most joints are at their greatest acceleration."""
    model, home, tasks, controller = with_limits(robot, hands, start)
    records = controller._limits.records
    records['slow'], records['gravity_torque'] = -1.0, np.inf
    records['lower'], records['upper'], records['velocity'] = -np.inf, np.inf, np.inf
    rng, misses = np.random.default_rng(0), 0
    for _ in range(40):
        q = home + rng.uniform(-0.3, 0.3, model.nq)
        state = RobotState(model, q, rng.uniform(-0.1, 0.1, model.nv))
        bound = rng.uniform(2.0, 30.0)
        records['acceleration'] = bound
        records['active_side'] = controller._limits.memory.bound_active[:] = 0
        records['resting_share'] = 0.0
        for task in tasks:
            goal = model.forward_kinematics(state, task.frame)[task.frame]
            goal[:3, 3] += rng.uniform(-0.5, 0.5, 3)
            task.set_target(goal)
        controller.compute_torque(state)
        if controller._cycle['singular_active'][0]:
            continue
        a = controller._arguments.storage.results.a_joints
        assert abs(a).max() <= bound * (1.0 + 1e-6)
        A, fixed, values = model.mass_matrix(state), np.zeros((0, model.nv)), np.zeros(0)
        for k, task in enumerate(tasks):
            scale = controller._rows[SCALE, 6 * k:6 * k + 6]
            rows = scale[:, None] * model.jacobian(state, task.frame)
            wanted = scale * (task._record['acceleration']
                              - model.bias_acceleration(state, task.frame))
            best = nearest(rows, wanted, A, bound, fixed, values)
            missed, least = (np.linalg.norm(rows @ x - wanted) for x in (a, best))
            assert missed <= 1.02 * least + 1e-3 * np.linalg.norm(wanted)
            misses += least > 0.05 * np.linalg.norm(wanted)
            fixed = np.linalg.qr(np.vstack([fixed, rows]).T)[0].T
            values = fixed @ a
    assert misses > 20


def test_a_single_joint_with_all_six_axes():
    """Its rows of tasks outnumber those of bounds by far: scratch must hold them, too."""
    model = RobotModel.from_urdf("""<robot name="hinge"><link name="ground"/><link name="rod">
        <inertial><origin xyz="0.5 0 0"/><mass value="1"/>
        <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="hinge" type="revolute"><parent link="ground"/><child link="rod"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="2" effort="20"/></joint>
        </robot>""")
    task = PoseTask('rod')
    controller = OperationalSpaceController(model, task, limits=JointLimits(model))
    state = RobotState(model, [0.995], [0.3])
    controller.compute_torque(state)
    goal = task.pose
    goal[:3] += 0.0, 0.0, -2.0
    task.set_target(goal)
    for _ in range(3):
        torque = controller.compute_torque(state)
    assert [limit.name for limit in controller.active_limits] == ['hinge']
    greatest = controller._limits.records['greatest'][0]
    inertia = model.mass_matrix(state)[0, 0]
    free = model.inverse_dynamics(state, np.zeros(1))[0]
    assert (torque[0] - free) / inertia == pytest.approx(greatest, abs=1e-9)


@pytest.mark.parametrize(('robot', 'hands', 'start'), ARMS)
def test_an_effort_is_bounded_in_the_cycle_in_which_it_passes_its_limit(robot, hands, start):
    """The bound is a row of the first problem: the next cycle of the same state is the same."""
    model, home, tasks, controller = with_limits(robot, hands, start)
    records, cut, rng = controller._limits.records, 0, np.random.default_rng(0)
    records['gravity_torque'] = np.inf
    for _ in range(20):
        state = RobotState(model, home + rng.uniform(-0.3, 0.3, model.nq), np.zeros(model.nv))
        for task in tasks:
            goal = model.forward_kinematics(state, task.frame)[task.frame]
            goal[:3, 3] += rng.uniform(-0.03, 0.03, 3)
            task.set_target(goal)
        controller._effort_limits[:], controller._limits.memory.bound_active[:] = 1e4, 0
        free, at_rest = controller.compute_torque(state), model.gravity(state)
        strained = abs(free - at_rest).argmax()
        half_way = 0.5 * abs(free + at_rest)[strained]
        if controller.limit_solutions or half_way >= abs(free[strained]):
            continue
        controller._effort_limits[strained] = half_way
        first, cut = controller.compute_torque(state), cut + 1
        a = controller._arguments.storage.results.a_joints
        assert 'effort' in [limit.limit for limit in controller.active_limits]
        np.testing.assert_allclose(
            a, model.forward_dynamics(state, first), atol=1e-6 * abs(a).max())
        np.testing.assert_allclose(first, controller.compute_torque(state), atol=1e-6)
    assert cut > 5


def test_a_joint_at_rest_takes_no_problem_unless_it_makes_a_direction_singular():
    """A hand keeps its three directions without the wrist, but not without the elbow as well."""
    model = RobotModel.from_urdf((share_directory() / 'urdf' / 'arm_7r.urdf').read_text())
    task = PositionTask('hand')
    controller = OperationalSpaceController(model, task, limits=JointLimits(model))
    q = model.neutral()
    q[:7] = 0.2, 0.5, -0.3, 1.4, 0.4, 0.8, 0.1
    state = RobotState(model, q, np.full(7, 0.05))
    controller.compute_torque(state)
    goal = task.pose
    goal[:3] += 0.002, -0.001, 0.001
    task.set_target(goal)
    records, free = controller._limits.records, controller.compute_torque(state).copy()
    assert controller.limit_solutions == 0
    for resting, singular in (([5], False), ([2, 4, 5], False), ([3, 4, 5], True)):
        records['resting_share'], records['active_side'], records['side'] = 0.0, 0, 1
        records['resting_share'][resting, MOTION] = 0.9
        torque = controller.compute_torque(state)
        assert (controller.limit_solutions > 0) == singular
        assert (controller._cycle['singular_active'][0] != 0) == singular
        assert records['resting_share'].max() > 0.5
        if not singular:
            np.testing.assert_array_equal(torque, free)


@pytest.mark.parametrize('passive', ['torso_pitch', 'l_elbow'])
def test_a_joint_at_rest_that_takes_no_problem_changes_no_torque(passive):
    """Not with passive joints either, which respond to forces at links."""
    model = RobotModel.from_urdf(
        (share_directory() / 'urdf/dual_arm.urdf').read_text(), passive_joints=[passive])
    arm = -0.3, 0.3, 0.2, -1.0, 0.2, 0.3, 0.1
    q = np.array([0.1, 0.1, 0.05, *arm, *arm])
    q[11] = -q[11]
    fixed, state = Constraint('l_hand', axes='x y z'), RobotState(model, q, np.zeros(model.nv))
    controller = OperationalSpaceController(
        model, PositionTask('r_hand'), PostureTask(target=q), constraints=[fixed],
        limits=JointLimits(model))
    controller.compute_torque(state)
    fixed.close()
    for _ in range(1000):  # until it is closed
        free = controller.compute_torque(state).copy()
    records, compared = controller._limits.records, 0
    for resting in np.flatnonzero(~model.passive):
        records['resting_share'], records['active_side'], records['side'] = 0.0, 0, 1
        records['resting_share'][resting, MOTION] = 0.9
        torque = controller.compute_torque(state)
        assert records['resting_share'].max() > 0.5
        if controller.limit_solutions == 0:
            compared += 1
            np.testing.assert_allclose(torque, free, atol=1e-12 * abs(free).max())
    assert compared > 10
