# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The plug-in in a real controller manager, with hardware that stands still and with a robot.

Runs where ros2_control and the plug-in of native/ros2_control are built and sourced.
"""

import contextlib
import math
import os
import signal

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

from geometry_msgs.msg import PoseStamped
from real_manager import GIVEN, NAME, STILL, Manager, controller_of, needs_plugin
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from opspace_control.cli.main import main

pytestmark = needs_plugin
TYPES = {
    NAME: 'opspace_controller/OperationalSpaceController',
    'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
    'goals': 'forward_command_controller/MultiInterfaceForwardCommandController'}
RATE = 500  # Hz
VELOCITY = '<state_interface name="velocity"/>'


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Return the folder of an exported robot, and its controller."""
    folder = tmp_path_factory.mktemp('robot')
    (folder / 'robot.urdf').write_text(STILL)
    (folder / 'robot.yaml').write_text(yaml.safe_dump({NAME: {'ros__parameters': GIVEN}}))
    assert main(['export', str(folder / 'robot.urdf'), str(folder / 'robot.yaml'),
                 '-o', str(folder)]) == 0
    return folder, controller_of(GIVEN)


def parameters_of(folder, **changed):
    own = {'block': str(folder / 'robot.block'), 'library': str(folder / 'libopspace_kernels.so'),
           **changed}
    return {
        'controller_manager': {'ros__parameters': {'update_rate': RATE, **{
            name: {'type': kind} for name, kind in TYPES.items()}}},
        NAME: {'ros__parameters': own},
        'goals': {'ros__parameters': {
            'joint': f'{NAME}/left_hand', 'interface_names': [
                *(f'position.{axis}' for axis in 'xyz'),
                *(f'orientation.{axis}' for axis in 'xyzw')]}}}


@pytest.fixture
def make_manager(tmp_path, robot):
    with contextlib.ExitStack() as stack:
        def make(text=None, **parameters):
            domain = 100 + os.getpid() % 100
            manager = Manager(tmp_path, text or STILL, parameters_of(robot[0], **parameters),
                              domain)
            stack.callback(manager.close)
            return manager
        yield make


@pytest.fixture
def manager(make_manager):
    """Return a manager with the plug-in, inactive, and states of the joints."""
    manager = make_manager()
    assert manager.load('joint_state_broadcaster')
    assert manager.load()
    assert manager.switch(['joint_state_broadcaster'])
    return manager


def test_lifecycle(manager, robot):
    """Efforts begin with the weight, follow a goal, hold again, and are 0 after deactivation."""
    controller = robot[1]
    joints = controller.model.dof_names
    weight = manager.wanted_efforts(controller)
    assert np.abs(weight).max() > 1.0
    assert manager.switch([NAME])
    manager.wait_until(lambda: np.allclose(manager.effort(joints), weight, atol=1e-6))
    manager.spin(1.0)
    given = np.array([[efforts[joint] for joint in joints] for efforts in manager.seen])
    given = given[np.nan_to_num(given).any(axis=1)]
    assert len(given) > 100
    np.testing.assert_allclose(given, np.broadcast_to(weight, given.shape), atol=1e-6)

    goal = controller.tasks['left_hand'].pose + np.array([0.01, 0, 0.01, 0, 0, 0, 0])
    manager.send_goal(goal)
    wanted = manager.wanted_efforts(controller, goal)
    assert np.abs(wanted - weight).max() > 0.1
    manager.wait_until(lambda: np.allclose(manager.effort(joints), wanted, atol=1e-6))

    assert manager.call(Trigger, f'{NAME}/hold').success
    manager.wait_until(lambda: np.allclose(manager.effort(joints), weight, atol=1e-6))
    assert manager.switch(deactivate=[NAME])
    manager.wait_until(lambda: not manager.effort(joints).any())
    assert not manager.call(Trigger, f'{NAME}/hold').success
    assert manager.switch([NAME])
    manager.wait_until(lambda: np.allclose(manager.effort(joints), weight, atol=1e-6))
    assert manager.trips in ([], [''])


