# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the command watchdog node; the README's table is made from this one."""

from opspace_control.ros.controller_parameters import (
    CONTROLLER_MANAGER,
    CONTROLLER_MANAGER_TIMEOUT,
    DERIVED_COMMAND_JOINTS,
    DERIVED_COMMAND_TOPIC,
    EFFORT_CONTROLLER,
    ROBOT_DESCRIPTION,
)
from opspace_control.ros.parameter_table import Parameter

NODE = (
    ROBOT_DESCRIPTION,
    CONTROLLER_MANAGER,
    CONTROLLER_MANAGER_TIMEOUT,
    EFFORT_CONTROLLER,
    DERIVED_COMMAND_TOPIC,
    DERIVED_COMMAND_JOINTS,
    Parameter('locked_joints', 'string_array', [], 'Joints held by a brake.'),
    Parameter('deadline', 'double', 0.05,
              'Age of the last command at which the robot is damped; a few periods of the joint '
              'states at least.', 's', 0.002, 10.0, read_only=False),
    Parameter('release_time', 'double', 0.3,
              'Time in which damping fades to zero effort.', 's', 0.0, 10.0, read_only=False),
)
