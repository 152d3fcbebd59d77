# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Controller and simulator nodes of a robot that nothing holds, in lock-step, over real topics."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Odometry
from robots import robot_file
from ros_nodes import COMPILING, CONTROLLER
from sensor_msgs.msg import JointState

from opspace_control.cli.parameters import controller_values, simulator_values
from opspace_control.cli.robots import demo_robot
from opspace_control.ros.middleware.conversions import fill_message, pose_from_message
from opspace_control.simulation import SimulatedRobot

ROBOT = demo_robot('free_flyer_3d')
TEXT = ROBOT.path().read_text()
DRIFT = [0.01, 0.005, -0.005, 0.01, -0.01, 0.01]


class Scene:
    """Both nodes, and what they say."""

    def __init__(self, network):
        self.network = network
        self.states, self.odometry = network.states(), network.listen(Odometry, 'odom')
        self.poses = network.listen(PoseStamped, f'{CONTROLLER}/left_hand/current_pose')
        self.errors = network.listen(TwistStamped, f'{CONTROLLER}/left_hand/error')
        network.start('controller', {
            'robot_description': TEXT, **_given(controller_values(ROBOT)), 'publish_rate': 200.0,
            'safety.state_timeout': 0.0, 'odom_frame': 'map'})
        network.start('simulator', {
            'robot_description': TEXT, **_given(simulator_values(ROBOT)), 'pace': 'lock_step',
            'initial_base_twist': DRIFT, 'odom_frame': 'map', 'timestep': 0.002})
        self._mirror = SimulatedRobot(TEXT, floating_base=True)
        self._goals = network.publisher(PoseStamped, f'{CONTROLLER}/left_hand/target_pose')
        network.expect(lambda: self.time > 0.6, COMPILING)

    @property
    def time(self):
        """Of the simulation, s."""
        if not self.states:
            return 0.0
        stamp = self.states[-1].header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    def send(self, pose, frame):
        """Send the left hand a goal (7,) in a frame."""
        message = PoseStamped()
        message.header.frame_id = frame
        fill_message(message.pose, np.asarray(pose, float))
        self._goals.publish(message)

    def link(self, name):
        """Return where a link is in the world, (7,), as odometry and joint states tell."""
        state, odometry = self.states[-1], self.odometry[-1]
        self._mirror.reset(dict(zip(state.name, state.position, strict=True)),
                           base_pose=pose_from_message(odometry.pose.pose))
        return self._mirror.frame_pose(name)

    def go_on(self, seconds):
        """Wait for so long, by the time of the simulation."""
        end = self.time + seconds
        self.network.expect(lambda: self.time > end, 240.0)


def _given(values):
    """Return parameters without empty lists, which ROS 2 takes for lists of bytes."""
    return {name: value for name, value in values.items() if value != []}


@pytest.fixture(scope='module')
def scene():
    with ros_nodes.network() as network:
        yield Scene(network)


def test_hands_hold_still_in_the_world_while_the_base_drifts(scene):
    start, base = scene.link('r_hand'), scene.link('base_link')
    scene.go_on(1.0)
    assert np.linalg.norm(scene.link('base_link')[:3] - base[:3]) > 5e-3
    assert np.linalg.norm(scene.link('r_hand')[:3] - start[:3]) < 2e-3


@pytest.mark.parametrize('frame', ['map', ''])
def test_goals_and_feedback_are_in_the_world(scene, frame):
    goal = scene.link('l_hand')
    goal[:3] += 0.05, 0.03, 0.04
    scene.send(goal, frame)
    scene.go_on(2.0)
    assert np.linalg.norm(scene.link('l_hand')[:3] - goal[:3]) < 1e-3
    assert {message.header.frame_id for message in scene.poses} == {'map'}
    assert {message.header.frame_id for message in scene.errors} == {'map'}
    np.testing.assert_allclose(
        pose_from_message(scene.poses[-1].pose)[:3], scene.link('l_hand')[:3], atol=1e-3)


def test_a_goal_on_the_robot_is_where_that_is_when_it_arrives(scene):
    """It stays there in the world, and the base moves on."""
    palm = scene.link('l_hand')
    scene.send([0.0, 0.0, -0.04, 0.0, 0.0, 0.0, 1.0], 'l_hand')
    scene.go_on(2.0)
    way = scene.link('l_hand')[:3] - palm[:3]
    assert np.linalg.norm(way) == pytest.approx(0.04, abs=3e-3)
    reached = scene.link('l_hand')
    scene.go_on(0.5)
    assert np.linalg.norm(scene.link('l_hand')[:3] - reached[:3]) < 1e-3


def test_only_joints_are_commanded_and_told(scene):
    state: JointState = scene.states[-1]
    assert len(state.name) == 14
    assert all('base' not in name for name in state.name)
    said = scene.network.processes['controller'].said()
    assert '14 joints commanded' in said
    assert 'passive: base/x, base/y, base/z, base/rx, base/ry, base/rz' in said


FEET = [f'{end}{side}_foot' for end in 'FR' for side in 'LR']
STANCE = {'hip': 0.0, 'thigh': 0.8, 'calf': -1.5}  # rad
SOLE = 0.02  # m, radius of a foot


class Standing:
    """Both nodes of a robot on four feet, which the parameters say are on the ground."""

    def __init__(self, network):
        self.network = network
        text = robot_file('a1.urdf').read_text()
        robot = SimulatedRobot(text, floating_base=True)
        start = {joint: STANCE[joint.split('_')[1]] for joint in robot.joint_names}
        robot.reset(start)
        self.height = SOLE - min(robot.frame_pose(foot)[2] for foot in FEET)
        self.weight = 9.81 * robot.model.body_mass.sum()
        self.odometry = network.listen(Odometry, 'odom')
        self.diagnostics = network.listen(DiagnosticArray, '/diagnostics')
        network.start('controller', {
            'robot_description': text, 'floating_base': True, 'safety.state_timeout': 0.0,
            'contacts': FEET,
            **{f'{foot}.{name}': value for foot in FEET for name, value in (
                ('kind', 'point'), ('engaged', True))}})
        network.start('simulator', {
            'robot_description': text, 'floating_base': True, 'floor': True, 'pace': 'lock_step',
            'timestep': 0.002,
            'initial_base_pose': [0.0, 0.0, self.height, 0.0, 0.0, 0.0, 1.0],
            **{f'initial_positions.{joint}': position for joint, position in start.items()}})
        network.expect(lambda: self.time > 2.0, COMPILING)

    @property
    def time(self):
        """Of the simulation, s."""
        stamp = self.odometry[-1].header.stamp if self.odometry else None
        return stamp.sec + 1e-9 * stamp.nanosec if stamp else 0.0

    def told(self):
        """Return the newest values of the diagnostics that follow from here."""
        del self.diagnostics[:]
        self.network.expect(lambda: self.diagnostics)
        return {value.key: value.value for value in self.diagnostics[-1].status[0].values}


def test_stands_on_the_contacts_that_parameters_engage():
    with ros_nodes.network() as network:
        robot = Standing(network)
        pose = pose_from_message(robot.odometry[-1].pose.pose)
        np.testing.assert_allclose(pose, [0.0, 0.0, robot.height, 0.0, 0.0, 0.0, 1.0], atol=1e-3)
        values = robot.told()
        assert [values[f'{foot}: engaged'] for foot in FEET] == ['yes'] * 4
        loads = [float(values[f'{foot}: load [N]']) for foot in FEET]
        assert sum(loads) == pytest.approx(robot.weight, rel=0.01)
        assert min(loads) > 0.2 * robot.weight
