# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where joint forces come from: each part against its own formula, and their sum."""

import numpy as np
import pytest
import robots

from opspace_control import (
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.control.split import SOURCES, split_efforts

FREE = {'effort_limits': np.inf}


def moving(model, seed=0):
    """Return a random state near home."""
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), rng.uniform(-1.0, 1.0, model.nv), 0.5)
    return RobotState(model, q, rng.uniform(-1.0, 1.0, model.nv))


def after_a_cycle(controller, state, seed=1):
    """Run a cycle towards goals somewhere else; return the torque."""
    rng = np.random.default_rng(seed)
    controller.compute_torque(state)
    for task in controller.tasks.values():
        task.set_target([*task.pose[:3] + rng.uniform(-0.1, 0.1, 3), 0.0, 0.0, 0.0, 1.0],
                        rng.uniform(-1.0, 1.0, 6), rng.uniform(-1.0, 1.0, 6))
    controller.posture.set_target(controller.posture.target + rng.uniform(-0.1, 0.1, state.q.size))
    return controller.compute_torque(state)


@pytest.fixture
def model():
    return RobotModel.from_urdf_file(robots.robot_file(robots.TALOS))


@pytest.fixture
def controller(model):
    return OperationalSpaceController(
        model, [PoseTask('gripper_left_base_link'), PoseTask('gripper_right_base_link')],
        PostureTask(), **FREE)


@pytest.mark.parametrize('seed', range(3))
def test_parts_are_the_terms_of_the_law_and_add_up(controller, model, seed):
    state = moving(model, seed)
    tau = after_a_cycle(controller, state, seed)
    parts = split_efforts(controller, state, tau)
    assert tuple(parts) == SOURCES
    J = model.jacobian(state, [task.frame for task in controller.tasks.values()])
    f = np.concatenate([task.wrench for task in controller.tasks.values()])
    expected = {
        'task': J.T @ f,
        'posture': (model.mass_matrix(state) @ controller.posture_acceleration
                    + model.bias_force(state)),
        'gravity': model.gravity(state),
        'grasp': np.zeros(model.nv),
        'limits': np.zeros(model.nv),
    }
    for source in SOURCES:
        np.testing.assert_allclose(parts[source], expected[source], atol=1e-10 * abs(tau).max())
    np.testing.assert_allclose(sum(parts.values()), tau, rtol=0.0, atol=1e-10)


def test_limits_are_what_was_cut(model):
    limits = np.full(model.nv, 3.0)
    tasks = [PoseTask('gripper_left_base_link')]
    controller = OperationalSpaceController(model, tasks, effort_limits=limits)
    free = OperationalSpaceController(model, [PoseTask('gripper_left_base_link')], **FREE)
    state = moving(model)
    tau, uncut = after_a_cycle(controller, state), after_a_cycle(free, state)
    parts = split_efforts(controller, state, tau)
    assert controller.limited_joints > 0
    np.testing.assert_allclose(parts['limits'], np.clip(uncut, -limits, limits) - uncut,
                               atol=1e-10 * abs(uncut).max())
    np.testing.assert_allclose(sum(parts.values()), tau, rtol=0.0, atol=1e-10)


def test_without_gravity_compensation_and_without_tasks(model):
    controller = OperationalSpaceController(model, gravity_compensation=False, **FREE)
    state = moving(model)
    parts = split_efforts(controller, state, after_a_cycle(controller, state))
    for source in ('task', 'gravity'):
        np.testing.assert_array_equal(parts[source], 0.0)
    np.testing.assert_allclose(parts['limits'], 0.0, atol=1e-10)


def test_passive_joints_respond_with_their_payload(model):
    passive, state = ['arm_left_2_joint', 'arm_left_6_joint'], moving(model)
    controller = OperationalSpaceController(model, [PoseTask('gripper_left_base_link')], **FREE)
    controller.set_status(passive)
    controller.payloads.put('box', 'gripper_left_base_link', Payload.of_box(3.0, (0.1, 0.2, 0.1)))
    tau = after_a_cycle(controller, state)
    parts = split_efforts(controller, state, tau)
    np.testing.assert_allclose(parts['limits'], 0.0, atol=1e-9 * abs(tau).max())
    bare = OperationalSpaceController(model, [PoseTask('gripper_left_base_link')], **FREE)
    bare.set_status(passive)
    tau = after_a_cycle(bare, state)
    np.testing.assert_allclose(
        split_efforts(bare, state, tau)['limits'], 0.0, atol=1e-9 * abs(tau).max())


def test_nothing_comes_from_a_locked_joint():
    text = robots.chain('revolute', 'revolute', 'prismatic', inner='<axis xyz="0 1 0"/>')
    model = RobotModel.from_urdf(text, locked_joints=['j2'])
    controller = OperationalSpaceController(model, [PoseTask('l3', axes='x')], **FREE)
    state = RobotState(model, [0.3, 0.4, 0.5], [0.1, 0.0, 0.2])
    parts = split_efforts(controller, state, after_a_cycle(controller, state))
    for part in parts.values():
        assert part[1] == 0.0


def test_advised_motion_is_a_copy(controller, model):
    state = moving(model)
    before = after_a_cycle(controller, state)
    controller.posture_acceleration[:] = np.nan
    np.testing.assert_array_equal(controller.compute_torque(state), before)
