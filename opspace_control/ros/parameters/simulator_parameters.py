# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the simulator node: reference and example files are made from this table."""

import math

from opspace_control.ros.parameters import controller_parameters as controller
from opspace_control.ros.parameters.parameter_table import (
    Parameter,
    changeable,
    named_blocks,
    names_in,
)

# How the robot differs from its model: arguments of `Reality`, by the last part of the name.
REALITY = (
    Parameter('reality.coulomb_ratio', 'double', 0.0,
        'Coulomb friction of each drive, in parts of its effort limit, beside that of the URDF.',
        '', 0.0, 1.0),
    Parameter('reality.viscous_ratio', 'double', 0.0,
        'Viscous friction of each drive, in parts of its effort limit at 1 rad/s or 1 m/s.',
        's/rad or s/m', 0.0, 10.0),
    Parameter('reality.mass_deviation', 'double', 0.0,
        'Relative standard deviation of the mass and inertia of each link.', '', 0.0, 1.0),
    changeable('reality.position_noise', 'double', 0.0,
        'Standard deviation of the noise of positions in joint_states.', 'rad or m', 0.0, 1.0),
    changeable('reality.velocity_noise', 'double', 0.0,
        'The same for velocities.', 'rad/s or m/s', 0.0, 10.0),
    changeable('reality.position_resolution', 'double', 0.0,
        'Resolution of the encoders: positions in joint_states are multiples of it. 0 for none.',
        'rad or m', 0.0, 1.0),
    changeable('reality.state_delay', 'double', 0.0,
        'Time by which joint_states are older than their time stamps.', 's', 0.0, 1.0),
    changeable('reality.command_delay', 'double', 0.0,
        'Time by which drives obey late.', 's', 0.0, 1.0),
    Parameter('reality.seed', 'integer', 0,
        'Of the masses and of all noise, that of odom included: another seed, another robot.',
        '', 0, 65535),
)

