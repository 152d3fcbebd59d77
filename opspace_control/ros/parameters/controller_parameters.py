# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the controller node; README and example files are made from this table."""

import math
import re
from dataclasses import replace

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.parameters.joints import given_joint_table
from opspace_control.ros.parameters.parameter_table import Parameter, names_in
from opspace_control.ros.parameters.task_parameters import CONTACT, GRASP, PAYLOAD, SENSOR, TASK

COMMAND_TOPIC = Parameter(
    'command_topic', 'string', 'effort_controller/commands',
    "Topic of the joint efforts: the effort controller's commands.")
COMMAND_TYPE = Parameter(
    'command_type', 'string', 'Float64MultiArray',
    'Message of the joint efforts: numbers in the order of the joints, for forward controllers, or '
    'the efforts of a JointState, by name.',
    choices=('Float64MultiArray', 'JointState'))
COMMAND_JOINTS = Parameter(
    'command_joints', 'string_array', [],
    "Joints in the effort controller's order. Empty: those with an effort command interface in "
    'the URDF; without any, all joints of one degree of freedom that are neither passive nor '
    'locked.')
CONTROLLER_MANAGER = Parameter(
    'controller_manager', 'string', '',
    'Node name of the controller manager of ros2_control, usually controller_manager. It gives the '
    'order of the joints, and switches their controllers on activation. Empty: there is none, or '
    'the user switches controllers.')
CONTROLLER_MANAGER_TIMEOUT = Parameter(
    'controller_manager_timeout', 'double', 10.0,
    'Longest wait for each answer of the controller manager, and for the effort controller to be '
    'loaded and configured.', 's', 0.1, 600.0)
EFFORT_CONTROLLER = Parameter(
    'effort_controller', 'string', 'effort_controller',
    'Name of the forward controller that takes the efforts: a ForwardCommandController with '
    'interface_name effort, or a JointGroupEffortController.')
DERIVED_COMMAND_TOPIC = replace(COMMAND_TOPIC, default='', description=(
    'Topic of the joint efforts. Empty: <effort_controller>/commands, in the namespace of the '
    'controller manager.'))
DERIVED_COMMAND_JOINTS = replace(COMMAND_JOINTS, description=(
    'The controller manager, if there is one, gives them. ' + COMMAND_JOINTS.description))
EFFORT_RATE = Parameter(
    'limits.effort_rate', 'double', 20.0,
    "Fastest change of a joint's effort, in multiples of its limit: at 20 it takes 50 ms from zero "
    'to the limit. Without an effort limit there is no rate limit.',
    '1/s', 1.0, 1e6, read_only=False)
FLOATING_BASE = Parameter(
    'floating_base', 'bool', False,
    'Whether the root link moves freely; odom has its state. Goals without a frame are then in '
    'odom_frame.')
FRAME_PREFIX = Parameter(
    'frame_prefix', 'string', '',
    "Prefix of the robot's links in messages, as robot_state_publisher's parameter of that name.")
GRAVITY_COMPENSATION = Parameter(
    'gravity_compensation', 'bool', True,
    'Compensate the weight of the robot. Off for hardware that does so itself.')
LOCKED_JOINTS = Parameter(
    'locked_joints', 'string_array', [],
    'Joints with a closed brake, with or without a drive. Moving joints that are neither commanded '
    'nor passive count as locked, too.', read_only=False)
ODOM_FRAME = Parameter(
    'odom_frame', 'string', 'odom',
    "The world's frame, z up: header.frame_id of odom. With a floating base.")
PASSIVE_JOINTS = Parameter(
    'passive_joints', 'string_array', [],
    'Joints without a working drive: they get no effort, and move by the motion of the others. '
    'Joints in a <ros2_control> block of the URDF without any command interface are passive '
    "unless they are commanded; [''] stands for none.", read_only=False)
ROBOT_DESCRIPTION = Parameter(
    'robot_description', 'string', '',
    'The robot as URDF text. Empty: wait for the topic robot_description.')

