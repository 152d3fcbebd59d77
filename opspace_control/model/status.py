# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which degrees of freedom are ours to command: active, passive or locked, [JR94] 3."""

from collections.abc import Iterable

import numpy as np

from opspace_control.errors import ModelError
from opspace_control.model.nodes import ACTIVE, LOCKED, PASSIVE
from opspace_control.model.topology import nearest


def set_status(robot, passive_joints, locked_joints):
    """
    Write the status of an `Assembly`'s nodes; return passive and locked, (nv,) bool each.

    Raises
    ------
    ModelError
        A name is no joint and no dof of the robot, or is in both lists.

    """
    passive = _chosen(robot, passive_joints, 'passive_joints')
    locked = _chosen(robot, locked_joints, 'locked_joints')
    for name in np.array(robot.dof_names, object)[passive & locked]:
        raise ModelError(f"'{name}' is both in passive_joints and in locked_joints.",
                         cure='Leave it in one of them.', element=name)
    status = np.where(locked, LOCKED, np.where(passive, PASSIVE, ACTIVE))
    driven = robot.nodes['v_index'] >= 0
    robot.nodes['status'][driven] = status[robot.nodes['v_index'][driven]]
    return passive, locked


def _chosen(robot, names, argument):
    """Return the (nv,) mask of the dofs that ``names`` (of joints or of dofs) stand for."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ModelError(f'{argument} is {names!r}, not a list of names.',
                         cure=f'Write {argument}=[...].', value=names)
    mask = np.zeros(len(robot.dof_names), bool)
    dof_index = {name: number for number, name in enumerate(robot.dof_names)}
    for name in map(str, names):
        if name in robot.dofs:
            mask[robot.dofs[name]] = True
        elif name in dof_index:
            mask[dof_index[name]] = True
        elif name in robot.mimics:
            raise ModelError(f"{argument} names '{name}', which mimics '{robot.mimics[name][0]}'.",
                             cure='Name its leader.', element=name)
        else:
            raise ModelError(f"{argument} names '{name}', which is no moving joint of the robot.",
                             cure=nearest(name, [*robot.dofs, *dof_index]), element=name)
    return mask
