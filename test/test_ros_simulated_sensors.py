# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the simulator node says beside joint states, and drives and brakes that change meanwhile."""

import array

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import robots
import ros_nodes
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from opspace_control.simulation import SimulatedRobot

ALL = QoSProfile(depth=1000)
AXIS = '<axis xyz="0 0 1"/>'
# A body with an arm of two joints, a wrist and a sole; heavy enough to stand on the floor.
ROBOT = robots.robot(
    robots.link('body', 10.0, (0.5, 0.5, 0.5)).replace(
        '</link>', '<collision><geometry><box size="0.6 0.6 0.4"/></geometry></collision></link>'),
    robots.link('upper', 1.0, inner='<origin xyz="0.2 0 0"/>'),
    robots.link('fore', 1.0, inner='<origin xyz="0.2 0 0"/>'),
    robots.link('wrist', None), robots.link('tool', 0.5), robots.link('sole', None),
    robots.joint('shoulder', 'body', 'upper', 'continuous', AXIS),
    robots.joint('elbow', 'upper', 'fore', 'continuous', '<origin xyz="0.4 0 0"/>' + AXIS),
    robots.joint('flange', 'fore', 'wrist', 'fixed',
                 '<origin xyz="0.4 0 0" rpy="0 1.5707963267948966 0"/>'),
    robots.joint('mount', 'wrist', 'tool', 'fixed'),
    robots.joint('ankle', 'body', 'sole', 'fixed', '<origin xyz="0 0 -0.2"/>'))
START = [0.5, -1.0, 2.0, *(np.array([0.1, -0.2, 0.3, 0.9]) / np.sqrt(0.95))]
DRIFT = [0.3, -0.2, 0.1, 0.6, 0.5, -0.4]
FLOATING = {'robot_description': ROBOT, 'pace': 'lock_step', 'floating_base': True,
            'gravity': [0.0, 0.0, 0.0], 'initial_base_pose': START, 'initial_base_twist': DRIFT,
            'initial_positions.shoulder': 0.4}


class Bench:
    """A simulator in lock-step: one step for each command that the test sends."""

    def __init__(self, network, parameters):
        self._network = network
        self._until = 0
        self.states = {}  # by step
        self.process = network.start('simulator', parameters)
        self._commands = network.publisher(Float64MultiArray, ros_nodes.COMMANDS)
        network.node.create_subscription(JointState, 'joint_states', self._on_state, ALL)
        network.expect(lambda: self.states)

    def step(self, efforts, count=1):
        """Make steps under the same efforts."""
        self._command = Float64MultiArray(data=array.array('d', efforts))
        self._until = max(self.states) + count
        self._network.expect(lambda: self._until in self.states, 240.0)

    def set(self, **lists):
        """Set parameters that are lists of names; return the result."""
        return self._network.call(
            SetParametersAtomically, f'{ros_nodes.SIMULATOR}/set_parameters_atomically',
            parameters=[
                Parameter(name, Parameter.Type.STRING_ARRAY, value).to_parameter_msg()
                for name, value in lists.items()]).result

    @property
    def newest(self):
        return self.states[max(self.states)]

    def _on_state(self, message):
        k = milliseconds(message)
        self.states[k] = message
        if k < self._until:
            self._commands.publish(self._command)


def milliseconds(message):
    stamp = message.header.stamp
    return round(1e3 * (stamp.sec + 1e-9 * stamp.nanosec))


def values(*parts):
    """Return the numbers of points, vectors and quaternions, one after the other."""
    return np.array([getattr(part, key) for part in parts for key in 'xyzw' if hasattr(part, key)])


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


