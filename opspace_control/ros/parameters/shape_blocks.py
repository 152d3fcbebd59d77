# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the world and of what links carry, and what may touch, from blocks of parameters."""

import numpy as np

from opspace_control.collision import Shape
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.middleware.conversions import unit_pose
from opspace_control.ros.parameters.task_parameters import SHAPE
from opspace_control.spatial.rotations import matrix_from_quaternion


def make_shapes(parameters):
    """Return the shapes of the parameters, or raise an OpspaceError that names one of them."""
    return [make_shape(name, parameters) for name in parameters['shapes']
            if not _is_absent(name, parameters)]


def make_shape(name, parameters):
    """Return the Shape of this name, or raise an OpspaceError if it cannot be used."""
    kind, size, frame, pose = (
        parameters[f'{name}.{key}'] for key in ('kind', 'size', 'frame', 'pose'))
    try:
        pose = unit_pose(np.array(pose))
    except OpspaceError as error:
        raise RosInterfaceError(f'{name}.pose: {error}', name=name) from None
    # The default is that of a box, and a parameter file of ROS 2 cannot have an empty list.
    size = () if kind == 'half_space' else list(size)
    return Shape(name, frame or None, kind, size, pose[:3], matrix_from_quaternion(pose[3:]))


def may_touch(parameters):
    """Return pairs of names of links and shapes that may touch, without shapes that are absent."""
    links = {name: [name] for name in parameters['shapes']}
    links |= {name: [parameters[f'{name}.frame'] or name] for name in parameters['tasks']}
    links |= {name: parameters[f'{name}.effectors'] for name in parameters['grasps']}
    absent = {name for name in parameters['shapes'] if _is_absent(name, parameters)}
    return [(link, other) for name, own in links.items()
            for other in parameters[f'{name}.may_touch'] for link in own
            if absent.isdisjoint((link, other))]


def _is_absent(name, parameters):
    return parameters[f'{name}.kind'] == 'none'


def changes_shapes(names, parameters):
    """Return whether these names of changed parameters have to do with shapes."""
    own = {f'{name}.{row.name}' for name in parameters['shapes'] for row in SHAPE}
    return any(name in own or name.endswith('.may_touch') for name in names)
