# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The controller node with its cycles in the plug-in, in a real controller manager.

Runs where ros2_control and the plug-in of native/ros2_control are built and sourced.
"""

import signal
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

from geometry_msgs.msg import WrenchStamped
from plugin_robot import PLUG, ROUTED, Robot
from real_manager import (
    NAME,
    STILL,
    URDF,
    axes,
    controller_of,
    goal_of,
    managers,
    needs_plugin,
    needs_topic_hardware,
    sensor,
    with_sensors,
)
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control import RobotState, Shape
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.safety.envelope import LONGEST_STEP
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_quaternion

pytestmark = needs_plugin


@pytest.fixture
def controller():
    """Return the same controller in this process, for the efforts that are to be expected."""
    return controller_of(ROUTED)


@pytest.fixture
def make_robot(tmp_path):
    with managers(Robot) as make:
        yield lambda *arguments, **options: make(tmp_path, *arguments, **options)


@pytest.fixture
def robot(make_robot):
    return make_robot()


def test_the_same_topics_services_and_parameters(robot, controller):
    """Goals, gains, holds, diagnostics and transitions are those of the other route."""
    robot.run_node()
    robot.wait_for('active')
    weight = robot.wanted_efforts(controller)
    robot.wait_for_efforts(weight)
    goal = goal_of(controller, 0.01, 0.0, 0.01)
    robot.send_goal(goal)
    robot.wait_for_efforts(robot.wanted_efforts(controller, goal))
    # A gain, which ramps.
    assert robot.set_parameter('left_hand.kp', 150.0)
    controller.tasks['left_hand'].set_gains(150.0)
    robot.wait_for_efforts(robot.wanted_efforts(controller, goal))
    robot.wait_until(lambda: robot.reports.get('message') == 'Active.' and (
        450.0 < float(robot.reports['rate [Hz]']) < 550.0))
    assert robot.call(Trigger, f'{NAME}/hold').success
    robot.wait_for_efforts(weight)
    assert robot.transition('DEACTIVATE')
    assert robot.state(PLUG) == 'inactive'
    robot.wait_for_efforts(0.0)
    assert robot.transition('ACTIVATE')
    robot.wait_for_efforts(weight)
    assert robot.state(PLUG) == 'active'


def assert_same_cycles(robot, make, weight, first):
    """
    Compare efforts since a first state that was seen with those of controllers, up to rounding.

    One that is made runs as many cycles, of the same times, from the first one whose efforts are
    not ``weight``: that of the first such state, or of one just before, which was not published.
    A cycle that is late counts as one of the longest step.
    """
    stamps = robot.cycles()
    # A state has the efforts of the cycle before.
    cycles = [int(abs(stamps - stamp).argmin()) - 1 for stamp in robot.stamps[first:]]
    seen = robot.seen_since(first)
    begin = np.flatnonzero((abs(seen - weight) > 1e-5).any(axis=1))[0]
    settled = begin + 10  # until then the rate of efforts may be limited
    assert len(seen) > settled + 100
    found = []
    for start in range(cycles[begin - 1] + 1, cycles[begin] + 1):
        controller, efforts = make(), {}
        state = robot.resting_state(controller)
        for k in range(start, cycles[-1] + 1):
            step = min(1e-9 * (stamps[k] - stamps[k - 1]), LONGEST_STEP)
            efforts[k] = controller.compute_torque(state, dt=step).copy()
        found.append(abs(seen[settled:] - [efforts[k] for k in cycles[settled:]]).max())
    assert min(found) < 1e-9, found


@pytest.mark.parametrize('way', [signal.SIGKILL, signal.SIGSTOP])
def test_the_node_dies_or_hangs(robot, controller, way):
    """Goals are held for safety.node_timeout; then the robot is damped, released and given back."""
    process, efforts = robot.run_to_a_goal(controller)
    first = len(robot.seen)
    process.send_signal(way)
    robot.spin(0.2)
    np.testing.assert_allclose(robot.effort(), efforts, atol=1e-5)
    robot.wait_for('inactive')
    robot.wait_for_efforts(0.0)
    # By default 20 times the limit in a second; cycles come a bit too late, or too early.
    assert robot.fastest_change(first) <= 40.0 * controller.effort_limits.max()
    assert 'gives no sign of life: the robot is damped, then released' in robot.said()
    if way == signal.SIGSTOP:
        process.send_signal(signal.SIGCONT)
        robot.wait_until(lambda: robot.label() == 'inactive')
        assert robot.transition('ACTIVATE')
    else:
        process.wait(10)
        robot.run_node()
    robot.wait_for('active')
    robot.wait_for_efforts(robot.wanted_efforts(controller))


def test_a_node_attaches_again(robot, controller):
    """Before the time-out a new process finds the plug-in active: no effort jumps."""
    process, efforts = robot.run_to_a_goal(controller, **{'safety.node_timeout': 30.0})
    first = len(robot.seen)
    process.kill()
    process.wait(10)
    robot.run_node(**{'safety.node_timeout': 30.0})
    robot.wait_for_words('goes on: this node has found it active')
    robot.wait_for_efforts(robot.wanted_efforts(controller), 40.0)
    assert robot.state(PLUG) == 'active'
    # From the goal to the present pose; there is no other effort in between.
    assert robot.fastest_change(first) <= 40.0 * controller.effort_limits.max()
    change = abs(robot.wanted_efforts(controller) - efforts).max()
    assert abs(robot.seen_since(first) - efforts).max() <= change + 1e-5
    goal = goal_of(controller, 0.0, 0.01, 0.0)
    robot.send_goal(goal)
    robot.wait_for_efforts(robot.wanted_efforts(controller, goal))


def test_another_client_deactivates_the_plugin(robot, controller):
    """The node says so and gives the robot up; activated again, it begins anew."""
    robot.run_to_a_goal(controller)
    assert robot.switch(deactivate=[PLUG])
    robot.wait_for_words(f'{PLUG} is no longer active')
    robot.wait_for_efforts(0.0)
    robot.wait_until(lambda: robot.label() == 'inactive')
    assert robot.transition('ACTIVATE')
    robot.wait_for_efforts(robot.wanted_efforts(controller))


def test_the_node_is_deactivated_while_there_are_no_cycles(robot, controller):
    """As in a paused simulation: the robot is released when they go on, and the log says so."""
    robot.run_to_a_goal(controller)
    robot.process.send_signal(signal.SIGSTOP)
    assert robot.transition('DEACTIVATE')
    robot.process.send_signal(signal.SIGCONT)
    said = robot.said()
    assert 'it releases the robot in its next cycles' in said
    assert 'The robot is released' not in said
    robot.wait_for_efforts(0.0)
    robot.wait_for('inactive')  # the manager does late what the node has asked for
    assert robot.transition('ACTIVATE')
    robot.wait_for('active')
    robot.wait_for_efforts(robot.wanted_efforts(controller))


def test_a_rival_gets_the_joints_back(robot, controller):
    """What had the joints before is off while the node is active, and has them after it."""
    assert robot.load('holder')
    assert robot.switch(['holder'])
    robot.run_to_a_goal(controller)
    assert robot.state('holder') == 'inactive'
    assert robot.transition('DEACTIVATE')
    robot.wait_for('active', 'holder')
    assert robot.state(PLUG) == 'inactive'


def test_the_manager_dies(robot, controller):
    """The node notices it within a second, and begins anew with a new manager."""
    robot.run_to_a_goal(controller)
    robot.process.kill()
    robot.process.wait(10)
    robot.wait_for_words('has ended')
    robot.wait_until(lambda: robot.label() == 'inactive')
    robot.process = robot.start(robot.command_line)
    robot.wait_until(lambda: not robot.states())  # a killed process stays in the graph
    robot.begin()
    assert robot.transition('ACTIVATE')
    robot.wait_for_efforts(robot.wanted_efforts(controller))


def test_the_manager_hangs(robot, controller):
    """The node says that there are no cycles, and goes on with its goals when there are again."""
    _, efforts = robot.run_to_a_goal(controller)
    first = len(robot.seen)
    robot.process.send_signal(signal.SIGSTOP)
    robot.wait_for_words('The plug-in has had no cycle')
    robot.process.send_signal(signal.SIGCONT)
    robot.wait_for_words('The plug-in has cycles again.')
    robot.assert_constant(efforts, first)
    assert robot.label() == 'active'


def test_a_sensor_of_the_hardware(make_robot):
    """Its readings are state interfaces: the wrench that a task measures."""
    numbers = [1.0, -2.0, 5.0, 0.1, 0.2, 0.3]
    robot = make_robot(with_sensors(STILL, sensor('wrist', dict(zip(
        [*axes('force'), *axes('torque')], numbers, strict=True)))))
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
    process, efforts = robot.run_to_a_goal(controller, **{'safety.node_timeout': 30.0})
    second = robot.run_node()
    # By its name, or, where it has not discovered the first one yet, by the memory.
    robot.wait_for_words(f'Another node is called /{NAME}.', 'Another process is attached')
    second.kill()
    np.testing.assert_allclose(robot.effort(), efforts, atol=1e-5)
    other = robot.run_node(name='other')
    robot.wait_for_words('is active, but not with the memory of this node')
    other.kill()
    np.testing.assert_allclose(robot.effort(), efforts, atol=1e-5)
    process.kill()
    process.wait(10)
    robot.run_node(tasks=['left_hand'])
    robot.wait_for_words('is the memory of another controller')
    np.testing.assert_allclose(robot.effort(), efforts, atol=1e-5)
    assert robot.switch(deactivate=[PLUG])
    assert robot.transition('ACTIVATE')
    robot.wait_for('active')


def test_a_controller_precedes_the_plugin(robot, controller):
    """It comes and goes without a gap of efforts; its goals count, not those of the node."""
    robot.run_node()
    robot.wait_for('active')
    weight = robot.wanted_efforts(controller)
    robot.wait_for_efforts(weight)
    assert robot.load('goals')
    for switch in (['goals'], []), ([], ['goals']), (['goals'], []):
        first = len(robot.seen)
        assert robot.switch(*switch)
        robot.assert_constant(weight, first)
    goal = goal_of(controller, 0.01, 0.0, 0.01)
    wanted = robot.wanted_efforts(controller, goal)
    robot.command('goals', goal)
    robot.wait_for_efforts(wanted)
    first = len(robot.seen)
    for _ in range(5):
        robot.send_goal(goal + np.array([0.0, 0.05, 0, 0, 0, 0, 0]))
        robot.spin(0.1)
    robot.assert_constant(wanted, first)
    assert robot.label() == 'active'
    assert robot.transition('DEACTIVATE')
    assert robot.state(PLUG) == robot.state('goals') == 'inactive'
    robot.wait_for_efforts(0.0)
    assert robot.transition('ACTIVATE')
    robot.wait_for_efforts(weight)


@pytest.mark.parametrize(('changed', 'says'), [
    ({'plugin.imu': 'imu'}, 'imu: the robot has no floating base. Leave it empty.'),
    ({'floating_base': True}, 'The plug-in has no state of the floating base.'),
    ({'plugin.base': 'base'}, 'base: the robot has no floating base. Leave it empty.'),
    ({'plugin.name': 'nothing'}, "The controller manager cannot load 'nothing'."),
    ({'controller_manager': ''}, 'There is no controller manager for the plug-in.')])
def test_refusals(robot, changed, says):
    robot.run_node(**changed)
    robot.wait_for_words(says)


def test_shapes_come_and_go(robot, controller):
    """Markers act while the plug-in is active, as far as there is room; no effort jumps."""
    changed = {'hand.kind': 'sphere', 'hand.size': [0.1], 'hand.frame': 'l_hand',
               'collision.file': '',  # the sphere overlaps links beside the hand
               'shapes': ['hand'], 'safety.ramp_time': 0.0}
    robot.run_node(**changed, **{'plugin.shapes': 3})
    robot.wait_for('active')
    weight = robot.wanted_efforts(controller)
    robot.wait_for_efforts(weight)
    publisher = robot.node.create_publisher(MarkerArray, f'{NAME}/collision_objects', 10)
    robot.wait_until(publisher.get_subscription_count)
    place, up = controller.tasks['left_hand'].pose[:3], np.eye(3)[2]

    def make():
        """Return a controller that keeps the distance, and has held the robot."""
        kept = controller_of(ROUTED | changed)
        kept.distances = kept.distances.changed(collision=kept.distances.collision.with_shapes([
            Shape('hand', 'l_hand', 'sphere', [0.1]),
            Shape('ball', None, 'sphere', [0.1], place + 0.205 * up)]))
        assert abs(robot.wanted_efforts(kept) - weight).max() > 0.5  # parts softly
        return kept

    def send(number, action, offset=0.0):
        marker = Marker(ns='ball', id=number, type=Marker.SPHERE, action=action)
        marker.header.frame_id = controller.model.root_link
        marker.scale.x = marker.scale.y = marker.scale.z = 0.2
        fill_message(marker.pose, np.r_[place + offset * up, 0, 0, 0, 1])
        publisher.publish(MarkerArray(markers=[marker]))

    first = len(robot.seen)
    while np.allclose(robot.effort(), weight, atol=1e-5):  # the node may find the publisher later
        send(1, Marker.ADD, 0.205)  # nearer than the margin: the hand is to part
        robot.spin(0.5)
    robot.process.send_signal(signal.SIGSTOP)  # as a busy machine stops it
    robot.spin(2.0 * LONGEST_STEP)
    robot.process.send_signal(signal.SIGCONT)
    robot.spin(0.5)
    for number in (2, 3):
        send(number, Marker.ADD, 2.0)
    robot.wait_for_words('room for 3 shapes')
    assert_same_cycles(robot, make, weight, first)
    send(1, Marker.DELETE)
    robot.wait_for_efforts(weight)
    assert robot.fastest_change(first) <= 40.0 * controller.effort_limits.max()
    assert robot.label() == 'active'


@pytest.mark.parametrize('imu', ['', 'imu'])
def test_a_floating_base(make_robot, imu):
    """Its pose and twist are state interfaces, of an IMU, too; efforts are those of that state."""
    turn, twist = [0.0, 0.0, 0.6, 0.8], [0.05, 0.0, 0.02, 0.0, 0.0, 0.1]
    place = dict(zip([*axes('position'), *axes('linear_velocity')],
                     [0.3, -0.2, 0.9, *twist[:3]], strict=True))
    rotation = dict(zip([*axes('orientation', 'xyzw'), *axes('angular_velocity')],
                        [*turn, *twist[3:]], strict=True))
    parts = [sensor('base', place), sensor('imu', rotation)] if imu else [
        sensor('base', place | rotation)]
    changed = {'floating_base': True, 'plugin.base': 'base', 'plugin.imu': imu}
    controller = controller_of(ROUTED | changed)
    robot = make_robot(with_sensors(STILL, *parts))
    robot.run_node(**changed)
    robot.wait_for('active')
    robot.wait_until(lambda: robot.positions)
    R = matrix_from_quaternion(turn)
    state = RobotState(
        controller.model,
        np.r_[0.3, -0.2, 0.9, turn, [robot.positions[joint] for joint in robot.joints]],
        np.r_[(np.reshape(twist, (2, 3)) @ R.T).reshape(6), np.zeros(len(robot.joints))])
    controller.hold()
    controller.compute_torque(state, dt=0.0)
    efforts = controller.compute_torque(state, dt=0.0)[6:]
    assert abs(efforts).max() > 1.0
    robot.wait_for_efforts(efforts)
    np.testing.assert_allclose(robot.listen_to_pose()[-1], controller.tasks['left_hand'].pose,
                               atol=1e-6)


@needs_topic_hardware
def test_a_robot_that_moves(make_robot):
    """Our simulator behind topics: goals are reached, by a trajectory too, and held afterwards."""
    robot = make_robot(urdf_text(URDF.with_suffix('.urdf.xacro'), {'hardware': 'topic'}))
    robot.start([sys.executable, '-m', 'opspace_control.cli.main', 'simulator', '--ros-args',
                 '--params-file', share_directory() / 'config/ros2_control.yaml',
                 '-p', f'robot_description:={URDF.read_text()}',
                 '-r', 'joint_states:=robot_joint_states'])
    robot.run_node()
    robot.wait_for('active')
    poses = robot.listen_to_pose()
    start = poses[-1].copy()
    for goal, trajectory in ((start + 0.1 * np.eye(7)[2], 'direct'), (start, 'ruckig')):
        assert robot.set_parameter('left_hand.trajectory', trajectory)
        robot.send_goal(goal)
        robot.wait_until(lambda goal=goal: np.linalg.norm(
            poses[-1][:3] - goal[:3]) < 1e-3, 30.0)
        robot.spin(0.5)
        assert np.ptp(np.array(poses[-10:])[:, :3], axis=0).max() < 1e-3
    assert robot.transition('DEACTIVATE')
    assert robot.state(PLUG) == 'inactive'
