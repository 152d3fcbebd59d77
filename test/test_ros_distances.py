# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Links that keep a distance while the node is running, and what it says of them."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('trimesh', reason='trimesh is not installed')

import ros_nodes
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from ros_lockstep import LockStepRobot

from opspace_control import RobotModel
from opspace_control.cli.robots import ROBOTS
from opspace_control.collision import CollisionDescription
from opspace_control.share import share_directory

HANDS = {'tasks': ['left', 'right'], 'left.frame': 'l_hand', 'right.frame': 'r_hand',
         'left.axes': 'x y z', 'right.axes': 'x y z'}
ARMS = next(robot for robot in ROBOTS if robot.name == 'dual_arm').start


@pytest.fixture(scope='module')
def described(tmp_path_factory):
    """Return the path of the collision file, and the model of its shapes."""
    urdf = share_directory() / 'urdf' / 'dual_arm.urdf'
    path = tmp_path_factory.mktemp('shapes') / 'dual_arm.collision.yaml'
    description = CollisionDescription.from_urdf_file(urdf)
    description.write(path, 'dual_arm')
    return path, description.model(RobotModel.from_urdf_file(urdf))


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


def nearest(shapes, robot):
    """Return the least distance of all pairs, as the simulated robot is."""
    model = shapes.robot
    q = model.neutral()
    for name, position in zip(robot.physics.joint_names, robot.physics.positions, strict=True):
        q[model.q_index[model.dof_index(name)]] = position
    return min(pair.distance for pair in shapes.distances(q))


def test_a_hand_that_is_sent_into_the_other_stops_before_it(network, described):
    path, shapes = described
    robot = LockStepRobot(network, 'dual_arm', {**HANDS, 'collision.file': str(path)}, ARMS)
    robot.run(0.3)
    heard = network.listen(DiagnosticArray, '/diagnostics')
    place, other = (robot.physics.frame_pose(hand)[:3] for hand in ('l_hand', 'r_hand'))
    robot.send_goal('left', 'l_hand', other - place)
    least = nearest(shapes, robot)
    for _ in range(60):
        robot.run(0.05)
        least = min(least, nearest(shapes, robot))
    assert 0.0095 < least < 0.012
    robot.check()

    def said(values):
        return ' and ' in values.get('joints at a limit', '') and '(lower distance)' in values[
            'joints at a limit'] and values['residual accelerations'] != 'none'

    network.expect(lambda: any(
        said({value.key: value.value for value in status.values})
        for message in heard for status in message.status))
    # What does not fit is refused.
    answers = [network.call(
        SetParametersAtomically, f'{ros_nodes.CONTROLLER}/set_parameters_atomically',
        parameters=[Parameter('collision.margin', value=margin).to_parameter_msg()]).result
        for margin in (0.02, 0.5)]
    assert [answer.successful for answer in answers] == [True, False]
    assert 'influence' in answers[1].reason
    for _ in range(30):
        robot.run(0.05)
    assert nearest(shapes, robot) > 0.018
    robot.check()


def test_a_file_that_cannot_be_used_is_named(network, tmp_path):
    wrong = tmp_path / 'wrong.yaml'
    wrong.write_text('shapes: {l_hand: []}')
    process = network.start('controller', {
        'robot_description': ros_nodes.robot_text('dual_arm'), 'collision.file': str(wrong)})
    network.expect(lambda: 'wrong.yaml: excluded_pairs' in process.said())
