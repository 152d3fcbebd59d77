# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of grasps, contacts and payloads; README and files are made from these tables."""

import math

from opspace_control.ros.parameters.parameter_table import Parameter
from opspace_control.ros.parameters.task_parameters import TASK

_EFFECTORS = Parameter(
    'effectors', 'string_array', [],
    'Links that grasp, two or more. The first one carries the object, in a rigid grip, but for '
    'fingertips.')
_KIND = Parameter(
    'kind', 'string', 'rigid',
    'What the other grips hold: rigid, the object cannot turn in them; point, only their place; '
    'fingertips, so do all, the first one too. Two of these leave it to turn about their line.',
    choices=('rigid', 'point', 'fingertips'))

# What the object's task does not have in common with any other, or not with the same values. Forces
# are controlled open loop: a sensor at a wrist feels the internal ones too.
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
              "Where each effector is when it grasps, in the object's frame: x y z and the "
              'quaternion x y z w of the first, then those of the others. Engaging is refused '
              "where they are not. Empty: they may be anywhere; the object's frame is in their "
              'middle then, its axes those of the base.', 'm'),
    Parameter('tolerance_position', 'double', 0.02,
              'How far effectors may be from their grasp poses.', 'm', 1e-4, 1.0),
    Parameter('tolerance_angle', 'double', 0.1,
              'How far they may be turned from them.', 'rad', 1e-3, math.pi),
    Parameter('drift_kp', 'double', 25.0,
              'How fast effectors that give way to each other come back: stiffness.', '1/s²', 0.0,
              1e6, read_only=False),
    Parameter('drift_kd', 'double', -1.0, 'And damping. -1: critical.', '1/s', -1.0, 1e4,
              read_only=False),
    Parameter('squeeze', 'double', 0.0,
              'Force with which the effectors squeeze the object: each member of the virtual '
              'linkage is under so much pressure, or more where friction wants it.',
              'N', 0.0, 1e5, read_only=False),
    Parameter('max_squeeze', 'double', 200.0, 'And no more than this.', 'N', 0.0, 1e5),
    Parameter('minimal_effort', 'bool', False,
              'Whether internal forces that are not asked for spare the drives: the effectors '
              'share the load so that efforts, each as a part of its limit, are least.',
              read_only=False),
    Parameter('friction', 'double', 0.0,
              'Coefficient of friction between effectors and object. 0: they cannot slip, as '
              'grippers that enclose it.', '', 0.0, 1e2),
    Parameter('friction_margin', 'double', 1.5,
              'The squeeze relies on the friction divided by this.', '', 1.0, 1e2),
    Parameter('kp', 'gain', 100.0, 'Stiffness of the object, of all six axes or of each.',
              '1/s²', 0.0, 1e6, length=6, read_only=False),
    Parameter('kd', 'gain', -1.0, 'Its damping, of all six axes or of each. -1: critical.',
              '1/s', -1.0, 1e4, length=6, read_only=False),
    Parameter('max_linear_velocity', 'double', 0.3, 'Highest speed on the way to a goal.',
              'm/s', 1e-3, math.inf, read_only=False),
    Parameter('max_angular_velocity', 'double', 1.0, 'Highest rate of turn on the way to a goal.',
              'rad/s', 1e-3, math.inf, read_only=False),
    *(row for row in TASK if row.name not in _OWN),
)

# Of each payload, in a block of its name.
PAYLOAD = (
    Parameter('frame', 'string', '',
              'Link that carries it. Empty: the link of the same name as the payload.'),
    Parameter('mass', 'double', 0.0,
              'Its mass; 0 takes it off. It comes and goes within safety.ramp_time.', 'kg', 0.0,
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
              'What the ground holds: surface, the link cannot turn on it; point, its place.',
              choices=('surface', 'point')),
    Parameter('engaged', 'bool', False,
              'Whether it is in contact at activation: engaged from the first cycle on.'),
    Parameter('friction', 'double', 0.7,
              'Coefficient of friction; diagnostics warn where it would not do.', '', 1e-3, 1e2),
    Parameter('normal', 'double_array', [0.0, 0.0, 1.0],
              'Direction away from the ground, of any length: in the base frame, or in odom_frame '
              'if the base floats.', length=3),
)
