# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Topics and services of the nodes, from which doc/reference/topics.md is made."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """A topic or service of a node."""

    direction: str
    """``in``, ``out`` or ``service``."""
    name: str
    """With ``~`` for the name of the node, and names of the user in angle brackets."""
    type: str
    """Of its messages or requests; two types where a parameter decides."""
    description: str = ''
    """What it does, in Markdown."""
    parameter: str = ''
    """Parameter that changes the name, or that turns the topic on; '' if there is none."""


_COMMANDS = 'std_msgs/Float64MultiArray or sensor_msgs/JointState (`command_type`)'

CONTROLLER = (
    Topic('in', 'joint_states', 'sensor_msgs/JointState',
        'Joints in any order; further joints are ignored. Each message is one control cycle.'),
    Topic('in', 'odom', 'nav_msgs/Odometry',
        'With `floating_base`: pose and twist of any link of the robot. It may come less often '
        'than joint states.'),
    Topic('in', 'robot_description', 'std_msgs/String',
        'The URDF, unless the parameter of the same name has it.'),
    Topic('in', '~/<task>/target_pose', 'geometry_msgs/PoseStamped',
        'Goal. `frame_id` is empty or the root link for the base frame (with a floating base: '
        'empty or `odom_frame` for the world), any link of the robot, or any frame that TF '
        'connects with it. The pose of that frame when the goal arrives counts.'),
    Topic('in', '~/<task>/target_twist', 'geometry_msgs/TwistStamped',
        'Feed-forward: velocity of the goal, in the axes of `frame_id`. It fades when no more '
        'messages come.'),
    Topic('in', '~/<task>/target_accel', 'geometry_msgs/AccelStamped',
        'Feed-forward: acceleration of the goal, likewise.'),
    Topic('in', '~/<task>/target_trajectory', 'trajectory_msgs/MultiDOFJointTrajectory',
        'The goal moves through these poses in time, from its present pose; smoothly with '
        '`velocities` and `accelerations`.'),
    Topic('in', '~/<task>/target_wrench', 'geometry_msgs/WrenchStamped',
        "Wrench that the robot applies along the task's `force_axes` at its frame, N and N·m. "
        'It is given in the axes of `frame_id` at its arrival and then moves with the axes of '
        'the task; with an empty `frame_id` it is given in the axes of the task.'),
    Topic('in', '~/<sensor>/wrench', 'geometry_msgs/WrenchStamped',
        'Wrench of tool and environment on the robot, as force_torque_sensor_broadcaster '
        "publishes it. `frame_id` is the sensor's link or any frame that is fixed to it."),
    Topic('in', '~/<grasp>/internal_force', 'std_msgs/Float64MultiArray',
        'Tensions of the virtual linkage in addition to the grasp force, N; a pressure is '
        'negative. One number for two effectors, three for three; then, if any, three moments '
        'at each effector in the axes of the object, N·m.'),
    Topic('in', '~/target_joint', 'sensor_msgs/JointState',
        'Posture, by names of joints; a subset is accepted.'),
    Topic('in', '~/<task>/target_joint', 'sensor_msgs/JointState',
        'Of tasks of type joint: positions of their joints by name; a subset is accepted.'),
    Topic('in', '~/joint_trajectory', 'trajectory_msgs/JointTrajectory',
        'A plan. It is checked as a whole before anything moves; then all goals follow it, with '
        'its velocities and accelerations as feed-forward. Joints that it leaves out rest. '
        'Another pose, trajectory or goal of joints, `~/hold` and a trip end it. At most '
        '500 kB: some tens of points with velocities and accelerations are enough.'),
    Topic('in', 'cmd_vel', 'geometry_msgs/Twist or TwistStamped (`legs.cmd_vel_stamped`)',
        'With `legs.feet`: velocity of the trunk forward and to the left, and its yaw rate, in '
        'the axes of the trunk. Without a message for `legs.cmd_vel_timeout` the robot stops '
        'and stands.'),
    Topic('in', '~/contact_schedule', 'trajectory_msgs/JointTrajectory',
        'With contacts, which are its `joint_names`: from the time of each point on, contacts '
        'with position 1 are engaged and those with position 0 disengaged, without a ramp. It '
        'replaces what earlier messages schedule for these contacts. For gaits of other nodes: '
        'with `legs.feet` and `legs.gait` external.'),
    Topic('in', '~/<contact>/normal', 'geometry_msgs/Vector3Stamped',
        'Direction away from the ground, of any length, in the axes of `frame_id`, as that of a '
        'goal. It replaces the value of the parameter `<contact>.normal` until this is set anew. '
        'With `legs.feet` the gait sets it, unless `legs.gait` is external.'),
    Topic('in', '~/<contact>/bounds', 'std_msgs/Float64MultiArray',
        'The friction alone, or friction, least and greatest normal force, N; 0 for any greatest '
        'force. They replace the values of the parameters likewise.'),
    Topic('out', 'effort_controller/commands', _COMMANDS,
        "Efforts, N·m or N, in the order of the effort controller's joints.", 'command_topic'),
    Topic('in', '~/collision_objects', 'visualization_msgs/MarkerArray',
        'With `collision.file` or `shapes`: what links keep a distance from, by namespace and id. '
        'ADD puts a CUBE, SPHERE or CYLINDER into the world, or moves it, DELETE takes it away, '
        'DELETEALL all of its namespace, without one all; `frame_id` is that of a goal. One that '
        'is `frame_locked` to a link, or to a frame that TF has on one, is on this link, as an '
        'object in a hand. The velocity is '
        'that between its last two stamps; where markers of a moving object cease for '
        '`collision.object_timeout`, it stays where it is. `lifetime` has no effect. At most 100 '
        'objects, and 50 kB a message, some 200 markers.'),
    Topic('out', '~/<task>/current_pose', 'geometry_msgs/PoseStamped',
        'At `publish_rate`, as all topics below; each is computed only if it has a subscriber.'),
    Topic('out', '~/<task>/error', 'geometry_msgs/TwistStamped',
        'Goal minus pose: m, and a rotation vector in rad.'),
    Topic('out', '~/<task>/joint_error', 'sensor_msgs/JointState',
        'Of tasks of type joint, instead of all other feedback: goal minus position. `effort` '
        'is the effort of the task.'),
    Topic('out', '~/<task>/wrench', 'geometry_msgs/WrenchStamped',
        'Wrench of the task at its frame and in its axes, N and N·m. That of an object or a '
        'centre of mass is given there, or at the base if no link carries it.'),
    Topic('out', '~/<task>/measured_wrench', 'geometry_msgs/WrenchStamped',
        'Of tasks with a sensor: wrench that the robot applies, without the bias of the sensor '
        'and the weight of the tool.'),
    Topic('out', '~/<task>/estimated_wrench', 'geometry_msgs/WrenchStamped',
        'Of tasks of a link: wrench that the robot applies at its frame, in its axes, as '
        'estimated from `~/external_effort` along the chain of joints that moves it, N and N·m. '
        'Friction and errors of the model are in it. Directions that a singular chain does not '
        'transmit are zero.'),
    Topic('out', '~/<grasp>/engaged', 'std_msgs/Bool',
        'Whether the object is grasped. Grippers close with it, and open `safety.ramp_time` '
        'after it has become false.'),
    Topic('out', '~/<grasp>/current_internal_force', 'std_msgs/Float64MultiArray',
        'Predicted internal forces, the grasp force included; with passive joints, the nearest '
        'ones that these joints allow.'),
    Topic('out', '~/contact_state', 'sensor_msgs/JointState',
        'With contacts: `position` is 1 where one is engaged, `velocity` the sliding velocity '
        'of its link, m/s, and `effort` its predicted normal force, N.'),
    Topic('out', '~/joint_trajectory/status', 'diagnostic_msgs/DiagnosticStatus',
        'Latched: `state` of the plan (waiting, following, succeeded, outside_tolerance, '
        'interrupted, refused) with reason and cure in `message`, its time, and the joint with '
        "the largest error. `hardware_id` is the plan's `frame_id`."),
    Topic('out', '~/controller_state', 'sensor_msgs/JointState', 'Commanded efforts.'),
    Topic('out', '~/controller_state/<source>', 'sensor_msgs/JointState',
        'Their parts due to `task`, `posture`, `gravity`, `grasp` and `limits`; the sum of the '
        'parts is the commanded effort.'),
    Topic('out', '~/external_effort', 'sensor_msgs/JointState',
        'Joint forces that act on the robot beyond its model and the commanded efforts, as '
        '`observer.rate` lets the observer follow: contact, payloads, friction, N·m or N. Of all '
        'degrees of freedom, those of a floating base included.'),
    Topic('out', '~/external_effort/<part>', 'sensor_msgs/JointState',
        'Its parts due to `friction`, to `payload` that the links of the tasks carry beyond the '
        'model, and to `contact`, which is what the other two leave; their sum is '
        '`~/external_effort`. They are told apart from the last 20 s in which a joint moved, since '
        'there is a subscriber; of a joint at rest as much is friction as can be.'),
    Topic('out', '~/markers', 'visualization_msgs/MarkerArray',
        'Goals, errors and forces for RViz; with distances of links their shapes, and lines '
        'between pairs that are near, red where the bound is active.'),
    Topic('out', '/diagnostics', 'diagnostic_msgs/DiagnosticArray',
        'Once a second: fault, rate, periods, missed cycles, limits that are active, of joints, '
        'of contacts and of distances, condition number, singular directions.'),
    Topic('out', '/tf', 'tf2_msgs/TFMessage', 'Goals as frames `<task>_target`.',
        'broadcast_targets'),
    Topic('service', '~/<task>/enable', 'std_srvs/SetBool',
        'False leaves the axes of the task to the posture; true makes the present pose its goal.'),
    Topic('service', '~/<sensor>/zero', 'std_srvs/Trigger',
        'The present wrench, without the weight of the tool, becomes the bias.'),
    Topic('service', '~/<grasp>/engage', 'std_srvs/SetBool',
        'True: the pose of the object becomes the task, under the topics of a task, and the '
        'effectors exert the internal forces. It is refused with the reason if the effectors '
        'are not at the object. False: the effectors have tasks of their own again; open the '
        'grips `safety.ramp_time` later, when `~/<grasp>/engaged` is false.'),
    Topic('service', '~/<contact>/engage', 'std_srvs/SetBool',
        'Whether the link is on the ground.'),
    Topic('service', '~/hold', 'std_srvs/Trigger',
        'The present poses become the goals; it also acknowledges a trip.'),
)