# Of the controller node.
NODE = (
    ROBOT_DESCRIPTION,
    Parameter('autostart', 'bool', True,
              'Configure and activate as soon as the robot is known.'),
    Parameter('tasks', 'string_array', [],
              'Names of the tasks; each has a block of parameters and topics of its own.'),
    Parameter('sensors', 'string_array', [],
              'Names of the force-torque sensors; each has a block of parameters and a topic.'),
    Parameter('grasps', 'string_array', [],
              'Names of grasps of objects by several effectors; each has a block of parameters, a '
              'task and topics of its own.'),
    Parameter('contacts', 'string_array', [],
              'Names of contacts with the ground; each has a block of parameters.'),
    Parameter('payloads', 'string_array', [],
              'Names of payloads of links that are not in the URDF; each has a block of '
              'parameters.'),
    CONTROLLER_MANAGER,
    CONTROLLER_MANAGER_TIMEOUT,
    EFFORT_CONTROLLER,
    DERIVED_COMMAND_TOPIC,
    COMMAND_TYPE,
    DERIVED_COMMAND_JOINTS,
    FLOATING_BASE,
    ODOM_FRAME,
    PASSIVE_JOINTS,
    LOCKED_JOINTS,
    GRAVITY_COMPENSATION,
    Parameter('update_rate', 'double', 0.0,
              'Highest rate of the control cycle, which runs on each joint state. 0: on every one.',
              'Hz', 0.0, 1e4, read_only=False),
    Parameter('publish_rate', 'double', 50.0,
              "Rate of the tasks' feedback topics. 0: none.", 'Hz', 0.0, 1e3, read_only=False),
    FRAME_PREFIX,
    Parameter('broadcast_targets', 'bool', False,
              'Broadcast the goals on TF, as frames <task>_target below the base frame.'),
    Parameter('goals.feed_forward_timeout', 'double', 0.1,
              'Age of a target_twist or target_accel at which it begins to fade; at twice this age '
              'it is zero. In time of the joint states.', 's', 1e-3, 10.0, read_only=False),
    Parameter('goals.transform_timeout', 'double', 1.0,
              'Age of a moving transform of TF up to which it is used for goals.',
              's', 1e-3, 60.0, read_only=False),
    Parameter('goals.position_tolerance', 'double', 0.005,
              'Distance from a goal above which the log has the causes if the robot rests there. '
              'inf: never.',
              'm', 0.0, math.inf, read_only=False),
    Parameter('goals.rotation_tolerance', 'double', 0.05,
              'The same for orientations, and for goals of joints.', 'rad', 0.0, math.inf,
              read_only=False),
    Parameter('limits.effort_scale', 'double', 1.0,
              "Fraction of the URDF's effort limits that is used, also for the braking capability "
              'of joints, which is computed once.', '', 0.01, 1.0),
    EFFORT_RATE,
    Parameter('limits.velocity_scale', 'double', 1.0,
              "Velocity of a joint that trips, in multiples of the URDF's limit.",
              '', 0.01, 1e6, read_only=False),
    Parameter('limits.passive_velocity_scale', 'double', 3.0,
              'The same for a passive joint, which may swing faster than a drive turns it.', '',
              0.01, 1e6, read_only=False),
    Parameter('limits.keep', 'bool', True,
              "Keep joints within the URDF's limits of position and velocity, and within the "
              'braking and gravity capability of their drives; tasks are reduced in reverse order '
              'of priority. Without it efforts are clipped at their limits, and only goals bound '
              'the motion.', read_only=False),
    Parameter('limits.soft', 'bool', True,
              'With limits.keep: use the soft limits of position in the <safety_controller> of a '
              'joint in the URDF, if it has one.', read_only=False),
    Parameter('limits.position_margin', 'double', 0.0,
              'With limits.keep: margin inside the position limits of every joint.',
              'rad or m', 0.0, 10.0, read_only=False),
    Parameter('limits.velocity_kept', 'double', 0.95,
              "With limits.keep: fraction of the URDF's velocity limits that is used. Below "
              'limits.velocity_scale: otherwise a joint at its limit trips.', '', 0.01, 1.0,
              read_only=False),
    Parameter('limits.return_rate', 'double', 100.0,
              'With limits.keep: rate at which a joint beyond its velocity limit returns to it. '
              'Well below the rate of the cycles.', '1/s', 1.0, 1e4, read_only=False),
    Parameter('limits.approach_rate', 'double', 20.0,
              'With limits.keep: rate of the final approach of a joint to its position limit. At '
              'most half of limits.return_rate.', '1/s', 0.1, 5e3, read_only=False),
    Parameter('limits.workspace_lower', 'double_array', [-math.inf] * 3,
              'Least x, y and z of a goal, in the base frame (odom_frame with a floating base). '
              'Goals out of reach of the robot are always refused.',
              'm', length=3, read_only=False),
    Parameter('limits.workspace_upper', 'double_array', [math.inf] * 3,
              'Greatest x, y and z of a goal, in the base frame.', 'm', length=3, read_only=False),
    Parameter('limits.goal_rate', 'double', 1000.0,
              'Largest rate of goals on each topic; of more, the newest is used.',
              'Hz', 1.0, 1e4, read_only=False),
    Parameter('safety.state_timeout', 'double', 0.05,
              'Age of the last joint state at which the robot is only damped. 0: never.',
              's', 0.0, 60.0, read_only=False),
    Parameter('safety.command_timeout', 'double', 0.2,
              'With a relay of commands to the effort controller, such as a command watchdog: '
              'longest time without an arrival there while commands are sent; then the controller '
              'deactivates. 0: any.', 's', 0.0, 60.0, read_only=False),
    Parameter('safety.odom_timeout', 'double', 0.1,
              'Longest difference in time between odom and the joint states; beyond it the robot '
              'is only damped. 0: any. With a floating base.', 's', 0.0, 60.0, read_only=False),
    Parameter('safety.position_jump', 'double', 0.1,
              'A state trips if a joint, or a floating base, is this far from the position '
              'extrapolated from the last state.', 'rad or m', 1e-3, 1e6, read_only=False),
    Parameter('safety.release_time', 'double', 0.3,
              'Time in which damping fades to zero effort when the controller deactivates or the '
              'joint states stop.', 's', 0.0, 10.0, read_only=False),
    Parameter('safety.ramp_time', 'double', 0.5,
              'Time of the ramps of tasks and posture after activation and trips, of switched '
              'tasks, and of gains.', 's', 0.0, 60.0, read_only=False),
    Parameter('posture.kp', 'double', 25.0,
              'Stiffness of the posture, of every joint.', '1/s²', 0.0, 1e6, read_only=False),
    Parameter('posture.kd', 'double', -1.0,
              'Damping of the posture, of every joint. -1: critical.', '1/s', -1.0, 1e4,
              read_only=False),
)

