# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The plug-in in a real controller manager, with hardware that stands still.

Runs where ros2_control and the plug-in of native/ros2_control are built and sourced.
"""

import math
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

from geometry_msgs.msg import PoseStamped
from real_manager import (
    GIVEN,
    LATCHED,
    NAME,
    STILL,
    Manager,
    controller_of,
    export,
    goal_of,
    managers,
    needs_plugin,
)
from std_msgs.msg import String
from std_srvs.srv import Trigger

pytestmark = needs_plugin
VELOCITY = '<state_interface name="velocity"/>'


@pytest.fixture(scope='module')
def exported(tmp_path_factory):
    """Return the parameters of the plug-in for an exported robot."""
    return export(tmp_path_factory.mktemp('robot'))


@pytest.fixture
def controller():
    return controller_of(GIVEN)


@pytest.fixture
def make_manager(tmp_path, exported):
    with managers(Manager) as make:
        yield lambda text=STILL, **changed: make(tmp_path, text, NAME, {NAME: exported | changed})


@pytest.fixture
def manager(make_manager):
    """Return a manager with the plug-in, inactive, and states of the joints."""
    manager = make_manager()
    manager.begin(NAME)
    return manager


def listen_to_trips(manager):
    trips = []
    manager.node.create_subscription(
        String, f'{NAME}/trip', lambda message: trips.append(message.data), LATCHED)
    return trips


def test_lifecycle(manager, controller):
    """Efforts begin with the weight, follow a goal, hold again, and are 0 after deactivation."""
    trips = listen_to_trips(manager)
    weight = manager.wanted_efforts(controller)
    assert np.abs(weight).max() > 1.0
    assert manager.switch([NAME])
    manager.wait_for_efforts(weight)
    manager.spin(1.0)
    given = manager.seen_since(0)
    given = given[np.nan_to_num(given).any(axis=1)]
    assert len(given) > 100
    np.testing.assert_allclose(given, np.broadcast_to(weight, given.shape), atol=1e-6)

    goal = goal_of(controller, 0.01, 0.0, 0.01)
    manager.send_goal(goal)
    wanted = manager.wanted_efforts(controller, goal)
    assert np.abs(wanted - weight).max() > 0.1
    manager.wait_for_efforts(wanted)

    assert manager.call(Trigger, f'{NAME}/hold').success
    manager.wait_for_efforts(weight)
    assert manager.switch(deactivate=[NAME])
    manager.wait_for_efforts(0.0)
    assert not manager.call(Trigger, f'{NAME}/hold').success
    assert manager.switch([NAME])
    manager.wait_for_efforts(weight)
    assert trips in ([], [''])


def test_goals_of_another_controller(manager, controller):
    """Chained: whole poses are goals, others change nothing, and topics do not count."""
    weight = manager.wanted_efforts(controller)
    assert manager.load('goals')
    assert manager.switch([NAME, 'goals'])
    pose = manager.node.create_publisher(PoseStamped, f'{NAME}/left_hand/target_pose', 1)
    manager.wait_until(lambda: pose.get_subscription_count() > 0)
    goal = goal_of(controller, 0.02, -0.01, 0.01)
    wanted = manager.wanted_efforts(controller, goal)
    for numbers, efforts in ((np.r_[goal[:3], 0.0, 0.0, 0.0, 2.0], weight), (goal, wanted),
                             (np.r_[goal[:3], np.full(4, math.nan)], wanted)):
        manager.command('goals', numbers)
        pose.publish(PoseStamped())
        manager.wait_for_efforts(efforts)
        first = len(manager.seen)
        manager.command('goals', numbers)
        manager.assert_constant(efforts, first)


def test_efforts_have_no_gap_while_a_controller_comes_and_goes(manager, controller):
    """The manager activates the plug-in anew for it, in one cycle."""
    weight = manager.wanted_efforts(controller)
    assert manager.switch([NAME])
    manager.wait_for_efforts(weight)
    assert manager.load('goals')
    for switch in (['goals'], []), ([], ['goals']):
        first = len(manager.seen)
        assert manager.switch(*switch)
        manager.assert_constant(weight, first)


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
    assert says in manager.said()


def test_a_joint_that_is_too_fast(make_manager):
    """It trips: the robot is braked, the log and a topic say so, and the plug-in stays active."""
    fast = VELOCITY.replace('/>', '><param name="initial_value">90.0</param></state_interface>')
    manager = make_manager(STILL.replace(VELOCITY, fast, 1))
    trips = listen_to_trips(manager)
    manager.begin(NAME)
    assert manager.switch([NAME])
    manager.wait_until(lambda: 'velocity_limit' in trips)
    manager.wait_until(lambda: manager.effort()[0] < 0.0)
    assert f'velocity_limit of {manager.joints[0]}: the robot is braked.' in manager.said()
    assert manager.state() == 'active'


def test_the_manager_dies(make_manager, manager, controller):
    """A new manager begins anew."""
    assert manager.switch([NAME])
    manager.process.kill()
    assert manager.process.wait(10) == -signal.SIGKILL
    after = make_manager()
    after.begin(NAME)
    assert after.switch([NAME])
    after.wait_for_efforts(after.wanted_efforts(controller))
