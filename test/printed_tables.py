# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The recursions of [CK00] as the paper prints them: NumPy, link coordinates, the paper's symbols.

A second implementation, to be read with the paper at hand; the tests compare the compiled one with
it. Table 1 is `inverse_inertia` and `inertia`, Table 2 `newton_euler`, section 4.1
`jacobian`, section 4.2 `bias_acceleration`. Every vector of link i is in the axes of link i about
its origin; ``X`` of (15) takes a force from a link to its parent h, ``Xᵀ`` a motion from h to it.

Where the paper must be read with care:

- (18)-(19). The terms ``ω X v`` make a_i the *classical* acceleration of the link's origin, what an
  accelerometer without gravity would show; without them it would be the spatial one. So p_i of
  Table 2 takes ``I_i (ω_i X v_i)`` off again, and the root's acceleration is zero.
- Below (28) it prints ``h_e = Xᵀ h_i``. That is true of v_e, but a classical acceleration gains
  ``ω × (ω × r)`` on the way from the link's origin to the point: the operational point needs the
  c_e of (19), like a link without a joint.
- Table 2 speaks of a gravitational force and prints none. It is an external force on every link;
  a_root = −gravity would do for the torques but would also show in a_e and h_e.
- Table 1, step 4: "return" gives Ω_hh of step 3. In the next line Ω_{j,h_i} is transposed because
  there j = h comes first. Where h is the root, Ω_hh = 0: such points are not coupled.
- S_i is constant "in its own frame" for a spherical joint only if its rates are in the link's axes.
  Ours are in the joint frame's (a floating base: the world's), hence ``S_i = [0; Rᵀ]``; (19) stays
  right as d/dt (Rᵀ ω) = Rᵀ ω̇. The translation of a floating joint is three prismatic joints.
- A joint without freedom (mimic; locked, in Table 1) has no column in S_i, and L_i = X_i.
"""

from dataclasses import dataclass

import numpy as np

from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.model.nodes import LOCKED, PRISMATIC, QUATERNION, QUATERNION_AXIS
from opspace_control.spatial.rotations import matrix_from_quaternion

ROOT = -1


@dataclass(frozen=True, eq=False)
class Link:
    """Link i and its joint at one state."""

    h: int                   # parent link, or ROOT
    S: np.ndarray            # (6, n_i) joint model, section 3.1
    dofs: np.ndarray         # (n_i,) indices of its rates into v
    locked: bool
    X: np.ndarray            # (6, 6) from link i to link h, (15)
    X_c: np.ndarray          # (6, 6) from the centre of mass, axes of link i, to link i, (15)
    I_c: np.ndarray          # (6, 6) about the centre of mass, (14)
    I_i: np.ndarray          # (6, 6) about the link's origin, (16)
    orientation: np.ndarray  # (3, 3) its axes in those of the world
    armature: float          # of the joint's motor, which the tables do not have


def hat(a):
    """Return the (3, 3) matrix of ``a ×``."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def transform(R, r):
    """Return X of (15), for the axes R (3, 3) and the origin r (3,), m, of i in h."""
    return np.block([[R, np.zeros((3, 3))], [hat(r) @ R, R]])


def cross(d):
    """Return the spatial cross-product operator ``d X`` (6, 6), section 3.2."""
    return np.block([[hat(d[3:]), hat(d[:3])], [np.zeros((3, 3)), hat(d[3:])]])


def angular(v):
    """Return the spatial angular velocity ``[0; ω]`` of a spatial velocity, section 3.2."""
    return np.concatenate([np.zeros(3), v[3:]])


