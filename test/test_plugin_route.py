# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The controller node with its cycles in the plug-in, in a real controller manager.

Runs where ros2_control and the plug-in of native/ros2_control are built and sourced.
"""

import contextlib
import os
import re
import signal
import sys

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from real_manager import GIVEN, NAME, NODE, STILL, URDF, Manager, controller_of, needs_plugin
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control import RobotState, Shape
from opspace_control.model import KinematicTree
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.conversions import fill_message, pose_from_message
from opspace_control.safety.shared_memory import ENTRY, FRAME
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_quaternion

pytestmark = needs_plugin
PLUG = 'opspace_plugin'
TYPES = {
    PLUG: 'opspace_controller/OperationalSpaceController',
    'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
    'holder': 'forward_command_controller/ForwardCommandController',
    'goals': 'forward_command_controller/MultiInterfaceForwardCommandController'}
ROUTED = {**GIVEN, 'controller_manager': 'controller_manager', 'route': 'plugin',
         'safety.node_timeout': 0.5}


@pytest.fixture
def controller():
    """Return the same controller in this process, for the efforts that are to be expected."""
    return controller_of(ROUTED)


class Robot(Manager):
    """A manager, and the controller node."""

    def __init__(self, folder, domain, text=STILL):
        super().__init__(folder, text, {
            'controller_manager': {'ros__parameters': {'update_rate': 500, **{
                name: {'type': kind} for name, kind in TYPES.items()}}},
            'holder': {'ros__parameters': {
                'joints': list(KinematicTree.from_urdf(text).effort_joints),
                'interface_name': 'effort'}},
            'goals': {'ros__parameters': {
                'joint': f'{PLUG}/left_hand', 'interface_names': [
                    *(f'position.{axis}' for axis in 'xyz'),
                    *(f'orientation.{axis}' for axis in 'xyzw')]}},
        }, domain)
        self.reports = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        assert self.load('joint_state_broadcaster')
        assert self.switch(['joint_state_broadcaster'])

    def _on_diagnostics(self, message):
        for status in message.status:
            if 'control cycle' in status.name:
                self.reports = {value.key: value.value for value in status.values} | {
                    'message': status.message}

    def run_node(self, name=NAME, **changed):
        given = ROUTED | changed
        blocks = {*ROUTED['tasks']} - {*given['tasks']}
        given = {key: value for key, value in given.items() if key.split('.')[0] not in blocks}
        file = self.folder / 'node.yaml'
        file.write_text(yaml.safe_dump({name: {'ros__parameters': given}}))
        return self.start([sys.executable, '-c', (
            'import sys; from opspace_control.ros.controller import main; '
            'sys.exit(main(sys.argv[1:]))'), '--ros-args', '-r', f'__node:={name}', '--params-file',
            file])

    def cycles(self):
        """Return the stamps of the plug-in's last cycles, ns, from its memory."""
        path = re.findall(r'of (\S+)\.block\.', self.log.read_text())[-1]
        memory = np.memmap(path, np.uint8, 'r')
        frame = memory[:FRAME.itemsize].view(FRAME)[0]
        count, size = frame['cycles'].item(), frame['entry_count'].item()
        entries = memory[frame['entries'].item():][:ENTRY.itemsize * size].view(ENTRY)
        return entries['stamp'][np.arange(max(0, count - size // 2), count) % size]

    def wait_for(self, state, name=PLUG):
        self.wait_until(lambda: self.state(name) == state, 40.0)

    def label(self):
        """Return the state of the node; the first answer may precede the discovery of its way."""
        return self.call(GetState, f'{NAME}/get_state', again=2.0).current_state.label

    def transition(self, label):
        number = getattr(Transition, f'TRANSITION_{label}')
        return self.call(ChangeState, f'{NAME}/change_state',
                         transition=Transition(id=number)).success


@pytest.fixture
def robot(tmp_path):
    with contextlib.ExitStack() as stack:
        robot = Robot(tmp_path, 100 + os.getpid() % 100)
        stack.callback(robot.close)
        yield robot


def is_at(robot, controller, efforts):
    joints = controller.model.dof_names
    return lambda: np.allclose(robot.effort(joints), efforts, atol=1e-5)


def test_the_same_topics_services_and_parameters(robot, controller):
    """Goals, gains, holds, diagnostics and transitions are those of the other route."""
    robot.run_node()
    robot.wait_for('active')
    weight = robot.wanted_efforts(controller)
    robot.wait_until(is_at(robot, controller, weight))
    goal = controller.tasks['left_hand'].pose + np.array([0.01, 0, 0.01, 0, 0, 0, 0])
    robot.send_goal(goal)
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller, goal)))
    # A gain, which ramps.
    answer = robot.call(SetParameters, f'{NAME}/set_parameters', parameters=[
        Parameter('left_hand.kp', value=150.0).to_parameter_msg()])
    assert answer.results[0].successful
    controller.tasks['left_hand'].set_gains(150.0)
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller, goal)))
    robot.wait_until(lambda: robot.reports.get('message') == 'Active.' and (
        450.0 < float(robot.reports['rate [Hz]']) < 550.0))
    assert robot.call(Trigger, f'{NAME}/hold').success
    robot.wait_until(is_at(robot, controller, weight))
    assert robot.transition('DEACTIVATE')
    assert robot.state(PLUG) == 'inactive'
    robot.wait_until(lambda: not robot.effort(controller.model.dof_names).any())
    assert robot.transition('ACTIVATE')
    robot.wait_until(is_at(robot, controller, weight))
    assert robot.state(PLUG) == 'active'


