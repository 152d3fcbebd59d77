# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of grasps, contacts and payloads; README and files are made from these tables."""

import math

from opspace_control.ros.parameters.parameter_table import Parameter
from opspace_control.ros.parameters.task_parameters import TASK

_EFFECTORS = Parameter(
    'effectors', 'string_array', [],
    'Links that grasp, two or more. Except with fingertips, the first one has a rigid grip of the '
    'object.')
_KIND = Parameter(
    'kind', 'string', 'rigid',
    'Kind of the other grips: rigid, the object cannot rotate in them; point, only its position is '
    'constrained; fingertips, all grips are points. With two fingertips the object can rotate '
    'about their line.',
    choices=('rigid', 'point', 'fingertips'))

# Parameters of tasks that the object's task does not have, or has with other values. Forces are
# controlled open loop: a sensor at a wrist measures internal forces, too.
_OWN = ('type', 'reference', 'joints', 'frame', 'priority', 'sensor', 'max_velocity', 'kp', 'kd',
        'max_linear_velocity', 'max_angular_velocity')

# Of each grasp, in a block of its name.
GRASP = (
    _EFFECTORS,
    _KIND,
    Parameter('mass', 'double', 0.0, 'Mass of the object.', 'kg', 0.0, 1e6, read_only=False),
    Parameter('center_of_mass', 'double_array', [0.0, 0.0, 0.0],
              "Its centre of mass, in the object's frame.", 'm', length=3, read_only=False),
    Parameter('inertia', 'double_array', [0.0] * 6,
              'Its inertia about the centre of mass, object axes: ixx iyy izz ixy ixz iyz.',
              'kg m²', length=6, read_only=False),
    Parameter('grasp_poses', 'double_array', [],
              "Pose of each effector in the object's frame when it grasps: x y z and the "
              'quaternion x y z w of the first, then those of the others. Engaging is refused at '
              "other poses. Empty: any poses; the object's frame is then in their middle, with the "
              'axes of the base.', 'm'),
    Parameter('tolerance_position', 'double', 0.02,
              'Largest distance of effectors from their grasp poses.', 'm', 1e-4, 1.0),
    Parameter('tolerance_angle', 'double', 0.1,
              'Largest rotation from them.', 'rad', 1e-3, math.pi),
    Parameter('drift_kp', 'double', 25.0,
              'Stiffness of the correction of drift between effectors.', '1/s²', 0.0,
              1e6, read_only=False),
    Parameter('drift_kd', 'double', -1.0, 'Damping of it. -1: critical.', '1/s', -1.0, 1e4,
              read_only=False),
    Parameter('squeeze', 'double', 0.0,
              'Grasp force of the effectors: compression of each member of the virtual linkage, '
              'increased as friction requires.',
              'N', 0.0, 1e5, read_only=False),
    Parameter('max_squeeze', 'double', 200.0, 'Largest grasp force.', 'N', 0.0, 1e5),
    Parameter('minimal_effort', 'bool', False,
              'Whether free internal forces minimise the efforts of the drives, relative to their '
              'limits.', read_only=False),
    Parameter('friction', 'double', 0.0,
              'Coefficient of friction between effectors and object. 0: they cannot slip, such as '
              'enclosing grippers.', '', 0.0, 1e2),
    Parameter('friction_margin', 'double', 1.5,
              'Divisor of the friction coefficient for the grasp force.', '', 1.0, 1e2),
    Parameter('kp', 'gain', 100.0, 'Stiffness of the object, of all six axes or of each.',
              '1/s²', 0.0, 1e6, length=6, read_only=False),
    Parameter('kd', 'gain', -1.0, 'Its damping, of all six axes or of each. -1: critical.',
              '1/s', -1.0, 1e4, length=6, read_only=False),
    Parameter('max_linear_velocity', 'double', 0.3, 'Highest speed towards a goal.',
              'm/s', 1e-3, math.inf, read_only=False),
    Parameter('max_angular_velocity', 'double', 1.0, 'Highest angular velocity towards a goal.',
              'rad/s', 1e-3, math.inf, read_only=False),
    *(row for row in TASK if row.name not in _OWN),
)

# Of each payload, in a block of its name.
PAYLOAD = (
    Parameter('frame', 'string', '',
              'Link that it is fixed to. Empty: the link of the same name as the payload.'),
    Parameter('mass', 'double', 0.0,
              'Its mass; 0 removes it. Changes are ramped within safety.ramp_time.', 'kg', 0.0,
              1e6, read_only=False),
    Parameter('center_of_mass', 'double_array', [0.0, 0.0, 0.0],
              "Its centre of mass, in the link's frame.", 'm', length=3, read_only=False),
    Parameter('inertia', 'double_array', [0.0] * 6,
              'Its inertia about the centre of mass, link axes: ixx iyy izz ixy ixz iyz.',
              'kg m²', length=6, read_only=False),
)

# Of each contact, in a block of its name.
CONTACT = (
    Parameter('frame', 'string', '',
              'Link that touches the ground. Empty: the link of the same name as the contact.'),
    Parameter('kind', 'string', 'surface',
              'Kind of the contact: surface, the link cannot rotate; point, only its position is '
              'constrained.',
              choices=('surface', 'point')),
    Parameter('engaged', 'bool', False,
              'Whether it is engaged at activation, from the first cycle on.'),
    Parameter('friction', 'double', 0.7,
              'Coefficient of friction; diagnostics warn if it is exceeded.', '', 1e-3, 1e2),
    Parameter('normal', 'double_array', [0.0, 0.0, 1.0],
              'Direction away from the ground, of any length, in the base frame, or in odom_frame '
              'with a floating base.', length=3),
)
