# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What launch files have in common; `launch` and `launch_ros` are of an installed ROS 2."""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from opspace_control.model import KinematicTree
from opspace_control.share import share_directory

# Arguments of several launch files.
FRAME = '', 'Fixed frame of RViz. Empty: the root link of the robot.'
ROUTE = '', 'topic or plugin, of native/ros2_control. Empty: that of the parameter file.'


def describe(arguments, act, *more):
    """
    Return a LaunchDescription with arguments: by name, default and description.

    ``act`` returns actions for the values of the arguments, a dict of str. ``more`` are actions
    that do not depend on them; `ros2 launch --show-args` does not look into the others.
    """
    def perform(context):
        return act({name: LaunchConfiguration(name).perform(context) for name in arguments})

    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=description)
          for name, (default, description) in arguments.items()),
        OpaqueFunction(function=perform), *more])


def ours(name):
    """Return the action that includes a launch file of this package."""
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(
        str(Path(share_directory(), 'launch', f'{name}.launch.py'))))


def description_of(text):
    """Return the parameter of nodes that has a URDF."""
    return {'robot_description': ParameterValue(text, value_type=str)}


def fixed_frame(frame, text):
    """Return the action that sets the fixed frame of RViz: a frame, or the root link of a URDF."""
    return SetLaunchConfiguration('frame', frame or KinematicTree.from_urdf(text).root_link)


def node_where_installed(package, executable, told, **options):
    """Return a node of a package, or, where that is not installed, what is told then."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return LogInfo(msg=f'{package} is not installed: {told}')
    return Node(package=package, executable=executable, **options)


def spawner(*arguments, **options):
    """Return the process that has the controller manager load controllers."""
    return Node(package='controller_manager', executable='spawner', output='screen',
                arguments=[*arguments, '--controller-manager-timeout', '60'], **options)


def after(process, *actions):
    """Return what waits for the end of a process before these actions."""
    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=list(actions)))


def controller(node, route, watchdog=None):
    """
    Return the controller, and before it the command ``watchdog`` that passes on its commands.

    ``node(executable, *parameters)`` returns a node; without a ``route`` that of the parameter file
    is taken.
    """
    parameters = [{'route': route}] if route else []
    if watchdog is None:
        return [node('controller', *parameters)]
    return [watchdog, node(
        'controller', {'command_topic': 'opspace_command_watchdog/commands'}, *parameters)]