def begin(robot, controller, **changed):
    """Return the node's process once the robot is at a goal, and the efforts there."""
    process = robot.run_node(**changed)
    robot.wait_for('active')
    weight = robot.wanted_efforts(controller)
    robot.wait_until(is_at(robot, controller, weight))
    goal = controller.tasks['left_hand'].pose + np.array([0.01, 0, 0.01, 0, 0, 0, 0])
    robot.send_goal(goal)
    efforts = robot.wanted_efforts(controller, goal)
    robot.wait_until(is_at(robot, controller, efforts))
    return process, efforts


def fastest_change(robot, controller, first):
    """Return the fastest change of efforts since a first state that was seen, N m/s."""
    seen = np.array([[each[joint] for joint in controller.model.dof_names]
                     for each in robot.seen[first:]])
    return (abs(np.diff(seen, axis=0)).max(axis=1) / np.diff(robot.stamps[first:])).max() * 1e9


def assert_same_cycles(robot, controller, weight, first):
    """
    Compare efforts since a first state that was seen with those of a controller, bit by bit.

    It runs as many cycles, of the same times, from the first one whose efforts are not ``weight``.
    """
    stamps = robot.cycles()
    # A state has the efforts of the cycle before.
    cycles = [int(abs(stamps - stamp).argmin()) - 1 for stamp in robot.stamps[first:]]
    seen = np.array([[each[joint] for joint in controller.model.dof_names]
                     for each in robot.seen[first:]])
    begin = np.flatnonzero((abs(seen - weight) > 1e-5).any(axis=1))[0]
    q = np.array([robot.positions[joint] for joint in controller.model.dof_names])
    state, efforts = RobotState(controller.model, q, np.zeros(controller.model.nv)), {}
    for k in range(cycles[begin], cycles[-1] + 1):
        efforts[k] = controller.compute_torque(
            state, dt=1e-9 * (stamps[k] - stamps[k - 1])).copy()
    settled = begin + 10  # until then the rate of efforts may be limited
    assert len(seen) > settled + 100
    np.testing.assert_array_equal(seen[settled:], [efforts[k] for k in cycles[settled:]])


@pytest.mark.parametrize('way', [signal.SIGKILL, signal.SIGSTOP])
def test_the_node_dies_or_hangs(robot, controller, way):
    """Goals are held for safety.node_timeout; then the robot is damped, released and given back."""
    process, efforts = begin(robot, controller)
    first = len(robot.seen)
    process.send_signal(way)
    robot.spin(0.2)
    assert is_at(robot, controller, efforts)()
    robot.wait_for('inactive')
    robot.wait_until(lambda: not robot.effort(controller.model.dof_names).any())
    # By default 20 times the limit in a second; cycles come a bit too late, or too early.
    assert fastest_change(robot, controller, first) <= 40.0 * controller.effort_limits.max()
    assert 'gives no sign of life: the robot is damped, then released' in robot.log.read_text()
    if way == signal.SIGSTOP:
        process.send_signal(signal.SIGCONT)
        robot.wait_until(lambda: robot.label() == 'inactive')
        assert robot.transition('ACTIVATE')
    else:
        process.wait(10)
        robot.run_node()
    robot.wait_for('active')
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller)))


