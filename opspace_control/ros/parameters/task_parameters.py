# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of tasks, sensors, grasps, contacts and others, in blocks of their names."""

import math

from opspace_control.ros.parameters.parameter_table import Parameter, changeable
from opspace_control.tasks.pose import MODES

# Of each task, in a block of the task's name.
TASK = (
    Parameter('type', 'string', 'pose',
              'Kind of task. position and orientation have three axes each; force controls force '
              'along force_axes and leaves the others free; relative has its goal in the frame of '
              'the moving link reference; center_of_mass moves the centre of mass of the subtree '
              'of frame, or without frame that of the robot; joint moves joints to a goal.',
              choices=('pose', 'position', 'orientation', 'force', 'relative', 'center_of_mass',
                       'joint')),
    Parameter('reference', 'string', '',
        'Other link of a task of type relative; goal and axes are in its frame.'),
    Parameter('joints', 'string_array', [],
        'Joints of a task of type joint. Of the other parameters it uses priority, kp and kd (one '
        'number for all joints) and max_velocity.'),
    Parameter('frame', 'string', '',
        'Link that the task moves. Empty: the link of the same name as the task.'),
    Parameter('priority', 'integer', 0,
        'Level of the task, 0 the highest: a task does not disturb those of smaller numbers.',
        minimum=0, maximum=100),
    # One string, since YAML reads a bare y in a list as yes.
    changeable('axes', 'string', 'x y z rx ry rz',
        'Axes of motion control among x, y, z and the rotations about them. Axes of force_axes, '
        'and axes that the kind of task does not have, are left out. The goal along a new axis is '
        'the present pose.'),
    changeable('force_axes', 'string', '', 'Axes of force or moment control.'),
    changeable('axes_frame', 'string', '',
        'Link of these axes; or two, with a blank between them: one for x y z and one for rx ry '
        'rz. Empty: the base.'),
    changeable('axes_rotation', 'double_array', [0.0, 0.0, 0.0, 1.0],
        'Rotation from the axes of axes_frame to these axes, quaternion x y z w, such as to axes '
        'along a surface. Changes take half a second.', '', -1.0, 1.0, length=4),
    changeable('mode', 'string', 'decoupled',
        'decoupled: a unit mass, kp and kd. impedance: a spring with stiffness and damping_ratio, '
        'which complies with external forces.', choices=MODES),
    changeable('kp', 'gain', 100.0, 'Stiffness, of all six axes or of each (linear first).',
        '1/s²', 0.0, 1e6, length=6),
    changeable('kd', 'gain', -1.0, 'Damping, of all six axes or of each. -1: critical.',
        '1/s', -1.0, 1e4, length=6),
    changeable('stiffness', 'gain', [500.0, 500.0, 500.0, 50.0, 50.0, 50.0],
        'Stiffness in mode impedance, of all six axes or of each.',
        'N/m, N·m/rad', 0.0, 1e6, length=6),
    changeable('damping_ratio', 'double', 1.0,
        'Damping ratio in mode impedance, the same in every posture. 1: critical.', '', 0.01, 10.0),
    changeable('may_touch', 'string_array', [],
        'Links and shapes that the link of the task, or those of a grasp and its object, may '
        'touch: they keep no distance from each other. Names of links, which stand for what is '
        'fixed to them, too, of shapes, and of markers on collision_objects, <ns>/<id>.'),
    changeable('max_linear_velocity', 'double', 0.5, 'Highest speed towards a goal.',
        'm/s', 1e-3, math.inf),
    changeable('max_angular_velocity', 'double', 1.5, 'Highest angular velocity towards a goal.',
        'rad/s', 1e-3, math.inf),
    changeable('max_velocity', 'double', 1.0,
        'Highest speed of a joint towards a goal, type joint.', 'rad/s or m/s', 1e-3, math.inf),
    changeable('trajectory', 'string', 'direct',
        'Motion of the target to a new goal. direct: none, it is there at once. ruckig: an online '
        'trajectory within highest velocity, acceleration and jerk, straight from rest; needs the '
        'library of that name.', choices=('direct', 'ruckig')),
    changeable('max_linear_acceleration', 'double', 2.0, 'Of an online trajectory.',
        'm/s²', 1e-3, 1e6),
    changeable('max_angular_acceleration', 'double', 6.0, 'The same for rotations.',
        'rad/s²', 1e-3, 1e6),
    changeable('max_linear_jerk', 'double', 20.0, 'Of an online trajectory.', 'm/s³', 1e-3, 1e9),
    changeable('max_angular_jerk', 'double', 60.0, 'The same for rotations.', 'rad/s³', 1e-3, 1e9),
    Parameter('sensor', 'string', '',
        'One of sensors, which measures the force that this task applies. Empty: none; force is '
        'controlled open loop.'),
    changeable('force.kp', 'gain', 0.1,
        'Gain of the force error, of all six axes or of each. Up to damping / (2π cutoff) contact '
        'is stable for any stiffness.', '', 0.0, 1e3, length=6),
    changeable('force.ki', 'gain', 10.0, 'Gain of its integral.', '1/s', 0.0, 1e4, length=6),
    changeable('force.damping', 'gain', 60.0, 'Damping of motions along force axes.',
        '1/s', 0.1, 1e4, length=6),
    changeable('force.max_force', 'double', 100.0, 'Largest force along an axis.', 'N', 1e-3, 1e6),
    changeable('force.max_moment', 'double', 10.0, 'The same for rotations.', 'N·m', 1e-3, 1e6),
    changeable('force.approach_velocity', 'double', 0.05,
        'Speed of the approach to contact, with a target force. With this and approach_rate 0 '
        'force acts at once, in free space, too.', 'm/s', 0.0, 10.0),
    changeable('force.approach_rate', 'double', 0.2, 'The same for rotations.', 'rad/s', 0.0, 10.0),
    changeable('force.contact_force', 'double', 2.0,
        'Threshold of contact; half of the target force if that is less.', 'N', 1e-3, 1e6),
    changeable('force.contact_moment', 'double', 0.2, 'The same for rotations.', 'N·m', 1e-3, 1e6),
    changeable('force.impact_time', 'double', 0.03,
        'Time of pure damping after an impact; the force increases within the same time.',
        's', 1e-3, 1.0),
)

