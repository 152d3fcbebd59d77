# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A robot in Gazebo, under ros2_control.

    ros2 launch opspace_control gazebo.launch.py
    ros2 launch opspace_control gazebo.launch.py gui:=false
    ros2 launch opspace_control gazebo.launch.py urdf:=/path/my.urdf.xacro params:=/path/my.yaml

It takes the arguments of display.launch.py too, to look on and to drag goals.

Gazebo holds the joints until the controller takes them. Efforts that it has obeyed once stay in
force (ros-controls/gz_ros2_control #770), so no position controller can get the joints back: when
the controller leaves, or is killed, the command watchdog carries the robot. Not with route:=plugin:
there the plug-in holds it for safety.node_timeout, damps it, and lets it fall.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

from opspace_control.errors import ModelError
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.launching import (
    FRAME,
    ROUTE,
    after,
    controller,
    describe,
    description_of,
    fixed_frame,
    ours,
    spawner,
)
from opspace_control.share import share_directory

ARGUMENTS = {
    'urdf': (str(Path(share_directory(), 'urdf', 'dual_arm.urdf.xacro')),
             'xacro file with the arguments hardware, interfaces and controllers.'),
    'params': (str(Path(share_directory(), 'config', 'gazebo.yaml')),
               'Parameter file of the controller, the controller manager and its controllers.'),
    'world': ('empty.sdf', 'World of Gazebo.'),
    'gui': ('true', 'Show it.'),
    'route': ROUTE,
    'watchdog': ('true', 'Let the command watchdog pass on the commands, and carry the robot when '
                         'none come. Without it the robot falls when the controller leaves.'),
    'frame': FRAME,
    'use_sim_time': ('true', 'Displays go by /clock, as the robot does.'),
}


def generate_launch_description():
    """Declare the arguments; what they mean is found out when they are known."""
    return describe(ARGUMENTS, _nodes, ours('display'))


def _nodes(given):
    """Return the actions for the values the arguments have."""
    # What every process and every robot has to agree on: there is one time, Gazebo's.
    sim_time = {'use_sim_time': True}
    text = urdf_text(given['urdf'], {'hardware': 'gazebo', 'interfaces': 'effort',
                                     'controllers': given['params']})
    if 'gz_ros2_control-system' not in text:
        raise ModelError(f'{given["urdf"]} has no plugin gz_ros2_control-system, so Gazebo has no '
                         'controller manager.', cure='Use the macro of urdf/ros2_control.xacro.')
    description = description_of(text)
    gazebo = Path(get_package_share_directory('ros_gz_sim'), 'launch', 'gz_sim.launch.py')
    flags = '-r' if given['gui'] == 'true' else '-r -s'

    robot = Node(package='ros_gz_sim', executable='create', output='screen',
                 arguments=['-topic', 'robot_description', '-name', 'robot'])
    broadcaster = spawner('joint_state_broadcaster')
    effort_controller = spawner('effort_controller', '--inactive')
    passes_on = given['watchdog'] == 'true' and given['route'] != 'plugin'

    def node(executable, *parameters):
        return Node(package='opspace_control', executable=executable, output='screen',
                    parameters=[given['params'], sim_time, *parameters])

    return [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(gazebo)),
            launch_arguments=[('gz_args', f'{flags} {given["world"]}'),
                              ('on_exit_shutdown', 'true')]),
        Node(package='ros_gz_bridge', executable='parameter_bridge', output='screen',
             arguments=['/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock']),
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             parameters=[description, sim_time], output='screen'),
        robot,
        # The controller manager lives inside of Gazebo, and begins with the robot. The controller
        # starts when both spawners have exited.
        after(robot, broadcaster),
        after(broadcaster, effort_controller),
        after(effort_controller, *controller(
            node, given['route'], node('command_watchdog') if passes_on else None)),
        fixed_frame(given['frame'], text),
    ]