def test_a_node_attaches_again(robot, controller):
    """Before the time-out a new process finds the plug-in active: no effort jumps."""
    process, efforts = begin(robot, controller, **{'safety.node_timeout': 30.0})
    first = len(robot.seen)
    process.kill()
    process.wait(10)
    robot.run_node(**{'safety.node_timeout': 30.0})
    robot.wait_until(lambda: 'goes on: this node has found it active' in robot.log.read_text())
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller)), 40.0)
    assert robot.state(PLUG) == 'active'
    # From the goal to the present pose; there is no other effort in between.
    assert fastest_change(robot, controller, first) <= 40.0 * controller.effort_limits.max()
    change = abs(robot.wanted_efforts(controller) - efforts).max()
    seen = np.array([[each[joint] for joint in controller.model.dof_names]
                     for each in robot.seen[first:]])
    assert abs(seen - efforts).max() <= change + 1e-5
    goal = controller.tasks['left_hand'].pose + np.array([0.0, 0.01, 0, 0, 0, 0, 0])
    robot.send_goal(goal)
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller, goal)))


def test_another_client_deactivates_the_plugin(robot, controller):
    """The node says so and gives the robot up; activated again, it begins anew."""
    begin(robot, controller)
    assert robot.switch(deactivate=[PLUG])
    robot.wait_until(lambda: f'{PLUG} is no longer active' in robot.log.read_text())
    robot.wait_until(lambda: not robot.effort(controller.model.dof_names).any())
    robot.wait_until(lambda: robot.label() == 'inactive')
    assert robot.transition('ACTIVATE')
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller)))


def test_the_node_is_deactivated_while_there_are_no_cycles(robot, controller):
    """As in a paused simulation: the robot is released when they go on, and the log says so."""
    begin(robot, controller)
    robot.process.send_signal(signal.SIGSTOP)
    assert robot.transition('DEACTIVATE')
    robot.process.send_signal(signal.SIGCONT)
    said = robot.log.read_text()
    assert 'it releases the robot in its next cycles' in said
    assert 'The robot is released' not in said
    robot.wait_until(lambda: not robot.effort(controller.model.dof_names).any())
    robot.wait_for('inactive')  # the manager does late what the node has asked for
    assert robot.transition('ACTIVATE')
    robot.wait_for('active')
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller)))


def test_a_rival_gets_the_joints_back(robot, controller):
    """What had the joints before is off while the node is active, and has them after it."""
    assert robot.load('holder')
    assert robot.switch(['holder'])
    begin(robot, controller)
    assert robot.state('holder') == 'inactive'
    assert robot.transition('DEACTIVATE')
    robot.wait_for('active', 'holder')
    assert robot.state(PLUG) == 'inactive'


def test_the_manager_dies(robot, controller):
    """The node notices it within a second, and begins anew with a new manager."""
    begin(robot, controller)
    robot.process.kill()
    robot.process.wait(10)
    robot.wait_until(lambda: 'has ended' in robot.log.read_text())
    robot.wait_until(lambda: robot.label() == 'inactive')
    robot.process = robot.start([NODE, '--ros-args', '--params-file',
                                 robot.folder / 'manager.yaml'])
    robot.wait_until(lambda: not robot.states())  # a killed process stays in the graph
    assert robot.load('joint_state_broadcaster')
    assert robot.switch(['joint_state_broadcaster'])
    assert robot.transition('ACTIVATE')
    robot.wait_until(is_at(robot, controller, robot.wanted_efforts(controller)))