SIMULATOR = (
    Topic('in', 'effort_controller/commands', _COMMANDS,
        'Efforts; the last message counts until the next one.', 'command_topic'),
    Topic('out', 'joint_states', 'sensor_msgs/JointState',
        "At each step; reliable and latched, as joint_state_broadcaster's."),
    Topic('out', 'odom', 'nav_msgs/Odometry', 'With `floating_base`: state of the root link.'),
    Topic('out', '/tf', 'tf2_msgs/TFMessage', 'With `floating_base`: pose of the root link.'),
    Topic('out', '/clock', 'rosgraph_msgs/Clock', 'Unless `publish_clock` is false.'),
    Topic('out', 'robot_description', 'std_msgs/String',
        'If the parameter of the same name has it; otherwise the node subscribes it.'),
    Topic('out', '<link>/wrench', 'geometry_msgs/WrenchStamped', 'Of `wrench_sensors`.'),
    Topic('out', '<link>/contact_wrench', 'geometry_msgs/WrenchStamped', 'Of `contact_sensors`.'),
    Topic('out', '<link>/in_contact', 'std_msgs/Bool', 'Of `contact_sensors`.'),
    Topic('out', '~/<object>/pose', 'geometry_msgs/PoseStamped', 'Of `objects`, in the world.'),
    Topic('in', 'opspace_controller/<grasp>/engaged', 'std_msgs/Bool',
        'Of the node that the parameter `controller` names. Grips follow it with '
        '`<grasp>.follow_controller`.'),
    Topic('service', '~/<grasp>/engage', 'std_srvs/SetBool', 'Closes and opens grips at any time.'),
    Topic('service', '~/reset', 'std_srvs/Trigger', 'Back to the start, at time zero.'),
    Topic('service', '~/pause', 'std_srvs/SetBool', 'Stops and continues the simulation.'),
    Topic('service', '~/step', 'std_srvs/Trigger', 'One step of a paused simulation.'),
)

