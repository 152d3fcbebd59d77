# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The inverse dynamics as a linear function of inertial parameters, by recursion.

``τ = Y(q, v, v̇) θ`` with ten standard parameters of each body,

    θ_i = [m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz],

the mass, the first moments and the inertia about the origin of the body's frame, in its axes
([AAH86]; the order is that of Pinocchio). An outward recursion moves the bodies; the force of each
body, a (6, 10) matrix of its parameters, is then projected on the axes of the joints that carry it.
Armatures are no parameters: what they take of a torque is not in Y θ.
"""

import numpy as np

from opspace_control.checks import checked
from opspace_control.dynamics.data import NODE_STATE, moment_nodes, nan_filled, new_points
from opspace_control.dynamics.hybrid_dynamics import responding_nodes, solve_hybrid
from opspace_control.dynamics.kinematics import move
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import StateError
from opspace_control.identification.inertia import parameters_of_body
from opspace_control.model.nodes import ACTIVE, path_to_root

PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def moving_bodies(model):
    """Return the nodes (b,) of a model whose bodies have mass or inertia, parents first."""
    nodes = model.nodes
    return np.flatnonzero((nodes['mass'] > 0.0) | nodes['inertia'].any(axis=(1, 2)))


def columns_of_joints(values):
    """Return the columns (k, n, n) of a parameter of each joint, that has factors (k, n)."""
    return values[..., None] * np.eye(values.shape[-1])


def effort_units(model):
    """Return units (nv,) of efforts, N·m or N, to compare joints: their limits, 1 without one."""
    limits = model.effort_limits
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, 1.0)


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
        force = _force(moved, body)
        for node in path_to_root(parents, body):
            if dofs[node] >= 0:
                Y[:, dofs[node], 10 * column:10 * column + 10] = (
                    moved['S'][:, node, None] @ force)[:, 0]
    return Y


def inverse_dynamics(model, nodes, q, v, acceleration):
    """
    Return the joint forces (k, nv) of k samples of a motion, N·m or N.

    ``nodes`` are the model's, with other inertias or not; the arrays are as of
    `inertial_regressor`.
    """
    ours = moment_nodes(model)
    for name in ('mass', 'center_of_mass', 'inertia'):
        ours[name] = nodes[name]
    ours['status'] = ACTIVE
    at, (rate, wanted, tau) = np.zeros(model.nq), np.zeros((3, model.nv))
    solve = solve_hybrid.partial(
        ours, responding_nodes(ours), at, rate, new_points(0), np.zeros((0, 6)), GRAVITY.copy(),
        nan_filled(ours.size, NODE_STATE), wanted, tau)
    forces = np.empty((len(q), model.nv))
    for k, (at[:], rate[:], wanted[:]) in enumerate(zip(q, v, acceleration, strict=True)):
        solve()
        forces[k] = tau
    return forces


def _move(model, q, v, acceleration):
    """
    Return axes R, origins p, motion subspaces S, velocities V and accelerations A of all bodies.

    (k, n, ...) arrays by name, in world axes. Moments are about the root link's origin: they lose
    no digits where a floating robot is far away.
    """
    nodes, at, (rate, wanted) = moment_nodes(model), np.zeros(model.nq), np.zeros((2, model.nv))
    states = nan_filled(nodes.size, NODE_STATE)
    place = move.partial(nodes, at, rate, wanted, states, new_points(0))
    moved = {name: np.empty((len(q), nodes.size, *NODE_STATE[name].shape)) for name in 'RpSVA'}
    for k, (at[:], rate[:], wanted[:]) in enumerate(zip(q, v, acceleration, strict=True)):
        place()
        for name, values in moved.items():
            values[k] = states[name]
    return moved


def _force(moved, body):
    """Return the force (k, 6, 10) of a body's motion minus its weight, by its parameters."""
    R, p, V, A = (moved[name][:, body] for name in 'RpVA')
    turning, alpha = V[:, 3:], A[:, 3:]
    velocity = V[:, :3] + _cross(turning, p)
    a = A[:, :3] + _cross(alpha, p) + _cross(turning, velocity) - GRAVITY
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
    return (_skew(x) @ y[..., None])[..., 0]