# Of the command watchdog node.
WATCHDOG = (
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

# Names of parameters or topics of the node itself.
_TAKEN = ('goals', 'limits', 'passive_forces', 'posture', 'safety')


def controller_table(tasks, grasps=(), contacts=(), sensors=(), payloads=()):
    """
    Return the parameters of a controller with these tasks, grasps, contacts, sensors, payloads.

    Raises
    ------
    RosInterfaceError
        A name cannot be part of parameter and topic names, or is taken.

    """
    taken = list(_TAKEN)
    table = list(NODE)
    for kind, names, rows in (('task', tasks, TASK), ('grasp', grasps, GRASP),
                              ('contact', contacts, CONTACT), ('sensor', sensors, SENSOR),
                              ('payload', payloads, PAYLOAD)):
        for name in names:
            if not re.fullmatch('[A-Za-z][A-Za-z0-9_]*', name) or name in taken:
                raise RosInterfaceError(
                    f"No {kind} can be called '{name}'.", name=name,
                    cure='Use letters, digits and _, and none of ' + ', '.join(taken) + '.')
            table += [parameter.named(f'{name}.{parameter.name}') for parameter in rows]
        taken += names
    return tuple(table)


def table_of(values):
    """
    Return the `controller_table` for these values, of which some may be missing.

    It includes the parameters of every joint that the values name.
    """
    return (*controller_table(*(names_in(values, kind) for kind in (
        'tasks', 'grasps', 'contacts', 'sensors', 'payloads'))), *given_joint_table(values))
