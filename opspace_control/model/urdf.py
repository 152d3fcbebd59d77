# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The reader of URDF text: a checked description of links and joints."""

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from urdf_parser_py import urdf as parser
from urdf_parser_py.xml_reflection import core

from opspace_control.errors import ModelError
from opspace_control.model.cleaning import named_elements, parse_xml
from opspace_control.model.ros2_control import read_hardware

SCALAR_TYPES = ('revolute', 'continuous', 'prismatic')


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid link: mass in kg; centre of mass (3,) in m and inertia (3, 3) about it, link axes."""

    name: str
    mass: float
    center_of_mass: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True, eq=False)
class Joint:
    """
    A joint as its file gives it.

    ``rotation`` (3, 3) and ``position`` (3,), in m, place the joint frame in the parent link;
    ``axis`` (3,) is a unit vector in the joint frame; ``limit`` is (lower, upper, velocity,
    effort) or None, ``soft_limit`` (lower, upper) or None; ``armature`` is the inertia of the
    motor, seen through the gear, kg m² or kg; ``mimic`` is (mimicked, multiplier, offset) or None.
    """

    name: str
    type: str
    parent: str
    child: str
    rotation: np.ndarray
    position: np.ndarray
    axis: np.ndarray
    limit: tuple | None
    soft_limit: tuple | None
    damping: float
    friction: float
    armature: float
    mimic: tuple | None


@dataclass(frozen=True, eq=False)
class Description:
    """The kinematic part of a URDF, in document order."""

    name: str
    links: dict      # name -> Link
    joints: dict     # name -> Joint
    hardware: tuple  # of Hardware, the <ros2_control> blocks


def read_bytes(path):
    """Return the content of a file; a ModelError says why it cannot be read."""
    try:
        return Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        raise ModelError(
            f'The robot file {str(path)!r} cannot be read: '
            f'{getattr(error, "strerror", None) or error}.',
            cure='Give the path of a URDF or xacro file.', path=str(path)) from None


def uses_xacro(robot, path=None):
    """Tell whether a <robot> element, of the file ``path`` if any, must be expanded by xacro."""
    if path is not None and Path(path).suffix == '.xacro':
        return True
    return any('xacro' in node.tag.partition('}')[0] for node in robot.iter())


def expand(text, path=None, arguments=None):
    """
    Return the URDF text of xacro text, str or bytes, or of the file ``path`` where it came from.

    Only a file can include others relative to itself. ``arguments`` is a dict for ``$(arg name)``.
    """
    try:
        import xacro
    except ImportError:
        raise ModelError(
            'The robot description is written in xacro, which is not installed.',
            cure="Install it ('pip install xacro', or apt's ros-<distro>-xacro), or expand the "
                 'description elsewhere and pass the URDF.', element='xacro') from None
    if path is None:
        with TemporaryDirectory() as directory:
            copy = Path(directory, 'robot.xacro')
            copy.write_bytes(text.encode() if isinstance(text, str) else text)
            return expand(text, copy, arguments)
    try:
        return xacro.process_file(str(path), mappings=arguments).toxml()
    except Exception as error:  # any that the expressions in the text raise
        reason = ' '.join(str(error).split())
        raise ModelError(f'xacro cannot expand the robot description: {reason}.',
                         cure='Correct it; `xacro FILE` shows where it stops.',
                         element='xacro') from None


def urdf_text(path, arguments=None):
    """Return the URDF text of a file, expanded if it is xacro, with these ``arguments``."""
    content = read_bytes(path)
    if uses_xacro(parse_xml(content), path):
        return expand(content, path, arguments)
    return content.decode(errors='replace')


def read_urdf(text, path=None):
    """Read URDF text, str or bytes, or the xacro text of the file ``path``: a `Description`."""
    return describe(robot_element(text, path))


def robot_element(text, path=None):
    """Return the <robot> element of such text, expanded if it is xacro."""
    robot = parse_xml(text)
    return parse_xml(expand(text, path)) if uses_xacro(robot, path) else robot


def describe(robot):
    """Return the `Description` of a <robot> element."""
    return Description(
        name=robot.get('name', ''),
        links={name: _link(parser.Link.from_xml(node, core.Path('link')))
               for name, node in named_elements(robot, 'link').items()},
        joints={name: _joint(node)
                for name, node in named_elements(robot, 'joint').items()},
        hardware=read_hardware(robot))


def _link(parsed):
    if parsed.inertial is None:
        return Link(parsed.name, 0.0, np.zeros(3), np.zeros((3, 3)))
    mass, inertia = parsed.inertial.mass, np.zeros((3, 3))
    if mass < 0.0:
        raise ModelError(f"The link '{parsed.name}' has a negative mass, {mass:g} kg.",
                         cure='Give its <inertial> a mass ≥ 0.', element=parsed.name, value=mass)
    if parsed.inertial.inertia is not None:
        inertia[:] = parsed.inertial.inertia.to_matrix()
    rotation, center_of_mass = _placement(parsed.inertial.origin)
    return Link(parsed.name, mass, center_of_mass, rotation @ inertia @ rotation.T)


def _joint(node):
    # The parser refuses attributes that the URDF's specification does not have.
    dynamics = node.find('dynamics')
    armature = 0.0 if dynamics is None else float(dynamics.attrib.pop('armature', 0.0))
    parsed = parser.Joint.from_xml(node, core.Path('joint'))
    rotation, position = _placement(parsed.origin)
    return Joint(parsed.name, parsed.type, parsed.parent, parsed.child, rotation, position,
                 _axis(parsed), _limit(parsed), _soft_limit(parsed), _dynamics(parsed, 'damping'),
                 _dynamics(parsed, 'friction'), _not_negative(parsed, 'armature', armature),
                 _mimic(parsed))


def _placement(origin):
    """Return rotation (3, 3) and position (3,) of an <origin>, identity where there is none."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    roll, pitch, yaw = origin.rpy
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    sy, cy = math.sin(yaw), math.cos(yaw)
    rotation = np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                         [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                         [-sp, cp * sr, cp * cr]])
    return rotation, np.array(origin.xyz)


