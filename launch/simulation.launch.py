# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A simulated robot under operational-space control.

    ros2 launch opspace_control simulation.launch.py robot:=talos view:=true
    ros2 launch opspace_control simulation.launch.py urdf:=/path/my.urdf params:=/path/my.yaml

It takes the arguments of display.launch.py too, to look on and to drag goals. Or send them:
ros2 topic pub --once /opspace_controller/left_hand/target_pose ...
"""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    Shutdown,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from opspace_control.cli.robots import demo_robot
from opspace_control.model import KinematicTree
from opspace_control.model.urdf import urdf_text
from opspace_control.share import share_directory


def generate_launch_description():
    """Declare the arguments; what they mean is found out when they are known."""
    return LaunchDescription([
        DeclareLaunchArgument('robot', default_value='dual_arm',
                              description='A robot of `opspace demo --list`.'),
        DeclareLaunchArgument('urdf', default_value='',
                              description='URDF or xacro file of another robot.'),
        DeclareLaunchArgument('params', default_value='',
                              description='Parameter file; config/<robot>.yaml if not given.'),
        DeclareLaunchArgument('namespace', default_value='',
                              description='Namespace of all nodes.'),
        OpaqueFunction(function=_nodes),
    ])


def _nodes(context):
    """Return the actions for the values the arguments have."""
    robot, urdf, params, namespace = (
        LaunchConfiguration(name).perform(context) for name in
        ('robot', 'urdf', 'params', 'namespace'))
    description = urdf_text(urdf or demo_robot(robot).path())
    if urdf and not params:
        raise RuntimeError('urdf:=... needs params:=... too: copy one from config/.')
    params = params or str(Path(share_directory(), 'config', f'{robot}.yaml'))
    given = {'robot_description': ParameterValue(description, value_type=str)}
    common = {'namespace': namespace, 'output': 'screen'}
    return [
        Node(package='opspace_control', executable='controller', parameters=[params, given],
             on_exit=Shutdown(reason='the controller ended'), **common),
        Node(package='opspace_control', executable='simulator', parameters=[params, given],
             on_exit=Shutdown(reason='the simulator ended'), **common),
        _robot_state_publisher([given, {'use_sim_time': True}], common),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(
                str(Path(share_directory(), 'launch', 'display.launch.py'))),
            launch_arguments=[('frame', KinematicTree.from_urdf(description).root_link),
                              ('use_sim_time', 'true')]),
    ]


def _robot_state_publisher(parameters, common):
    """Return what tells TF of the robot, or what is missed where it is not installed."""
    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return LogInfo(msg='robot_state_publisher is not installed: there is no TF of the robot.')
    return Node(package='robot_state_publisher', executable='robot_state_publisher',
                parameters=parameters, **common)
