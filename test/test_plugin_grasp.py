# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Shapes of a grasped object and around it: cycles run in the plug-in, in a real manager.

Runs where ros2_control, topic-based hardware and the plug-in of native/ros2_control are built and
sourced. Our simulator is the hardware, and closes the grips.
"""

import sys
from functools import partial

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

from geometry_msgs.msg import PoseStamped
from plugin_robot import Robot
from real_manager import NAME, URDF, managers, needs_plugin, needs_topic_hardware
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.conversions import fill_message, pose_from_message
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.ros.topics.collision_markers import SHAPES
from opspace_control.share import share_directory

pytestmark = [needs_plugin, needs_topic_hardware]

SIMULATOR = 'opspace_simulator'
SIZE, PLACE = [0.2, 0.58, 0.2], np.array([0.3764, 0.0, 1.1004, 0.0, 0.0, 0.0, 1.0])
TABLE = [0.3, 0.4, 0.02]  # the crate stands on it at first
BELOW = [0.3764, 0.0, 1.1004 - 0.5 * (SIZE[2] + TABLE[2]), 0.0, 0.0, 0.0, 1.0]
UP = np.eye(7)[2]
MARGIN = 0.01  # m, collision.margin
CONTROL = {
    'shapes': ['table', 'crate'], 'grasps': ['carry'], 'carry.effectors': ['r_hand', 'l_hand'],
    'carry.mass': 3.0, 'carry.inertia': [0.094, 0.02, 0.094, 0.0, 0.0, 0.0], 'carry.squeeze': 40.0,
    'carry.shapes': ['crate'], 'crate.kind': 'box', 'crate.size': SIZE,
    'table.kind': 'none', 'table.size': TABLE, 'table.pose': BELOW}
SIMULATED = {
    'robot_description': URDF.read_text(), 'objects': ['box', 'table'], 'grasps': ['carry'],
    'box.size': SIZE, 'box.mass': 3.0, 'box.pose': PLACE.tolist(),
    'table.size': TABLE, 'table.pose': BELOW, 'table.fixed': True,
    'carry.effectors': CONTROL['carry.effectors'], 'carry.object': 'box',
    'carry.follow_controller': False}


class Carrier(Robot):
    """
    A robot with a box between its hands, the crate, on a table.

    ``poses`` (7,) are the last ones: of the crate in the simulator, and of hands and grasp as the
    controller tells them; ``shown`` are the collision shapes, as markers.
    """

    def __init__(self, folder):
        super().__init__(folder, urdf_text(
            URDF.with_suffix('.urdf.xacro'), {'hardware': 'topic'}))
        self.poses, self.shown = {}, {}
        for name, topic in [('crate', f'{SIMULATOR}/box/pose'), *(
                (task, f'{NAME}/{task}/current_pose') for task in ('right_hand', 'carry'))]:
            self.node.create_subscription(PoseStamped, topic, partial(self._on_pose, name), 10)
        self.node.create_subscription(MarkerArray, f'{NAME}/markers', self._on_markers, 10)
        values = ParameterFile(share_directory() / 'config/ros2_control.yaml').of_node(SIMULATOR)
        file = folder / 'simulator.yaml'
        file.write_text(yaml.safe_dump({SIMULATOR: {'ros__parameters': values | SIMULATED}}))
        self.start([sys.executable, '-m', 'opspace_control.cli.main', 'simulator', '--ros-args',
                    '--params-file', file, '-r', 'joint_states:=robot_joint_states'])

    def _on_pose(self, name, message):
        self.poses[name] = pose_from_message(message.pose)

    def _on_markers(self, message):
        for marker in message.markers:
            if marker.ns == SHAPES:
                self.shown.pop(marker.id, None)
                if marker.action == Marker.ADD:
                    self.shown[marker.id] = marker

    def run_node(self, **changed):
        self.wait_until(lambda: 'crate' in self.poses)  # the simulator runs
        process = super().run_node(**CONTROL | changed)
        self.wait_for_words('Active: a cycle in the plug-in')
        return process

    def engage(self, on, node=NAME):
        answer = self.call(SetBool, f'{node}/carry/engage', data=on)
        assert answer.success, answer.message

    def go(self, task, height):
        """Send a task a goal so much, m, above its present pose."""
        publisher = self.node.create_publisher(PoseStamped, f'{NAME}/{task}/target_pose', 1)
        self.wait_until(publisher.get_subscription_count)
        message = PoseStamped()
        fill_message(message.pose, self.poses[task] + height * UP)
        publisher.publish(message)

    def lift(self):
        """Grasp the crate, raise it by 0.1 m, and tell the controller of the table."""
        self.engage(True, SIMULATOR)
        self.engage(True)
        self.spin(0.5)
        self.go('carry', 0.1)
        self.wait_until(lambda: self.gap() > 0.099)
        assert self.set_parameter('table.kind', 'box')

    def gap(self):
        """Return the distance of the crate, upright, from the table, m."""
        return self.poses['crate'][2] - PLACE[2]

    def press(self, gap):
        """Press the crate down, and check that its shape keeps it at this distance, m."""
        self.go('carry', -0.25)
        self.spin(2.0)
        self.wait_until(lambda: 'crate and table' in self.reports['distances at a limit'])
        assert self.gap() == pytest.approx(gap, abs=1e-3)
        marker, = self.crates()
        assert marker.header.frame_id == 'r_hand'

    def crates(self):
        """Return the markers of collision shapes that are the crate."""
        return [marker for marker in self.shown.values() if marker.scale.y == SIZE[1]]

    def put_down(self):
        """Release the crate, and lower the hand to where no crate could be on it."""
        self.engage(False)
        self.wait_until(lambda: self.reports['carry: engaged'] == 'no' and not self.crates())
        self.engage(False, SIMULATOR)
        self.wait_until(lambda: self.reports['distances at a limit'] == 'none')
        low = self.poses['right_hand'][2] - 0.1
        self.go('right_hand', -0.1)
        self.wait_until(lambda: self.poses['right_hand'][2] < low + 2e-3)


@pytest.fixture
def robot(tmp_path):
    with managers(Carrier) as make:
        yield make(tmp_path)


def test_a_grasped_object_keeps_its_distance(robot):
    """Pressed down it stays above a table, by its shape as it is then, until it is released."""
    robot.run_node()
    robot.lift()
    robot.press(MARGIN)
    robot.go('carry', 0.1)
    robot.wait_until(lambda: robot.gap() > 0.1)
    assert robot.set_parameter('crate.size', [*SIZE[:2], SIZE[2] + 0.1])
    robot.press(MARGIN + 0.05)
    robot.put_down()


def test_a_new_node_finds_the_object_grasped(robot):
    """Its shape stays where it was; released, the hands are free again."""
    changed = {'safety.node_timeout': 30.0}
    process = robot.run_node(**changed)
    robot.lift()
    robot.press(MARGIN)
    process.kill()
    process.wait(10)
    robot.shown.clear()
    robot.run_node(**changed, **{'table.kind': 'box'})
    robot.wait_for_words('goes on: this node has found it active')
    robot.spin(1.0)
    assert robot.gap() == pytest.approx(MARGIN, abs=1e-3)
    robot.press(MARGIN)
    robot.put_down()


def test_what_is_around_moves(robot):
    """A tray that comes from below lifts the crate, with a margin that may change, and goes."""
    robot.run_node()
    robot.lift()
    publisher = robot.node.create_publisher(MarkerArray, f'{NAME}/collision_objects', 10)
    robot.wait_until(publisher.get_subscription_count)
    tray = Marker(ns='tray', type=Marker.CUBE, action=Marker.ADD)
    tray.header.frame_id = 'base_link'
    tray.scale.x, tray.scale.y, tray.scale.z = TABLE
    gaps = []
    for height in [*np.arange(0.0, 0.15, 1e-3), *[0.15] * 75]:  # at 0.05 m/s
        tray.header.stamp = robot.node.get_clock().now().to_msg()
        fill_message(tray.pose, np.array(BELOW) + height * UP)
        publisher.publish(MarkerArray(markers=[tray]))
        robot.spin(0.02)
        gaps.append(robot.gap() - height)
    assert min(gaps) > 0.5 * MARGIN
    assert gaps[-1] == pytest.approx(MARGIN, abs=1e-3)
    robot.wait_until(lambda: 'crate and tray/0' in robot.reports['distances at a limit'])
    assert robot.set_parameter('collision.margin', 3.0 * MARGIN)
    robot.wait_until(lambda: robot.gap() - 0.15 == pytest.approx(3.0 * MARGIN, abs=1e-3))
    tray.action = Marker.DELETE
    publisher.publish(MarkerArray(markers=[tray]))
    robot.wait_until(lambda: robot.gap() == pytest.approx(0.1, abs=1e-3))
