# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The reader of URDF text: a checked description of links and joints."""

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from opspace_control.checks import HUGE
from opspace_control.errors import ModelError
from opspace_control.model.cleaning import named_elements, parse_xml
from opspace_control.model.ros2_control import read_hardware
from opspace_control.spatial.rotations import matrix_from_rpy

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
        links={name: _link(name, node) for name, node in named_elements(robot, 'link').items()},
        joints={name: _joint(name, node) for name, node in named_elements(robot, 'joint').items()},
        hardware=read_hardware(robot))


def _numbers(node, attribute, default):
    """Return the numbers (k,) of an attribute, a default where it or its element is missing."""
    return np.array((default if node is None else node.get(attribute, default)).split(), float)


def _number(node, attribute, default='0'):
    number = float(_numbers(node, attribute, default)[0])
    return number if abs(number) < HUGE else math.copysign(math.inf, number)  # a limit: none


def _link(name, node):
    inertial = node.find('inertial')
    if inertial is None:
        return Link(name, 0.0, np.zeros(3), np.zeros((3, 3)))
    mass = _number(inertial.find('mass'), 'value')
    if mass < 0.0:
        raise ModelError(f"The link '{name}' has a negative mass, {mass:g} kg.",
                         cure='Give its <inertial> a mass ≥ 0.', element=name, value=mass)
    xx, xy, xz, yy, yz, zz = (_number(inertial.find('inertia'), key)
                              for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotation, center_of_mass = _placement(inertial.find('origin'))
    return Link(name, mass, center_of_mass, rotation @ inertia @ rotation.T)


def _joint(name, node):
    kind, safety = node.get('type'), node.find('safety_controller')
    rotation, position = _placement(node.find('origin'))
    soft_limit = None if safety is None else (
        _number(safety, 'soft_lower_limit'), _number(safety, 'soft_upper_limit'))
    damping, friction, armature = (_not_negative(name, node.find('dynamics'), key)
                                   for key in ('damping', 'friction', 'armature'))
    return Joint(name, kind, node.find('parent').get('link'), node.find('child').get('link'),
                 rotation, position, _axis(name, kind, node.find('axis')),
                 _limit(name, kind, node.find('limit')), soft_limit, damping, friction, armature,
                 _mimic(name, kind, node.find('mimic')))


def _placement(origin):
    """Return rotation (3, 3) and position (3,) of an <origin>, identity where there is none."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    return matrix_from_rpy(_numbers(origin, 'rpy', '0 0 0')), _numbers(origin, 'xyz', '0 0 0')


def _axis(name, kind, node):
    """Return the unit axis; the URDF's default is x."""
    axis = _numbers(node, 'xyz', '1 0 0')
    length = math.hypot(*axis)
    if length > 1e-9:
        return axis / length
    if kind in ('fixed', 'floating'):  # have no axis, even if the file gives one
        return np.array([1.0, 0.0, 0.0])
    raise ModelError(f"The joint '{name}' has a zero axis.", element=name,
                     cure='Give its <axis> a direction, such as xyz="0 0 1".')


def _limit(name, kind, node):
    """Return (lower, upper, velocity, effort) of a joint, or None where it gives none."""
    if node is None:
        return None
    lower, upper = _number(node, 'lower'), _number(node, 'upper')
    magnitudes = {key: _number(node, key, 'inf') for key in ('velocity', 'effort')}
    for key, value in magnitudes.items():
        if value < 0.0:
            raise ModelError(
                f"The joint '{name}' has a negative {key} limit, {value:g}.", element=name,
                cure='Velocity and effort limits are magnitudes: make it positive.')
    if kind in ('revolute', 'prismatic') and lower > upper:
        raise ModelError(f"The joint '{name}' has a lower limit {lower:g} above its upper limit "
                         f'{upper:g}.', cure='Exchange them.', element=name)
    return lower, upper, *magnitudes.values()


def _not_negative(name, dynamics, key):
    """Return a quantity of <dynamics>, 0 where not given, or raise a ModelError."""
    value = _number(dynamics, key)
    if value < 0.0:
        raise ModelError(f"The joint '{name}' has a negative {key}, {value:g}.",
                         cure=f'Make its {key} ≥ 0.', element=name, value=value)
    return value


def _mimic(name, kind, node):
    """Return (mimicked, multiplier, offset) of a moving joint that follows another, else None."""
    if node is None or kind == 'fixed':
        return None
    if kind not in SCALAR_TYPES:
        raise ModelError(f"The joint '{name}' is {kind} and has a <mimic>.",
                         cure='Only joints of one degree of freedom can follow another.',
                         element=name)
    return node.get('joint'), _number(node, 'multiplier', '1'), _number(node, 'offset')