def test_odometry_is_that_of_the_root_link(network):
    """The pose in the world, the twist in the link's own axes, with the stamp of joint states."""
    heard = {}
    network.node.create_subscription(
        Odometry, 'odom', lambda message: heard.update({milliseconds(message): message}), ALL)
    bench = Bench(network, FLOATING | {'odom_frame': 'map'})
    bench.step([0.3, -0.2], 50)
    robot = SimulatedRobot(ROBOT, floating_base=True, gravity=np.zeros(3))
    robot.reset({'shoulder': 0.4}, base_pose=START, base_twist=DRIFT)
    robot.set_effort([0.3, -0.2])
    network.expect(lambda: 50 in heard)
    for k in range(51):
        message = heard[k]
        assert (message.header.frame_id, message.child_frame_id) == ('map', 'body')
        pose, twist = message.pose.pose, message.twist.twist
        np.testing.assert_allclose(values(pose.position, pose.orientation), robot.base_pose,
                                   atol=1e-12)
        x, y, z, w = robot.base_pose[3:]
        R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                      [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
        v, w = robot.base_twist.reshape(2, 3)
        np.testing.assert_allclose(values(twist.linear), R.T @ v, atol=1e-12)
        np.testing.assert_allclose(values(twist.angular), R.T @ w, atol=1e-12)
        robot.step()
    assert list(bench.newest.name) == ['shoulder', 'elbow']


def test_odometry_comes_late_and_with_errors(network):
    """Its stamp is that of the state that it tells, the errors have the given deviations."""
    heard, noise = [], (0.02, 0.01, 0.1, 0.05)
    network.node.create_subscription(Odometry, 'odom', heard.append, ALL)
    at_rest = FLOATING | {'initial_base_twist': [0.0] * 6, 'initial_base_pose': [0.0] * 6 + [1.0]}
    bench = Bench(network, at_rest | {'odom_noise': list(noise), 'odom_delay': 0.004})
    bench.step([0.0, 0.0], 300)
    network.expect(lambda: milliseconds(heard[-1]) == 296)
    assert [milliseconds(message) for message in heard[-50:]] == list(range(247, 297))
    poses, twists = ([getattr(getattr(message, part), part) for message in heard]
                     for part in ('pose', 'twist'))
    for deviation, errors in zip(noise, (
            [values(pose.position) for pose in poses],
            [2.0 * values(pose.orientation)[:3] for pose in poses],  # half the angles
            [values(twist.linear) for twist in twists],
            [values(twist.angular) for twist in twists]), strict=True):
        assert np.std(errors) == pytest.approx(deviation, rel=0.1)


def test_a_fixed_base_has_no_odometry(network):
    bench = Bench(network, {'robot_description': ROBOT, 'pace': 'lock_step'})
    bench.step([0.0, 0.0])
    assert 'odom' not in dict(network.node.get_topic_names_and_types())


def test_a_wrench_sensor_shows_weight_in_its_own_frame(network):
    heard = network.listen(WrenchStamped, 'wrist/wrench')
    bench = Bench(network, {'robot_description': ROBOT, 'pace': 'lock_step',
                            'locked_joints': ['shoulder', 'elbow'], 'wrench_sensors': ['wrist']})
    bench.step([0.0, 0.0], 20)
    network.expect(lambda: heard and milliseconds(heard[-1]) == 20)
    assert heard[-1].header.frame_id == 'wrist'
    wrench = heard[-1].wrench
    # The x axis of the wrist points down.
    np.testing.assert_allclose(values(wrench.force, wrench.torque), [0.5 * 9.81, 0, 0, 0, 0, 0],
                               atol=1e-3)


def test_a_sole_feels_the_floor(network):
    wrenches, flags = network.listen(WrenchStamped, 'sole/contact_wrench'), network.listen(
        Bool, 'sole/in_contact')
    bench = Bench(network, {
        'robot_description': ROBOT, 'pace': 'lock_step', 'floating_base': True, 'floor': True,
        'initial_base_pose': [0.0, 0.0, 0.21, 0.0, 0.0, 0.0, 1.0], 'contact_sensors': ['sole']})
    bench.step([0.0, 0.0], 5)
    network.expect(lambda: flags and wrenches)
    assert not flags[-1].data
    assert not values(wrenches[-1].wrench.force).any()
    bench.step([0.0, 0.0], 400)
    network.expect(lambda: milliseconds(wrenches[-1]) == 405)
    assert flags[-1].data
    np.testing.assert_allclose(values(wrenches[-1].wrench.force), [0, 0, 12.5 * 9.81], atol=1.0)


class TestStatus:

    EFFORTS = (0.5, 0.5)

    def test_a_drive_dies_and_comes_back(self, network):
        bench = Bench(network, FLOATING)
        bench.step(self.EFFORTS, 10)
        assert bench.set(passive_joints=['elbow']).successful
        bench.step(self.EFFORTS)
        assert list(bench.newest.effort) == [0.5, 0.0]
        assert bench.set(passive_joints=[]).successful
        bench.step(self.EFFORTS)
        assert list(bench.newest.effort) == list(self.EFFORTS)

    def test_a_brake_holds_and_lets_go(self, network):
        bench = Bench(network, FLOATING)
        bench.step(self.EFFORTS, 50)
        assert bench.set(locked_joints=['elbow']).successful
        bench.step(self.EFFORTS, 30)
        held = bench.newest.position[1]
        bench.step(self.EFFORTS, 50)
        assert bench.newest.position[1] == pytest.approx(held, abs=1e-4)
        assert bench.set(locked_joints=[]).successful
        bench.step(self.EFFORTS, 50)
        assert abs(bench.newest.position[1] - held) > 1e-3

    def test_outlives_a_reset(self, network):
        bench = Bench(network, FLOATING | {'passive_joints': ['elbow'],
                                           'locked_joints': ['shoulder']})
        bench.step(self.EFFORTS, 5)
        assert list(bench.newest.effort)[1] == 0.0
        assert bench.newest.position[0] == pytest.approx(0.4, abs=1e-4)

    @pytest.mark.parametrize('name', ['passive_joints', 'locked_joints'])
    def test_unknown_joints_are_refused(self, network, name):
        bench = Bench(network, FLOATING)
        result = bench.set(**{name: ['elbov']})
        assert not result.successful
        assert "'elbow'" in result.reason


BLOCK = """<ros2_control name="drives" type="system">
  <joint name="shoulder"><command_interface name="effort"/></joint>
  <joint name="elbow">{}<state_interface name="position"/></joint></ros2_control></robot>"""


@pytest.mark.parametrize(('interface', 'moves'), [
    ('', True), ('<command_interface name="position"/>', False)])
def test_a_joint_that_hardware_only_sees_is_passive(network, interface, moves):
    """One with a command of another kind is held."""
    bench = Bench(network, {
        'robot_description': ROBOT.replace('</robot>', BLOCK.format(interface)),
        'pace': 'lock_step'})
    bench.step([2.0], 100)
    assert (abs(bench.newest.position[1]) > 1e-3) == moves
    assert abs(bench.newest.position[0]) > 1e-3


@pytest.mark.parametrize(('parameters', 'complaint'), [
    ({'wrench_sensors': ['wirst']}, "'wrist'"),
    ({'contact_sensors': ['soul']}, "'sole'"),
    ({'gravity': [0.0, -9.81]}, '3 values'),
    ({'passive_joints': ['elbov']}, "'elbow'"),
    ({'floating_base': True, 'initial_base_pose': [0.0] * 7}, 'quaternion'),
])
def test_refuses_bad_parameters_with_the_reason(network, parameters, complaint):
    process = network.start('simulator', {'robot_description': ROBOT, **parameters})
    network.expect(lambda: process.exit_code() is not None)
    assert process.exit_code() == 1
    assert complaint in process.said()
    assert 'Traceback' not in process.said()
