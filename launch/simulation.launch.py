# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A simulated robot under operational-space control.

    ros2 launch opspace_control simulation.launch.py robot:=talos rviz:=true
    ros2 launch opspace_control simulation.launch.py urdf:=/path/my.urdf params:=/path/my.yaml

Then send goals: ros2 topic pub --once /opspace_controller/left_hand/target_pose ...
"""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
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
        DeclareLaunchArgument('rviz', default_value='false', description='Start RViz.'),
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
        _where_installed('robot_state_publisher', 'there is no TF of the robot', lambda: Node(
            package='robot_state_publisher', executable='robot_state_publisher',
            parameters=[given, {'use_sim_time': True}], **common)),
        _where_installed('rviz2', 'rviz:=true does nothing', lambda: Node(
            package='rviz2', executable='rviz2', parameters=[{'use_sim_time': True}],
            arguments=['-d', str(Path(share_directory(), 'config', 'robot.rviz')),
                       '-f', KinematicTree.from_urdf(description).root_link],
            condition=IfCondition(LaunchConfiguration('rviz')), **common)),
    ]


def _where_installed(package, without, make):
    """Return an action of a package that may be missing, or what is missed then."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return LogInfo(msg=f'{package} is not installed: {without}.')
    return make()
