# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Links that keep a distance while the node is running, and what it says of them."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('trimesh', reason='trimesh is not installed')

import numpy as np
import ros_nodes
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from ros_lockstep import STEP, LockStepRobot
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control import (
    CollisionModel,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
    Shape,
)
from opspace_control.cli.robots import ROBOTS
from opspace_control.collision import CollisionDescription, Kind
from opspace_control.ros.middleware.conversions import numbers_of
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
        return (' and ' in values.get('distances at a limit', '') and ' and ' not in values[
            'joints at a limit'] and values['residual accelerations'] != 'none')

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

    def told(text):
        return any(value.key == 'distances' and value.value.startswith(text)
                   for message in heard for status in message.status for value in status.values)
    assert told('kept') and not told('not kept')
    logs = network.listen(Log, '/rosout')
    assert network.call(
        SetParametersAtomically, f'{ros_nodes.CONTROLLER}/set_parameters_atomically',
        parameters=[Parameter('limits.keep', value=False).to_parameter_msg()]).result.successful
    robot.run(0.3)
    network.expect(lambda: told('not kept: limits.keep is false'))
    network.expect(lambda: any('Links keep no distances' in log.msg for log in logs))


def test_shapes_and_near_pairs_are_markers(network, described):
    path, shapes = described
    robot = LockStepRobot(network, 'dual_arm', {**HANDS, 'collision.file': str(path),
                                                'publish_rate': 50.0}, ARMS)
    heard = network.listen(MarkerArray, f'{ros_nodes.CONTROLLER}/markers')
    robot.run(0.3)
    place, other = (robot.physics.frame_pose(hand)[:3] for hand in ('l_hand', 'r_hand'))
    robot.send_goal('left', 'l_hand', other - place)
    for _ in range(40):
        robot.run(0.05)
    shown = [marker for message in heard for marker in message.markers
             if marker.ns == 'collision shapes']
    assert {marker.header.frame_id for marker in shown} == {shape.link for shape in shapes.shapes}
    assert all(marker.frame_locked for marker in shown)
    palm = next(shape for shape in shapes.shapes if shape.name == 'l_palm')
    marker = next(marker for marker in shown if marker.header.frame_id == 'l_palm')
    assert [marker.scale.x, marker.scale.y, marker.scale.z] == pytest.approx(
        palm.size if palm.kind == Kind.BOX else [*2 * [2.0 * palm.size[0]], palm.size[-1]])
    # In the end the hands are pressed together: a line of the margin's length is red.
    near = {marker.id: marker for marker in heard[-1].markers if marker.ns == 'near pairs'}
    ends = np.array([[point.x, point.y, point.z] for point in near[1].points]).reshape(-1, 2, 3)
    assert len(ends) >= 1
    lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    assert lengths.min() == pytest.approx(nearest(shapes, robot), abs=5e-4)
    robot.check()


def test_every_kind_of_shape_has_markers_that_go_with_it(network):
    """A half-space is a grid in its plane, and a shape that is gone has no marker at once."""
    kinds = {'sphere': ([0.1], [(Marker.SPHERE, 0.2, 0.2, 0.2)]),
             'cylinder': ([0.1, 0.4], [(Marker.CYLINDER, 0.2, 0.2, 0.4)]),
             'capsule': ([0.1, 0.4], [(Marker.CYLINDER, 0.2, 0.2, 0.4),
                                      *2 * [(Marker.SPHERE, 0.2, 0.2, 0.2)]]),
             'box': ([0.1, 0.2, 0.3], [(Marker.CUBE, 0.1, 0.2, 0.3)]),
             'half_space': ([], [(Marker.LINE_LIST, 0.004, 0.0, 0.0)])}
    tilted = [0.0, 0.6, 0.0, 0.8]  # the normal is along 0.96, 0, 0.28
    robot = LockStepRobot(network, 'dual_arm', {
        **HANDS, 'publish_rate': 50.0, 'collision.influence': 0.1, 'shapes': [*kinds],
        **{f'{kind}.kind': kind for kind in kinds},
        **{f'{kind}.size': size for kind, (size, _) in kinds.items() if size},
        **{f'{kind}.pose': [-9.0, -1.0, 0.5, *tilted] for kind in kinds}}, ARMS)
    heard = network.listen(MarkerArray, f'{ros_nodes.CONTROLLER}/markers')

    def shapes(message):
        return [marker for marker in message.markers if marker.ns == 'collision shapes']

    def look(marker):
        size = marker.scale
        return marker.type, *(round(part, 9) for part in (size.x, size.y, size.z))

    robot.run(0.3)
    shown = next(shapes(message) for message in heard if shapes(message))
    assert sorted(map(look, shown)) == sorted(
        marker for _, markers in kinds.values() for marker in markers)
    grid = next(marker for marker in shown if marker.type == Marker.LINE_LIST)
    normal = np.array([0.96, 0.0, 0.28])
    np.testing.assert_allclose(
        numbers_of(grid.pose), [*normal @ [-9.0, -1.0, 0.5] * normal, *tilted], atol=1e-9)
    ends = np.array([[point.x, point.y, point.z] for point in grid.points])
    np.testing.assert_array_equal(ends.max(axis=0), [2.0, 2.0, 0.3])
    np.testing.assert_array_equal(ends.min(axis=0), [-2.0, -2.0, 0.0])
    assert len(ends) == 2 * 9 * 2 + 2
    assert {marker.header.frame_id for marker in shown} == {'base_link'}
    assert {marker.action for marker in shown} == {Marker.ADD}
    heard.clear()
    assert network.call(
        SetParametersAtomically, f'{ros_nodes.CONTROLLER}/set_parameters_atomically', parameters=[
            Parameter(f'{kind}.kind', value='none').to_parameter_msg()
            for kind in ('capsule', 'half_space')]).result.successful
    robot.run(0.3)
    network.expect(lambda: any(
        marker.action == Marker.DELETE for message in heard for marker in shapes(message)))
    last = next(shapes(message) for message in heard if len(shapes(message)) == 7 and shapes(
        message)[-1].action == Marker.DELETE)
    assert [marker.action for marker in last] == 3 * [Marker.ADD] + 4 * [Marker.DELETE]
    assert [marker.id for marker in last] == [*range(7)]
    robot.check()


