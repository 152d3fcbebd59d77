# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of a command, and those after --ros-args for rclpy."""

import json
import re

import rclpy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from opspace_control.errors import RosInterfaceError

# In `-p robot_description:=...`, for one node or for all.
_DESCRIPTION = re.compile(r'((?:[^:=]*:)?robot_description:=)(\s*<.*)', re.DOTALL)


def parse(parser, arguments):
    """
    Return what an ArgumentParser makes of the arguments that are not for ROS 2.

    Raises
    ------
    RosInterfaceError
        The arguments after --ros-args cannot be used.
    SystemExit
        The arguments ask for help, before or after --ros-args, or do not fit.

    """
    if not {'-h', '--help'}.isdisjoint(arguments):
        arguments = ['--help']
    try:
        plain = remove_ros_args(_quoted(arguments))
    except RuntimeError as error:  # of any class that rclpy has for that
        raise _refusal(error) from None
    return parser.parse_args(plain)


def initialize(arguments):
    """
    Initialize rclpy with these arguments; signals are left to the caller.

    Raises
    ------
    RosInterfaceError
        The arguments after --ros-args cannot be used.

    """
    try:
        rclpy.init(args=_quoted(arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        raise _refusal(error) from None


def _quoted(arguments):
    """
    Return the arguments with a URDF text in ``-p robot_description:=...`` put in quotes.

    rcl reads the value of a parameter as YAML, which the text of most URDF files is not.
    """
    return [f'{found[1]}{json.dumps(found[2], ensure_ascii=False)}'
            if (found := _DESCRIPTION.fullmatch(argument)) else argument
            for argument in arguments]


def _refusal(error):
    reason = str(error).removeprefix('failed to initialize rcl: ')
    reason = re.sub(r', at (/|\S+:\d+).*', '', reason, flags=re.DOTALL)
    return RosInterfaceError(
        f'ROS 2 cannot use the arguments after --ros-args: {reason}.',
        cure='Write -p NAME:=VALUE with a VALUE in YAML, --params-file FILE, or -r FROM:=TO.')
