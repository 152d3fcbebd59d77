# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the command watchdog node; the README's table is made from this one."""

import math
from dataclasses import replace

from opspace_control.ros.parameters.controller_parameters import (
    COMMAND_TYPE,
    CONTROLLER_MANAGER,
    CONTROLLER_MANAGER_TIMEOUT,
    DERIVED_COMMAND_JOINTS,
    DERIVED_COMMAND_TOPIC,
    EFFORT_CONTROLLER,
    EFFORT_RATE,
    FLOATING_BASE,
    FRAME_PREFIX,
    GRAVITY_COMPENSATION,
    LOCKED_JOINTS,
    ODOM_FRAME,
    PASSIVE_JOINTS,
    ROBOT_DESCRIPTION,
)
from opspace_control.ros.parameters.parameter_table import Parameter

NODE = (
    ROBOT_DESCRIPTION,
    CONTROLLER_MANAGER,
    CONTROLLER_MANAGER_TIMEOUT,
    EFFORT_CONTROLLER,
    DERIVED_COMMAND_TOPIC,
    COMMAND_TYPE,
    DERIVED_COMMAND_JOINTS,
    replace(FLOATING_BASE, description='Whether the root link moves freely, as odom tells.'),
    ODOM_FRAME,
    FRAME_PREFIX,
    PASSIVE_JOINTS,
    LOCKED_JOINTS,
    GRAVITY_COMPENSATION,
    Parameter('deadline', 'double', 0.05,
              'Age of the last command at which the robot is held in position; at '
              'least a few periods of the joint states. Without a joint state of this age, or '
              'odometry of a floating base, it is released.',
              's', 0.002, 10.0, read_only=False),
    Parameter('hold_time', 'double', 5.0,
              'Time for which the robot is held in position after the commands stop; then the '
              'previous controllers get the joints, or the robot is released. 0: none.',
              's', 0.0, math.inf, read_only=False),
    Parameter('hand_back', 'bool', True,
              'With a controller manager: after hold_time, or at once without joint '
              'states, the previous controllers get the joints. Until the manager confirms it, or '
              'without previous controllers, the robot is held. Off: it is released.',
              read_only=False),
    EFFORT_RATE.named('effort_rate'),
    Parameter('release_time', 'double', 0.3,
              'Time in which damping fades to zero effort.', 's', 0.0, 10.0, read_only=False),
)
