# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The check that every free joint has a positive articulated inertia."""

import numpy as np

from opspace_control.errors import ModelError
from opspace_control.model.assembly import BASE
from opspace_control.model.nodes import (
    LOCKED,
    PRISMATIC,
    QUATERNION,
    QUATERNION_AXIS,
    WORLD,
    with_subtrees,
)
from opspace_control.model.topology import enumerate_names

# Least articulated inertia about an axis, relative to that of the same links as one rigid body.
# Zero shows as rounding, 1e-15; a small rotor before a heavy link has 1e-9, and the first joint of
# a straight chain of 10,000 links 1e-12.
_NOTHING = 1e-13


def check_mobility(robot):
    """
    Refuse an `Assembly` with a joint whose acceleration no torque would determine.

    A joint that is neither locked nor a mimic has no inertia at any posture, such as one with only
    massless links beyond it; the ModelError names the joint and the links.
    """
    immovable = immovable_nodes(robot.nodes, generic_coordinates(robot.nq))
    if len(immovable):
        raise _error(robot, immovable)
    immovable = immovable_nodes(robot.nodes, np.zeros(robot.nq))
    if len(immovable):
        robot.warnings.append(
            f"at the zero posture no inertia opposes joint '{_joints_of(robot, immovable)[-1]}': "
            'massless links between aligned axes; stay away from that posture')


def generic_coordinates(nq):
    """Return coordinates (nq,) without two alike, so that no joint axes coincide by chance."""
    return 0.3 + (np.arange(nq) * 0.6180339887498949) % 1.0


def immovable_nodes(nodes, q):
    """
    Return the nodes, in order, where D = Sᵀ IA S of [CK00] (20)-(21) vanishes at ``q``.

    A massless leaf is the plain case, massless links between coinciding axes the other. The
    rotation of floating joints is taken as identity, which decides nothing here.
    """
    motion, X = _motions_and_transforms(nodes, q)
    # Row 0: articulated; row 1: the same links frozen.
    inertia = np.repeat(_spatial_inertias(nodes)[:, None], 2, axis=1)
    immovable = []
    armature = nodes['armature'].tolist()
    parents, free = nodes['parent'].tolist(), (nodes['status'] != LOCKED).tolist()
    for i in reversed(range(len(nodes))):
        S = motion[i]
        if free[i]:
            U = inertia[i, 0] @ S
            D = S @ U + armature[i]
            frozen = S @ inertia[i, 1] @ S + armature[i]
            if _NOTHING * frozen >= D:
                immovable.append(i)
            else:
                inertia[i, 0] -= np.outer(U, U / D)
        if parents[i] >= 0:
            inertia[parents[i]] += X[i].T @ inertia[i] @ X[i]
    return immovable[::-1]


def carried_by_joints(nodes, q, lift):
    """
    Return composite inertia and gravity torque of each joint at a posture ``q`` (nq,).

    The inertias (n,), kg m² or kg, are the diagonal of A, except for rotations of a quaternion,
    which are taken as identity; the loads (n,), N m or N, are g of [CK00] (1), likewise. ``lift``
    (3,) is minus the acceleration of gravity, m/s², in the root link's axes.
    """
    motion, X = _motions_and_transforms(nodes, q)
    inertia = _spatial_inertias(nodes)
    parents = nodes['parent'].tolist()
    for i in reversed(range(len(nodes))):
        if parents[i] >= 0:
            inertia[parents[i]] += X[i].T @ inertia[i] @ X[i]
    lifts = np.empty((len(nodes), 3))
    for i, parent in enumerate(parents):
        lifts[i] = X[i, :3, :3] @ (lifts[parent] if parent >= 0 else lift)
    return (np.einsum('ni,nij,nj->n', motion, inertia, motion) + nodes['armature'],
            np.einsum('ni,nij,nj->n', motion, inertia[:, :, :3], lifts))


def _motions_and_transforms(nodes, q):
    """Return each node's S (n, 6) and the transform (n, 6, 6) of motion from its parent's body."""
    axis, prismatic = nodes['axis'], nodes['kind'] == PRISMATIC
    x = nodes['q_scale'] * q[nodes['q_index']] + nodes['q_offset']
    x[np.isin(nodes['kind'], (QUATERNION_AXIS, QUATERNION))] = 0.0
    motion = np.zeros((len(nodes), 6))
    motion[prismatic, :3] = axis[prismatic]
    motion[~prismatic, 3:] = axis[~prismatic]
    angle = np.where(prismatic, 0.0, x)[:, None, None]
    K = _cross(axis)
    R = nodes['rotation'] @ (np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K))
    slide = np.where(prismatic, x, 0.0)[:, None] * axis
    p = nodes['position'] + np.einsum('nij,nj->ni', nodes['rotation'], slide)
    X = np.zeros((len(nodes), 6, 6))
    X[:, :3, :3] = X[:, 3:, 3:] = R.transpose(0, 2, 1)
    X[:, :3, 3:] = -X[:, :3, :3] @ _cross(p)
    return motion, X


def _spatial_inertias(nodes):
    """Return (n, 6, 6), linear first, about each body's origin in its own axes."""
    mass, c = nodes['mass'][:, None, None], _cross(nodes['center_of_mass'])
    inertia = np.zeros((len(nodes), 6, 6))
    inertia[:, :3, :3] = mass * np.eye(3)
    inertia[:, :3, 3:] = -mass * c
    inertia[:, 3:, :3] = mass * c
    inertia[:, 3:, 3:] = nodes['inertia'] - mass * (c @ c)
    return inertia


def _cross(vectors):
    """Return the (n, 3, 3) matrices of the cross products of (n, 3) vectors."""
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    return np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)


def _joints_of(robot, nodes):
    """Return the joints, or the base, that driven nodes belong to, each once."""
    owners = {dof: name for name, dofs in robot.dofs.items() for dof in dofs}
    return list(dict.fromkeys(owners[dof] for dof in robot.nodes['v_index'][nodes].tolist()))


def _error(robot, immovable):
    """Return the error of nodes without inertia: about the last, with a cure for all."""
    node, joints = immovable[-1], _joints_of(robot, immovable)
    joint = joints[-1]
    carried = with_subtrees(robot.nodes, np.arange(len(robot.nodes)) == node)
    links = [name for name, frame in zip(robot.frame_names, robot.frames['node'], strict=True)
             if frame != WORLD and carried[frame]]
    if robot.nodes['mass'][carried].any() or robot.nodes['inertia'][carried].any():
        reason = 'all mass beyond it lies on its axis, or the joints beyond move it instead'
    else:
        reason = f'it carries nothing with mass, only {enumerate_names(links)}'
    cure = (f"Give link '{links[0]}' an <inertial>, make the joint fixed, or lock it: "
            f'locked_joints={joints}.')
    if joint == BASE:
        cure = 'Leave out floating_base=True, or give the links an <inertial>.'
    return ModelError(f"No inertia opposes joint '{joint}': {reason}.", cure=cure,
                      element=joint, joint=joint, links=tuple(links))
