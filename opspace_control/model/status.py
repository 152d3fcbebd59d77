# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The status of degrees of freedom: active, passive or locked, [JR94] 3."""

from collections.abc import Iterable

import numpy as np

from opspace_control.errors import ModelError
from opspace_control.model.nodes import ACTIVE, LOCKED, PASSIVE
from opspace_control.model.topology import nearest


def write_status(nodes, passive, locked):
    """Write the status of driven NODE records; those that mimic others stay locked."""
    status = np.where(locked, LOCKED, np.where(passive, PASSIVE, ACTIVE))
    driven = nodes['v_index'] >= 0
    nodes['status'][driven] = status[nodes['v_index'][driven]]


def read_status(dof_names, joint_dofs, mimics, passive_joints, locked_joints):
    """
    Return which degrees of freedom lists of names make passive and locked, (nv,) bool each.

    ``passive_joints`` and ``locked_joints`` name joints or single dofs. ``joint_dofs`` has the
    indices into v of each joint, ``mimics`` the mimicked joint, multiplier and offset of each mimic
    joint.
    """
    passive = _chosen(dof_names, joint_dofs, mimics, passive_joints, 'passive_joints')
    locked = _chosen(dof_names, joint_dofs, mimics, locked_joints, 'locked_joints')
    for name in np.array(dof_names, object)[passive & locked]:
        raise ModelError(f"'{name}' is both in passive_joints and in locked_joints.",
                         cure='Leave it in one of them.', element=name)
    return passive, locked


def _chosen(dof_names, joint_dofs, mimics, names, argument):
    """Return the (nv,) mask of the dofs that ``names`` (of joints or of dofs) stand for."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ModelError(f'{argument} is {names!r}, not a list of names.',
                         cure=f'Write {argument}=[...].', value=names)
    mask = np.zeros(len(dof_names), bool)
    dof_index = {name: number for number, name in enumerate(dof_names)}
    for name in map(str, names):
        if name in joint_dofs:
            mask[joint_dofs[name]] = True
        elif name in dof_index:
            mask[dof_index[name]] = True
        elif name in mimics:
            raise ModelError(f"{argument} names '{name}', which mimics '{mimics[name][0]}'.",
                             cure='Name the joint that it mimics.', element=name)
        else:
            raise ModelError(f"{argument} names '{name}', which is no moving joint of the robot.",
                             cure=nearest(name, [*joint_dofs, *dof_index]), element=name)
    return mask
