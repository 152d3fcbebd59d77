# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the world, of payloads, of grasped objects and of what else links carry."""

import numpy as np

from opspace_control.collision import Shape
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import unit_pose
from opspace_control.ros.parameters.task_parameters import SHAPE
from opspace_control.spatial.rotations import matrix_from_quaternion


def make_shapes(parameters, grasped):
    """
    Return the shapes that are there, or raise an OpspaceError that names one that cannot be used.

    ``grasped`` are the grasps that are engaged, `Grasp` by name.
    """
    owners = _owners(parameters)
    shapes = {name: make_shape(name, parameters, owners.get(name), grasped)
              for name in parameters['shapes'] if parameters[f'{name}.kind'] != 'none'}
    absent = _absent(parameters, owners, grasped)
    return [shape for name, shape in shapes.items() if name not in absent]


def make_shape(name, parameters, owner=None, grasped=()):
    """
    Return the Shape of this name, or raise an OpspaceError if it cannot be used.

    It is on its own frame, or on that of its ``owner``, a payload or a grasp.
    """
    kind, size, frame, pose = (
        parameters[f'{name}.{key}'] for key in ('kind', 'size', 'frame', 'pose'))
    try:
        pose = unit_pose(np.array(pose))
    except OpspaceError as error:
        raise RosInterfaceError(f'{name}.pose: {error}', name=name) from None
    # The default is that of a box, and a parameter file of ROS 2 cannot have an empty list.
    size = () if kind == 'half_space' else list(size)
    shape = Shape(name, frame or None, kind, size, pose[:3], matrix_from_quaternion(pose[3:]))
    if owner is None:
        return shape
    if owner in parameters['payloads']:
        return shape.carried_by(parameters[f'{owner}.frame'] or owner)
    carrier = None if parameters[f'{owner}.kind'] == 'fingertips' else (
        parameters[f'{owner}.effectors'][0])
    pose = grasped[owner].pose_in_carrier if owner in grasped else np.eye(4)
    return shape.carried_by(carrier, pose)


def _owners(parameters):
    """Return payloads and grasps, by names of their shapes, or raise a RosInterfaceError."""
    owners = {}
    for owner in (*parameters['payloads'], *parameters['grasps']):
        for name in filter(None, parameters[f'{owner}.shapes']):
            what = f"{owner}.shapes: '{name}'"
            if name not in parameters['shapes']:
                raise RosInterfaceError(
                    f'{what} is not among shapes.', name=name,
                    cure=nearest(name, parameters['shapes']) if parameters['shapes']
                    else 'Name it in shapes, with a block of its own.')
            if name in owners:
                raise RosInterfaceError(f"{what} is given twice, also by '{owners[name]}'.",
                                        name=name, cure='Leave out one of them.')
            owners[name] = owner
    return owners


def may_touch(parameters, grasped):
    """
    Return pairs of names of links and shapes that may touch, without shapes that are absent.

    ``grasped`` is as of `make_shapes`.
    """
    owners = _owners(parameters)
    links = {name: [name] for name in parameters['shapes']}
    links |= {name: [parameters[f'{name}.frame'] or name] for name in parameters['tasks']}
    links |= {name: list(parameters[f'{name}.effectors']) for name in parameters['grasps']}
    for name in parameters['payloads']:
        links[name] = []
    for shape, owner in owners.items():
        links[owner].append(shape)
    pairs = [(link, other) for name, own in links.items()
             for other in filter(None, parameters[f'{name}.may_touch']) for link in own]
    pairs += [(shape, link) for shape, owner in owners.items() if owner in grasped
              for link in grasped[owner].hand_links]
    absent = _absent(parameters, owners, grasped)
    return [pair for pair in pairs if absent.isdisjoint(pair)]


def _absent(parameters, owners, grasped):
    """Return the names of shapes of no kind, of payloads without mass, of grasps not engaged."""
    without = {name for name in parameters['payloads'] if parameters[f'{name}.mass'] == 0.0}
    without.update(name for name in parameters['grasps'] if name not in grasped)
    return {name for name in parameters['shapes']
            if parameters[f'{name}.kind'] == 'none' or owners.get(name) in without}


def changes_shapes(names, parameters):
    """Return whether these names of changed parameters have to do with shapes."""
    own = {f'{name}.{row.name}' for name in parameters['shapes'] for row in SHAPE}
    for name in parameters['payloads']:
        # Mass alone moves no shape of a payload that has none, and counts at once.
        own.update([f'{name}.shapes'], [f'{name}.mass'] if parameters[f'{name}.shapes'] else [])
    own.update(f'{name}.shapes' for name in parameters['grasps'])
    return any(name in own or name.endswith('.may_touch') for name in names)
