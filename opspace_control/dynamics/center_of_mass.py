# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The centre of mass of a robot or of a subtree, its motion and its Jacobian; the momentum."""

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics import kinematics
from opspace_control.dynamics.data import (
    COUNTS,
    FLOATING,
    find_supports,
    make_center_point,
    nan_filled,
    new_points,
)
from opspace_control.dynamics.hybrid_dynamics import add_inertial_force
from opspace_control.dynamics.kinematics import move_node, place_node, weigh_node
from opspace_control.dynamics.preparation import prepared
from opspace_control.spatial.vectors import linear_at


@inlined
def move_center(points, e, supports, nodes, states):
    """
    Write position, velocity and acceleration of centre of mass e, in world axes.

    Poses and velocities of the bodies are known. The propagated unit forces are set to zero, unless
    there are none, as of a robot that is FLOATING.
    """
    point = points[e]
    p, v, a = point.p, point.v, point.a
    for r in range(3):
        p[r] = 0.0
        for c in range(3):
            point.R[r, c] = 1.0 if r == c else 0.0
    for r in range(6):
        v[r] = a[r] = 0.0
    mass = 0.0
    for i in range(nodes.size):
        if supports[i, e] & COUNTS:
            mass += nodes[i].mass
    point.mass = mass
    for i in range(nodes.size):
        if not supports[i, e]:
            continue
        s = states[i]
        for r in range(6 if point.whole != FLOATING else 0):
            for k in range(3):
                s.F[r, k] = s.FP[r, k] = 0.0
        if supports[i, e] & COUNTS == 0:
            continue
        mass_share, c, V = nodes[i].mass / point.mass, s.c, s.V
        (x, y, z), (ax, ay, az) = linear_at(V, c), linear_at(s.A, c)
        for r in range(3):
            p[r] += mass_share * c[r]
        v[0] += mass_share * x
        v[1] += mass_share * y
        v[2] += mass_share * z
        a[0] += mass_share * (ax + V[4] * z - V[5] * y)
        a[1] += mass_share * (ay + V[5] * x - V[3] * z)
        a[2] += mass_share * (az + V[3] * y - V[4] * x)


@inlined
def add_force(c, x, y, z, f):
    """Add a force at c to a spatial force."""
    f[0] += x
    f[1] += y
    f[2] += z
    f[3] += c[1] * z - c[2] * y
    f[4] += c[2] * x - c[0] * z
    f[5] += c[0] * y - c[1] * x


@inlined
def spread_force(points, e, supports, nodes, wrench, responds, states):
    """Add a force at a centre of mass to those of its bodies, in proportion to their masses."""
    for i in range(nodes.size):
        if supports[i, e] & COUNTS == 0:
            continue
        mass_share, s = nodes[i].mass / points[e].mass, states[i]
        x, y, z = mass_share * wrench[0], mass_share * wrench[1], mass_share * wrench[2]
        if responds[i]:
            add_force(s.c, x, y, z, s.z)
        else:
            add_force(s.c, x, y, z, s.f)


@kernel
def sum_momentum(nodes, q, v, zero, states, h):
    """Write the momentum ``[p; L]`` of all bodies about the root link's origin in O(n)."""
    for r in range(6):
        h[r] = 0.0
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        move_node(nodes, i, v, zero, states)
        weigh_node(nodes, i, states)
        s = states[i]
        add_inertial_force(nodes[i].mass, s.c, s.Ic, s.V, h)


def center_of_mass(model, state, frame=None):
    """
    Return the position of the centre of mass and its Jacobian, ``J = Σ m_i J_i / Σ m_i``.

    Of the subtree of the link ``frame``, or of the whole robot; bodies that never move do not
    count. The position (3,), m, is in the frame of the base (the world's for a floating base); the
    Jacobian is (3, nv).
    """
    point = make_center_point(model, frame)
    counts = (find_supports(model.nodes, point)[:, 0] & COUNTS).astype(bool)
    nodes, states = prepared(model, state)
    mass = nodes['mass'] * counts
    bodies = np.flatnonzero(mass)
    points = new_points(bodies.size)
    points['frame']['node'], points['frame']['position'] = bodies, nodes['center_of_mass'][bodies]
    kinematics.move(nodes, state.q, state.v, np.zeros(model.nv), states, points)
    jacobian = nan_filled((6 * bodies.size, model.nv))
    kinematics.fill_jacobian(nodes, states, points, find_supports(nodes, points), jacobian)
    mass_shares = mass[bodies] / mass.sum()
    return (mass_shares @ points['p'] + model.origin(state),
            np.tensordot(mass_shares, jacobian.reshape(-1, 6, model.nv)[:, :3], 1))


def momentum(model, state, point=(0.0, 0.0, 0.0)):
    """
    Return the spatial momentum ``[p; L]`` (6,) of all moving links, N s and N m s, world axes.

    L is about ``point``, (3,), m, fixed in the world. A free-flyer conserves the momentum without
    gravity and without a force on the base, [JR94] (4.7). [M_pa, M_pp] β of the patent is the
    momentum about the moving base, whose angular part is not conserved.
    """
    nodes, states = prepared(model, state)
    h = np.full(6, np.nan)
    sum_momentum(nodes, state.q, state.v, np.zeros(model.nv), states, h)
    h[3:] += np.cross(model.origin(state) - np.asarray(point, dtype=float), h[:3])
    return h
