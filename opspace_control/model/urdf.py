# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
URDF text to a checked description of links and joints; nothing else of a file matters here.

The file is cut down to the elements below before ``urdf_parser_py`` sees it, because that parser
stops at many things a controller never looks at: meshes, materials, transmissions, sensors, ...
"""

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
from urdf_parser_py import urdf as parser
from urdf_parser_py.xml_reflection.core import ParseError, Path

from opspace_control.errors import ModelError
from opspace_control.model.ros2_control import read_hardware

# Element -> (attributes, children) that make a moving tree of bodies.
_KEPT = {
    'link': (('name',), ('inertial',)),
    'inertial': ((), ('origin', 'mass', 'inertia')),
    'mass': (('value',), ()),
    'inertia': (('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), ()),
    'joint': (('name', 'type'),
              ('origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mimic')),
    'origin': (('xyz', 'rpy'), ()),
    'parent': (('link',), ()),
    'child': (('link',), ()),
    'axis': (('xyz',), ()),
    'limit': (('lower', 'upper', 'velocity', 'effort'), ()),
    'dynamics': (('damping', 'friction'), ()),
    'mimic': (('joint', 'multiplier', 'offset'), ()),
}
# The parser insists on these two, many files leave one out: no value is no limit.
_ASSUMED = {'limit': {'velocity': 'inf', 'effort': 'inf'}}

SCALAR_TYPES = ('revolute', 'continuous', 'prismatic')
JOINT_TYPES = (*SCALAR_TYPES, 'planar', 'floating', 'fixed')


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
    effort) or None; ``mimic`` is (leader, multiplier, offset) or None.
    """

    name: str
    type: str
    parent: str
    child: str
    rotation: np.ndarray
    position: np.ndarray
    axis: np.ndarray
    limit: tuple | None
    damping: float
    friction: float
    mimic: tuple | None


@dataclass(frozen=True, eq=False)
class Description:
    """The kinematic part of a URDF, in document order."""

    name: str
    links: dict
    joints: dict
    hardware: tuple


def read_urdf(text):
    """
    Read URDF text (str or bytes) into a `Description`.

    Raises
    ------
    ModelError
        The text is not the XML of a <robot>, or an element of it is malformed; names the element.

    """
    robot = parse_xml(text)
    namespace = robot.tag[:-len('robot')]
    elements = {'link': {}, 'joint': {}}
    for kind, found in elements.items():
        for number, node in enumerate(robot.findall(namespace + kind), 1):
            name = node.get('name', '').strip()
            if not name:
                raise ModelError(f'<{kind}> number {number} of the robot has no name.',
                                 cure='Give it a name attribute.', element=kind)
            if name in found:
                raise ModelError(f"There are two {kind}s named '{name}'.",
                                 cure='Names must be unique: rename one of them.', element=name)
            found[name] = node
    return Description(
        name=robot.get('name', ''),
        links={name: _read(_link, parser.Link, node, namespace)
               for name, node in elements['link'].items()},
        joints={name: _read(_joint, parser.Joint, node, namespace)
                for name, node in elements['joint'].items()},
        hardware=read_hardware(robot))


def parse_xml(text):
    """Return the root element of URDF text (str or bytes); a ModelError says why there is none."""
    if not isinstance(text, (str, bytes)):
        raise ModelError(f'The robot description is a {type(text).__name__}, not text.',
                         cure='Pass the XML itself, or a file name to from_urdf_file().')
    text = text.lstrip('\ufeff \t\r\n') if isinstance(text, str) else text.lstrip()
    if not text:
        raise ModelError('The robot description is empty.', cure='Pass the XML text of a URDF.')
    reader = ET.XMLParser(target=_PlainTreeBuilder())
    try:
        reader.feed(text)
        robot = reader.close()
    except (ET.ParseError, ValueError, LookupError) as error:
        raise ModelError(
            f'The robot description is not well-formed XML: {error}.',
            cure='Correct it there, or pass a file name to from_urdf_file().') from None
    if robot.tag.rpartition('}')[2] != 'robot':
        raise ModelError(f'The robot description is a <{robot.tag}>, not a <robot>.',
                         cure='Pass a URDF (SDF and MJCF must be converted first).',
                         element=robot.tag)
    return robot


class _PlainTreeBuilder(ET.TreeBuilder):
    """A tree builder that refuses document types: entities can swell a small file to gigabytes."""

    def doctype(self, name, public_id, system_id):
        raise ModelError(f'The robot description has a <!DOCTYPE {name}>.',
                         cure='Remove it: a URDF needs none, and entities are not expanded.',
                         element='!DOCTYPE')


def _read(convert, parsed_type, node, namespace):
    """Cut an element down, parse it, convert it; say which element it is if that fails."""
    label = f"{node.tag.removeprefix(namespace)} '{node.get('name').strip()}'"
    try:
        kept = _cut(node, namespace)
        return convert(parsed_type.from_xml(kept, Path(kept.tag)))
    except ParseError as error:
        where = str(error.path).partition('/')[2].partition('/')[2]
        raise ModelError(f'The {label} cannot be read: {where and where + ": "}{error.e}.',
                         cure='Correct that element of the file.', element=label) from None
    except _BadValueError as error:
        raise ModelError(f'The {label} {error}.', cure=error.cure, element=label) from None


