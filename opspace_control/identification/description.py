# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF with identified inertias."""

import xml.etree.ElementTree as ET

from opspace_control.errors import ModelError
from opspace_control.identification.inertia import body_of_parameters

_INERTIA = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2),
            'izz': (2, 2)}


def with_inertias(text, model, bodies):
    """
    Return a URDF's text with the inertias of `FittedBody` ones, all else as it is.

    A body's inertia is given to its first link. Links that are welded to that lose theirs: a motion
    tells nothing about the parts of a rigid body.

    Parameters
    ----------
    text : str
        The URDF of the model, no xacro.
    model : KinematicTree
        The robot.
    bodies : sequence of FittedBody
        Whose links are first links of their bodies.

    Raises
    ------
    ModelError
        If the text is no URDF of that robot.

    """
    try:
        robot = ET.fromstring(text, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))
    except ET.ParseError as error:
        raise ModelError(f'The URDF cannot be read: {error}.', cure='Give the text of a URDF.'
                         ) from None
    links = {link.get('name'): link for link in robot.findall('link')}
    for body in bodies:
        node = model.frames[model.frame_index(body.link)]['node']
        for name, frame in zip(model.frame_names, model.frames, strict=True):
            if frame['node'] == node and name in links:
                for inertial in links[name].findall('inertial'):
                    links[name].remove(inertial)
        if body.link not in links:
            raise ModelError(f"The URDF has no link '{body.link}'.", element=body.link,
                             cure='Give that of the model.')
        links[body.link].insert(0, _inertial(*body_of_parameters(body.after)))
    ET.indent(robot)
    return ET.tostring(robot, encoding='unicode') + '\n'


def _inertial(mass, center, inertia):
    element = ET.Element('inertial')
    ET.SubElement(element, 'origin', xyz=' '.join(f'{x:.9g}' for x in center), rpy='0 0 0')
    ET.SubElement(element, 'mass', value=f'{mass:.9g}')
    ET.SubElement(element, 'inertia', {key: f'{inertia[place]:.9g}'
                                       for key, place in _INERTIA.items()})
    return element
