# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The URDF of a robot for placo: its shapes are those of a `CollisionModel`, braked joints are fixed.

Pinocchio, which reads it, makes a capsule of a cylinder that its link names under
``collision_checking``; the length of either is without the caps.
"""

from collections import Counter
from xml.etree import ElementTree

import numpy as np

from opspace_control.collision.shapes import Kind
from opspace_control.spatial.rotations import matrix_from_rpy, matrix_from_vector, rpy_from_matrix


def urdf_for_placo(hands):
    """Return the text of the URDF of `Hands`, and the names that Pinocchio gives its shapes."""
    root = ElementTree.parse(hands.robot.path).getroot()
    links = {link.get('name'): link for link in root.findall('link')}
    for link in links.values():
        for child in (*link.findall('visual'), *link.findall('collision')):
            link.remove(child)
    _fix(root, hands)
    counts, names = Counter(), {}
    for shape in hands.collision.shapes:
        names[shape.name] = name = f'{shape.link}_{counts[shape.link]}'
        counts[shape.link] += 1
        _add(links[shape.link], name, shape)
    return ElementTree.tostring(root, encoding='unicode'), names


def _fix(root, hands):
    """Fix the braked joints where they are at the start."""
    model, joints = hands.model, {joint.get('name'): joint for joint in root.findall('joint')}
    for k in np.flatnonzero(model.locked):
        joint, pose = joints[model.dof_names[k]], np.eye(4)
        origin, axis = joint.find('origin'), joint.find('axis')
        axis = np.array([1.0, 0.0, 0.0]) if axis is None else _numbers(axis.get('xyz'))
        step = hands.q[model.q_index[k]] * axis / np.linalg.norm(axis)
        if joint.get('type') == 'prismatic':
            pose[:3, 3] = step
        else:
            pose[:3, :3] = matrix_from_vector(step)
        if origin is not None:
            R = matrix_from_rpy(_numbers(origin.get('rpy', '0 0 0')))
            pose[:3, 3] = _numbers(origin.get('xyz', '0 0 0')) + R @ pose[:3, 3]
            pose[:3, :3] = R @ pose[:3, :3]
            joint.remove(origin)
        joint.set('type', 'fixed')
        _add_origin(joint, pose[:3, 3], pose[:3, :3])


def _add(link, name, shape):
    """Add the collision element of a shape to a link."""
    collision = ElementTree.SubElement(link, 'collision', name=name)
    _add_origin(collision, shape.position, np.array(shape.rotation))
    geometry = ElementTree.SubElement(collision, 'geometry')
    if shape.kind == Kind.BOX:
        ElementTree.SubElement(geometry, 'box', size=_text(shape.size))
        return
    if shape.kind == Kind.SPHERE:
        ElementTree.SubElement(geometry, 'sphere', radius=_text(shape.size))
        return
    radius, length = shape.size
    ElementTree.SubElement(geometry, 'cylinder', radius=_text([radius]), length=_text([length]))
    if shape.kind == Kind.CAPSULE:
        checking = link.find('collision_checking')
        if checking is None:
            checking = ElementTree.SubElement(link, 'collision_checking')
        ElementTree.SubElement(checking, 'capsule', name=name)


def _add_origin(element, position, rotation):
    """Add an origin to a joint or a collision element."""
    ElementTree.SubElement(element, 'origin', xyz=_text(position),
                           rpy=_text(rpy_from_matrix(rotation)))


def _numbers(text):
    return np.array(text.split(), float)


def _text(numbers):
    return ' '.join(f'{number:.17g}' for number in numbers)