def _cut(node, namespace=''):
    """Return a copy of ``node`` with the elements and attributes of ``_KEPT`` alone."""
    tag = node.tag.removeprefix(namespace)
    attributes, children = _KEPT[tag]
    kept = ET.Element(tag, _ASSUMED.get(tag, {}))
    for name in attributes:
        if name in node.attrib:
            kept.set(name, node.attrib[name].strip())
    for name in children:
        found = node.findall(namespace + name)
        if len(found) > 1:
            raise _BadValueError(f'has {len(found)} <{name}> elements', f'Keep one <{name}>.')
        kept.extend(_cut(child, namespace) for child in found)
    return kept


class _BadValueError(Exception):
    """What is wrong with an element whose name the caller knows."""

    def __init__(self, message, cure):
        super().__init__(message)
        self.cure = cure


def _link(parsed):
    inertial = parsed.inertial
    if inertial is None:
        return Link(parsed.name, 0.0, np.zeros(3), np.zeros((3, 3)))
    rotation, center_of_mass = _placement(inertial.origin)
    mass = _finite(inertial.mass, 'mass')
    if mass < 0.0:
        raise _BadValueError(f'has a negative mass, {mass:g} kg', 'Give its <inertial> a mass ≥ 0.')
    inertia = np.zeros((3, 3))
    if inertial.inertia is not None:
        inertia[:] = _finite(inertial.inertia.to_matrix(), 'inertia')
    return Link(parsed.name, mass, center_of_mass, rotation @ inertia @ rotation.T)


def _joint(parsed):
    if parsed.type not in JOINT_TYPES:
        raise _BadValueError(f"is of unknown type '{parsed.type}'",
                             f'Use one of {", ".join(JOINT_TYPES)}.')
    for end in ('parent', 'child'):
        if not getattr(parsed, end):
            raise _BadValueError(f'names no {end} link', f'Write <{end} link="..."/>.')
    rotation, position = _placement(parsed.origin)
    damping, friction = _dynamics(parsed)
    return Joint(parsed.name, parsed.type, parsed.parent, parsed.child, rotation, position,
                 _axis(parsed), _limit(parsed), damping, friction, _mimic(parsed))


def _axis(parsed):
    """Return the unit axis; the URDF's default is x."""
    if parsed.type in ('fixed', 'floating'):
        return np.array([1.0, 0.0, 0.0])
    axis = np.array([1.0, 0.0, 0.0] if parsed.axis is None else _vector(parsed.axis, 'axis xyz'))
    length = math.hypot(*axis)
    if length < 1e-9:
        raise _BadValueError('has a zero axis', 'Give its <axis> a direction, such as xyz="0 0 1".')
    return axis / length


def _limit(parsed):
    """Return (lower, upper, velocity, effort) of a moving joint, or None where it gives none."""
    limit = parsed.limit
    if limit is None or parsed.type == 'fixed':
        return None
    for name in ('lower', 'upper', 'velocity', 'effort'):
        if math.isnan(getattr(limit, name)):
            raise _BadValueError(f'has a limit {name}="nan"', 'Give it a number.')
    for name in ('velocity', 'effort'):
        if getattr(limit, name) < 0.0:
            raise _BadValueError(f'has a negative {name} limit, {getattr(limit, name):g}',
                                 'Limits of velocity and effort are magnitudes: make it positive.')
    if parsed.type in ('revolute', 'prismatic') and limit.lower > limit.upper:
        raise _BadValueError(f'has a lower limit {limit.lower:g} above its upper {limit.upper:g}',
                             'Exchange them.')
    return limit.lower, limit.upper, limit.velocity, limit.effort


def _dynamics(parsed):
    """Return damping and friction, 0 where not given."""
    values = []
    for name in ('damping', 'friction'):
        value = getattr(parsed.dynamics, name, None) or 0.0
        if _finite(value, name) < 0.0:
            raise _BadValueError(f'has a negative {name}, {value:g}', f'Make its {name} ≥ 0.')
        values.append(value)
    return values


def _mimic(parsed):
    """Return (leader, multiplier, offset) of a moving joint that follows another, else None."""
    mimic = parsed.mimic
    if mimic is None or parsed.type == 'fixed':
        return None
    if parsed.type not in SCALAR_TYPES:
        raise _BadValueError(f'is {parsed.type} and has a <mimic>',
                             'Only joints of one degree of freedom can follow another.')
    multiplier = 1.0 if mimic.multiplier is None else _finite(mimic.multiplier, 'multiplier')
    offset = 0.0 if mimic.offset is None else _finite(mimic.offset, 'offset')
    return mimic.joint, multiplier, offset


def _placement(origin):
    """Return rotation (3, 3) and position (3,) of an <origin>, identity where there is none."""
    if origin is None:
        return np.eye(3), np.zeros(3)
    roll, pitch, yaw = _vector(origin.rpy, 'origin rpy')
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    sy, cy = math.sin(yaw), math.cos(yaw)
    rotation = np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                         [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                         [-sp, cp * sr, cp * cr]])
    return rotation, np.array(_vector(origin.xyz, 'origin xyz'))


def _vector(values, what):
    # The parser checks the length with an assert, which `python -O` removes.
    if len(values) != 3:
        raise _BadValueError(f'has {len(values)} numbers in its {what}', 'Give it three.')
    return _finite(values, what)


def _finite(value, what):
    if not np.isfinite(value).all():
        raise _BadValueError(f'has a {what} that is not finite, {value}',
                             'Replace NaN and infinity by numbers.')
    return value
