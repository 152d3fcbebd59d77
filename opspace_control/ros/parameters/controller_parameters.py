# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the controller node; README and example files are made from this table."""

import math
import re
from dataclasses import replace

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.parameters.grasp_parameters import CONTACT, GRASP, PAYLOAD
from opspace_control.ros.parameters.joint_parameters import given_joint_table
from opspace_control.ros.parameters.parameter_table import Parameter, names_in
from opspace_control.ros.parameters.task_parameters import SENSOR, TASK

COMMAND_TOPIC = Parameter(
    'command_topic', 'string', 'effort_controller/commands',
    "Topic of the joint efforts: the effort controller's commands.")
COMMAND_TYPE = Parameter(
    'command_type', 'string', 'Float64MultiArray',
    'Message of the joint efforts: bare numbers in the order of the joints, as forward controllers '
    'take them, or the efforts of a JointState, by name.',
    choices=('Float64MultiArray', 'JointState'))
COMMAND_JOINTS = Parameter(
    'command_joints', 'string_array', [],
    "Joints in the effort controller's order. Empty: those with an effort command interface in "
    'the URDF, or else every joint of one degree of freedom that is neither passive nor locked.')
CONTROLLER_MANAGER = Parameter(
    'controller_manager', 'string', '',
    'Node name of the controller manager of ros2_control, usually controller_manager. It gives the '
    'order of the joints, and the joints themselves while the controller is active. Empty: there '
    'is none, or switching is left to somebody else.')
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
    'Said by the controller manager, if there is one. ' + COMMAND_JOINTS.description))
EFFORT_RATE = Parameter(
    'limits.effort_rate', 'double', 20.0,
    "Fastest change of a joint's effort, in multiples of its limit: at 20 it takes 50 ms from zero "
    'to the limit. A joint without an effort limit has none of this either.',
    '1/s', 1.0, 1e6, read_only=False)
FLOATING_BASE = Parameter(
    'floating_base', 'bool', False,
    'Whether the root link moves freely, as odom tells. Goals are then in the frame odom_frame '
    'where they name none.')
FRAME_PREFIX = Parameter(
    'frame_prefix', 'string', '',
    "What the robot's links begin with in messages, as robot_state_publisher's parameter of that "
    'name.')
GRAVITY_COMPENSATION = Parameter(
    'gravity_compensation', 'bool', True,
    'Carry the weight of the robot. Off for hardware that does so itself.')
LOCKED_JOINTS = Parameter(
    'locked_joints', 'string_array', [],
    'Joints held by a brake, whether they have a drive or not. Moving joints that are neither '
    'commanded nor passive are taken to be held by something else.', read_only=False)
ODOM_FRAME = Parameter(
    'odom_frame', 'string', 'odom',
    "The world's frame, z up: header.frame_id of odom. With a floating base.")
PASSIVE_JOINTS = Parameter(
    'passive_joints', 'string_array', [],
    'Joints without a drive, or whose drive is dead: they get no effort, and the others take them '
    'along. Joints in a <ros2_control> block of the URDF without any command interface are passive '
    "unless they are commanded; [''] stands for none.", read_only=False)
ROBOT_DESCRIPTION = Parameter(
    'robot_description', 'string', '',
    'The robot as URDF text. Empty: wait for the topic robot_description.')

