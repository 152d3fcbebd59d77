# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The text of a URDF for MuJoCo's importer, and the data that bypass it.

The importer reads frames, axes, damping and friction from the elements of the file: independently
of this package's own model, so that a simulation also tests the model. Meshes, materials and
extensions are left out, hence no ``package://`` path is ever opened. Inertias bypass MuJoCo's
compiler, which refuses or alters those of real files.
"""

import math
import xml.etree.ElementTree as ET
from typing import NamedTuple

from opspace_control.errors import SimulationError
from opspace_control.model.cleaning import named_elements
from opspace_control.model.limits import Limits, limits_of
from opspace_control.model.topology import depth_first, nearest, resolve_mimics
from opspace_control.model.urdf import describe, robot_element

# MuJoCo reserves the body name 'world', which is the root link of many URDFs.
_WORLD, _RENAMED_WORLD = 'world', '/world'
_PRIMITIVES = ('box', 'cylinder', 'sphere')
_FAR = 1e10  # rad or m: stands for infinity
# By joint type: the degrees of freedom as this package names them, and as the importer does.
_SCALAR = (('',), ('',))
_DOFS = {'revolute': _SCALAR, 'continuous': _SCALAR, 'prismatic': _SCALAR, 'fixed': ((), ()),
         'planar': (('/x', '/y', '/rz'), ('_TX', '_TY', '_RZ'))}
# Elements of a joint that the importer gets as they are.
_COPIED = ('origin', 'axis', 'dynamics')
_COMPILER = {
    'fusestatic': 'false',  # every link keeps its name
    'discardvisual': 'true',
    'inertiafromgeom': 'false',
}


class Joint(NamedTuple):
    """A moving joint as a drive sees it; rad, rad and N·m, or m, m and N."""

    name: str
    child: str
    dof_names: tuple  # one name a degree of freedom
    parts: tuple      # what the importer calls these
    lower: float      # -inf where there is none
    upper: float
    effort: float     # inf where there is none
    armature: float   # kg m² or kg
    mimic: tuple      # (independent joint, multiplier, offset), or None


def body_name(link):
    """Return the MuJoCo body that is a URDF link."""
    return _RENAMED_WORLD if link == _WORLD else link


def link_name(body):
    """Return the URDF link that is a MuJoCo body."""
    return _WORLD if body == _RENAMED_WORLD else body


def read_urdf(text, *, collision_shapes, shapes=()):
    """
    Return the text for MuJoCo's importer, each `model.urdf.Link` and each moving `Joint`, by name.

    With ``collision_shapes`` the links' primitive collision shapes stay in the text, those of links
    with one of ``shapes`` replaced by it. Raises as `model.urdf.read_urdf`; a SimulationError names
    a joint of a type that cannot be simulated, or a shape's link that does not exist.
    """
    robot = robot_element(text)
    described = describe(robot)
    depth_first(described)  # refuses what is not a tree: MuJoCo's errors name no element
    mimics = resolve_mimics(described.joints)
    own = {shape.link: shape for shape in shapes}
    for link in own.keys() - described.links.keys():
        raise SimulationError(f"A shape is given for '{link}', which is no link.", link=link,
                              cure=nearest(link, described.links))
    kept = ET.Element('robot', name=described.name or 'robot')
    ET.SubElement(ET.SubElement(kept, 'mujoco'), 'compiler', _COMPILER)
    for link in robot.findall('link'):
        name = link.get('name').strip()
        body = ET.SubElement(kept, 'link', name=body_name(name))
        if collision_shapes and name in own:
            body.append(own[name].element())
        elif collision_shapes:
            body.extend(shape for element in link.findall('collision')
                        if (shape := _primitive(element)) is not None)
    elements = named_elements(robot, 'joint')
    limits, _ = limits_of(described.joints, mimics)
    joints = {name: _copy_joint(joint, mimics.get(name), limits.get(name, Limits()),
                                elements[name], kept)
              for name, joint in described.joints.items()}
    return (ET.tostring(kept, encoding='unicode'), described.links,
            {name: joint for name, joint in joints.items() if joint.parts})


def _copy_joint(given, mimic, limits, element, kept):
    """Append to ``kept`` the elements of a joint for the importer; return the `Joint`."""
    if given.type not in _DOFS:
        raise SimulationError(
            f"The joint '{given.name}' is of type '{given.type}', which cannot be simulated.",
            cure='Remove it and its parent link, and use floating_base.', element=given.name)
    copy = ET.SubElement(kept, 'joint', name=given.name, type=given.type)
    ET.SubElement(copy, 'parent', link=body_name(given.parent))
    ET.SubElement(copy, 'child', link=body_name(given.child))
    copy.extend(part for part in element if part.tag in _COPIED)
    lower, upper = limits.lower, limits.upper  # none of a mimic joint: the mimicked one has them
    if math.isfinite(lower) or math.isfinite(upper):
        ET.SubElement(copy, 'limit', lower=str(max(lower, -_FAR)), upper=str(min(upper, _FAR)))
    dofs, parts = ([given.name + suffix for suffix in names] for names in _DOFS[given.type])
    return Joint(given.name, given.child, tuple(dofs), tuple(parts), lower, upper,
                 limits.effort, given.armature, mimic)


def _primitive(collision):
    """Return a nameless copy of a collision element, or None for a mesh."""
    geometry = collision.find('geometry')
    if geometry is None or all(geometry.find(shape) is None for shape in _PRIMITIVES):
        return None
    copy = ET.Element('collision')
    copy.extend([*collision.findall('origin'), geometry])
    return copy