def read_links(model, state):
    """
    Return the links, parents first, and the number of each node's link: step 1 of Table 1.

    One link a node, but the three rotations of a quaternion are one joint of three freedoms.
    """
    links, number = [], {ROOT: ROOT}
    for i, node in enumerate(model.nodes):
        if node['kind'] == QUATERNION_AXIS:
            number[i] = number[node['parent']]
            continue
        h, R, r = number[node['parent']], node['rotation'], node['position']
        k, axis = node['v_index'], node['axis'][:, None]
        if node['kind'] == QUATERNION:
            turn = matrix_from_quaternion(state.q[node['q_index']:node['q_index'] + 4])
            S, dofs = np.vstack([np.zeros((3, 3)), turn.T]), np.arange(k - 2, k + 1)
            R = R @ turn
        else:
            x = node['q_scale'] * state.q[node['q_index']] + node['q_offset']
            if node['kind'] == PRISMATIC:
                S, r = np.vstack([axis, np.zeros((3, 1))]), r + R @ node['axis'] * x
            else:
                S, R = np.vstack([np.zeros((3, 1)), axis]), R @ turn_about(node['axis'], x)
            S, dofs = (S, np.array([k])) if k >= 0 else (S[:, :0], np.arange(0))
        X_c = transform(np.eye(3), node['center_of_mass'])
        I_c = np.zeros((6, 6))
        I_c[:3, :3], I_c[3:, 3:] = node['mass'] * np.eye(3), node['inertia']
        number[i] = len(links)
        links.append(Link(
            h, S, dofs, node['status'] == LOCKED, transform(R, r), X_c, I_c, X_c @ I_c @ X_c.T,
            orientation=(links[h].orientation if h != ROOT else np.eye(3)) @ R,
            armature=node['armature']))
    return links, number


def turn_about(axis, angle):
    """Return the (3, 3) rotation by ``angle``, rad, about a unit axis: Rodrigues' formula."""
    K = hat(axis)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def operational_points(model, frames, links, number):
    """
    Return (link i, X from e to i) of each named frame.

    The axes of e are those of the world at this instant, as everywhere else in this package.
    """
    points = []
    for name in frames:
        frame = model.frames[model.frame_index(name)]
        i = number[frame['node']]
        to_world = links[i].orientation if i != ROOT else np.eye(3)
        points.append((i, transform(to_world.T, frame['position'])))
    return points


def jacobian(model, state, frames):
    """
    Return the stacked Jacobian J_e (6m, nv) by (24)-(25).

    Parameters
    ----------
    model : RobotModel
        The robot.
    state : RobotState
        Made for this model.
    frames : sequence of str
        m frame names.

    Returns
    -------
    (6m, nv) array
        Linear rows first, world axes.

    """
    links, number = read_links(model, state)
    J = np.zeros((6 * len(frames), model.nv))
    for e, (i, X_e) in enumerate(operational_points(model, frames, links, number)):
        k, X = i, X_e
        while k != ROOT:
            J[6 * e:6 * e + 6, links[k].dofs] = X.T @ links[k].S    # (25), X from e to k
            k, X = links[k].h, links[k].X @ X
    return J


def bias_acceleration(model, state, frames):
    """
    Return h_e = J̇_e q̇ (6m,) by (17), (19) and (28); parameters as of `jacobian`, m/s² and rad/s².

    The operational point has its own c_e, which the paper leaves out.
    """
    links, number = read_links(model, state)
    v, c = spatial_velocities(links, state.v)
    h = {ROOT: np.zeros(6)}
    for i, link in enumerate(links):
        h[i] = link.X.T @ h[link.h] + c[i]                          # (28)
    h_e = []
    for i, X in operational_points(model, frames, links, number):
        v_e = X.T @ v[i]
        c_e = cross(angular(v_e)) @ v_e - X.T @ cross(angular(v[i])) @ v[i]     # (19), q̇ = 0
        h_e.append(X.T @ h[i] + c_e)
    return np.concatenate(h_e)


def spatial_velocities(links, rates):
    """Return v_i by (17) and c_i by (19), (6,) each, of all links; v also of the ROOT."""
    v, c = {ROOT: np.zeros(6)}, {}
    for i, link in enumerate(links):
        joint = link.S @ rates[link.dofs]
        v[i] = link.X.T @ v[link.h] + joint                         # (17)
        c[i] = (cross(angular(v[i])) @ v[i]                         # (19)
                - link.X.T @ cross(angular(v[link.h])) @ v[link.h]
                + cross(v[i]) @ joint)
    return v, c


