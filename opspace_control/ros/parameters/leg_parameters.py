# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the controller node for a robot on legs; needs no ROS."""

from opspace_control.ros.parameters.parameter_table import Parameter, changeable

EXTERNAL, STAND = 'external', 'stand'
_GAITS = ('trot', 'running_trot', 'walk', 'pronk', 'bound')

# Numbers of `Stepping`, by the last part of the name.
STEPPING = (
    changeable('legs.clearance', 'double', 0.12,
        'Height of a swinging foot above the ground, in parts of the height of the trunk.',
        '', 0.0, 1.0),
    changeable('legs.touch_down_depth', 'double', 0.02,
        'Depth of the goal of a swing below the ground, likewise.', '', 0.0, 1.0),
    changeable('legs.force_line', 'double', 1.3,
        'Horizontal contact forces, in multiples of those along the line from foot to hip.',
        '', 0.0, 10.0),
    changeable('legs.step_gain', 'double', 1.0,
        "Gain of Raibert's rule, in units of that which nulls an error of velocity in one step.",
        '', 0.0, 10.0),
    changeable('legs.reach', 'double', 0.6,
        'Greatest step to any side, in parts of the height of the trunk.', '', 0.0, 2.0),
    changeable('legs.acceleration', 'double', 1.0,
        'Greatest rate at which cmd_vel is approached.', 'm/s², rad/s²', 1e-3, 1e3),
    changeable('legs.rise_rate', 'double', 0.3, 'Velocity at which the trunk rises to its height.',
        'm/s', 1e-3, 10.0),
)

LEGS = (
    Parameter('legs.feet', 'string_array', [],
        'Feet of a robot on legs: front left, front right, rear left, rear right. Each is a link, '
        'and in contacts one of kind point. The node then has the tasks trunk_level, '
        'trunk_velocity and one of the name of each foot, and cmd_vel. With a floating base.'),
    changeable('legs.gait', 'string', STAND,
        'Gait while cmd_vel comes. stand: it keeps standing. external: contacts and goals come on '
        'topics, from another gait.', choices=(EXTERNAL, STAND, *_GAITS)),
    Parameter('legs.cmd_vel_stamped', 'bool', False,
        'Whether cmd_vel is a TwistStamped instead of a Twist.'),
    changeable('legs.cmd_vel_timeout', 'double', 0.5,
        'Age of the last cmd_vel at which the robot stops and stands, in time of the joint states.',
        's', 0.01, 60.0),
    changeable('legs.max_velocity', 'double_array', [1.0, 0.5, 1.0],
        'Greatest velocities ahead and to the left, and yaw rate; cmd_vel is cut at them.',
        'm/s, m/s, rad/s', 0.0, 1e2, length=3),
    changeable('legs.max_tilt', 'double', 0.7,
        'Tilt of the trunk at which the robot counts as fallen: this trips.', 'rad', 0.01, 3.2),
    changeable('legs.max_drop', 'double', 0.4,
        'The same for the height of the trunk below its goal, in parts of its height.',
        '', 0.01, 1e3),
    *STEPPING,
)
