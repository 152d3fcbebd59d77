# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Payloads of a controller: carried as if they were part of the robot, and changed live."""

import numpy as np
import pytest
from own_ramps import Ramps
from samples import URDF, random_state
from test_grasp import weld

from opspace_control import (
    CollisionModel,
    ControlError,
    DistanceLimits,
    JointLimits,
    ModelError,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    Shape,
)

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
    with pytest.raises(ControlError, match='made without limits'):
        made.payloads.put('tool', 'l_hand', TOOL, shapes=[ROD])
    assert 'tool' not in made.payloads


ROD = Shape('rod', None, 'capsule', [0.02, 0.3], (0.0, 0.0, 0.2))


def beside_a_post():
    """Return a controller that keeps distances, and a state in which the rod touches a post."""
    state = random_state(MODEL, 4, 0.0)
    end = MODEL.forward_kinematics(state)['l_hand'] @ [0.0, 0.0, 0.42, 1.0]
    shapes = [Shape('left', 'l_hand', 'sphere', [0.05]), Shape('right', 'r_hand', 'sphere', [0.05]),
              Shape('post', None, 'sphere', [0.05], end[:3])]
    return OperationalSpaceController(
        MODEL, [PoseTask('l_hand'), PoseTask('r_hand')], PostureTask(kp=20.0),
        limits=JointLimits(MODEL), distances=DistanceLimits(CollisionModel(MODEL, shapes))), state


def test_shapes_of_a_payload_are_shapes_of_the_robot():
    made, state = beside_a_post()
    before = made.distances.pairs
    made.payloads.put('tool', 'l_hand', TOOL)
    without = made.compute_torque(state)
    assert made.urgent_pairs == ()
    made.payloads.put('tool', 'l_hand', TOOL, shapes=[ROD])
    assert set(map(frozenset, made.distances.pairs)) == {
        *map(frozenset, before), frozenset(('right', 'rod')), frozenset(('post', 'rod'))}
    assert abs(made.compute_torque(state) - without).max() > 1.0
    assert [{*pair[:2]} for pair in made.urgent_pairs] == [{'post', 'rod'}]
    made.payloads.put('tool', 'l_hand', TOOL, shapes=[ROD], touching=[('rod', 'post')])
    made.compute_torque(state)
    assert made.urgent_pairs == ()
    made.payloads.put('tool', 'l_hand', None)
    assert made.distances.pairs == before


@pytest.mark.parametrize(('shape', 'touching', 'error', 'says'), [
    (Shape('rod', 'r_hand', 'sphere', [0.1]), (), ModelError, "'rod' is on the link 'r_hand'"),
    (Shape('rod', None, 'half_space', ()), (), ModelError, "'rod' is a half-space"),
    (Shape('post', None, 'sphere', [0.1]), (), ModelError, "There is a shape 'post' already"),
    (ROD, [('rod', 'psot')], ModelError, "neither a shape nor a link 'psot'. Did you mean 'post'")])
def test_shapes_that_are_refused(shape, touching, error, says):
    made, _ = beside_a_post()
    made.payloads.put('tool', 'l_hand', TOOL)
    before = made.distances
    with pytest.raises(error, match=says):
        made.payloads.put('tool', 'l_hand', Payload(5.0), shapes=[shape], touching=touching)
    assert made.payloads['tool'] is TOOL
    assert made.distances is before


def test_a_controller_without_distances_has_no_shapes_of_payloads():
    made = OperationalSpaceController(MODEL, [PoseTask('l_hand')], limits=JointLimits(MODEL))
    with pytest.raises(ControlError, match='keeps no distances'):
        made.payloads.put('tool', 'l_hand', TOOL, shapes=[ROD])
