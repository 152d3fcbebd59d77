# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Payloads of a controller: carried as if they were part of the robot, and changed live."""

import numpy as np
import pytest
from samples import URDF, random_state
from test_grasp import weld

from opspace_control import (
    ControlError,
    ModelError,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.safety.ramps import Ramps

TEXT = (URDF / 'dual_arm.urdf').read_text()
MODEL = RobotModel.from_urdf(TEXT)
TOOL = Payload.of_box(2.0, (0.1, 0.2, 0.3), (0.02, 0.0, 0.1))


def controller(model=MODEL):
    return OperationalSpaceController(model, [PoseTask('l_hand'), PoseTask('r_hand')],
                                      PostureTask(kp=20.0), effort_limits=np.inf)


def test_a_payload_is_carried_like_a_link_of_the_robot():
    state = random_state(MODEL, 1)
    loaded = RobotModel.from_urdf(weld(TEXT, 'l_hand', TOOL, np.eye(4)))
    expected = controller(loaded).compute_torque(RobotState(loaded, state.q, state.v))
    made = controller()
    bare = made.compute_torque(state)
    made.payloads.put('tool', 'l_hand', TOOL)
    np.testing.assert_allclose(made.compute_torque(state), expected, atol=1e-9)
    assert 'tool' in made.payloads
    assert made.payloads['tool'] is TOOL
    made.payloads.put('tool', 'l_hand', None)
    np.testing.assert_array_equal(made.compute_torque(state), bare)
    assert 'tool' not in made.payloads


def test_payloads_of_several_links_do_not_know_each_other():
    state = random_state(MODEL, 2)
    made = controller()
    made.payloads.put('one', 'l_hand', TOOL)
    left = made.compute_torque(state)
    made.payloads.put('other', 'r_hand', TOOL)
    made.payloads.put('other', 'r_hand', None)
    np.testing.assert_array_equal(made.compute_torque(state), left)


def test_ramps_put_it_on_gradually():
    state = random_state(MODEL, 3, 0.0)
    made = controller()
    ramps = Ramps(made.gradual, 0.1)
    torques = [made.compute_torque(state)]
    with ramps.smoothly():
        made.payloads.put('tool', 'l_hand', TOOL)
    for _ in range(110):
        torques.append(made.compute_torque(state))
        ramps.advance(0.001)
    steps = abs(np.diff(torques, axis=0)).max(axis=1)
    change = abs(torques[-1] - torques[0]).max()
    assert change > 1.0
    assert steps.max() < 0.03 * change
    at_once = controller()
    at_once.payloads.put('tool', 'l_hand', TOOL)
    np.testing.assert_allclose(torques[-1], at_once.compute_torque(state), atol=1e-9)


def test_what_is_refused():
    made = controller()
    with pytest.raises(ModelError, match="'l_hand'"):
        made.payloads.put('tool', 'l_hnad', TOOL)
    with pytest.raises(ControlError, match='no payload'):
        made.payloads.put('tool', 'l_hand', 2.0)