# Of each sensor, in a block of its name.
SENSOR = (
    Parameter('frame', 'string', '',
        'Link at which it measures. Empty: the link of the same name as the sensor.'),
    changeable('bias', 'double_array', [0.0] * 6,
        'Reading without load and without a tool: force and moment.',
        'N, N·m', -1e6, 1e6, length=6),
    changeable('tool_mass', 'double', 0.0, 'Mass of the tool.', 'kg', 0.0, 1e4),
    changeable('tool_center', 'double_array', [0.0, 0.0, 0.0],
        "Centre of that mass, in the sensor's frame.", 'm', -1e3, 1e3, length=3),
    changeable('cutoff', 'double', 100.0, 'Cut-off frequency of its low-pass filter.',
        'Hz', 0.1, 1e6),
    changeable('timeout', 'double', 0.1,
        'Age of its last reading above which force is controlled open loop, in time of the joint '
        'states.', 's', 1e-3, 60.0),
)


# Parameters of tasks that the object's task does not have, or has with other values. Forces are
# controlled open loop: a sensor at a wrist measures internal forces, too.
_OWN = ('type', 'reference', 'joints', 'frame', 'priority', 'sensor', 'max_velocity', 'kp', 'kd',
        'max_linear_velocity', 'max_angular_velocity')

# Of each grasp, in a block of its name.
GRASP = (
    Parameter('effectors', 'string_array', [],
        'Links that grasp, two or more. Except with fingertips, the first one has a rigid grip of '
        'the object.'),
    Parameter('kind', 'string', 'rigid',
        'Kind of the other grips: rigid, the object cannot rotate in them; point, only its '
        'position is constrained; fingertips, all grips are points. With two fingertips the object '
        'can rotate about their line.', choices=('rigid', 'point', 'fingertips')),
    changeable('mass', 'double', 0.0, 'Mass of the object.', 'kg', 0.0, 1e6),
    changeable('center_of_mass', 'double_array', [0.0, 0.0, 0.0],
        "Its centre of mass, in the object's frame.", 'm', length=3),
    changeable('inertia', 'double_array', [0.0] * 6,
        'Its inertia about the centre of mass, object axes: ixx iyy izz ixy ixz iyz.',
        'kg m²', length=6),
    Parameter('grasp_poses', 'double_array', [],
        "Pose of each effector in the object's frame when it grasps: x y z and the quaternion x y "
        'z w of the first, then those of the others. Engaging is refused at other poses. Empty: '
        "any poses; the object's frame is then in their middle, with the axes of the base.", 'm'),
    Parameter('tolerance_position', 'double', 0.02,
        'Largest distance of effectors from their grasp poses.', 'm', 1e-4, 1.0),
    Parameter('tolerance_angle', 'double', 0.1, 'Largest rotation from them.',
        'rad', 1e-3, math.pi),
    changeable('drift_kp', 'double', 25.0,
        'Stiffness of the correction of drift between effectors.', '1/s²', 0.0, 1e6),
    changeable('drift_kd', 'double', -1.0, 'Damping of it. -1: critical.', '1/s', -1.0, 1e4),
    changeable('squeeze', 'double', 0.0,
        'Grasp force of the effectors: compression of each member of the virtual linkage, '
        'increased as friction requires.', 'N', 0.0, 1e5),
    Parameter('max_squeeze', 'double', 200.0, 'Largest grasp force.', 'N', 0.0, 1e5),
    changeable('minimal_effort', 'bool', False,
        'Whether free internal forces minimise the efforts of the drives, relative to their '
        'limits.'),
    Parameter('friction', 'double', 0.0,
        'Coefficient of friction between effectors and object. 0: they cannot slip, such as '
        'enclosing grippers.', '', 0.0, 1e2),
    Parameter('friction_margin', 'double', 1.5,
        'Divisor of the friction coefficient for the grasp force.', '', 1.0, 1e2),
    changeable('kp', 'gain', 100.0, 'Stiffness of the object, of all six axes or of each.',
        '1/s²', 0.0, 1e6, length=6),
    changeable('kd', 'gain', -1.0, 'Its damping, of all six axes or of each. -1: critical.',
        '1/s', -1.0, 1e4, length=6),
    changeable('max_linear_velocity', 'double', 0.3, 'Highest speed towards a goal.',
        'm/s', 1e-3, math.inf),
    changeable('max_angular_velocity', 'double', 1.0, 'Highest angular velocity towards a goal.',
        'rad/s', 1e-3, math.inf),
    changeable('shapes', 'string_array', [],
        'Those of shapes that the object has, with poses in its frame: while the grasp is engaged '
        "they keep a distance as the robot's own, but from the effectors and what these carry, "
        'such as fingers. Not with fingertips.'),
    *(row for row in TASK if row.name not in _OWN),
)

