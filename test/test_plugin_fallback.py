# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Fallback controllers of the plug-in, in a real controller manager.

Runs where ros2_control and the plug-in of native/ros2_control are built and sourced.
"""

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

from plugin_robot import PLUG, ROUTED, Robot
from real_manager import PLUGIN_TYPE, controller_of, export, managers, needs_plugin

pytestmark = needs_plugin


@pytest.fixture
def controller():
    """Return the same controller in this process, for the efforts that are to be expected."""
    return controller_of(ROUTED)


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a manager with a fallback controller of the plug-in."""
    with managers(Robot) as make:
        def start_robot(name, types=None, **parameters):
            kinds = {each: {'type': kind} for each, kind in (types or {}).items()}
            robot = make(tmp_path, parameters={
                'controller_manager': {
                    PLUG: {'type': PLUGIN_TYPE, 'fallback_controllers': [name]}, **kinds},
                **parameters})
            assert robot.load(name)
            return robot
        yield start_robot


def assert_has_the_joints(robot, name):
    """Check that a forward controller is active and what it commands arrives."""
    assert (robot.state(name), robot.state(PLUG)) == ('active', 'inactive')
    numbers = np.arange(1.0, 1.0 + len(robot.joints))
    robot.command(name, numbers)
    robot.wait_for_efforts(numbers)


def test_the_node_dies(start, controller):
    """The fallback controller has the joints until a node takes them, and gets them back."""
    robot = start('holder')
    process, efforts = robot.run_to_a_goal(controller)
    first = len(robot.seen)
    process.kill()
    process.wait(10)
    robot.wait_for('active', 'holder')
    # What the plug-in commands fades before the other one steps in.
    assert robot.fastest_change(first) <= 40.0 * controller.effort_limits.max()
    assert 0.0 < abs(robot.seen_since(first)).max() <= abs(efforts).max() + 1e-5
    assert_has_the_joints(robot, 'holder')
    robot.run_node()
    robot.wait_for('active')
    assert robot.state('holder') == 'inactive'
    robot.wait_for_efforts(robot.wanted_efforts(controller))
    assert robot.transition('DEACTIVATE')
    robot.wait_for('active', 'holder')
    assert_has_the_joints(robot, 'holder')


def test_the_node_hangs(start, controller):
    """When it goes on it leaves the joints to the fallback controller, not to the previous one."""
    robot = start('fallback', {'fallback': 'forward_command_controller/ForwardCommandController'},
                  fallback={'joints': [*controller.model.dof_names], 'interface_name': 'effort'})
    assert robot.load('holder')
    assert robot.switch(['holder'])
    process, _ = robot.run_to_a_goal(controller)
    process.send_signal(signal.SIGSTOP)
    robot.wait_for('active', 'fallback')
    process.send_signal(signal.SIGCONT)
    robot.wait_until(lambda: robot.label() == 'inactive')
    robot.spin(1.0)
    assert robot.state('holder') == 'inactive'
    assert_has_the_joints(robot, 'fallback')
    assert robot.transition('ACTIVATE')
    robot.wait_for_efforts(robot.wanted_efforts(controller))
    assert robot.state('fallback') == 'inactive'


def test_a_controller_precedes_the_plugin(start, controller):
    """It is deactivated with the plug-in."""
    robot = start('holder')
    process, _ = robot.run_to_a_goal(controller)
    assert robot.load('goals')
    assert robot.switch(['goals'])
    process.kill()
    robot.wait_for('active', 'holder')
    assert robot.state('goals') == 'inactive'
    assert_has_the_joints(robot, 'holder')


def test_the_plugin_without_a_node_is_the_fallback(start, controller, tmp_path):
    """It holds the pose in which the robot is found."""
    robot = start('alone', {'alone': PLUGIN_TYPE}, alone=export(tmp_path))
    process, _ = robot.run_to_a_goal(controller)
    process.kill()
    process.wait(10)
    robot.wait_for('active', 'alone')
    robot.wait_for_efforts(robot.wanted_efforts(controller))
    robot.run_node()
    robot.wait_for('active')
    robot.wait_for_efforts(robot.wanted_efforts(controller))
    assert robot.state('alone') == 'inactive'


def test_another_client_deactivates_the_plugin(start, controller):
    """That is no error: the fallback controller stays inactive."""
    robot = start('holder')
    robot.run_to_a_goal(controller)
    assert robot.switch(deactivate=[PLUG])
    robot.wait_until(lambda: robot.label() == 'inactive')
    robot.wait_for_efforts(0.0)
    assert robot.state('holder') == robot.state(PLUG) == 'inactive'