def test_the_manager_hangs(robot, controller):
    """The node says that there are no cycles, and goes on with its goals when there are again."""
    _, efforts = begin(robot, controller)
    first = len(robot.seen)
    robot.process.send_signal(signal.SIGSTOP)
    robot.wait_until(lambda: 'The plug-in has had no cycle' in robot.log.read_text())
    robot.process.send_signal(signal.SIGCONT)
    robot.wait_until(lambda: 'The plug-in has cycles again.' in robot.log.read_text())
    robot.spin(0.5)
    seen = np.array([[each[joint] for joint in controller.model.dof_names]
                     for each in robot.seen[first:]])
    assert len(seen) > 50
    np.testing.assert_allclose(seen, np.broadcast_to(efforts, seen.shape), atol=1e-5)
    assert robot.label() == 'active'


def test_a_sensor_of_the_hardware(tmp_path):
    """Its readings are state interfaces: the wrench that a task measures."""
    numbers = [1.0, -2.0, 5.0, 0.1, 0.2, 0.3]
    interfaces = ''.join(
        f'<state_interface name="{part}.{axis}"><param name="initial_value">{numbers[3 * k + r]}'
        '</param></state_interface>'
        for k, part in enumerate(('force', 'torque')) for r, axis in enumerate('xyz'))
    text = STILL.replace('</ros2_control>',
                         f'<sensor name="wrist">{interfaces}</sensor></ros2_control>')
    with contextlib.ExitStack() as stack:
        robot = Robot(tmp_path, 100 + os.getpid() % 100, text)
        stack.callback(robot.close)
        robot.run_node(**{'sensors': ['wrist'], 'plugin.sensors': ['wrist'],
                          'wrist.frame': 'l_hand', 'left_hand.sensor': 'wrist',
                          'left_hand.force_axes': 'z'})
        robot.wait_for('active')
        measured = []

        def forces():
            force = measured[-1].wrench.force
            return np.linalg.norm([force.x, force.y, force.z])
        robot.node.create_subscription(
            WrenchStamped, f'{NAME}/left_hand/measured_wrench', measured.append, 10)
        robot.wait_until(lambda: measured and np.isclose(
            forces(), np.linalg.norm(numbers[:3]), rtol=1e-6))  # filtered


def test_two_nodes_and_another_controller(robot, controller):
    """A second node is refused; so is one with other tasks, while the plug-in is active."""
    process, efforts = begin(robot, controller, **{'safety.node_timeout': 30.0})
    second = robot.run_node()
    # By its name, or, where it has not discovered the first one yet, by the memory.
    robot.wait_until(lambda: any(words in robot.log.read_text() for words in (
        f'Another node is called /{NAME}.', 'Another process is attached')), 40.0)
    second.kill()
    assert is_at(robot, controller, efforts)()
    other = robot.run_node(name='other')
    robot.wait_until(lambda: 'is active, but not with the memory of this node'
                     in robot.log.read_text(), 40.0)
    other.kill()
    assert is_at(robot, controller, efforts)()
    process.kill()
    process.wait(10)
    robot.run_node(tasks=['left_hand'])
    robot.wait_until(lambda: 'is the memory of another controller' in robot.log.read_text(), 40.0)
    assert is_at(robot, controller, efforts)()
    assert robot.switch(deactivate=[PLUG])
    assert robot.transition('ACTIVATE')
    robot.wait_for('active')


