# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the controller node: reference and example files are made from this table."""

import math
from dataclasses import replace

from opspace_control.dynamics.drive_friction import HORIZON, SLIP_VELOCITY
from opspace_control.ros.parameters import task_parameters
from opspace_control.ros.parameters.joints import OBSERVER, table_of_joints
from opspace_control.ros.parameters.leg_parameters import LEGS
from opspace_control.ros.parameters.parameter_table import (
    Parameter,
    changeable,
    named_blocks,
    names_in,
)

COMMAND_TOPIC = Parameter('command_topic', 'string', 'effort_controller/commands',
    "Topic of the joint efforts: the effort controller's commands.")
COMMAND_TYPE = Parameter('command_type', 'string', 'Float64MultiArray',
    'Message of the joint efforts: numbers in the order of the joints, for forward controllers, or '
    'the efforts of a JointState, by name.', choices=('Float64MultiArray', 'JointState'))
COMMAND_JOINTS = Parameter('command_joints', 'string_array', [],
    "Joints in the effort controller's order. Empty: those with an effort command interface in the "
    'URDF; without any, all joints of one degree of freedom that are neither passive nor locked.')

# Of the controller and of the command watchdog: where efforts go, and what joints do.
_COMMANDS = (
    Parameter('controller_manager', 'string', '',
        'Node name of the controller manager of ros2_control, usually controller_manager. It gives '
        'the order of the joints, and switches their controllers on activation. Empty: there is '
        'none, or the user switches controllers.'),
    Parameter('controller_manager_timeout', 'double', 10.0,
        'Longest wait for each answer of the controller manager, and for the effort controller to '
        'be loaded and configured.', 's', 0.1, 600.0),
    Parameter('effort_controller', 'string', 'effort_controller',
        'Name of the forward controller that takes the efforts: a ForwardCommandController with '
        'interface_name effort, or a JointGroupEffortController.'),
    replace(COMMAND_TOPIC, default='', description=(
        'Topic of the joint efforts. Empty: <effort_controller>/commands, in the namespace of the '
        'controller manager.')),
    COMMAND_TYPE,
    replace(COMMAND_JOINTS, description=(
        'The controller manager, if there is one, gives them. ' + COMMAND_JOINTS.description)),
)
EFFORT_RATE = changeable('limits.effort_rate', 'double', 20.0,
    "Fastest change of a joint's effort, in multiples of its limit: at 20 it takes 50 ms from zero "
    'to the limit. Without an effort limit there is no rate limit.', '1/s', 1.0, 1e6)
EFFORT_SCALE = Parameter('limits.effort_scale', 'double', 1.0,
    "Fraction of the URDF's effort limits that is used, also for the braking capability of joints, "
    'which is computed once.', '', 0.01, 1.0)
FLOATING_BASE = Parameter('floating_base', 'bool', False,
    'Whether the root link moves freely; odom has its state.')
FRAME_PREFIX = Parameter('frame_prefix', 'string', '',
    "Prefix of the robot's links in messages, as robot_state_publisher's parameter of that name.")
ODOM_FRAME = Parameter('odom_frame', 'string', 'odom',
    "The world's frame, z up: header.frame_id of odom. With a floating base.")
ROBOT_DESCRIPTION = Parameter('robot_description', 'string', '',
    'The robot as URDF text. Empty: wait for the topic robot_description.')
_ROBOT = (
    changeable('passive_joints', 'string_array', [],
        'Joints without a working drive: they get no effort, and move by the motion of the others. '
        'Joints in a <ros2_control> block of the URDF without any command interface are passive '
        "unless they are commanded; [''] stands for none."),
    changeable('locked_joints', 'string_array', [],
        'Joints with a closed brake, with or without a drive. Moving joints that are neither '
        'commanded nor passive count as locked, too.'),
    Parameter('gravity_compensation', 'bool', True,
        'Compensate the weight of the robot. Off for hardware that does so itself.'),
)

