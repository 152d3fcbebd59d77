# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A simulated robot on legs, which goes where cmd_vel says.

    ros2 launch opspace_control trot.launch.py robot:=b1 view:=true
    ros2 topic pub -r 10 /cmd_vel geometry_msgs/msg/Twist "{linear: {x: 0.8}}"
    ros2 param set /opspace_controller legs.gait running_trot

It takes the arguments of simulation.launch.py and display.launch.py too.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

from opspace_control.ros.launching import ours


def generate_launch_description():
    """Set other defaults for the arguments of simulation.launch.py, which does the rest."""
    return LaunchDescription([
        DeclareLaunchArgument('robot', default_value='b1', description='b1 or go2.'),
        DeclareLaunchArgument('frame', default_value='odom', description='Fixed frame of RViz.'),
        ours('simulation'),
    ])