def test_a_file_that_cannot_be_used_is_named(network, tmp_path):
    wrong = tmp_path / 'wrong.yaml'
    wrong.write_text('shapes: {l_hand: []}')
    process = network.start('controller', {
        'robot_description': ros_nodes.robot_text('dual_arm'), 'collision.file': str(wrong)})
    network.expect(lambda: 'wrong.yaml: excluded_pairs' in process.said())


def test_the_potential_of_the_parameters_is_that_of_the_library(network):
    """Efforts of the node are those of a controller with this potential, not of one without."""
    model = RobotModel.from_urdf(ros_nodes.robot_text('dual_arm'))
    q = model.neutral()
    for name, angle in ARMS.items():
        q[model.q_index[model.dof_index(name)]] = angle
    state = RobotState(model, q, np.zeros(model.nv))
    links = model.forward_kinematics(state, ['l_forearm', 'l_hand', 'r_hand'])
    place = links['l_forearm'][:3, 3] + [0.0, 0.2, 0.0]
    shapes = CollisionModel(model, [Shape('elbow', 'l_forearm', 'sphere', [0.05]),
                                    Shape('ball', None, 'sphere', [0.06], place)])
    gains = {'kp': 100.0, 'kd': 20.0}
    robot = LockStepRobot(network, 'dual_arm', {
        **HANDS, 'posture.kp': 0.0, 'posture.kd': 10.0,
        'disturbance.max_force': 0.0, 'disturbance.max_moment': 0.0,
        **{f'{task}.{gain}': value for task in HANDS['tasks'] for gain, value in gains.items()},
        'shapes': ['elbow', 'ball'], 'elbow.kind': 'sphere', 'elbow.size': [0.05],
        'elbow.frame': 'l_forearm', 'ball.kind': 'sphere', 'ball.size': [0.06],
        'ball.pose': [*place.tolist(), 0.0, 0.0, 0.0, 1.0]}, ARMS, joint_friction=False)
    robot.run(0.5)
    before = nearest(shapes, robot)
    assert network.call(
        SetParametersAtomically, f'{ros_nodes.CONTROLLER}/set_parameters_atomically', parameters=[
            Parameter('collision.repulsion', value=0.02).to_parameter_msg(),
            Parameter('collision.repulsion_influence', value=0.4).to_parameter_msg()],
    ).result.successful
    robot.run(0.5)
    largest = 0.0
    for _ in range(10):
        dofs = [model.dof_index(name) for name in robot.physics.joint_names]
        q, v = model.neutral(), np.zeros(model.nv)
        q[model.q_index[dofs]], v[dofs] = robot.physics.positions, robot.physics.velocities
        robot.run(STEP)
        efforts = []
        for gain in (0.0, 0.02):
            tasks = [PositionTask(hand, name=hand, **gains) for hand in ('l_hand', 'r_hand')]
            controller = OperationalSpaceController(
                model, tasks, PostureTask(kp=0.0, kd=10.0), limits=JointLimits(model),
                distances=DistanceLimits(shapes, repulsion=gain, repulsion_influence=0.4))
            for hand, task in zip(('l_hand', 'r_hand'), tasks, strict=True):
                task.set_target(links[hand][:3, 3])
            efforts.append(controller.compute_torque(RobotState(model, q, v), dt=STEP)[
                [model.dof_index(name) for name in robot.order]])
        np.testing.assert_allclose(robot.commands[-1], efforts[1], atol=1e-6)
        largest = max(largest, abs(efforts[1] - efforts[0]).max())
    assert largest > 0.1
    assert nearest(shapes, robot) > before + 0.01
    robot.check()
