# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The split of a URDF into the text for MuJoCo's importer and data that bypass it.

The importer reads the tree, the frames, axes, limits, damping and friction: independently of this
package's own model, so that a simulation also tests the model. Meshes, materials and extensions
are left out, hence no ``package://`` path is ever opened. Inertias bypass MuJoCo's compiler, which
refuses or alters those of real files.
"""

import xml.etree.ElementTree as ET
from typing import NamedTuple

import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.model.topology import enumerate_names, nearest

# MuJoCo reserves the body name 'world', which is the root link of many URDFs.
_WORLD, _RENAMED_WORLD = 'world', '/world'
_PRIMITIVES = ('box', 'cylinder', 'sphere')
_FAR = 1e10  # rad or m: stands for infinity
# By joint type: the degrees of freedom as this package names them, and as the importer does.
_SCALAR = (('',), ('',))
_DOFS = {'revolute': _SCALAR, 'continuous': _SCALAR, 'prismatic': _SCALAR, 'fixed': ((), ()),
         'planar': (('/x', '/y', '/rz'), ('_TX', '_TY', '_RZ'))}
_COMPILER = {
    'fusestatic': 'false',  # every link keeps its name
    'discardvisual': 'true',
    'inertiafromgeom': 'false',
}


class Inertial(NamedTuple):
    """Mass in kg; centre of mass (3,) in m and inertia (3, 3) about it in kg m², link axes."""

    mass: float
    center_of_mass: np.ndarray
    inertia: np.ndarray


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
    mimic: tuple      # (mimicked, multiplier, offset), or None


class Description(NamedTuple):
    """A URDF in two parts: the text for MuJoCo's importer, and the facts that go past it."""

    text: str
    inertials: dict  # link name -> Inertial, for those that have one
    joints: dict     # joint name -> Joint, the moving ones


def body_name(link):
    """Return the MuJoCo body that is a URDF link."""
    return _RENAMED_WORLD if link == _WORLD else link


def link_name(body):
    """Return the URDF link that is a MuJoCo body."""
    return _WORLD if body == _RENAMED_WORLD else body


def read_urdf(urdf_text, *, collision_shapes):
    """
    Split a URDF into a `Description`.

    With ``collision_shapes`` the links' primitive collision shapes stay in the text. A
    SimulationError names an element that lacks something or holds no number.
    """
    try:
        robot = ET.fromstring(urdf_text)
    except ET.ParseError as error:
        raise SimulationError(f'The robot description is not XML: {error}.',
                              cure='A xacro file must be expanded first.') from None
    if robot.tag != 'robot' or robot.find('link') is None:
        raise SimulationError('The robot description has no <robot> with a <link>.',
                              cure='Give the text of a URDF; expand a xacro file first.')
    kept = ET.Element('robot', name=robot.get('name') or 'robot')
    ET.SubElement(ET.SubElement(kept, 'mujoco'), 'compiler', _COMPILER)
    links = _by_name(robot, 'link')
    elements = _by_name(robot, 'joint')
    _check_tree(links, elements)
    inertials, joints = {}, {}
    for name, link in links.items():
        body = ET.SubElement(kept, 'link', name=body_name(name))
        if link.find('inertial') is not None:
            inertials[name] = _inertial(link.find('inertial'), f"link '{name}'")
        if collision_shapes:
            body.extend(shape for element in link.findall('collision')
                        if (shape := _primitive(element)) is not None)
    for name, element in elements.items():
        joint = _copy_joint(name, element, kept)
        if joint.parts:
            joints[name] = joint
    return Description(ET.tostring(kept, encoding='unicode'), inertials, joints)


def _by_name(robot, tag):
    """Return the robot's elements of one kind by their names."""
    elements = {}
    for element in robot.findall(tag):
        name = _attribute(element, 'name', f'a {tag}')
        if name in elements:
            raise SimulationError(f"Two elements <{tag}> are named '{name}'.", element=name,
                                  cure='Rename one of them, or remove it.')
        elements[name] = element
    return elements


def _check_tree(links, joints):
    """Check that the joints connect all links to one root: MuJoCo's errors name no element."""
    parents, children = {}, {link: [] for link in links}
    for name, joint in joints.items():
        parent, child = _links(name, joint)
        for link in (parent, child):
            if link not in links:
                raise SimulationError(f"The joint '{name}' names link '{link}', which is missing.",
                                      cure=nearest(link, links), element=name)
        if child in parents:
            raise SimulationError(f"The link '{child}' has two parents.", element=child,
                                  cure=f"Remove a joint; the second is '{name}'.")
        parents[child] = parent
        children[parent].append(child)
    roots = [link for link in links if link not in parents]
    reached = list(roots)
    for link in reached:  # which grows
        reached.extend(children[link])
    if len(roots) != 1 or len(reached) < len(links):
        lost = sorted(set(links) - set(reached))
        raise SimulationError(
            f'A URDF is one tree. Root links: {enumerate_names(roots) or "none"}; '
            f'in a loop or beyond: {enumerate_names(lost) or "none"}.',
            cure='Connect the links by joints, without a loop.', element=(lost or roots)[0])


def _links(name, joint):
    """Return the names of a joint's parent and child link."""
    where = f"joint '{name}'"
    for end in ('parent', 'child'):
        if joint.find(end) is None:
            raise SimulationError(f'The {where} has no <{end}>.', cure='Name the link it joins.',
                                  element=name)
    return [_attribute(joint.find(end), 'link', f'<{end}> of {where}')
            for end in ('parent', 'child')]


