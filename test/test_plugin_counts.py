# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The plug-in's update() allocates no memory, waits for no lock and does not log.

All calls in it are counted, in a real controller manager. Runs where ros2_control and the plug-in
of native/ros2_control are built and sourced.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

from native_programs import compile_program
from plugin_robot import ROUTED, Robot
from real_manager import (
    NAME,
    STILL,
    Manager,
    controller_of,
    export,
    goal_of,
    managers,
    needs_plugin,
)
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

pytestmark = needs_plugin
_KINDS = 'allocations', 'releases', 'locks', 'logs'


class Counts:
    """What the update() of chainable controllers has called, and its thread in all."""

    def __init__(self, folder):
        self._path = folder / 'counts'
        self.environment = {'OPSPACE_COUNTS': str(self._path), 'LD_PRELOAD': str(compile_program(
            folder, 'ros2_control/test/counted_update.cpp',
            options=['-shared', '-fPIC', '-ftls-model=initial-exec']))}

    def read(self):
        """Return the number of updates, and what they and their thread have called, by kind."""
        updates, *numbers = np.fromfile(self._path, np.int64).tolist()
        return updates, dict(zip(_KINDS, numbers[:4], strict=True)), dict(
            zip(_KINDS, numbers[4:], strict=True))

    def check(self):
        """Check that a thousand updates have called nothing, and that calls are counted."""
        updates, inside, called = self.read()
        assert updates > 1000
        assert inside == dict.fromkeys(_KINDS, 0)
        assert min(called.values()) > 0


@pytest.fixture
def counts(tmp_path):
    return Counts(tmp_path)


@pytest.fixture
def controller():
    return controller_of(ROUTED)


def send_goals(manager, controller, seconds):
    """Send changing goals for some seconds."""
    for k in range(round(10.0 * seconds)):
        manager.send_goal(goal_of(controller, *(0.01 * np.sin([k, 2.0 * k, 3.0 * k]))))
        manager.spin(0.1)


def test_with_the_node(tmp_path, controller, counts):
    """Goals, gains, shapes, holds, goals of another controller, and the death of the node."""
    with managers(Robot) as make:
        robot = make(tmp_path, environment=counts.environment)
        process, _ = robot.run_to_a_goal(controller)
        send_goals(robot, controller, 4.0)
        assert robot.set_parameter('left_hand.kp', 150.0)
        marker = Marker(ns='ball', id=1, type=Marker.SPHERE)
        marker.header.frame_id = controller.model.root_link
        marker.scale.x = marker.scale.y = marker.scale.z = 0.2
        marker.pose.position.x, marker.pose.orientation.w = 1.0, 1.0
        shapes = robot.node.create_publisher(MarkerArray, f'{NAME}/collision_objects', 10)
        robot.wait_until(shapes.get_subscription_count)
        shapes.publish(MarkerArray(markers=[marker]))
        send_goals(robot, controller, 1.0)
        assert robot.call(Trigger, f'{NAME}/hold').success
        assert robot.load('goals')
        assert robot.switch(['goals'])
        robot.command('goals', goal_of(controller, 0.01, 0.0, 0.0), 2.0)
        process.kill()
        robot.wait_for('inactive')
        counts.check()


@pytest.mark.parametrize('trips', [False, True])
def test_without_a_node(tmp_path, controller, counts, trips):
    """Goals, holds, goals of another controller; it trips where a joint is too fast."""
    fast = '<state_interface name="velocity"/>'
    still = STILL.replace(fast, '<state_interface name="velocity"><param name="initial_value">90'
                                '</param></state_interface>', 1)
    with managers(Manager) as make:
        manager = make(tmp_path, still if trips else STILL, NAME, {NAME: export(tmp_path)},
                       environment=counts.environment)
        manager.begin(NAME, 'goals')
        assert manager.switch([NAME])
        manager.wanted_efforts(controller)
        send_goals(manager, controller, 4.0)
        assert manager.call(Trigger, f'{NAME}/hold').success
        assert manager.switch(['goals'])
        manager.command('goals', goal_of(controller, 0.01, 0.0, 0.0), 2.0)
        assert ('the robot is braked' in manager.said()) == trips
        counts.check()
