# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Relative and centre-of-mass tasks over DDS: goals in moving frames, feedback, parameters."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from controller_bench import (
    MODEL,
    PARAMETERS,
    START,
    GoalBench,
    close,
    moved,
    pose_message,
    robot_state,
    torque,
)
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from ros_nodes import CONTROLLER

from opspace_control import (
    CenterOfMassTask,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RelativeTask,
)
from opspace_control.errors import OpspaceError
from opspace_control.ros.middleware.conversions import pose_from_message, six_from_message
from opspace_control.ros.parameters.task_blocks import make_task
from opspace_control.spatial.rotations import matrix_from_quaternion

VALUES = {name: value for name, value in PARAMETERS.items()
          if not name.startswith(('left.', 'right.', 'tasks'))} | {
    'tasks': ['left', 'right', 'center'], 'publish_rate': 1000.0,
    'right.frame': 'r_hand', 'left.frame': 'l_hand', 'left.type': 'relative',
    'left.reference': 'r_hand', 'left.priority': 1, 'left.max_linear_velocity': 10.0,
    'left.max_angular_velocity': 10.0, 'center.type': 'center_of_mass', 'center.axes': 'x y',
    'center.priority': 2, 'center.max_linear_velocity': 10.0}
GOAL = np.array([0.05, 0.35, 0.02, 0.0, 0.0, 0.1, np.sqrt(0.99)])


@pytest.fixture(scope='module')
def running():
    with GoalBench.around(VALUES) as bench:
        yield bench


@pytest.fixture
def node(running):
    running.begin_anew()
    return running


@pytest.fixture
def expected():
    """Return a controller like the node's that holds the start posture."""
    controller = OperationalSpaceController(MODEL, [
        PoseTask('r_hand', name='right', max_linear_velocity=0.5, max_angular_velocity=1.5),
        RelativeTask('l_hand', 'r_hand', name='left', priority=1, max_linear_velocity=10.0,
                     max_angular_velocity=10.0),
        CenterOfMassTask(axes='x y', name='center', priority=2, max_linear_velocity=10.0)],
        PostureTask())
    torque(controller, START)
    return controller


def test_they_command_what_the_law_says(node, expected):
    there = moved(scale=0.05)
    assert close(node.after(1, there), torque(expected, there))


@pytest.mark.parametrize('frame', ['', 'r_hand', 'base_link', 'l_hand'])
def test_a_goal_is_one_in_the_frame_of_the_other_hand(node, expected, frame):
    """Wherever it is given, where that is now counts; from then on it moves with the reference."""
    if frame == 'base_link':
        frame = MODEL.root_link
    poses = MODEL.forward_kinematics(robot_state(START), MODEL.frame_names)
    goal = np.eye(4)
    goal[:3, 3], goal[:3, :3] = GOAL[:3], matrix_from_quaternion(GOAL[3:])
    if frame:
        goal = np.linalg.inv(poses['r_hand']) @ poses[frame] @ goal
    node.send('target_pose', pose_message(GOAL, frame))
    expected.tasks['left'].set_target(goal)
    there = moved(scale=0.03)
    assert close(node.after(1, there), torque(expected, there))


def test_feedback_is_in_the_frame_of_the_reference(node, expected):
    network = node.network
    poses = network.listen(PoseStamped, f'{CONTROLLER}/left/current_pose')
    errors = network.listen(TwistStamped, f'{CONTROLLER}/left/error')
    wrenches = network.listen(WrenchStamped, f'{CONTROLLER}/left/wrench')
    centers = network.listen(PoseStamped, f'{CONTROLLER}/center/current_pose')
    there = moved(seed=2, scale=0.03)

    def heard():
        node.after(1, there)
        return poses and errors and wrenches and centers
    network.expect(heard)
    for heard_so_far in (poses, errors, wrenches, centers):
        del heard_so_far[:]
    network.expect(heard)
    torque(expected, there)
    left, center = expected.tasks['left'], expected.tasks['center']
    assert poses[-1].header.frame_id == errors[-1].header.frame_id == 'r_hand'
    np.testing.assert_allclose(
        pose_from_message(poses[-1].pose), left.pose, atol=1e-9)
    np.testing.assert_allclose(errors[-1].twist.linear.x, left.error[0], atol=1e-9)
    assert wrenches[-1].header.frame_id == 'l_hand'
    R = MODEL.forward_kinematics(robot_state(there), ['l_hand'])['l_hand'][:3, :3]
    np.testing.assert_allclose(six_from_message(wrenches[-1].wrench)[:3],
                               R.T @ left.wrench[:3], rtol=1e-6, atol=1e-6)
    assert centers[-1].header.frame_id == MODEL.root_link
    np.testing.assert_allclose(
        pose_from_message(centers[-1].pose)[:3], center.pose[:3], atol=1e-9)


@pytest.mark.parametrize('changed, complaint', [
    ({'left.reference': ''}, 'another link'), ({'left.reference': 'l_hand'}, 'another link'),
    ({'left.type': 'pose'}, 'type pose has none'),
    ({'left.axes_frame': 'l_hand'}, 'those of its reference')], ids=str)
def test_what_does_not_fit_is_refused(changed, complaint):
    from opspace_control.ros.parameters.controller_parameters import table_of
    values = VALUES | changed
    values = {row.name: row.default for row in table_of(values)} | values
    with pytest.raises(OpspaceError, match=complaint):
        make_task('left', values)