def _copy_joint(name, element, kept):
    """Append to ``kept`` the elements of a joint for the importer; return the `Joint`."""
    where = f"joint '{name}'"
    kind = _attribute(element, 'type', where)
    if kind not in _DOFS:
        cure = ('Remove it and its parent link, and use floating_base.' if kind == 'floating' else
                f'Use one of {", ".join(_DOFS)}.')
        raise SimulationError(f"The {where} is of type '{kind}', which cannot be simulated.",
                              cure=cure, element=name)
    copy = ET.SubElement(kept, 'joint', name=name, type=kind)
    parent, child = _links(name, element)
    ET.SubElement(copy, 'parent', link=body_name(parent))
    ET.SubElement(copy, 'child', link=body_name(child))
    _copy_numbers(element, copy, 'origin', {'xyz': 3, 'rpy': 3})
    _copy_numbers(element, copy, 'axis', {'xyz': 3})
    _copy_numbers(element, copy, 'dynamics', {'damping': 1, 'friction': 1})
    lower, upper, effort = _limits(element.find('limit'), kind, where)
    mimic = _mimic(element.find('mimic'), where)
    # A mimic joint stops where the mimicked one does.
    if np.isfinite([lower, upper]).any() and mimic is None:
        ET.SubElement(copy, 'limit', lower=str(max(lower, -_FAR)), upper=str(min(upper, _FAR)))
    dofs, parts = _DOFS[kind]
    dynamics = element.find('dynamics')
    armature = 0.0 if dynamics is None else _numbers(dynamics.get('armature', '0'), 1, where)[0]
    return Joint(name, child, tuple(name + dof for dof in dofs),
                 tuple(name + part for part in parts), lower, upper, effort, armature, mimic)


def _copy_numbers(joint, copy, tag, sizes):
    """Copy an element's attributes of so many numbers, where it and they are given."""
    element = joint.find(tag)
    if element is None:
        return
    where = f"<{tag}> of joint '{joint.get('name')}'"
    kept = {key: element.get(key) for key in sizes if element.get(key) is not None}
    for key, text in kept.items():
        values = _numbers(text, sizes[key], where)
        if not np.isfinite(values).all() or (tag == 'dynamics' and values[0] < 0.0):
            raise SimulationError(f'The {where} has {key}="{text}".', element=joint.get('name'),
                                  cure='Give finite numbers, and no negative friction.')
    ET.SubElement(copy, tag, kept)


def _limits(limit, kind, where):
    """Return (lower, upper, effort); equal position limits mean none."""
    if limit is None:
        return -np.inf, np.inf, np.inf
    lower, upper, effort = (
        float(_numbers(limit.get(key, default), 1, f'<limit> of {where}')[0])
        for key, default in (('lower', '0'), ('upper', '0'), ('effort', 'inf')))
    if kind not in ('revolute', 'prismatic') or lower == upper:
        lower, upper = -np.inf, np.inf
    if lower > upper or effort < 0.0:
        raise SimulationError(f'The <limit> of {where} is empty or negative.', element=where,
                              cure='Make lower at most upper, and effort positive.')
    return lower, upper, effort


def _mimic(mimic, where):
    if mimic is None:
        return None
    place = f'<mimic> of {where}'
    return (_attribute(mimic, 'joint', place),
            *(float(_numbers(mimic.get(key, default), 1, place)[0])
              for key, default in (('multiplier', '1'), ('offset', '0'))))


def _primitive(collision):
    """Return a nameless copy of a collision element, or None for a mesh."""
    geometry = collision.find('geometry')
    if geometry is None or all(geometry.find(shape) is None for shape in _PRIMITIVES):
        return None
    copy = ET.Element('collision')
    copy.extend([*collision.findall('origin'), geometry])
    return copy


def _inertial(element, where):
    origin, mass, inertia = (element.find(tag) for tag in ('origin', 'mass', 'inertia'))
    if mass is None or inertia is None:
        raise SimulationError(f'The <inertial> of {where} lacks <mass> or <inertia>.',
                              cure='Give both, or leave <inertial> out for a massless link.',
                              element=where)
    origin = {} if origin is None else origin.attrib
    rotation = _rotation(_numbers(origin.get('rpy', '0 0 0'), 3, where))
    ixx, ixy, ixz, iyy, iyz, izz = (
        _numbers(inertia.get(key, '0'), 1, where)[0]
        for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'))
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    return Inertial(float(_numbers(_attribute(mass, 'value', where), 1, where)[0]),
                    _numbers(origin.get('xyz', '0 0 0'), 3, where),
                    rotation @ tensor @ rotation.T)


def _rotation(rpy):
    """Return R_z(yaw) R_y(pitch) R_x(roll), URDF's fixed-axis angles."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])


def _attribute(element, name, where):
    value = element.get(name)
    if not value:
        raise SimulationError(f'The attribute {name!r} of {where} is missing.',
                              cure='Correct the URDF.', element=where)
    return value


def _numbers(text, count, where):
    try:
        values = np.array(text.split(), float)
    except ValueError:
        values = np.empty(0)
    if values.size != count or np.isnan(values).any():
        raise SimulationError(f'{text!r} in {where} should be {count} number(s).',
                              cure='Correct the URDF.', element=where)
    return values
