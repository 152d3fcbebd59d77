# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The inverse dynamics as a linear function of inertial parameters, by recursion.

``τ = Y(q, v, v̇) θ`` with ten standard parameters of each body,

    θ_i = [m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz],

the mass, the first moments and the inertia about the origin of the body's frame, in its axes
([AAH86]; the order is that of Pinocchio). An outward recursion moves the bodies, all samples at
once; the force of each body, a (6, 10) matrix of its parameters, is then projected on the axes of
the joints that carry it. Armatures are no parameters: `armature_forces` returns their part.
"""

import numpy as np

from opspace_control.checks import checked
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import StateError
from opspace_control.identification.inertia import parameters_of_body
from opspace_control.model.nodes import PRISMATIC, QUATERNION, REVOLUTE, WORLD, path_to_root

_CHUNK = 200  # samples of a regressor at a time
PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def moving_bodies(model):
    """Return the nodes (b,) of a model whose bodies have mass or inertia, parents first."""
    nodes = model.nodes
    return np.flatnonzero((nodes['mass'] > 0.0) | nodes['inertia'].any(axis=(1, 2)))


def inertial_parameters(nodes, bodies):
    """Return the standard parameters θ (10 b,) of the bodies of NODE records; kg, kg m, kg m²."""
    return np.concatenate([parameters_of_body(
        nodes[i]['mass'], nodes[i]['center_of_mass'], nodes[i]['inertia']) for i in bodies])


def inertial_regressor(model, q, v, acceleration, bodies=None):
    """
    Return the regressor Y (k, nv, 10 b) of the inverse dynamics ``τ = Y θ``, [AAH86].

    Parameters
    ----------
    model : RobotModel
        The robot; its inertias play no part.
    q : (k, nq) array
        Positions of k samples.
    v, acceleration : (k, nv) array
        Velocities and their rates; rad/s or m/s, rad/s² or m/s².
    bodies : sequence of int, optional
        Nodes of the bodies; `moving_bodies` if not given.

    Returns
    -------
    (k, nv, 10 b) array
        N·m or N by unit of the parameters; gravity is 9.81 m/s² along -z.

    Raises
    ------
    StateError
        If the arrays do not fit the model or each other, or are not finite.

    """
    k = len(np.atleast_1d(q))
    q, v, acceleration = (
        checked(values, name, StateError, (k, width)) for name, values, width in (
            ('q', q, model.nq), ('v', v, model.nv), ('acceleration', acceleration, model.nv)))
    bodies = moving_bodies(model) if bodies is None else bodies
    moved = _move(model, q, v, acceleration)
    parents, dofs = model.nodes['parent'], model.nodes['v_index']
    Y = np.zeros((len(q), model.nv, 10 * len(bodies)))
    for column, body in enumerate(bodies):
        force = _force(moved[body])
        for node in path_to_root(parents, body):
            if dofs[node] >= 0:
                Y[:, dofs[node], 10 * column:10 * column + 10] = (
                    moved[node].S[:, None, :] @ force)[:, 0]
    return Y


def inverse_dynamics(model, nodes, q, v, acceleration):
    """
    Return the joint forces (k, nv) of k samples of a motion, N·m or N.

    ``nodes`` are the model's, with other inertias or not; the arrays are as of
    `inertial_regressor`.
    """
    bodies = np.union1d(moving_bodies(model), np.flatnonzero(nodes['mass'] > 0.0))
    theta = inertial_parameters(nodes, bodies)
    parts = [inertial_regressor(
        model, *(values[i:i + _CHUNK] for values in (q, v, acceleration)), bodies) @ theta
        for i in range(0, len(q), _CHUNK)]
    return np.concatenate(parts) + armature_forces(model, acceleration)


def armature_forces(model, acceleration):
    """Return the forces (k, nv) that accelerate the motors' inertias, N·m or N."""
    armature = np.zeros(model.nv)
    driven = model.nodes['v_index'] >= 0
    armature[model.nodes['v_index'][driven]] = model.nodes['armature'][driven]
    return acceleration * armature


class _Body:
    """A body in k samples: axes R, origin p, motion subspace S, velocity V, acceleration A."""

    __slots__ = ('A', 'R', 'S', 'V', 'p')