def test_a_controller_precedes_the_plugin(robot, controller):
    """It comes and goes without a gap of efforts; its goals count, not those of the node."""
    robot.run_node()
    robot.wait_for('active')
    weight = robot.wanted_efforts(controller)
    robot.wait_until(is_at(robot, controller, weight))
    assert robot.load('goals')
    publisher = robot.node.create_publisher(Float64MultiArray, 'goals/commands', 1)
    for switch in (['goals'], []), ([], ['goals']), (['goals'], []):
        first = len(robot.seen)
        assert robot.switch(*switch)
        robot.spin(0.5)
        seen = np.array([[each[joint] for joint in controller.model.dof_names]
                         for each in robot.seen[first:]])
        assert len(seen) > 100
        np.testing.assert_allclose(seen, np.broadcast_to(weight, seen.shape), atol=1e-5)
    robot.wait_until(publisher.get_subscription_count)
    goal = controller.tasks['left_hand'].pose + np.array([0.01, 0, 0.01, 0, 0, 0, 0])
    wanted = robot.wanted_efforts(controller, goal)
    for _ in range(20):
        publisher.publish(Float64MultiArray(data=goal.tolist()))
        robot.spin(0.02)
    robot.wait_until(is_at(robot, controller, wanted))
    first = len(robot.seen)
    for _ in range(5):
        robot.send_goal(goal + np.array([0.0, 0.05, 0, 0, 0, 0, 0]))
        robot.spin(0.1)
    seen = np.array([[each[joint] for joint in controller.model.dof_names]
                     for each in robot.seen[first:]])
    np.testing.assert_allclose(seen, np.broadcast_to(wanted, seen.shape), atol=1e-5)
    assert robot.label() == 'active'
    assert robot.transition('DEACTIVATE')
    assert robot.state(PLUG) == robot.state('goals') == 'inactive'
    robot.wait_until(lambda: not robot.effort(controller.model.dof_names).any())
    assert robot.transition('ACTIVATE')
    robot.wait_until(is_at(robot, controller, weight))


@pytest.mark.parametrize(('changed', 'says'), [
    ({'plugin.imu': 'imu'}, 'imu: the robot has no floating base. Leave it empty.'),
    ({'floating_base': True}, 'The plug-in has no state of the floating base.'),
    ({'plugin.base': 'base'}, 'base: the robot has no floating base. Leave it empty.'),
    ({'plugin.name': 'nothing'}, "The controller manager cannot load 'nothing'."),
    ({'controller_manager': ''}, 'There is no controller manager for the plug-in.')])
def test_refusals(robot, changed, says):
    robot.run_node(**changed)
    robot.wait_until(lambda: says in robot.log.read_text(), 40.0)


def test_shapes_come_and_go(robot, controller):
    """Markers act while the plug-in is active, as far as there is room; no effort jumps."""
    changed = {'hand.kind': 'sphere', 'hand.size': [0.1], 'hand.frame': 'l_hand',
               'collision.file': '',  # the sphere overlaps links beside the hand
               'shapes': ['hand'], 'safety.ramp_time': 0.0}
    robot.run_node(**changed, **{'plugin.shapes': 3})
    robot.wait_for('active')
    weight = robot.wanted_efforts(controller)
    robot.wait_until(is_at(robot, controller, weight))
    publisher = robot.node.create_publisher(MarkerArray, f'{NAME}/collision_objects', 10)
    robot.wait_until(publisher.get_subscription_count)
    place, up = controller.tasks['left_hand'].pose[:3], np.eye(3)[2]
    kept = controller_of(ROUTED | changed)
    kept.distances = kept.distances.changed(collision=kept.distances.collision.with_shapes([
        Shape('hand', 'l_hand', 'sphere', [0.1]),
        Shape('ball', None, 'sphere', [0.1], place + 0.205 * up)]))
    assert abs(robot.wanted_efforts(kept) - weight).max() > 0.5  # parts softly

    def send(number, action, offset=0.0):
        marker = Marker(ns='ball', id=number, type=Marker.SPHERE, action=action)
        marker.header.frame_id = controller.model.root_link
        marker.scale.x = marker.scale.y = marker.scale.z = 0.2
        fill_message(marker.pose, np.r_[place + offset * up, 0, 0, 0, 1])
        publisher.publish(MarkerArray(markers=[marker]))

    first = len(robot.seen)
    send(1, Marker.ADD, 0.205)  # nearer than the margin: the hand is to part
    robot.spin(0.5)
    for number in (2, 3):
        send(number, Marker.ADD, 2.0)
    robot.wait_until(lambda: 'room for 3 shapes' in robot.log.read_text())
    assert_same_cycles(robot, kept, weight, first)
    send(1, Marker.DELETE)
    robot.wait_until(is_at(robot, controller, weight))
    assert fastest_change(robot, controller, first) <= 40.0 * controller.effort_limits.max()
    assert robot.label() == 'active'