NODE = (
    ROBOT_DESCRIPTION,
    Parameter('autostart', 'bool', True,
              'Configure and activate without being asked, as soon as the robot is known.'),
    Parameter('tasks', 'string_array', [],
              'Names of the tasks; each has a block of parameters and topics of its own.'),
    Parameter('sensors', 'string_array', [],
              'Names of the force-torque sensors; each has a block of parameters and a topic.'),
    Parameter('grasps', 'string_array', [],
              'Names of common grasps of objects; each has a block of parameters, and a task and '
              'topics of its own.'),
    Parameter('contacts', 'string_array', [],
              'Names of contacts with the ground; each has a block of parameters.'),
    Parameter('payloads', 'string_array', [],
              'Names of what links carry, beyond what the URDF knows; each has a block of '
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
              'Where the robot rests further than this from a goal the log tells why. inf: never.',
              'm', 0.0, math.inf, read_only=False),
    Parameter('goals.rotation_tolerance', 'double', 0.05,
              'The same for orientations, and for goals of joints.', 'rad', 0.0, math.inf,
              read_only=False),
    Parameter('limits.effort_scale', 'double', 1.0,
              "Part of the URDF's effort limits that is used; what joints can brake with goes by "
              'it, which is found out once.', '', 0.01, 1.0),
    EFFORT_RATE,
    Parameter('limits.velocity_scale', 'double', 1.0,
              "Velocity of a joint that stops the robot, in multiples of the URDF's limit.",
              '', 0.01, 1e6, read_only=False),
    Parameter('limits.passive_velocity_scale', 'double', 3.0,
              'The same for a passive joint, which no drive limits: it may swing faster than its '
              'drive could turn it.', '', 0.01, 1e6, read_only=False),
    Parameter('limits.keep', 'bool', True,
              "Keep joints within the URDF's limits of position and velocity, within what their "
              'drives can brake and carry: tasks give way to that in reverse order of priority. '
              'Without it efforts are cut at their limits, and goals alone bound the motion.',
              read_only=False),
    Parameter('limits.soft', 'bool', True,
              'With limits.keep: whether the ends of a joint are the soft limits of its '
              '<safety_controller> in the URDF, if it has one.', read_only=False),
    Parameter('limits.position_margin', 'double', 0.0,
              'With limits.keep: by how much the ends of every joint are drawn in.',
              'rad or m', 0.0, 10.0, read_only=False),
    Parameter('limits.velocity_kept', 'double', 0.95,
              "With limits.keep: part of the URDF's velocity limits that is used. Below "
              'limits.velocity_scale, or a joint at its limit stops the robot.', '', 0.01, 1.0,
              read_only=False),
    Parameter('limits.return_rate', 'double', 100.0,
              'With limits.keep: rate at which a joint that is too fast returns to what is '
              'allowed. Well below the rate of the cycles.', '1/s', 1.0, 1e4, read_only=False),
    Parameter('limits.approach_rate', 'double', 20.0,
              'With limits.keep: rate at which a joint comes to its end in the last bit of the '
              'way. No more than half of limits.return_rate.', '1/s', 0.1, 5e3, read_only=False),
    Parameter('limits.workspace_lower', 'double_array', [-math.inf] * 3,
              'Least x, y and z of a goal, in the base frame (odom_frame, if the base floats). '
              'Goals further away than the robot reaches are refused in any case.',
              'm', length=3, read_only=False),
    Parameter('limits.workspace_upper', 'double_array', [math.inf] * 3,
              'Greatest x, y and z of a goal, in the base frame.', 'm', length=3, read_only=False),
    Parameter('limits.goal_rate', 'double', 1000.0,
              'So many goals a second are taken from each topic; of more, the newest counts.',
              'Hz', 1.0, 1e4, read_only=False),
    Parameter('safety.state_timeout', 'double', 0.05,
              'Age of the last joint state at which the robot is only damped. 0: never.',
              's', 0.0, 60.0, read_only=False),
    Parameter('safety.command_timeout', 'double', 0.2,
              'Where commands reach the effort controller through something else, such as a '
              'command watchdog: longest time in which none arrives there while they are sent; '
              'then the controller leaves. 0: any.', 's', 0.0, 60.0, read_only=False),
    Parameter('safety.odom_timeout', 'double', 0.1,
              'Longest time that odom is behind the joint states, or ahead of them, before the '
              'robot is only damped. 0: any. With a floating base.', 's', 0.0, 60.0,
              read_only=False),
    Parameter('safety.position_jump', 'double', 0.1,
              'A joint, or a floating base, this far from where its velocity has led it since the '
              'last state is not believed.', 'rad or m', 1e-3, 1e6, read_only=False),
    Parameter('safety.release_time', 'double', 0.3,
              'Time in which damping fades to zero effort when the controller leaves or the joint '
              'states stop.', 's', 0.0, 10.0, read_only=False),
    Parameter('safety.ramp_time', 'double', 0.5,
              'Time in which tasks and posture come in after activation and trips, tasks come and '
              'go, and gains change.', 's', 0.0, 60.0, read_only=False),
    Parameter('posture.kp', 'double', 25.0,
              'Stiffness of the posture, of every joint.', '1/s²', 0.0, 1e6, read_only=False),
    Parameter('posture.kd', 'double', -1.0,
              'Damping of the posture, of every joint. -1: critical.', '1/s', -1.0, 1e4,
              read_only=False),
)

# Parameters or topics of the node itself are called so.
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
    Return the `controller_table` of a node with these values, of which some may be missing.

    With the parameters of every joint that the values name.
    """
    return (*controller_table(*(names_in(values, kind) for kind in (
        'tasks', 'grasps', 'contacts', 'sensors', 'payloads'))), *given_joint_table(values))
