# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The reader of XML text: the elements of a URDF that matter here, complete, with valid numbers."""

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

from opspace_control.checks import HUGE
from opspace_control.errors import ModelError

JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'planar', 'floating', 'fixed')

# Content of an attribute: text, a limit (a number that may be infinite), or so many numbers.
_TEXT, _LIMIT = 'text', 'limit'


@dataclass(frozen=True)
class _Element:
    required: dict = field(default_factory=dict)  # attribute -> its content
    optional: dict = field(default_factory=dict)
    needed: tuple = ()                            # children that must be there
    possible: tuple = ()                          # children that may be


_ELEMENTS = {
    'link': _Element({'name': _TEXT}, possible=('inertial',)),
    'inertial': _Element(needed=('mass',), possible=('origin', 'inertia')),
    'mass': _Element({'value': 1}),
    'inertia': _Element({'ixx': 1, 'ixy': 1, 'ixz': 1, 'iyy': 1, 'iyz': 1, 'izz': 1}),
    'joint': _Element({'name': _TEXT, 'type': _TEXT}, needed=('parent', 'child'),
                      possible=('origin', 'axis', 'limit', 'safety_controller', 'dynamics',
                                'mimic')),
    'origin': _Element(optional={'xyz': 3, 'rpy': 3}),
    'parent': _Element({'link': _TEXT}),
    'child': _Element({'link': _TEXT}),
    'axis': _Element({'xyz': 3}),
    'limit': _Element(optional={'lower': _LIMIT, 'upper': _LIMIT,
                                'velocity': _LIMIT, 'effort': _LIMIT}),
    'safety_controller': _Element(
        optional={'soft_lower_limit': _LIMIT, 'soft_upper_limit': _LIMIT}),
    'dynamics': _Element(optional={'damping': 1, 'friction': 1, 'armature': 1}),
    'mimic': _Element({'joint': _TEXT}, {'multiplier': 1, 'offset': 1}),
}


def parse_xml(text):
    """
    Return the root element of URDF text (str or bytes).

    A ModelError is raised if the text is empty, not XML, has a document type or is not a <robot>.
    """
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
    namespace = robot.tag[:robot.tag.rfind('}') + 1]
    if namespace:  # of a document with xmlns="...", which means nothing in a URDF
        for node in robot.iter():
            node.tag = node.tag.removeprefix(namespace)
    if robot.tag != 'robot':
        raise ModelError(f'The robot description is a <{robot.tag}>, not a <robot>.',
                         cure='Pass a URDF (SDF and MJCF must be converted first).',
                         element=robot.tag)
    return robot


class _PlainTreeBuilder(ET.TreeBuilder):
    """A tree builder that refuses document types: entities can expand a small file to gigabytes."""

    def doctype(self, name, public_id, system_id):
        raise ModelError(f'The robot description has a <!DOCTYPE {name}>.',
                         cure='Remove it: a URDF needs none, and entities are not expanded.',
                         element='!DOCTYPE')


def named_elements(robot, tag):
    """
    Return name -> cleaned element of the links or of the joints of a <robot>, in document order.

    A ModelError is raised if a name is missing or not unique, or an element is incomplete or has a
    bad number.
    """
    found = {}
    for number, node in enumerate(robot.findall(tag), 1):
        name = node.get('name', '').strip()
        if not name:
            raise ModelError(f'The {tag} number {number} of the robot has no name.',
                             cure='Give it a name attribute.', element=tag)
        if name in found:
            raise ModelError(f"There are two {tag}s named '{name}'.",
                             cure='Names must be unique: rename one of them.', element=name)
        if tag == 'joint' and node.get('type', '') not in JOINT_TYPES:
            raise ModelError(f"The joint '{name}' is of unknown type '{node.get('type', '')}'.",
                             cure=f'Use one of {", ".join(JOINT_TYPES)}.', element=name)
        found[name] = _cleaned(node, tag, name)
    return found


def _cleaned(node, kind, name):
    """Return a copy of ``node``, a part of the link or joint ``name``, with what matters alone."""
    known = _ELEMENTS[node.tag]
    cleaned = ET.Element(node.tag)
    for attribute, content in (known.required | known.optional).items():
        value = node.get(attribute, '').strip()
        if value:
            _check(value, content, f"<{node.tag} {attribute}='{value}'> of {kind} '{name}'", name)
            cleaned.set(attribute, value)
        elif attribute in known.required:
            raise ModelError(f"The {kind} '{name}' has a <{node.tag}> without {attribute}.",
                             cure=f'Give it one: <{node.tag} {attribute}="...">.', element=name)
    for tag in known.needed + known.possible:
        children = node.findall(tag)
        if len(children) > 1:
            raise ModelError(f"The {kind} '{name}' has {len(children)} <{tag}> elements.",
                             cure='Leave the right one.', element=name)
        if tag in known.needed and not children:
            where = '' if node.tag == kind else f' in its <{node.tag}>'
            raise ModelError(f"The {kind} '{name}' has no <{tag}>{where}.",
                             cure='Give it one.', element=name)
        for child in children:
            cleaned.append(_cleaned(child, kind, name))
    return cleaned


def _check(value, content, where, name):
    """Raise a ModelError if the text of an attribute is not of its kind of content."""
    if content is _TEXT:
        return
    try:
        numbers = [float(word) for word in value.split()]
    except ValueError:
        numbers = [math.nan]
    if content is _LIMIT:
        usable = len(numbers) == 1 and not math.isnan(numbers[0])
    else:
        usable = len(numbers) == content and all(abs(number) < HUGE for number in numbers)
    if not usable:
        count = 'a usable number' if content in (1, _LIMIT) else f'{content} usable numbers'
        raise ModelError(f'The {where} is not {count}.', element=name, value=value,
                         cure=f'Write finite numbers below {HUGE:g}.')