@pytest.mark.parametrize('imu', ['', 'imu'])
def test_a_floating_base(tmp_path, imu):
    """Its pose and twist are state interfaces, of an IMU, too; efforts are those of that state."""
    turn, twist = [0.0, 0.0, 0.6, 0.8], [0.05, 0.0, 0.02, 0.0, 0.0, 0.1]
    numbers = [0.3, -0.2, 0.9, *turn, *twist]
    interfaces = {'base': '', 'imu': ''}
    for part, axes in (('position', 'xyz'), ('orientation', 'xyzw'),
                       ('linear_velocity', 'xyz'), ('angular_velocity', 'xyz')):
        owner = imu if imu and part in ('orientation', 'angular_velocity') else 'base'
        interfaces[owner] += ''.join(
            f'<state_interface name="{part}.{axis}"><param name="initial_value">{numbers.pop(0)}'
            '</param></state_interface>' for axis in axes)
    sensors = ''.join(f'<sensor name="{name}">{own}</sensor>' for name, own in interfaces.items()
                      if own)
    text = STILL.replace('</ros2_control>', f'{sensors}</ros2_control>')
    changed = {'floating_base': True, 'plugin.base': 'base', 'plugin.imu': imu}
    controller = controller_of(ROUTED | changed)
    with contextlib.ExitStack() as stack:
        robot = Robot(tmp_path, 100 + os.getpid() % 100, text)
        stack.callback(robot.close)
        robot.run_node(**changed)
        robot.wait_for('active')
        robot.wait_until(lambda: robot.positions)
        joints = controller.model.dof_names[6:]
        R = matrix_from_quaternion(turn)
        state = RobotState(
            controller.model,
            np.r_[0.3, -0.2, 0.9, turn, [robot.positions[joint] for joint in joints]],
            np.r_[(np.reshape(twist, (2, 3)) @ R.T).reshape(6), np.zeros(len(joints))])
        controller.hold()
        controller.compute_torque(state, dt=0.0)
        efforts = controller.compute_torque(state, dt=0.0)[6:]
        assert abs(efforts).max() > 1.0
        robot.wait_until(lambda: np.allclose(robot.effort(joints), efforts, atol=1e-5))
        poses = []
        robot.node.create_subscription(
            PoseStamped, f'{NAME}/left_hand/current_pose',
            lambda message: poses.append(pose_from_message(message.pose)), 10)
        robot.wait_until(lambda: poses)
        np.testing.assert_allclose(poses[-1], controller.tasks['left_hand'].pose, atol=1e-6)


def test_a_robot_that_moves(tmp_path):
    """Our simulator behind topics: goals are reached, by a trajectory too, and held afterwards."""
    text = urdf_text(URDF.with_suffix('.urdf.xacro'), {'hardware': 'topic'})
    with contextlib.ExitStack() as stack:
        robot = Robot(tmp_path, 100 + os.getpid() % 100, text)
        stack.callback(robot.close)
        robot.start([sys.executable, '-m', 'opspace_control.cli.main', 'simulator', '--ros-args',
                     '--params-file', share_directory() / 'config/ros2_control.yaml',
                     '-p', f'robot_description:={URDF.read_text()}',
                     '-r', 'joint_states:=robot_joint_states'])
        robot.run_node()
        robot.wait_for('active')
        poses = []
        robot.node.create_subscription(
            PoseStamped, f'{NAME}/left_hand/current_pose',
            lambda message: poses.append(pose_from_message(message.pose)), 10)
        robot.wait_until(lambda: poses)
        start = poses[-1].copy()
        for goal, trajectory in ((start + 0.1 * np.eye(7)[2], 'direct'), (start, 'ruckig')):
            assert robot.call(SetParameters, f'{NAME}/set_parameters', parameters=[
                Parameter('left_hand.trajectory', value=trajectory).to_parameter_msg()]
                ).results[0].successful
            robot.send_goal(goal)
            robot.wait_until(lambda goal=goal: np.linalg.norm(
                poses[-1][:3] - goal[:3]) < 1e-3, 30.0)
            robot.spin(0.5)
            assert np.ptp(np.array(poses[-10:])[:, :3], axis=0).max() < 1e-3
        assert robot.transition('DEACTIVATE')
        assert robot.state(PLUG) == 'inactive'
