# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The command line of the nodes of a robot: its files, and arguments of ROS 2."""

import argparse

from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.executor import parse
from opspace_control.ros.parameters.parameter_file import ParameterFile

_EPILOG = """\
ROS 2 arguments follow --ros-args, and override the files:
  -p NAME:=VALUE  --params-file FILE  -r __ns:=/left  -r joint_states:=/robot/joint_states
`opspace parameters` prints the parameters of all nodes, and `opspace parameters --robot dual_arm`
a parameter file to copy."""


def node_arguments(verb, description, arguments):
    """
    Parse the arguments of a verb that starts a node of a robot.

    Parameters
    ----------
    verb : str
        Of the `opspace` command.
    description : str
        Of the node, for ``--help``.
    arguments : list of str
        After the verb: a URDF or xacro file and a parameter file, both optional, and ROS arguments.

    Returns
    -------
    list of str
        For `middleware.arguments.initialize`: the files as ROS arguments, then the given ones.

    Raises
    ------
    OpspaceError
        A file cannot be read, or has the wrong content; or as `middleware.arguments.parse`.
    SystemExit
        For ``--help``, or wrong arguments.

    """
    parser = argparse.ArgumentParser(
        prog=f'opspace {verb}', description=description, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=f'opspace {verb} [-h] [URDF [PARAMS]] [--ros-args ...]')
    parser.add_argument('urdf', metavar='URDF', nargs='?',
                        help='the robot, a URDF or xacro file (default: the parameter '
                             'robot_description, or else the topic robot_description)')
    parser.add_argument('parameters', metavar='PARAMS', nargs='?',
                        help='a ROS 2 parameter file, which may have blocks for several nodes')
    options = parse(parser, arguments)
    given = []
    if options.parameters:
        given += ['--params-file', str(ParameterFile(options.parameters).path)]
    if options.urdf:
        given += ['-p', f'robot_description:={urdf_text(options.urdf)}']
    return ['--ros-args', *given, '--', *arguments]
