# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files, under the real launch system where it is installed."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('launch.actions', reason='launch is not installed: it is on no package index')
pytest.importorskip('launch_ros.actions', reason='launch_ros is not installed')

import ros_nodes
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from geometry_msgs.msg import PoseStamped, Twist
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import GetState
from nav_msgs.msg import Odometry

from opspace_control.cli.processes import own_domain, private_environment
from opspace_control.cli.robots import demo_robot
from opspace_control.errors import OpspaceError

LAUNCH = Path(__file__).parents[1] / 'launch'
ROS2_CONTROL = ('controller_manager', 'forward_command_controller', 'joint_state_broadcaster',
                'joint_trajectory_controller', 'robot_state_publisher', 'xacro')
OURS = {'joint_state_broadcaster', 'effort_controller'}
ALONE = {'joint_state_broadcaster', 'position_controller'}
RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(sys.argv[1]),
    launch_arguments=[argument.split(':=') for argument in sys.argv[2:]])]))
sys.exit(service.run())
"""


@pytest.fixture(autouse=True)
def installed():
    if not _installed('opspace_control'):
        pytest.skip('opspace_control is not in the ament index: build and source a workspace')


def test_simulation_carries_hands():
    shown = importlib.util.find_spec('viser') is not None
    with ros_nodes.network() as network:
        with launched('simulation.launch.py', 'robot:=planar_3r',
                      f'view:={str(shown).lower()}') as said:
            poses = network.listen(
                PoseStamped, f'{ros_nodes.CONTROLLER}/hand/current_pose', ros_nodes.NEWEST)
            network.expect(lambda: poses, ros_nodes.COMPILING)
        assert 'process has died' not in said[0]
        assert ('opspace view: http://' in said[0]) == shown


def test_robot_on_legs_goes_where_cmd_vel_says():
    try:
        demo_robot('go2').path()
    except OpspaceError as error:
        pytest.skip(str(error))
    with ros_nodes.network() as network, launched('trot.launch.py', 'robot:=go2') as said:
        odometry = network.listen(Odometry, 'odom', ros_nodes.NEWEST)
        ahead = Twist()
        ahead.linear.x = 0.4
        network.send(network.publisher(Twist, 'cmd_vel'), ahead,
                     lambda: odometry and odometry[-1].pose.pose.position.x > 0.2)
        assert odometry[-1].pose.pose.position.z > 0.3
    assert 'process has died' not in said[0]


@pytest.mark.parametrize(('arguments', 'packages'), [
    (['ros2_control.launch.py'], []),
    (['ros2_control.launch.py', 'watchdog:=true'], []),
    (['ros2_control.launch.py', 'hardware:=topic'], ['joint_state_topic_hardware_interface']),
    (['gazebo.launch.py', 'gui:=false'], ['gz_ros2_control', 'ros_gz_bridge', 'ros_gz_sim']),
], ids=' '.join)
def test_takes_the_joints_under_ros2_control_and_gives_them_back(arguments, packages):
    need(*ROS2_CONTROL, *packages)
    with ros_nodes.network() as network, ros2_control(network, *arguments):
        assert network.transition(ros_nodes.CONTROLLER, Transition.TRANSITION_DEACTIVATE)
        # In Gazebo the joints stay with the command watchdog.
        assert active_under_ros2_control(network) == (
            OURS if arguments[0].startswith('gazebo') else ALONE)


def test_leaves_when_the_controller_manager_has_taken_the_joints_away():
    need(*ROS2_CONTROL)
    from controller_manager_msgs.srv import SwitchController

    def switch(on, off):
        # Strict, it would refuse to be asked twice, which an answer that is lost leads to.
        assert network.call(
            SwitchController, '/controller_manager/switch_controller', activate_controllers=on,
            deactivate_controllers=off, strictness=SwitchController.Request.BEST_EFFORT).ok

    def is_inactive():
        answer = network.call(GetState, f'{ros_nodes.CONTROLLER}/get_state')
        return answer.current_state.id == State.PRIMARY_STATE_INACTIVE

    with ros_nodes.network() as network, ros2_control(network, 'ros2_control.launch.py'):
        switch(['position_controller'], ['effort_controller'])
        network.expect(is_inactive)
        assert active_under_ros2_control(network) == ALONE
        assert network.transition(ros_nodes.CONTROLLER, Transition.TRANSITION_ACTIVATE)
        assert active_under_ros2_control(network) == OURS
        switch([], ['effort_controller'])
        network.expect(is_inactive)
        network.expect(lambda: active_under_ros2_control(network) == ALONE)


@contextlib.contextmanager
def ros2_control(network, file, *arguments):
    """Run a launch file; our controller has the joints at the start, and has released them."""
    with launched(file, *arguments):
        poses = network.listen(
            PoseStamped, f'{ros_nodes.CONTROLLER}/left_hand/current_pose', ros_nodes.NEWEST)
        network.expect(lambda: poses, ros_nodes.COMPILING)
        network.expect(lambda: active_under_ros2_control(network) == OURS)
        yield


@contextlib.contextmanager
def launched(file, *arguments):
    """Run a launch file until SIGINT, which has the robot released; yield a list for its output."""
    process, said = subprocess.Popen(
        [sys.executable, '-c', RUN, LAUNCH / file, *arguments],
        env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True), []
    try:
        yield said
    finally:
        process.send_signal(signal.SIGINT)
        said.append(process.communicate(timeout=60)[0])
    assert process.returncode == 0
    assert 'The robot is released' in said[0]


def active_under_ros2_control(network):
    """Return the names of the controllers that are active."""
    from controller_manager_msgs.srv import ListControllers
    answer = network.call(ListControllers, '/controller_manager/list_controllers')
    return {each.name for each in answer.controller if each.state == 'active'}


def test_displays_start_where_they_are_installed_and_say_so_where_not():
    pytest.importorskip('viser', reason='viser is not installed')
    with own_domain() as domain:
        process = subprocess.Popen(
            [sys.executable, '-u', '-c', RUN, LAUNCH / 'display.launch.py', 'view:=true',
             'rviz:=true', 'foxglove:=true'], env=private_environment(domain),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        out = ''
        for line in process.stdout:  # until it ends, at the latest
            out += line
            if 'http://' in line:
                process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, out
    assert 'opspace view: http://' in out
    for package, display in (('rviz2', 'rviz'), ('foxglove_bridge', 'foxglove')):
        missing = f'{package} is not installed: {display}:=true does nothing.'
        assert (missing in out) != _installed(package)
    assert 'goal_markers' in out
    assert 'Traceback' not in out


def need(*packages):
    for package in packages:
        if not _installed(package):
            pytest.skip(f'{package} is not installed')


def _installed(package):
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


def test_mistake_in_the_robot_is_explained():
    with own_domain() as domain:
        out = subprocess.run(
            [sys.executable, '-c', RUN, LAUNCH / 'simulation.launch.py', 'robot:=dual_amr'],
            env=private_environment(domain), capture_output=True, text=True, timeout=60,
            check=False)
    assert 'dual_arm' in out.stdout + out.stderr
