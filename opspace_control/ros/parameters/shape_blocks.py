# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the world, of links' payloads and of what else links carry, from parameters."""

import numpy as np

from opspace_control.collision import Shape
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import unit_pose
from opspace_control.ros.parameters.task_parameters import SHAPE
from opspace_control.spatial.rotations import matrix_from_quaternion


def make_shapes(parameters):
    """Return the shapes of the parameters, or raise an OpspaceError that names one of them."""
    carriers = _carriers(parameters)
    return [make_shape(name, parameters, carriers.get(name)) for name in parameters['shapes']
            if not _is_absent(name, parameters, carriers)]


def make_shape(name, parameters, payload=None):
    """
    Return the Shape of this name, or raise an OpspaceError if it cannot be used.

    It is on its own frame, or on that of the ``payload`` of this name.
    """
    kind, size, frame, pose = (
        parameters[f'{name}.{key}'] for key in ('kind', 'size', 'frame', 'pose'))
    if payload is not None:
        frame = parameters[f'{payload}.frame'] or payload
    try:
        pose = unit_pose(np.array(pose))
    except OpspaceError as error:
        raise RosInterfaceError(f'{name}.pose: {error}', name=name) from None
    # The default is that of a box, and a parameter file of ROS 2 cannot have an empty list.
    size = () if kind == 'half_space' else list(size)
    return Shape(name, frame or None, kind, size, pose[:3], matrix_from_quaternion(pose[3:]))


def _carriers(parameters):
    """Return the payloads of shapes, by names of shapes, or raise a RosInterfaceError."""
    carriers = {}
    for payload in parameters['payloads']:
        for name in filter(None, parameters[f'{payload}.shapes']):
            what = f"{payload}.shapes: '{name}'"
            if name not in parameters['shapes']:
                raise RosInterfaceError(
                    f'{what} is not among shapes.', name=name,
                    cure=nearest(name, parameters['shapes']) if parameters['shapes']
                    else 'Name it in shapes, with a block of its own.')
            if name in carriers:
                raise RosInterfaceError(
                    f"{what} is given twice, also by '{carriers[name]}'.", name=name,
                    cure='Leave out one of them.')
            if parameters[f'{name}.frame']:
                raise RosInterfaceError(
                    f'{what} is on the link of the payload, and has a frame.', name=name,
                    cure=f'Leave {name}.frame empty.')
            if parameters[f'{name}.kind'] == 'half_space':
                raise RosInterfaceError(f'{what} is a half_space, which has no end.', name=name,
                                        cure='Give a box, sphere, capsule or cylinder.')
            carriers[name] = payload
    return carriers


def may_touch(parameters):
    """Return pairs of names of links and shapes that may touch, without shapes that are absent."""
    carriers = _carriers(parameters)
    links = {name: [name] for name in parameters['shapes']}
    links |= {name: [parameters[f'{name}.frame'] or name] for name in parameters['tasks']}
    links |= {name: parameters[f'{name}.effectors'] for name in parameters['grasps']}
    links |= {name: [shape for shape in carriers if carriers[shape] == name]
              for name in parameters['payloads']}
    absent = {name for name in parameters['shapes'] if _is_absent(name, parameters, carriers)}
    return [(link, other) for name, own in links.items()
            for other in parameters[f'{name}.may_touch'] for link in own
            if absent.isdisjoint((link, other))]


def _is_absent(name, parameters, carriers):
    """Return whether a shape is not there: it is of no kind, or its payload has no mass."""
    return parameters[f'{name}.kind'] == 'none' or (
        name in carriers and parameters[f'{carriers[name]}.mass'] == 0.0)


def changes_shapes(names, parameters):
    """Return whether these names of changed parameters have to do with shapes."""
    own = {f'{name}.{row.name}' for name in parameters['shapes'] for row in SHAPE}
    for name in parameters['payloads']:
        # Mass alone moves no shape of a payload that has none, and counts at once.
        own.update([f'{name}.shapes'], [f'{name}.mass'] if parameters[f'{name}.shapes'] else [])
    return any(name in own or name.endswith('.may_touch') for name in names)