def _move(model, q, v, acceleration):
    """Return a `_Body` for each node; points and axes are those of the world."""
    k = len(q)
    # Moments about the root link's origin lose no digits where a floating robot is far away.
    origin = -q[:, :3] if model.floating_base else np.zeros((k, 3))
    zeros = np.zeros((k, 6))
    moved = []
    for node in model.nodes:
        body, parent = _Body(), moved[node['parent']] if node['parent'] != WORLD else None
        if parent is None:
            R = np.broadcast_to(node['rotation'], (k, 3, 3))
            p = origin + node['position']
        else:
            R = parent.R @ node['rotation']
            p = parent.p + parent.R @ node['position']
        axis = R @ node['axis']
        x = node['q_scale'] * q[:, node['q_index']] + node['q_offset']
        if node['kind'] == PRISMATIC:
            p = p + x[:, None] * axis
            body.S = np.hstack([axis, np.zeros((k, 3))])
        else:
            body.S = np.hstack([_cross(p, axis), axis])
            if node['kind'] == REVOLUTE:
                R = R @ _turned_about(node['axis'], x)
            elif node['kind'] == QUATERNION:
                R = R @ _turned_by(q[:, node['q_index']:node['q_index'] + 4])
        body.R, body.p = R, p
        body.V, body.A = (zeros, zeros) if parent is None else (parent.V, parent.A)
        dof = node['v_index']
        if dof >= 0:
            rate = v[:, dof, None]
            body.A = body.A + acceleration[:, dof, None] * body.S
            if node['carrier'] != WORLD:
                body.A = body.A + rate * _cross_motion(moved[node['carrier']].V, body.S)
            body.V = body.V + rate * body.S
        moved.append(body)
    return moved


def _force(body):
    """Return the force (k, 6, 10) of a body's motion minus its weight, by its parameters."""
    R, p = body.R, body.p
    turning, alpha = body.V[:, 3:], body.A[:, 3:]
    velocity = body.V[:, :3] + _cross(turning, p)
    a = body.A[:, :3] + _cross(alpha, p) + _cross(turning, velocity) - GRAVITY
    a, w, alpha = ((R.transpose(0, 2, 1) @ x[..., None])[..., 0] for x in (a, turning, alpha))
    local = np.zeros((len(p), 6, 10))
    W = _skew(w)
    local[:, :3, 0] = a
    local[:, :3, 1:4] = _skew(alpha) + W @ W
    local[:, 3:, 1:4] = -_skew(a)
    local[:, 3:, 4:] = _inertia_times(alpha) + W @ _inertia_times(w)
    force = np.empty_like(local)
    force[:, :3] = R @ local[:, :3]
    force[:, 3:] = R @ local[:, 3:] + _skew(p) @ force[:, :3]
    return force


def _inertia_times(w):
    """Return the (k, 3, 6) matrices whose product with Ixx, Ixy, Iyy, Ixz, Iyz, Izz is I w."""
    x, y, z = w.T
    product = np.zeros((len(w), 3, 6))
    product[:, 0, 0] = product[:, 1, 1] = product[:, 2, 3] = x
    product[:, 0, 1] = product[:, 1, 2] = product[:, 2, 4] = y
    product[:, 0, 3] = product[:, 1, 4] = product[:, 2, 5] = z
    return product


def _skew(x):
    """Return the (k, 3, 3) matrices of the cross product with x (k, 3)."""
    matrix = np.zeros((len(x), 3, 3))
    matrix[:, 2, 1], matrix[:, 0, 2], matrix[:, 1, 0] = x.T
    return matrix - matrix.transpose(0, 2, 1)


def _cross(x, y):
    """Return the cross products (k, 3) of vectors; numpy.cross takes longer."""
    product = np.empty((len(x), 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        product[:, i] = x[:, j] * y[:, k] - x[:, k] * y[:, j]
    return product


def _cross_motion(V, S):
    """Return the products ``V × S`` (k, 6) of motions."""
    w = V[:, 3:]
    return np.hstack([_cross(w, S[:, :3]) + _cross(V[:, :3], S[:, 3:]), _cross(w, S[:, 3:])])


def _turned_about(axis, angle):
    """Return the rotations (k, 3, 3) about an axis (3,) by angles (k,), rad: Rodrigues."""
    K = _skew(axis[None])[0]
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.eye(3) + s * K + (1.0 - c) * (K @ K)


def _turned_by(quaternions):
    """Return the rotations (k, 3, 3) of quaternions [x y z w] (k, 4)."""
    unit = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    K, w = _skew(unit[:, :3]), unit[:, 3, None, None]
    return np.eye(3) + 2.0 * (w * K + K @ K)
