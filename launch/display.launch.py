# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What shows a running controller: a page in a browser, RViz, Foxglove. All let one drag goals.

    ros2 launch opspace_control display.launch.py view:=true
    ros2 launch opspace_control display.launch.py rviz:=true frame:=base_link

The other launch files include this one and take the same arguments. In Foxglove, connect to the
bridge and import config/foxglove.json as a layout.
"""

from pathlib import Path

from opspace_control.ros.launching import describe, node_where_installed
from opspace_control.share import share_directory

ARGUMENTS = {
    'view': ('false', 'Show it in a browser, at the address that is printed.'),
    'host': ('127.0.0.1', 'Address of the page; 0.0.0.0 opens it to the network.'),
    'rviz': ('false', 'Show it in RViz.'),
    'frame': ('base_link', 'Fixed frame of RViz: the root link, say.'),
    'foxglove': ('false', 'Start the bridge to Foxglove.'),
    'namespace': ('', 'Namespace of the displays: that of the controller.'),
    'use_sim_time': ('false', 'Displays go by /clock.'),
}


def generate_launch_description():
    """Declare the arguments; what they mean is found out when they are known."""
    return describe(ARGUMENTS, _nodes)


def _nodes(given):
    """Return the actions for the values the arguments have."""
    config = Path(share_directory(), 'config', 'opspace.rviz')
    displays = {
        'view': [('opspace_control', 'view', ['--host', given['host']])],
        'rviz': [('opspace_control', 'goal_markers', []),
                 ('rviz2', 'rviz2', ['-d', str(config), '-f', given['frame']])],
        'foxglove': [('foxglove_bridge', 'foxglove_bridge', [])],
    }
    return [node_where_installed(
                package, executable, f'{display}:=true does nothing.', arguments=arguments,
                namespace=given['namespace'], output='screen',
                parameters=[{'use_sim_time': given['use_sim_time'] == 'true'}])
            for display, nodes in displays.items() if given[display] == 'true'
            for package, executable, arguments in nodes]
