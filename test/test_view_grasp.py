# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A viewer has both hands grasp a box, drags it and sets it down; and tasks of other kinds."""

import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('viser', reason='viser is not installed')

import ros_nodes
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from test_ros_grasps import Scene, position
from viewer import Viewer

HANDS = [f'/robot/goal of {hand}' for hand in ('left', 'right')]
CARRY = '/robot/goal of carry'
OTHERS = {
    'tasks': ['left', 'right', 'trunk', 'gap'], 'trunk.type': 'joint',
    'trunk.joints': ['torso_yaw'], 'trunk.priority': 1, 'trunk.kp': 81.0, 'gap.type': 'relative',
    'gap.frame': 'l_forearm', 'gap.reference': 'r_hand', 'gap.axes': 'x y z', 'gap.priority': 2}


@pytest.fixture(scope='module')
def scene():
    with ros_nodes.network() as network:
        scene = Scene(network, **OTHERS)
        view = network.start('view', {}, ['--', '--port', '18400'])
        network.expect(lambda: 'http://' in view.said())
        scene.viewer = Viewer(re.search(r'http://\S+', view.said()).group())
        yield scene
        scene.viewer.close()
        assert view.exit_code() is None, view.said()


def shown(viewer, name):
    return viewer.nodes.get(name, {}).get('visible', False)


def test_box_is_grasped_dragged_and_let_go(scene):
    viewer = scene.viewer
    viewer.expect(lambda: all(shown(viewer, hand) for hand in HANDS)
                  and viewer.has('grip carry') and viewer.has('engaged')
                  and shown(viewer, '/objects/box'), 240.0)
    assert not shown(viewer, CARRY)
    assert viewer.has('squeeze')
    viewer.set(viewer.control('grip carry'), True)
    viewer.set(viewer.control('engaged'), True)
    # The hands' goals give way to that of the box.
    viewer.expect(lambda: shown(viewer, CARRY) and not any(
        shown(viewer, hand) for hand in HANDS), 240.0)
    start = np.array(viewer.nodes['/objects/box']['position'])
    goal = np.array(viewer.nodes[CARRY]['position']) + np.array([0.0, 0.0, 0.08])
    viewer.drag(CARRY, goal.tolist(), viewer.nodes[CARRY]['wxyz'])
    viewer.expect(lambda: viewer.nodes['/objects/box']['position'][2] > start[2] + 0.075, 240.0)
    viewer.set(viewer.control('engaged'), False)
    viewer.expect(lambda: not shown(viewer, CARRY) and all(
        shown(viewer, hand) for hand in HANDS), 240.0)


def test_joints_of_a_task_have_sliders_and_the_task_its_switch(scene):
    """They are no handles in the picture, and no goals of the posture."""
    viewer = scene.viewer
    states = scene.network.listen(JointState, 'joint_states', ros_nodes.NEWEST)
    viewer.expect(lambda: viewer.has('torso_yaw') and 'trunk' in viewer.text())
    assert [viewer.controls[viewer.control('kp', k)]['value'] for k in range(5)].count(81.0) == 1

    def yaw():
        del states[:]
        scene.network.expect(lambda: states)
        return states[-1].position[list(states[-1].name).index('torso_yaw')]
    # Of the task; that of the posture comes later.
    viewer.set_until(viewer.control('torso_yaw'), 0.2, lambda: abs(yaw() - 0.2) < 1e-3)
    viewer.expect(lambda: re.search(r'error 0\.000\d rad or m', viewer.text()))
    viewer.set_until(viewer.control('enabled', 3), False, lambda: re.search(
        'active tasks</td><td>left, right, gap<', viewer.text()))
    viewer.set_until(viewer.control('enabled', 3), True,
                     lambda: 'left, right, trunk, gap<' in viewer.text())


def test_goal_of_a_relative_task_hangs_on_its_reference(scene):
    viewer, network = scene.viewer, scene.network
    poses = network.listen(PoseStamped, f'{ros_nodes.CONTROLLER}/gap/current_pose')
    goals = network.listen(PoseStamped, f'{ros_nodes.CONTROLLER}/gap/target_pose')
    network.expect(lambda: poses)
    (handle,) = (name for name in viewer.nodes if name.endswith('/goal of gap'))
    carriers = [handle.split('/')[2:-1], CARRY.split('/')[2:-1]]
    assert carriers[0][-1].startswith('r_') and carriers[1] == []
    assert poses[-1].header.frame_id == 'r_hand'
    at = np.array(viewer.nodes[handle]['position'])
    np.testing.assert_allclose(at, position(poses[-1]), atol=0.1)  # others have moved both hands
    viewer.drag(handle, (at + 0.01).tolist(), viewer.nodes[handle]['wxyz'])
    network.expect(lambda: goals)
    assert goals[-1].header.frame_id == 'r_hand'
    np.testing.assert_allclose(position(goals[-1]), at + 0.01, atol=1e-6)
