# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of the links of a URDF; unknown ones are left out and reported."""

from dataclasses import dataclass

import numpy as np
from viser.transforms import SO3

from opspace_control.model.cleaning import parse_xml


@dataclass(frozen=True)
class Shape:
    """
    A part of a link as it is seen, in the link's frame.

    ``size`` is, in m: x, y and z of a ``box``; radius and length, along z, of a ``cylinder``; the
    radius of a ``sphere``. Of a ``mesh`` it is the scale (3,), and ``file`` says where it is.
    ``color`` is red, green, blue from 0 to 255, or None where the file gives none.
    """

    kind: str
    size: tuple
    position: tuple = (0.0, 0.0, 0.0)
    wxyz: tuple = (1.0, 0.0, 0.0, 0.0)
    color: tuple | None = None
    file: str = ''


@dataclass(frozen=True)
class Looks:
    """
    The shapes of a robot by link.

    ``seen`` are those of the <visual> elements, ``touched`` those of the <collision> elements;
    ``doubts`` tells what was left out.
    """

    seen: dict
    touched: dict
    doubts: tuple


def read_looks(text):
    """
    Return the `Looks` of URDF text.

    Raises
    ------
    ModelError
        The text is not the XML of a <robot>.

    """
    robot = parse_xml(text)
    doubts = []
    colors = {node.get('name'): _color(node) for node in robot.findall('material')}
    seen, touched = ({link.get('name', ''): _shapes(link, tag, colors, doubts)
                      for link in robot.findall('link')} for tag in ('visual', 'collision'))
    return Looks(seen, touched, tuple(doubts))


def _shapes(link, tag, colors, doubts):
    found = []
    for node in link.findall(tag):
        try:
            found.append(_shape(node, colors))
        except ValueError as reason:
            doubts.append(f"A <{tag}> of link '{link.get('name', '')}' is not shown: {reason}.")
    return found


def _shape(node, colors):
    """Return the shape of a <visual> or <collision>, or raise a ValueError with the reason."""
    geometry = node.find('geometry')
    if geometry is None or not len(geometry):
        raise ValueError('it has no geometry')
    body = geometry[0]
    read = _KINDS.get(body.tag)
    if read is None:
        raise ValueError(f'a <{body.tag}> is no shape of a URDF')
    material, color = node.find('material'), None
    if material is not None:
        # Its own, or that of the robot's material of this name.
        color = _color(material) or colors.get(material.get('name'))
    position, wxyz = _placement(node.find('origin'))
    return Shape(body.tag, read(body), position, wxyz, color,
                 body.get('filename', '') if body.tag == 'mesh' else '')


_KINDS = {
    'box': lambda body: _numbers(body, 'size', 3),
    'cylinder': lambda body: _numbers(body, 'radius', 1) + _numbers(body, 'length', 1),
    'sphere': lambda body: _numbers(body, 'radius', 1),
    'mesh': lambda body: _numbers(body, 'scale', 3, '1 1 1'),
}


def _placement(origin):
    if origin is None:
        return Shape.position, Shape.wxyz
    roll, pitch, yaw = _numbers(origin, 'rpy', 3, '0 0 0')
    return (_numbers(origin, 'xyz', 3, '0 0 0'),
            tuple(SO3.from_rpy_radians(roll, pitch, yaw).wxyz.tolist()))


def _color(material):
    """Return the color of a <material>, or None."""
    node = material.find('color')
    try:
        rgba = _numbers(node, 'rgba', 4) if node is not None else None
    except ValueError:
        return None
    return rgba and tuple(round(255 * min(max(part, 0.0), 1.0)) for part in rgba[:3])


def _numbers(node, attribute, count, default=None):
    """Return an attribute of so many finite numbers as a tuple, or raise a ValueError."""
    value = node.get(attribute, default)
    try:
        numbers = tuple(float(word) for word in value.split())
    except (AttributeError, ValueError):
        numbers = ()
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise ValueError(f'{attribute}="{value}" of its <{node.tag}> is not {count} numbers')
    return numbers
