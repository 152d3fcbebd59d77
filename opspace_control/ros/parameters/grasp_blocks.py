# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The grasps, contacts and payloads that blocks of parameters describe."""

from collections import ChainMap

import numpy as np

from opspace_control.control import Contact, Grasp
from opspace_control.errors import RosInterfaceError
from opspace_control.model import Payload
from opspace_control.ros.parameters.task_blocks import make_task

_PAYLOAD = ('mass', 'center_of_mass', 'inertia')
_DRIFT = ('drift_kp', 'drift_kd')


def make_grasp(name, parameters):
    """Return the grasp of this name, or raise an OpspaceError if its parameters cannot be used."""
    def value(key):
        return parameters[f'{name}.{key}']

    poses = value('grasp_poses')
    if len(poses) % 7:
        raise RosInterfaceError(f'{name}.grasp_poses has {len(poses)} numbers.',
                                cure='Give seven for each effector: x y z qx qy qz qw.')
    return Grasp(
        value('effectors'), name=name, payload=read_payload(name, parameters), kind=value('kind'),
        grasp_poses=np.reshape(poses, (-1, 7)) if poses else None,
        friction=value('friction') or np.inf, friction_margin=value('friction_margin'),
        squeeze=value('squeeze'), max_squeeze=value('max_squeeze'),
        minimal_effort=value('minimal_effort'),
        tolerance=(value('tolerance_position'), value('tolerance_angle')),
        **{key: value(key) for key in _DRIFT}, task=_make_object_task(name, parameters))


def _make_object_task(name, parameters):
    """Return the task of a grasp's object: of its first effector, with the grasp's parameters."""
    given = {'type': 'pose', 'frame': (parameters[f'{name}.effectors'] or [''])[0],
             'reference': '', 'joints': [], 'sensor': '', 'priority': 0}
    return make_task(name, ChainMap(
        {f'{name}.{key}': value for key, value in given.items()}, parameters), {})


def read_payload(name, parameters):
    """Return the object of a grasp, or a payload, or raise a ModelError if it is impossible."""
    mass, center, (xx, yy, zz, xy, xz, yz) = (parameters[f'{name}.{key}'] for key in _PAYLOAD)
    return Payload(mass, center, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def make_contact(name, parameters):
    """Return the contact of this name, or raise an OpspaceError, likewise."""
    return Contact(parameters[f'{name}.frame'] or name, name=name,
                   **{key: parameters[f'{name}.{key}'] for key in ('kind', 'normal', 'friction')})


def put_payloads(controller, parameters, changed=None):
    """
    Set the payloads of a controller from the parameters.

    Parameters
    ----------
    controller : OperationalSpaceController
        Its payloads change.
    parameters : mapping
        Values of the controller node's parameters.
    changed : collection of str, optional
        The changed parameters; all if not given.

    """
    for name in parameters['payloads']:
        if changed is None or not changed.isdisjoint(f'{name}.{key}' for key in _PAYLOAD):
            controller.payloads.put(name, parameters[f'{name}.frame'] or name,
                                    read_payload(name, parameters))


def contacts_of(controller):
    """Return the contacts among a controller's constraints."""
    return [one for one in controller.constraints.values() if isinstance(one, Contact)]


def apply_grasps(controller, parameters, changed):
    """
    Set payloads, grasp forces and gains of grasps from checked parameters.

    Parameters
    ----------
    controller : OperationalSpaceController
        Its grasps change.
    parameters : mapping
        Values of the controller node's parameters.
    changed : collection of str
        The changed parameters.

    """
    for name, grasp in controller.grasps.items():
        if not changed.isdisjoint(f'{name}.{key}' for key in _PAYLOAD):
            grasp.payload = read_payload(name, parameters)
        if not changed.isdisjoint(f'{name}.{key}' for key in _DRIFT):
            grasp.set_drift_gains(*(parameters[f'{name}.{key}'] for key in _DRIFT))
        for key in ('squeeze', 'minimal_effort'):
            if f'{name}.{key}' in changed:
                setattr(grasp, key, parameters[f'{name}.{key}'])
