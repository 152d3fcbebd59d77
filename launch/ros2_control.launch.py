# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A robot under ros2_control: real hardware, a mock of it, or our simulator behind a topic.

    ros2 launch opspace_control ros2_control.launch.py                  # a mock, which stands still
    ros2 launch opspace_control ros2_control.launch.py hardware:=topic  # opspace_simulator
    ros2 launch opspace_control ros2_control.launch.py hardware:=my_driver/MySystem \
        urdf:=/path/my.urdf.xacro params:=/path/my.yaml watchdog:=true

It takes the arguments of display.launch.py too, to look on and to drag goals.

A position controller has the joints until the controller takes them, and gets them back from it.
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    SetLaunchConfiguration,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from opspace_control.model import KinematicTree
from opspace_control.model.urdf import urdf_text
from opspace_control.share import share_directory

ARGUMENTS = {
    'urdf': (str(Path(share_directory(), 'urdf', 'dual_arm.urdf.xacro')),
             'URDF file, or xacro file with the arguments hardware and interfaces.'),
    'hardware': ('mock', 'mock, topic (our simulator, behind topics), or a hardware plugin.'),
    'interfaces': ('effort position', 'Command interfaces of each joint.'),
    'params': (str(Path(share_directory(), 'config', 'ros2_control.yaml')),
               'Parameter file of all nodes, the controller manager and its controllers.'),
    'namespace': ('', 'Namespace of all nodes.'),
    'route': ('', 'topic or plugin, of native/ros2_control. Empty: that of the parameter file.'),
    'watchdog': ('false', 'Let the command watchdog pass on the commands.'),
    'frame': ('', 'Fixed frame of RViz. Empty: the root link of the robot.'),
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
    text = urdf_text(given['urdf'], {name: given[name] for name in ('hardware', 'interfaces')})
    description = {'robot_description': ParameterValue(text, value_type=str)}
    watchdog = given['watchdog'] == 'true'
    common = {'namespace': given['namespace'], 'output': 'screen'}

    def ours(executable, *parameters, **options):
        return Node(package='opspace_control', executable=executable,
                    parameters=[given['params'], *parameters], **common, **options)

    def spawner(*arguments):
        return Node(package='controller_manager', executable='spawner',
                    arguments=[*arguments, '--controller-manager-timeout', '60'], **common)

    position_controller = spawner('joint_state_broadcaster', 'position_controller')
    effort_controller = spawner('effort_controller', '--inactive')
    actions = [
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             parameters=[description], **common),
        Node(package='controller_manager', executable='ros2_control_node',
             parameters=[given['params']],
             on_exit=Shutdown(reason='the controller manager ended'), **common),
        position_controller,
        # The controller starts when both spawners have exited: the position controller would
        # otherwise become active beside it.
        _after(position_controller, effort_controller),
        _after(effort_controller, *(
            [ours('command_watchdog', on_exit=Shutdown(reason='the command watchdog ended'))]
            if watchdog else []), ours('controller', *(
                [{'command_topic': 'opspace_command_watchdog/commands'}] if watchdog else []), *(
                [{'route': given['route']}] if given['route'] else []))),
        SetLaunchConfiguration('frame', given['frame'] or KinematicTree.from_urdf(text).root_link),
    ]
    if given['hardware'] == 'topic':
        # joint_states are those of the broadcaster; the robot has its own.
        actions.append(ours('simulator', description,
                            remappings=[('joint_states', 'robot_joint_states')]))
    return actions


def _after(process, *actions):
    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=list(actions)))