COMMAND_WATCHDOG = (
    Topic('in', '~/commands', _COMMANDS, "The controller's commands."),
    Topic('in', 'joint_states', 'sensor_msgs/JointState', "As the controller's."),
    Topic('in', 'odom', 'nav_msgs/Odometry', "As the controller's."),
    Topic('in', 'robot_description', 'std_msgs/String', "As the controller's."),
    Topic('out', 'effort_controller/commands', _COMMANDS,
        "The controller's commands; the watchdog's own when these stop.", 'command_topic'),
    Topic('out', '~/ready', 'std_msgs/Bool',
        'Latched: whether commands are passed on. The controller waits for it.'),
)

GOAL_MARKERS = (
    Topic('in', '~/feedback', 'visualization_msgs/InteractiveMarkerFeedback',
        "Of the protocol of RViz' interactive markers, as the other two."),
    Topic('out', '~/update', 'visualization_msgs/InteractiveMarkerUpdate'),
    Topic('service', '~/get_interactive_markers', 'visualization_msgs/GetInteractiveMarkers'),
)

NODES = {
    'opspace_controller': CONTROLLER,
    'opspace_simulator': SIMULATOR,
    'opspace_command_watchdog': COMMAND_WATCHDOG,
    'opspace_goal_markers': GOAL_MARKERS,
}
