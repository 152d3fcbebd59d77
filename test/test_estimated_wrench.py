# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The wrench at a frame from unknown joint forces."""

import numpy as np
import pytest
from robots import TALOS, robot_file
from samples import random_state, sample

from opspace_control import (
    ModelError,
    MomentumObserver,
    OperationalSpaceController,
    Payload,
    PoseTask,
    RobotModel,
    RobotState,
    StateError,
    estimated_wrench,
)

F = np.array([20.0, -5.0, 10.0, 1.0, 2.0, -0.5])


@pytest.mark.parametrize(('robot', 'frame', 'floating'), [
    ('panda.urdf', 'panda_hand_tcp', False), ('ur5_robot.urdf', 'tool0', False),
    (TALOS, 'gripper_left_base_link', False), (TALOS, 'gripper_right_base_link', True)])
def test_a_wrench_there_is_found(robot, frame, floating):
    model = RobotModel.from_urdf_file(robot_file(robot), floating_base=floating)
    for seed in range(3):
        state = random_state(model, seed)
        r = model.jacobian(state, frame).T @ F
        found = estimated_wrench(model, state, frame, r)
        assert found.rank == 6
        np.testing.assert_allclose(found.wrench, F, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(found.remainder, 0.0, atol=1e-8)


def test_contacts_of_other_limbs_do_not_change_it_unless_the_base_counts():
    model = RobotModel.from_urdf_file(robot_file(TALOS), floating_base=True)
    state, hand = random_state(model, 0), 'gripper_left_base_link'
    r = model.jacobian(state, hand).T @ F
    foot = model.jacobian(state, 'leg_left_6_link').T @ [0.0, 0.0, 400.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(estimated_wrench(model, state, hand, r + foot).wrench, F, atol=1e-7)
    with_base = estimated_wrench(model, state, hand, r, base=True)
    np.testing.assert_allclose(with_base.wrench, F, atol=1e-7)
    assert abs(estimated_wrench(model, state, hand, r + foot, base=True).wrench - F).max() > 0.3
    root = model.jacobian(state, model.root_link).T @ F
    np.testing.assert_allclose(
        estimated_wrench(model, state, model.root_link, root, base=True).wrench, F, atol=1e-7)
    with pytest.raises(ModelError, match='No joint moves'):
        estimated_wrench(model, state, model.root_link, root)


def test_what_no_wrench_explains_remains():
    """Friction in a joint of a redundant arm: only what would move the hand becomes a wrench."""
    model = RobotModel.from_urdf_file(robot_file('panda.urdf'))
    state = random_state(model, 1)
    r = np.zeros(model.nv)
    r[2] = 4.0
    found = estimated_wrench(model, state, 'panda_hand_tcp', r)
    J, A = model.jacobian(state, 'panda_hand_tcp'), model.mass_matrix(state)
    arm = slice(0, 7)
    hand = J[:, arm] @ np.linalg.solve(A[arm, arm], (r - J.T @ found.wrench)[arm])
    np.testing.assert_allclose(hand, 0.0, atol=1e-9)
    assert abs(found.remainder).max() > 0.1
    np.testing.assert_allclose(found.remainder, r - J.T @ found.wrench, atol=1e-12)


def test_singular_directions_are_told_and_truncated_smoothly():
    """A stretched UR5 transmits no force along its arm; near there nothing jumps."""
    model = RobotModel.from_urdf_file(robot_file('ur5_robot.urdf'))
    ranks, wrenches = [], []
    for elbow in np.linspace(-0.6, 0.0, 600):
        q = np.array([0.3, -1.0, elbow, -1.2, 1.0, 0.2])
        state = RobotState(model, q, np.zeros(6))
        found = estimated_wrench(model, state, 'tool0', model.jacobian(state, 'tool0').T @ F)
        ranks.append(found.rank)
        wrenches.append(found.wrench)
        assert abs(found.wrench).max() < 2.0 * abs(F).max()
    assert ranks[0] == 6 and ranks[-1] == 5
    np.testing.assert_allclose(wrenches[0], F, atol=1e-7)
    assert abs(wrenches[-1] - F).max() > 1.0
    assert abs(np.diff(wrenches, axis=0)).max() < 0.3


def test_a_chain_of_three_joints_finds_three_directions():
    urdf_model = sample('planar_3r').model
    state = random_state(urdf_model, 0)
    r = urdf_model.jacobian(state, 'hand').T @ F
    found = estimated_wrench(urdf_model, state, 'hand', r)
    assert found.rank == 3
    np.testing.assert_allclose(found.remainder, 0.0, atol=1e-9)


def test_the_observer_of_a_controller_has_its_payloads_and_status():
    model = RobotModel.from_urdf_file(robot_file('panda.urdf'))
    controller = OperationalSpaceController(model, [PoseTask('panda_hand_tcp')])
    observer = controller.momentum_observer(1e6)
    state = random_state(model, 3, speed=0.0)
    weight = 2.5 * 9.81 * np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    known = model.gravity(state)

    def residual():
        for _ in range(2):
            observer.update(state, known, 1e-3)
        return observer.residual
    np.testing.assert_allclose(residual(), 0.0, atol=1e-9)
    controller.payloads.put('tool', 'panda_hand_tcp', Payload(2.5))
    expected = -model.jacobian(state, 'panda_hand_tcp').T @ weight  # it should sag, and does not
    np.testing.assert_allclose(residual(), expected, atol=1e-8)
    controller.set_status(locked_joints=['panda_joint2'])
    expected[1] = 0.0
    np.testing.assert_allclose(residual(), expected, atol=1e-8)
    assert isinstance(observer, MomentumObserver)


def test_what_is_refused():
    model = sample('tree').model
    state = random_state(model, 0)
    with pytest.raises(StateError, match='residual'):
        estimated_wrench(model, state, 'link_4', np.zeros(2))
    with pytest.raises(ModelError, match='link_44'):
        estimated_wrench(model, state, 'link_44', np.zeros(model.nv))
    with pytest.raises(ModelError, match='No joint moves'):
        estimated_wrench(model, state, model.root_link, np.zeros(model.nv))
