# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of tasks and sensors; README and example files are made from these tables."""

import math

from opspace_control.ros.parameters.parameter_table import Parameter
from opspace_control.tasks.pose import MODES

# Of each task, in a block of the task's name.
TASK = (
    Parameter('type', 'string', 'pose',
              'Kind of task. position and orientation have three axes each; force presses along '
              'its force_axes and leaves the others free; relative has its goal in the frame of '
              'reference, which moves itself; center_of_mass moves that of all that frame carries, '
              'itself included, or without frame that of the robot; joint takes joints to their '
              'goal.',
              choices=('pose', 'position', 'orientation', 'force', 'relative', 'center_of_mass',
                       'joint')),
    Parameter('reference', 'string', '',
              'Other link of a task of type relative, in whose frame its goal is and along whose '
              'axes it acts.'),
    Parameter('joints', 'string_array', [],
              'Joints of a task of type joint, for which of the rest only priority, kp and kd, one '
              'number for all of them, and max_velocity count.'),
    Parameter('frame', 'string', '',
              'Link that the task moves. Empty: the link of the same name as the task.'),
    Parameter('priority', 'integer', 0,
              'Level of the task, 0 the highest: a task does not disturb those of smaller numbers.',
              minimum=0, maximum=100),
    # One string, since YAML takes a bare y in a list for yes.
    Parameter('axes', 'string', 'x y z rx ry rz',
              'Axes along which motion is controlled: which of x, y, z, and of the rotations about '
              'them. Those that the kind of task does not have, or that force_axes name, do not '
              'count. An axis named anew holds where it is.', read_only=False),
    Parameter('force_axes', 'string', '', 'Axes along which force, or moment, is controlled.',
              read_only=False),
    Parameter('axes_frame', 'string', '',
              'Link whose axes these are; two, with a blank between them: one for x y z and one '
              'for rx ry rz. Empty: the base.', read_only=False),
    Parameter('axes_rotation', 'double_array', [0.0, 0.0, 0.0, 1.0],
              'Rotation from the axes of axes_frame to these axes, quaternion x y z w: axes along '
              'a surface or a bore that no link has. They turn to new ones within half a second.',
              '', -1.0, 1.0, length=4, read_only=False),
    Parameter('mode', 'string', 'decoupled',
              'decoupled: a unit mass, kp and kd. impedance: a spring that yields where the robot '
              'is pushed, stiffness and damping_ratio.', choices=MODES, read_only=False),
    Parameter('kp', 'gain', 100.0, 'Stiffness, of all six axes or of each (linear first).',
              '1/s²', 0.0, 1e6, length=6, read_only=False),
    Parameter('kd', 'gain', -1.0, 'Damping, of all six axes or of each. -1: critical.',
              '1/s', -1.0, 1e4, length=6, read_only=False),
    Parameter('stiffness', 'gain', [500.0, 500.0, 500.0, 50.0, 50.0, 50.0],
              'Stiffness in mode impedance, of all six axes or of each.', 'N/m, N·m/rad', 0.0, 1e6,
              length=6, read_only=False),
    Parameter('damping_ratio', 'double', 1.0,
              'Damping in mode impedance, true in every posture. 1: critical.', '', 0.01, 10.0,
              read_only=False),
    Parameter('max_linear_velocity', 'double', 0.5, 'Highest speed on the way to a goal.',
              'm/s', 1e-3, math.inf, read_only=False),
    Parameter('max_angular_velocity', 'double', 1.5, 'Highest rate of turn on the way to a goal.',
              'rad/s', 1e-3, math.inf, read_only=False),
    Parameter('max_velocity', 'double', 1.0,
              'Highest speed of a joint on the way to a goal, type joint.', 'rad/s or m/s', 1e-3,
              math.inf, read_only=False),
    Parameter('trajectory', 'string', 'direct',
              'How the goal gets to where it is sent. direct: it is there at once. ruckig: it '
              'travels, straight from rest, within highest velocity, acceleration and jerk, also '
              'where it is sent elsewhere on the way; needs the library of that name.',
              choices=('direct', 'ruckig'), read_only=False),
    Parameter('max_linear_acceleration', 'double', 2.0, 'Of a goal that travels.', 'm/s²', 1e-3,
              1e6, read_only=False),
    Parameter('max_angular_acceleration', 'double', 6.0, 'The same for rotations.', 'rad/s²', 1e-3,
              1e6, read_only=False),
    Parameter('max_linear_jerk', 'double', 20.0, 'Of a goal that travels.', 'm/s³', 1e-3, 1e9,
              read_only=False),
    Parameter('max_angular_jerk', 'double', 60.0, 'The same for rotations.', 'rad/s³', 1e-3, 1e9,
              read_only=False),
    Parameter('sensor', 'string', '',
              'Which of sensors measures the force that this task applies. Empty: none; force is '
              'controlled open loop.'),
    Parameter('force.kp', 'gain', 0.1,
              'Gain of the force error, of all six axes or of each. Up to damping / (2π cutoff) no '
              'surface rings, however stiff.', '', 0.0, 1e3, length=6, read_only=False),
    Parameter('force.ki', 'gain', 10.0, 'Gain of its integral.', '1/s', 0.0, 1e4, length=6,
              read_only=False),
    Parameter('force.damping', 'gain', 60.0, 'Damping of motions along force axes.', '1/s', 0.1,
              1e4, length=6, read_only=False),
    Parameter('force.max_force', 'double', 100.0, 'What an axis presses with at most.', 'N', 1e-3,
              1e6, read_only=False),
    Parameter('force.max_moment', 'double', 10.0, 'The same for rotations.', 'N·m', 1e-3, 1e6,
              read_only=False),
    Parameter('force.approach_velocity', 'double', 0.05,
              'Speed at which contact is sought, where force is wanted and there is none. This and '
              'approach_rate 0: force acts at once, also in free space.', 'm/s', 0.0, 10.0,
              read_only=False),
    Parameter('force.approach_rate', 'double', 0.2, 'The same for rotations.', 'rad/s', 0.0, 10.0,
              read_only=False),
    Parameter('force.contact_force', 'double', 2.0,
              'From here on it is contact; or from half of what is wanted, if that is less.',
              'N', 1e-3, 1e6, read_only=False),
    Parameter('force.contact_moment', 'double', 0.2, 'The same for rotations.', 'N·m', 1e-3, 1e6,
              read_only=False),
    Parameter('force.impact_time', 'double', 0.03,
              'Time in which an impact is only damped; within the same time the force comes in.',
              's', 1e-3, 1.0, read_only=False),
)

# Of each sensor, in a block of its name.
SENSOR = (
    Parameter('frame', 'string', '',
              'Link at which it measures. Empty: the link of the same name as the sensor.'),
    Parameter('bias', 'double_array', [0.0] * 6,
              'What it reads when nothing acts on it, not even a tool: force and moment.',
              'N, N·m', -1e6, 1e6, length=6, read_only=False),
    Parameter('tool_mass', 'double', 0.0, 'Mass of all that hangs on it.', 'kg', 0.0, 1e4,
              read_only=False),
    Parameter('tool_center', 'double_array', [0.0, 0.0, 0.0],
              "Centre of that mass, in the sensor's frame.", 'm', -1e3, 1e3, length=3,
              read_only=False),
    Parameter('cutoff', 'double', 100.0, 'Cut-off frequency of its low-pass filter.', 'Hz', 0.1,
              1e6, read_only=False),
    Parameter('timeout', 'double', 0.1,
              'Age of its last reading from which on force is controlled open loop; in time of the '
              'joint states.', 's', 1e-3, 60.0, read_only=False),
)