def test_goals_of_another_controller(manager, robot):
    """Chained: whole poses are goals, others change nothing, and topics do not count."""
    controller, rng = robot[1], np.random.default_rng(2)
    joints = controller.model.dof_names
    weight = manager.wanted_efforts(controller)
    assert manager.load('goals')
    assert manager.switch([NAME, 'goals'])
    publisher = manager.node.create_publisher(Float64MultiArray, 'goals/commands', 1)
    pose = manager.node.create_publisher(PoseStamped, f'{NAME}/left_hand/target_pose', 1)
    manager.wait_until(lambda: publisher.get_subscription_count() > 0
                       and pose.get_subscription_count() > 0)
    goal = controller.tasks['left_hand'].pose + np.r_[0.02 * rng.normal(size=3), np.zeros(4)]
    wanted = manager.wanted_efforts(controller, goal)
    for numbers, efforts in ((np.r_[goal[:3], 0.0, 0.0, 0.0, 2.0], weight), (goal, wanted),
                             (np.r_[goal[:3], np.full(4, math.nan)], wanted)):
        for _ in range(20):
            publisher.publish(Float64MultiArray(data=numbers.tolist()))
            pose.publish(PoseStamped())
            manager.spin(0.02)
        np.testing.assert_allclose(manager.effort(joints), efforts, atol=1e-6)


def test_efforts_have_no_gap_while_a_controller_comes_and_goes(manager, robot):
    """The manager activates the plug-in anew for it, in one cycle."""
    joints = robot[1].model.dof_names
    weight = manager.wanted_efforts(robot[1])
    assert manager.switch([NAME])
    manager.wait_until(lambda: np.allclose(manager.effort(joints), weight, atol=1e-6))
    assert manager.load('goals')
    for switch in (['goals'], []), ([], ['goals']):
        first = len(manager.seen)
        assert manager.switch(*switch)
        manager.spin(0.5)
        seen = np.array([[each[joint] for joint in joints] for each in manager.seen[first:]])
        assert len(seen) > 100
        np.testing.assert_allclose(seen, np.broadcast_to(weight, seen.shape), atol=1e-6)


@pytest.mark.parametrize(('parameters', 'says'), [
    ({'block': ''}, "The parameter 'block' is empty. Give the path of robot.block"),
    ({'block': '/no/robot.block'}, '/no/robot.block cannot be read.'),
    ({'joints': ['l_elbow']}, "drives 'torso_yaw', too. Add it, or export again"),
    ({'joints': ['elbow']}, "has no joint 'elbow'. Take some of: torso_yaw"),
])
def test_refuses_to_be_configured(make_manager, parameters, says):
    manager = make_manager(**parameters)
    assert not manager.load()
    assert manager.state() == 'unconfigured'
    assert says in manager.log.read_text()


def test_a_joint_that_is_too_fast(make_manager, robot):
    """It trips: the robot is braked, the log and a topic say so, and the plug-in stays active."""
    joints = robot[1].model.dof_names
    fast = VELOCITY.replace('/>', '><param name="initial_value">90.0</param></state_interface>')
    manager = make_manager(STILL.replace(VELOCITY, fast, 1))
    assert manager.load('joint_state_broadcaster')
    assert manager.load()
    assert manager.switch(['joint_state_broadcaster', NAME])
    manager.wait_until(lambda: 'velocity_limit' in manager.trips)
    manager.wait_until(lambda: manager.effort(joints)[0] < 0.0)
    assert f'velocity_limit of {joints[0]}: the robot is braked.' in manager.log.read_text()
    assert manager.state() == 'active'


def test_the_manager_dies(make_manager, manager, robot):
    """A new manager begins anew."""
    assert manager.switch([NAME])
    manager.process.kill()
    assert manager.process.wait(10) == -signal.SIGKILL
    after = make_manager()
    assert after.load('joint_state_broadcaster')
    assert after.load()
    assert after.switch(['joint_state_broadcaster', NAME])
    weight = after.wanted_efforts(robot[1])
    after.wait_until(lambda: np.allclose(after.effort(robot[1].model.dof_names), weight, atol=1e-6))