# Of each payload, in a block of its name.
PAYLOAD = (
    Parameter('frame', 'string', '',
        'Link that it is fixed to. Empty: the link of the same name as the payload.'),
    changeable('mass', 'double', 0.0,
        'Its mass; 0 removes it. Changes are ramped within safety.ramp_time.', 'kg', 0.0, 1e6),
    changeable('center_of_mass', 'double_array', [0.0, 0.0, 0.0],
        "Its centre of mass, in the link's frame.", 'm', length=3),
    changeable('inertia', 'double_array', [0.0] * 6,
        'Its inertia about the centre of mass, link axes: ixx iyy izz ixy ixz iyz.',
        'kg m²', length=6),
    changeable('shapes', 'string_array', [],
        "Those of shapes that it has: they are on its link while its mass is above 0, with poses "
        "in the link's frame, and keep a distance as the robot's own."),
    changeable('may_touch', 'string_array', [],
        'Links and shapes that its shapes may touch, as those of a task.'),
)

# Of each further shape, in a block of its name.
SHAPE = (
    changeable('kind', 'string', 'box',
        'Kind of the shape. A half_space is what is below the plane of its x and y; none: it is '
        'not there.', choices=('box', 'sphere', 'capsule', 'cylinder', 'half_space', 'none')),
    changeable('size', 'double_array', [0.1, 0.1, 0.1],
        'Of a box its edges; of a sphere its radius; of a capsule or cylinder its radius and its '
        'length along z, of a capsule that between the centres. A half_space has none.', 'm'),
    changeable('frame', 'string', '',
        'Link that carries it, such as the hand that holds an object, or a frame of TF, which it '
        'follows. Empty: the link of the payload or grasp which has it among its shapes, or else '
        'the world, which is the base frame, or odom_frame with a floating base.'),
    changeable('pose', 'double_array', [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        'Pose of its middle there: x y z and quaternion x y z w.', 'm', length=7),
    changeable('may_touch', 'string_array', [],
        'Links and shapes that it may touch, as those of a task.'),
)

# Of each contact, in a block of its name.
CONTACT = (
    Parameter('frame', 'string', '',
        'Link that touches the ground. Empty: the link of the same name as the contact.'),
    Parameter('kind', 'string', 'surface',
        'Kind of the contact: surface, the link cannot rotate; line, it can rotate about the line '
        'alone; point, only its position is constrained.', choices=('surface', 'line', 'point')),
    Parameter('engaged', 'bool', False,
        'Whether it is engaged at activation, from the first cycle on.'),
    changeable('friction', 'double', 0.7,
        'Coefficient of friction: the contact force stays within it.', '', 1e-3, 1e2),
    changeable('normal', 'double_array', [0.0, 0.0, 1.0],
        'Direction away from the ground, of any length, in the base frame, or in odom_frame with a '
        'floating base.', length=3),
    changeable('min_normal_force', 'double', 0.0,
        'Least normal force while the contact is engaged.', 'N', 0.0, 1e5),
    changeable('max_normal_force', 'double', 0.0,
        'Greatest normal force. 0: any.', 'N', 0.0, 1e5),
    Parameter('sole', 'double_array', [0.0] * 6,
        "Two opposite corners, x y z each, of the sole in the link's frame, its sides along x and "
        'y: the centre of pressure stays inside it, and the moment about the normal within '
        'friction. Of a line, its two ends; corners without width make a line of a surface. Zeros: '
        'no bounds on moments.', 'm', length=6),
)
