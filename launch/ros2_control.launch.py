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

from launch.actions import Shutdown
from launch_ros.actions import Node

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
             'URDF file, or xacro file with the arguments hardware and interfaces.'),
    'hardware': ('mock', 'mock, topic (our simulator, behind topics), or a hardware plugin.'),
    'interfaces': ('effort position', 'Command interfaces of each joint.'),
    'params': (str(Path(share_directory(), 'config', 'ros2_control.yaml')),
               'Parameter file of all nodes, the controller manager and its controllers.'),
    'namespace': ('', 'Namespace of all nodes.'),
    'route': ROUTE,
    'watchdog': ('false', 'Let the command watchdog pass on the commands.'),
    'frame': FRAME,
}


def generate_launch_description():
    """Declare the arguments; what they mean is found out when they are known."""
    return describe(ARGUMENTS, _nodes, ours('display'))


def _nodes(given):
    """Return the actions for the values the arguments have."""
    text = urdf_text(given['urdf'], {name: given[name] for name in ('hardware', 'interfaces')})
    description = description_of(text)
    common = {'namespace': given['namespace'], 'output': 'screen'}

    def node(executable, *parameters, **options):
        return Node(package='opspace_control', executable=executable,
                    parameters=[given['params'], *parameters], **common, **options)

    position_controller = spawner(
        'joint_state_broadcaster', 'position_controller', namespace=given['namespace'])
    effort_controller = spawner('effort_controller', '--inactive', namespace=given['namespace'])
    actions = [
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             parameters=[description], **common),
        Node(package='controller_manager', executable='ros2_control_node',
             parameters=[given['params']],
             on_exit=Shutdown(reason='the controller manager ended'), **common),
        position_controller,
        # The controller starts when both spawners have exited: the position controller would
        # otherwise become active beside it.
        after(position_controller, effort_controller),
        after(effort_controller, *controller(node, given['route'], node(
            'command_watchdog', on_exit=Shutdown(reason='the command watchdog ended'))
            if given['watchdog'] == 'true' else None)),
        fixed_frame(given['frame'], text),
    ]
    if given['hardware'] == 'topic':
        # joint_states are those of the broadcaster; the robot has its own.
        actions.append(node('simulator', description,
                            remappings=[('joint_states', 'robot_joint_states')]))
    return actions