def inverse_inertia(model, state, frames):
    """
    Return Λ_e⁻¹ (6m, 6m) of (30) by steps 1 to 5 of Table 1; parameters as of `jacobian`.

    Units are 1/kg, 1/(kg m) and 1/(kg m²), by the kinds of the two rows.
    """
    links, number = read_links(model, state)                        # step 1
    L, yielding = force_propagators(links)                          # step 2
    Omega = {ROOT: np.zeros((6, 6))}                                # step 3
    for i, link in enumerate(links):
        Omega[i] = yielding[i] + L[i].T @ Omega[link.h] @ L[i]
    points = operational_points(model, frames, links, number)
    blocks = [[X_i.T @ coupling(links, L, Omega, i, j) @ X_j        # steps 4 and 5
               for j, X_j in points] for i, X_i in points]
    return np.block(blocks)


def inertia(model, state, frames):
    """Return Λ_e (6m, 6m), step 6 of Table 1: the inverse of the whole, not block by block."""
    return np.linalg.inv(inverse_inertia(model, state, frames))


def force_propagators(links):
    """Return L_i (21) and S_i D_i⁻¹ S_iᵀ, what joint i yields to a force, (6, 6) each: step 2."""
    IA = [link.I_i for link in links]
    L, yielding = [None] * len(links), [None] * len(links)
    for i, link in reversed(list(enumerate(links))):
        S = link.S[:, :0] if link.locked else link.S
        D = S.T @ IA[i] @ S + link.armature * np.eye(S.shape[1])    # (21)
        S_bar = np.linalg.inv(D) @ S.T @ IA[i]
        L[i] = link.X @ (np.eye(6) - S @ S_bar).T
        yielding[i] = S @ np.linalg.inv(D) @ S.T
        if link.h != ROOT:
            IA[link.h] = IA[link.h] + L[i] @ IA[i] @ L[i].T         # (20)
            if link.armature:
                T = link.X @ S_bar.T
                IA[link.h] = IA[link.h] + link.armature * T @ T.T
    return L, yielding


def coupling(links, L, Omega, i, j):
    """
    Return Ω_ij (6, 6), the acceleration of link i by a force on link j: step 4.

    Outwards from Ω_hh, h the nearest common ancestor, first to i and then to j.
    """
    path_i, path_j = path_from_root(links, i), path_from_root(links, j)
    shared = sum(a == b for a, b in zip(path_i, path_j, strict=False))
    Omega_ij = Omega[path_i[shared - 1]]                            # "return"
    for k in path_i[shared:]:
        Omega_ij = L[k].T @ Omega_ij                                # "else if j = h"
    for k in path_j[shared:]:
        Omega_ij = Omega_ij @ L[k]                                  # "otherwise"
    return Omega_ij


def path_from_root(links, i):
    """Return the numbers of the links from the ROOT to link i, both included."""
    path = [i]
    while path[-1] != ROOT:
        path.append(links[path[-1]].h)
    return path[::-1]


def newton_euler(model, state, acceleration, gravity=GRAVITY):
    """
    Return ``τ = A q̈ + b + g`` by Table 2.

    Parameters
    ----------
    model : RobotModel
        The robot.
    state : RobotState
        Made for this model.
    acceleration : (nv,) array
        q̈, rad/s² or m/s².
    gravity : (3,) array
        m/s², world axes.

    Returns
    -------
    (nv,) array
        N m or N.

    """
    links, _ = read_links(model, state)
    v, c = spatial_velocities(links, state.v)
    a, f, tau = {ROOT: np.zeros(6)}, {}, np.zeros(model.nv)
    for i, link in enumerate(links):
        a[i] = link.X.T @ a[link.h] + link.S @ acceleration[link.dofs] + c[i]       # (18)
        v_c = link.X_c.T @ v[i]
        p = (link.X_c @ cross(angular(v_c)) @ link.I_c @ v_c
             - link.I_i @ cross(angular(v[i])) @ v[i])
        f_net = link.I_i @ a[i] + p
        weight = link.I_c @ np.concatenate([link.orientation.T @ gravity, np.zeros(3)])
        f[i] = f_net - link.X_c @ weight                            # f_net − f_ext
    for i, link in reversed(list(enumerate(links))):
        tau[link.dofs] = link.S.T @ f[i] + link.armature * acceleration[link.dofs]
        if link.h != ROOT:
            f[link.h] += link.X @ f[i]
    return tau
