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

from launch.actions import Shutdown
from launch_ros.actions import Node

from opspace_control.cli.robots import demo_robot
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.launching import (
    FRAME,
    describe,
    description_of,
    fixed_frame,
    node_where_installed,
    ours,
)
from opspace_control.share import share_directory

ARGUMENTS = {
    'robot': ('dual_arm', 'A robot of `opspace demo --list`, b1, go2 or talos_standing.'),
    'urdf': ('', 'URDF or xacro file of another robot.'),
    'params': ('', 'Parameter file; config/<robot>.yaml if not given.'),
    'namespace': ('', 'Namespace of all nodes.'),
    'frame': FRAME,
    'use_sim_time': ('true', 'Displays go by /clock, as the robot does.'),
}


def generate_launch_description():
    """Declare the arguments; what they mean is found out when they are known."""
    return describe(ARGUMENTS, _nodes, ours('display'))


def _nodes(given):
    """Return the actions for the values the arguments have."""
    text = urdf_text(given['urdf'] or demo_robot(given['robot']).path())
    if given['urdf'] and not given['params']:
        raise RuntimeError('urdf:=... needs params:=... too: copy one from config/.')
    params = given['params'] or str(Path(share_directory(), 'config', f'{given["robot"]}.yaml'))
    description = description_of(text)
    common = {'namespace': given['namespace'], 'output': 'screen'}
    sim_time = {'use_sim_time': True}  # so that a pause of the simulator is no fault
    return [
        Node(package='opspace_control', executable='controller',
             parameters=[params, description, sim_time],
             on_exit=Shutdown(reason='the controller ended'), **common),
        Node(package='opspace_control', executable='simulator', parameters=[params, description],
             on_exit=Shutdown(reason='the simulator ended'), **common),
        node_where_installed(
            'robot_state_publisher', 'robot_state_publisher', 'there is no TF of the robot.',
            parameters=[description, sim_time], **common),
        fixed_frame(given['frame'], text),
    ]