# Of the controller node.
NODE = (
    ROBOT_DESCRIPTION,
    Parameter('autostart', 'bool', True, 'Configure and activate as soon as the robot is known.'),
    Parameter('tasks', 'string_array', [],
        'Names of the tasks; each has a block of parameters and topics of its own.'),
    Parameter('sensors', 'string_array', [],
        'Names of the force-torque sensors; each has a block of parameters and a topic.'),
    Parameter('grasps', 'string_array', [],
        'Names of grasps of objects by several effectors; each has a block of parameters, a task '
        'and topics of its own.'),
    Parameter('contacts', 'string_array', [],
        'Names of contacts with the ground; each has a block of parameters.'),
    Parameter('contact_model', 'string', 'exact',
        'Model of the contacts: exact; large_inertia, of links with large inertias at their '
        'contacts: cycles cost less, without limits of joints and of contact forces, so '
        'limits.keep must be false, and without grasps.', choices=('exact', 'large_inertia')),
    Parameter('payloads', 'string_array', [],
        'Names of payloads of links that are not in the URDF; each has a block of parameters.'),
    Parameter('shapes', 'string_array', [],
        'Names of shapes of the world, or of what links carry, that links keep a distance from; '
        'each has a block of parameters.'),
    Parameter('route', 'string', 'topic',
        'Where cycles run. topic: in this node, which sends efforts to the effort controller. '
        'plugin: in the controller manager itself, in the plug-in of native/ros2_control, which '
        'this node configures.', choices=('topic', 'plugin')),
    Parameter('plugin.name', 'string', 'opspace_plugin',
        'With route plugin: name of the controller in the manager, whose type is '
        'opspace_controller/OperationalSpaceController.'),
    Parameter('plugin.rate', 'double', 500.0,
        'With route plugin: rate at which goals move and this node sees the robot.',
        'Hz', 10.0, 2000.0),
    Parameter('plugin.sensors', 'string_array', [],
        'With route plugin: sensors whose readings come from state interfaces of the hardware, '
        '<sensor>/force.x to torque.z; those of others come on their topics.'),
    Parameter('plugin.base', 'string', '',
        'With route plugin and a floating base: component whose state interfaces have the pose of '
        'the root link in the world and its twist in its own axes, <base>/position.x to '
        'angular_velocity.z.'),
    Parameter('plugin.imu', 'string', '',
        'With route plugin and a floating base: IMU whose axes are those of the root link. Its '
        '<imu>/orientation.x to .w and angular_velocity.x to .z replace those of plugin.base.'),
    Parameter('plugin.shapes', 'integer', 16,
        'With route plugin: for how many shapes of parameters and of collision_objects there is '
        'room beside those of collision.file.', '', 0, 100),
    *_COMMANDS,
    replace(FLOATING_BASE, description=(
        FLOATING_BASE.description + ' Goals without a frame are then in odom_frame.')),
    ODOM_FRAME,
    *_ROBOT,
    changeable('update_rate', 'double', 0.0,
        'Highest rate of the control cycle, which runs on each joint state. 0: on every one.',
        'Hz', 0.0, 1e4),
    changeable('publish_rate', 'double', 50.0, "Rate of the tasks' feedback topics. 0: none.",
        'Hz', 0.0, 1e3),
    *OBSERVER,
    changeable('disturbance.rate', 'double', 20.0,
        'Rate at which tasks follow unknown forces that they compensate: half of them is '
        'compensated after 0.7 / rate.', '1/s', 1e-3, 1e3),
    changeable('disturbance.max_force', 'double', 10.0,
        'Greatest force with which a task compensates unknown forces, along its axes of motion '
        'control: friction, wrong masses, loads. 0 and disturbance.max_moment of 0: none.', 'N',
        0.0, 1e6),
    changeable('disturbance.max_moment', 'double', 2.0, 'The same for moments.', 'N·m', 0.0, 1e6),
    changeable('drive_friction.fraction', 'double', 0.0,
        'Fraction of the friction of drives, which has a block of each joint, that efforts '
        'overcome. 0: drives have no friction, or overcome it themselves. Not with contact_model '
        'large_inertia.', '', 0.0, 2.0),
    changeable('drive_friction.slip_velocity', 'double', SLIP_VELOCITY,
        'Velocity at which three quarters of the friction are overcome.', 'rad/s or m/s',
        1e-6, 1e3),
    changeable('drive_friction.horizon', 'double', HORIZON,
        'Time after which the velocity of a joint without friction tells the sign of friction; '
        'longer than 1 / kd of tasks and posture.', 's', 0.0, 1e3),
    FRAME_PREFIX,
    Parameter('broadcast_targets', 'bool', False,
        'Broadcast the goals on TF, as frames <task>_target below the base frame.'),
    changeable('goals.feed_forward_timeout', 'double', 0.1,
        'Age of a target_twist or target_accel at which it begins to fade; at twice this age it is '
        'zero. In time of the joint states.', 's', 1e-3, 10.0),
    changeable('goals.transform_timeout', 'double', 1.0,
        'Age of a moving transform of TF up to which it is used for goals.', 's', 1e-3, 60.0),
    changeable('goals.position_tolerance', 'double', 0.005,
        'Distance from a goal above which the log has the causes if the robot rests there. inf: '
        'never.', 'm', 0.0, math.inf),
    changeable('goals.rotation_tolerance', 'double', 0.05,
        'The same for orientations, and for goals of joints.', 'rad', 0.0, math.inf),
    EFFORT_SCALE, EFFORT_RATE,
    changeable('limits.velocity_scale', 'double', 1.0,
        "Velocity of a joint that trips, in multiples of the URDF's limit.", '', 0.01, 1e6),
    changeable('limits.passive_velocity_scale', 'double', 3.0,
        'The same for a passive joint, which may swing faster than a drive turns it.',
        '', 0.01, 1e6),
    changeable('limits.keep', 'bool', True,
        "Keep joints within the URDF's limits of position and velocity, and within the braking and "
        'gravity capability of their drives; tasks are reduced in reverse order of priority. '
        'Without it efforts are clipped at their limits, and only goals bound the motion.'),
    changeable('limits.soft', 'bool', True,
        'With limits.keep: use the soft limits of position in the <safety_controller> of a joint '
        'in the URDF, if it has one.'),
    changeable('limits.position_margin', 'double', 0.0,
        'With limits.keep: margin inside the position limits of every joint.',
        'rad or m', 0.0, 10.0),
    changeable('limits.velocity_kept', 'double', 0.95,
        "With limits.keep: fraction of the URDF's velocity limits that is used. Below "
        'limits.velocity_scale: otherwise a joint at its limit trips.', '', 0.01, 1.0),
    changeable('limits.return_rate', 'double', 100.0,
        'With limits.keep: rate at which a joint may use up what is left to its allowed velocity, '
        'and returns to that from beyond. Well below the rate of the cycles.', '1/s', 1.0, 1e4),
    changeable('limits.approach_rate', 'double', 20.0,
        'With limits.keep: rate of the final approach of a joint to its position limit. At most '
        'half of limits.return_rate.', '1/s', 0.1, 5e3),
    changeable('limits.least_effort', 'double', 0.0,
        'With limits.keep: part of what internal forces between contacts can spare the drives; '
        'that takes friction. 0: internal forces of least norm.', '', 0.0, 1.0),
    Parameter('limits.acceleration', 'double', 0.0,
        'With limits.keep: greatest acceleration of joints, which the law counts on to brake. '
        '0: two fifths of what gravity leaves their drives in any posture, which is little for '
        'legs; a stop from full speed takes 0.1 to 1 s.',
        'rad/s² or m/s²', 0.0, 1e6),
    changeable('limits.workspace_lower', 'double_array', [-math.inf] * 3,
        'Least x, y and z of a goal, in the base frame (odom_frame with a floating base). Goals '
        'out of reach of the robot are always refused.', 'm', length=3),
    changeable('limits.workspace_upper', 'double_array', [math.inf] * 3,
        'Greatest x, y and z of a goal, in the base frame.', 'm', length=3),
    changeable('limits.goal_rate', 'double', 1000.0,
        'Largest rate of goals on each topic; of more, the newest is used.', 'Hz', 1.0, 1e4),
    Parameter('collision.file', 'string', '',
        'Path, or package://package/path, of a file of collision shapes, made by opspace '
        'collision: links keep a distance from each other. With limits.keep. Empty: they do not.'),
    changeable('collision.margin', 'double', 0.01, 'Distance that links keep.', 'm', 0.0, 1.0),
    changeable('collision.influence', 'double', 0.3,
        'Distance up to which near pairs of links are told; they brake where they have to. Greater '
        'than collision.margin.', 'm', 1e-3, 10.0),
    changeable('collision.acceleration', 'double', 2.0,
        'Deceleration with which a pair of links can always brake.', 'm/s²', 0.01, 1e3),
    changeable('collision.parting_speed', 'double', 0.1,
        'Speed at which links part that are nearer than collision.margin.', 'm/s', 0.0, 10.0),
    changeable('collision.repulsion', 'double', 0.0,
        'Gain of a potential of distances, which acts on the posture only. 0: none.', 'J m²',
        0.0, 1e3),
    changeable('collision.repulsion_influence', 'double', 0.3,
        'Distance from which on this potential is zero.', 'm', 1e-3, 10.0),
    changeable('collision.object_timeout', 'double', 0.5,
        'Age of the last marker, or transform, of a moving object at which it is taken to '
        'stay where it is, in time of the joint states. Two markers that are not further apart '
        'tell its velocity.', 's', 1e-3, 60.0),
    changeable('safety.state_timeout', 'double', 0.05,
        'If joint states are older than this, only damping acts. 0: never.', 's', 0.0, 60.0),
    changeable('safety.command_timeout', 'double', 0.2,
        'With a relay of commands to the effort controller, such as a command watchdog: longest '
        'time without an arrival there while commands are sent; then the controller deactivates. '
        '0: any.', 's', 0.0, 60.0),
    changeable('safety.node_timeout', 'double', 0.5,
        'With route plugin: if this node gives no sign of life for this time, in which goals are '
        'held, the plug-in damps the robot and releases it. 0: never.', 's', 0.0, 60.0),
    changeable('safety.odom_timeout', 'double', 0.1,
        'If odom and joint states differ by more than this time, only damping acts. 0: never. With '
        'a floating base.', 's', 0.0, 60.0),
    changeable('safety.position_jump', 'double', 0.1,
        'A state trips if a joint, or a floating base, is this far from the position extrapolated '
        'from the last state.', 'rad or m', 1e-3, 1e6),
    changeable('safety.release_time', 'double', 0.3,
        'Time in which damping fades to zero effort when the controller deactivates or the joint '
        'states stop.', 's', 0.0, 10.0),
    changeable('safety.ramp_time', 'double', 0.5,
        'Time of the ramps of tasks and posture after activation and trips, of switched tasks, and '
        'of gains.', 's', 0.0, 60.0),
    changeable('posture.kp', 'double', 25.0, 'Stiffness of the posture, of every joint.',
        '1/s²', 0.0, 1e6),
    changeable('posture.kd', 'double', -1.0,
        'Damping of the posture, of every joint. -1: critical.', '1/s', -1.0, 1e4),
    *LEGS,
)