def _axis(parsed):
    """Return the unit axis; the URDF's default is x."""
    axis = np.array(parsed.axis or [1.0, 0.0, 0.0])
    length = math.hypot(*axis)
    if length > 1e-9:
        return axis / length
    if parsed.type in ('fixed', 'floating'):  # have no axis, even if the file gives one
        return np.array([1.0, 0.0, 0.0])
    raise ModelError(f"The joint '{parsed.name}' has a zero axis.", element=parsed.name,
                     cure='Give its <axis> a direction, such as xyz="0 0 1".')


def _limit(parsed):
    """Return (lower, upper, velocity, effort) of a joint, or None where it gives none."""
    limit = parsed.limit
    if limit is None:
        return None
    for name in ('velocity', 'effort'):
        if getattr(limit, name) < 0.0:
            raise ModelError(f"The joint '{parsed.name}' has a negative {name} limit, "
                             f'{getattr(limit, name):g}.', element=parsed.name,
                             cure='Velocity and effort limits are magnitudes: make it positive.')
    if parsed.type in ('revolute', 'prismatic') and limit.lower > limit.upper:
        raise ModelError(f"The joint '{parsed.name}' has a lower limit {limit.lower:g} above its "
                         f'upper limit {limit.upper:g}.', cure='Exchange them.',
                         element=parsed.name)
    return limit.lower, limit.upper, limit.velocity, limit.effort


def _soft_limit(parsed):
    """Return (lower, upper) of a joint's <safety_controller>, or None where it has none."""
    safety = parsed.safety_controller
    return None if safety is None else (safety.soft_lower_limit, safety.soft_upper_limit)


def _dynamics(parsed, name):
    """Return the damping or friction, 0 where not given."""
    return _not_negative(parsed, name, getattr(parsed.dynamics, name, None) or 0.0)


def _not_negative(parsed, name, value):
    """Return the value, or raise a ModelError if it is negative."""
    if value < 0.0:
        raise ModelError(f"The joint '{parsed.name}' has a negative {name}, {value:g}.",
                         cure=f'Make its {name} ≥ 0.', element=parsed.name, value=value)
    return value


def _mimic(parsed):
    """Return (mimicked, multiplier, offset) of a moving joint that follows another, else None."""
    mimic = parsed.mimic
    if mimic is None or parsed.type == 'fixed':
        return None
    if parsed.type not in SCALAR_TYPES:
        raise ModelError(f"The joint '{parsed.name}' is {parsed.type} and has a <mimic>.",
                         cure='Only joints of one degree of freedom can follow another.',
                         element=parsed.name)
    return (mimic.joint, 1.0 if mimic.multiplier is None else mimic.multiplier,
            mimic.offset or 0.0)