NODE = (
    controller.ROBOT_DESCRIPTION, controller.COMMAND_TOPIC, controller.COMMAND_TYPE,
    controller.COMMAND_JOINTS,
    Parameter('pace', 'string', 'real_time',
        'real_time: by the system clock. lock_step: one step for each command. patient: by the '
        'system clock, but waiting for late commands.',
        choices=('real_time', 'lock_step', 'patient')),
    Parameter('timestep', 'double', 0.001, 'Time between two joint states.', 's', 1e-5, 0.1),
    Parameter('wait_for_command', 'bool', True,
        'Keep the robot at its initial state, at time zero, until the first command; of type '
        'JointState, the first that is not zero, because ros2_control starts with zeros.'),
    changeable('passive_joints', 'string_array', [],
        'Joints without a working drive: commanded efforts have no effect. Joints in a '
        '<ros2_control> block of the URDF without any command interface are passive unless they '
        'are commanded.'),
    changeable('locked_joints', 'string_array', [],
        'Joints with a closed brake. Moving joints that are neither commanded nor passive are '
        'always fixed.'),
    controller.FLOATING_BASE, controller.ODOM_FRAME,
    Parameter('broadcast_base', 'bool', True,
        'Broadcast the pose of a floating base on TF, at 50 Hz.'),
    Parameter('initial_base_pose', 'double_array', [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        'Initial pose of a floating base: x y z and quaternion x y z w.', 'm', length=7),
    Parameter('initial_base_twist', 'double_array', [0.0] * 6,
        'Its initial linear and angular velocity, world axes.', 'm/s, rad/s', length=6),
    changeable('odom_noise', 'double_array', [0.0] * 4,
        'Standard deviations of the errors of odom: position, orientation, linear and angular '
        'velocity. Each state has errors of its own, the same at each run.',
        'm, rad, m/s, rad/s', 0.0, 1e3, length=4),
    changeable('odom_delay', 'double', 0.0,
        'Time by which odom is older than joint_states; its time stamp says so.', 's', 0.0, 1.0),
    Parameter('gravity', 'double_array', [0.0, 0.0, -9.81],
        'Acceleration of free fall, world axes.', 'm/s²', length=3),
    Parameter('wrench_sensors', 'string_array', [],
        'Links with a force/torque sensor between them and their parents. Each has a topic '
        '<link>/wrench: the wrench of the link on its parent, in the frame of the link. At rest it '
        'is the sum of external wrenches and weight.'),
    Parameter('contact_sensors', 'string_array', [],
        'Links with contact sensors, such as feet. Each has the topics <link>/contact_wrench and '
        '<link>/in_contact: the wrench of contacts on the link, in its frame, and whether there is '
        'a contact.'),
    Parameter('joint_friction', 'bool', True,
        'Whether joints have the damping and friction of the URDF. False for drives with torque '
        'control, which compensate it while they work.'),
    Parameter('contacts', 'bool', False, 'Whether links collide with each other and the floor.'),
    Parameter('floor', 'bool', False,
        'Whether there is a floor at height zero. It pushes and has friction, and does not pull.'),
    Parameter('friction', 'double', 1.0,
        'Coefficient of sliding friction of links and floor; of two bodies the greater one counts.',
        '', 1e-3, 1e2),
    Parameter('shapes', 'string_array', [],
        'Links with a shape for contacts of their own, such as feet whose shape in the URDF is a '
        'mesh, which is left out; each has a block of parameters.'),
    Parameter('objects', 'string_array', [],
        'Names of the boxes around the robot; each has a block of parameters, and a topic '
        '~/<object>/pose.'),
    Parameter('grasps', 'string_array', [],
        'Names of the physical grasps; each has a block of parameters, and a service '
        '~/<grasp>/engage that closes and opens it.'),
    Parameter('controller', 'string', 'opspace_controller',
        "Name of the controller's node, for follow_controller of grasps."),
    Parameter('publish_clock', 'bool', True, 'Publish the time of the simulation on /clock.'),
    *REALITY,
)

# Of each joint of one degree of freedom.
INITIAL_POSITION = Parameter('initial_positions.<joint>', 'double', None,
    'Position at the start. Not given: zero, or the nearest limit.', 'rad or m')

# Friction of the drive of each joint.
DRIVE_FRICTION = tuple(
    Parameter(f'reality.{kind}.<joint>', 'double', None,
        f'{kind.capitalize()} friction of its drive. Not given: by reality.{kind}_ratio.',
        unit, 0.0, 1e6)
    for kind, unit in (('coulomb', 'N·m or N'), ('viscous', 'N·m·s/rad or N·s/m')))

OF_JOINTS = (*DRIVE_FRICTION, INITIAL_POSITION)

# Of each object, in a block of its name.
OBJECT = (
    Parameter('size', 'double_array', [0.1, 0.1, 0.1], 'Lengths of its edges.',
        'm', 1e-4, 1e3, length=3),
    Parameter('mass', 'double', 1.0, 'Mass.', 'kg', 1e-6, 1e6),
    Parameter('center_of_mass', 'double_array', [0.0, 0.0, 0.0],
        'Centre of mass, from its middle along its edges.', 'm', length=3),
    Parameter('pose', 'double_array', [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        'Initial pose of its middle in the world: x y z and quaternion x y z w.', 'm', length=7),
    Parameter('fixed', 'bool', False, 'Whether it is fixed to the world, like a table.'),
    Parameter('friction', 'double', 1.0, 'Coefficient of sliding friction.', '', 1e-3, 1e2),
)

# Of each shape, in a block named as its link.
SHAPE = (
    Parameter('size', 'double_array', [0.05],
        'Radius of a sphere, or the three lengths of the edges of a box.', 'm'),
    Parameter('center', 'double_array', [0.0, 0.0, 0.0], "Its middle, in the link's frame.",
        'm', length=3),
)

# Of each grasp, in a block of its name; the controller's block of that name has the first two, too.
GRASP = (
    Parameter('effectors', 'string_array', [], 'Links that grasp.'),
    Parameter('kind', 'string', 'rigid',
        'Kind of the grips: rigid, the object cannot rotate in them; point, only its position is '
        'constrained, except by the first grip of an object; fingertips, all grips are points.',
        choices=('rigid', 'point', 'fingertips')),
    Parameter('object', 'string', '',
        'Object or link that is grasped. Empty: the first of the effectors.'),
    Parameter('reach', 'double', 0.03, 'Distance from a box up to which a grip closes.',
        'm', 0.0, math.inf),
    Parameter('follow_controller', 'bool', True,
        'Whether it closes and opens with the grasp of this name of the controller, by the topic '
        '<controller>/<grasp>/engaged. The service works at any time.'),
)

# The blocks of names that a parameter lists, and their rows.
BLOCKS = {'objects': OBJECT, 'shapes': SHAPE, 'grasps': GRASP}
# Names of services and other blocks of the node itself.
_RESERVED = ('reset', 'pause', 'step', 'initial_positions', 'reality')


def simulator_table(values):
    """
    Return the parameters of a simulator with these values, of which some may be missing.

    Of joints there are those that have a value.
    """
    joints = [row.named(name) for row in OF_JOINTS for name in values
              if name.startswith(row.name.removesuffix('<joint>'))]
    return [*NODE, *joints, *(row for kind, rows in BLOCKS.items()
                              for row in named_blocks(kind[:-1], names_in(values, kind), rows,
                                                      _RESERVED))]
