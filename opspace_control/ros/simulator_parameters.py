# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the simulator node; README and example files are made from this table."""

from opspace_control.ros.controller_parameters import (
    COMMAND_JOINTS,
    COMMAND_TOPIC,
    COMMAND_TYPE,
    ROBOT_DESCRIPTION,
)
from opspace_control.ros.parameter_table import Parameter

NODE = (
    ROBOT_DESCRIPTION,
    COMMAND_TOPIC,
    COMMAND_TYPE,
    COMMAND_JOINTS,
    Parameter('pace', 'string', 'real_time',
              'Advance with the clock on the wall; one step for each command received; or with the '
              'clock, but waiting for a late command.',
              choices=('real_time', 'lock_step', 'patient')),
    Parameter('timestep', 'double', 0.001, 'Time between two joint states.', 's', 1e-5, 0.1),
    Parameter('wait_for_command', 'bool', True,
              'Hold the robot still, at time zero, until the first command has arrived; as a '
              'JointState, the first that is not zero: ros2_control sends zeros from its start.'),
    Parameter('passive_joints', 'string_array', [],
              'Joints without a drive. Moving joints that are neither commanded nor passive are '
              'held by a brake.'),
    Parameter('joint_friction', 'bool', True,
              'Whether joints have the damping and friction of the URDF. False for drives that '
              'measure their torque and so overcome it.'),
    Parameter('contacts', 'bool', False, 'Whether links collide with each other and the floor.'),
    Parameter('floor', 'bool', False, 'Whether there is a floor at height zero.'),
    Parameter('publish_clock', 'bool', True, 'Publish the time of the simulation on /clock.'),
)

# Of each joint of one degree of freedom.
INITIAL_POSITION = Parameter(
    'initial_positions.<joint>', 'double', None,
    'Position at the start. Not given: zero, or the nearest limit.', 'rad or m')