# Of the command watchdog node.
WATCHDOG = (
    ROBOT_DESCRIPTION,
    *_COMMANDS,
    FLOATING_BASE, ODOM_FRAME, FRAME_PREFIX,
    *_ROBOT,
    changeable('deadline', 'double', 0.05,
        'Age of the last command at which the robot is held in position; at least a few periods of '
        'the joint states. Without a joint state of this age, or odometry of a floating base, it '
        'is released.', 's', 0.002, 10.0),
    changeable('hold_time', 'double', 5.0,
        'Time for which the robot is held in position after the commands stop; then the previous '
        'controllers get the joints, or the robot is released. 0: none.', 's', 0.0, math.inf),
    changeable('hand_back', 'bool', True,
        'With a controller manager: after hold_time, or at once without joint states, the previous '
        'controllers get the joints. Until the manager confirms it, or without previous '
        'controllers, the robot is held. Off: it is released.'),
    EFFORT_SCALE.named('effort_scale'), EFFORT_RATE.named('effort_rate'),
    changeable('release_time', 'double', 0.3, 'Time in which damping fades to zero effort.',
        's', 0.0, 10.0),
)

# The blocks of names that a parameter lists, and their rows.
BLOCKS = {'tasks': task_parameters.TASK, 'grasps': task_parameters.GRASP,
          'contacts': task_parameters.CONTACT, 'sensors': task_parameters.SENSOR,
          'payloads': task_parameters.PAYLOAD, 'shapes': task_parameters.SHAPE}
# Names of parameters or topics of the node itself.
_RESERVED = ('collision', 'disturbance', 'drive_friction', 'goals', 'legs', 'limits', 'observer',
             'passive_forces', 'plugin', 'posture', 'safety', 'stance')


def controller_table(tasks, **blocks):
    """Return the parameters of a controller with these `named_blocks`, by kind of `BLOCKS`."""
    reserved, table = list(_RESERVED), list(NODE)
    for kind, rows in BLOCKS.items():
        own = {'tasks': tasks, **blocks}.get(kind, ())
        table += named_blocks(kind[:-1], own, rows, reserved)
        reserved += own
    return tuple(table)


def table_of(values):
    """Return the `controller_table` for values, of which some may be missing, and their joints."""
    return (*controller_table(**{kind: names_in(values, kind) for kind in BLOCKS}),
            *table_of_joints(values))
