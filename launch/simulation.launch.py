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
    SetLaunchConfiguration,
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

ARGUMENTS = {
    'robot': ('dual_arm', 'A robot of `opspace demo --list`, b1, go2 or talos_standing.'),
    'urdf': ('', 'URDF or xacro file of another robot.'),
    'params': ('', 'Parameter file; config/<robot>.yaml if not given.'),
    'namespace': ('', 'Namespace of all nodes.'),
    'frame': ('', 'Fixed frame of RViz. Empty: the root link of the robot.'),
    'use_sim_time': ('true', 'Displays go by /clock, as the robot does.'),
}


def generate_launch_description():
    """Declare the arguments; what they mean is found out when they are known."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=description)
          for name, (default, description) in ARGUMENTS.items()),
        OpaqueFunction(function=_nodes),
        # Not among those actions: `ros2 launch --show-args` does not look into them.
        IncludeLaunchDescription(PythonLaunchDescriptionSource(
            str(Path(share_directory(), 'launch', 'display.launch.py')))),
    ])


def _nodes(context):
    """Return the actions for the values the arguments have."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    text = urdf_text(given['urdf'] or demo_robot(given['robot']).path())
    if given['urdf'] and not given['params']:
        raise RuntimeError('urdf:=... needs params:=... too: copy one from config/.')
    params = given['params'] or str(Path(share_directory(), 'config', f'{given["robot"]}.yaml'))
    description = {'robot_description': ParameterValue(text, value_type=str)}
    common = {'namespace': given['namespace'], 'output': 'screen'}
    sim_time = {'use_sim_time': True}  # so that a pause of the simulator is no fault
    return [
        Node(package='opspace_control', executable='controller',
             parameters=[params, description, sim_time],
             on_exit=Shutdown(reason='the controller ended'), **common),
        Node(package='opspace_control', executable='simulator', parameters=[params, description],
             on_exit=Shutdown(reason='the simulator ended'), **common),
        _robot_state_publisher([description, sim_time], common),
        SetLaunchConfiguration('frame', given['frame'] or KinematicTree.from_urdf(text).root_link),
    ]


def _robot_state_publisher(parameters, common):
    """Return what tells TF of the robot, or what is missed where it is not installed."""
    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return LogInfo(msg='robot_state_publisher is not installed: there is no TF of the robot.')
    return Node(package='robot_state_publisher', executable='robot_state_publisher',
                parameters=parameters, **common)
