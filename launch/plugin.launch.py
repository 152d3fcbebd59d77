# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A robot under ros2_control with the law in the controller manager's own loop, as a plug-in.

    ros2 launch opspace_control plugin.launch.py                  # a mock, which stands still
    ros2 launch opspace_control plugin.launch.py hardware:=topic  # opspace_simulator
    ros2 launch opspace_control plugin.launch.py hardware:=my_driver/MySystem \
        urdf:=/path/my.urdf.xacro params:=/path/my.yaml

The package opspace_controller, which is native/ros2_control, has the plug-in. The controller of the
parameter file is exported at the start; goals come on the topics of doc/how_to/plugin.md. It takes
the arguments of display.launch.py too, to look on.
"""

import tempfile
from pathlib import Path

import yaml
from launch.actions import Shutdown
from launch_ros.actions import Node

from opspace_control.cli.export import BLOCK, KERNELS
from opspace_control.cli.export import main as export
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.launching import (
    FRAME,
    describe,
    description_of,
    fixed_frame,
    ours,
    spawner,
)
from opspace_control.share import share_directory

ARGUMENTS = {
    'urdf': (str(Path(share_directory(), 'urdf', 'dual_arm.urdf.xacro')),
             'URDF file, or xacro file with the argument hardware.'),
    'hardware': ('mock', 'mock, topic (our simulator, behind topics), or a hardware plugin.'),
    'params': (str(Path(share_directory(), 'config', 'ros2_control.yaml')),
               'Parameter file of the controller, the controller manager and its controllers.'),
    'namespace': ('', 'Namespace of all nodes.'),
    'frame': FRAME,
}
CONTROLLER = 'opspace_controller'


def generate_launch_description():
    """Declare the arguments; what they mean is found out when they are known."""
    return describe(ARGUMENTS, _nodes, ours('display'))


def _nodes(given):
    """Export the controller, and return the actions for the values the arguments have."""
    text = urdf_text(given['urdf'], {'hardware': given['hardware']})
    folder = Path(tempfile.mkdtemp(prefix='opspace_'))
    (folder / 'robot.urdf').write_text(text)
    export([str(folder / 'robot.urdf'), given['params'], '--output', str(folder)])
    parameters = folder / 'manager.yaml'
    parameters.write_text(yaml.safe_dump(_parameters(given['params'], folder)))
    description = description_of(text)
    common = {'namespace': given['namespace'], 'output': 'screen'}
    actions = [
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             parameters=[description], **common),
        Node(package='controller_manager', executable='ros2_control_node',
             parameters=[str(parameters)],
             on_exit=Shutdown(reason='the controller manager ended'), **common),
        spawner('joint_state_broadcaster', CONTROLLER, namespace=given['namespace']),
        fixed_frame(given['frame'], text),
    ]
    if given['hardware'] == 'topic':
        # joint_states are those of the broadcaster; the robot has its own.
        actions.append(Node(package='opspace_control', executable='simulator',
                            parameters=[given['params'], description],
                            remappings=[('joint_states', 'robot_joint_states')], **common))
    return actions


def _parameters(path, folder):
    """
    Return the parameters of the manager's process: those of a file, with the plug-in.

    The exported controller has its own already; ros2_control refuses the empty lists among them.
    """
    sections = {name: values for name, values in yaml.safe_load(Path(path).read_text()).items()
                if name.rpartition('/')[2] != CONTROLLER}
    return {
        **sections,
        f'/**/{CONTROLLER}': {'ros__parameters': {
            'block': str(folder / BLOCK), 'library': str(folder / KERNELS)}},
        '/**': {'ros__parameters': {
            f'{CONTROLLER}.type': 'opspace_controller/OperationalSpaceController'}}}
