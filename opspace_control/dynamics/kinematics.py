# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Outward recursions of poses, velocities, accelerations of bodies and points, [CK00] (15)-(18)."""

import math

from opspace_control.compiled import inlined, kernel
from opspace_control.model.nodes import PRISMATIC, QUATERNION, REVOLUTE
from opspace_control.spatial.rotations import turn_about, turn_by_quaternion
from opspace_control.spatial.six import put, six
from opspace_control.spatial.vectors import add_cross_motion, linear_at, multiply, rotate


@inlined
def place_on(node, rotation, position, states, R, p):
    """Write axes and origin, relative to the root link's, of a frame on the body of a node."""
    if node < 0:
        for r in range(3):
            p[r] = position[r]
            for c in range(3):
                R[r, c] = rotation[r, c]
        return
    body = states[node]
    multiply(body.R, rotation, R)
    rotate(body.R, position, p)
    for r in range(3):
        p[r] += body.p[r]


@inlined
def place_node(nodes, i, q, states):
    """Write the pose of body i and its motion subspace S, [CK00] 3.1."""
    node, s = nodes[i], states[i]
    R, p, S, axis = s.R, s.p, s.S, node.axis
    place_on(node.parent, node.rotation, node.position, states, R, p)
    a0 = R[0, 0] * axis[0] + R[0, 1] * axis[1] + R[0, 2] * axis[2]
    a1 = R[1, 0] * axis[0] + R[1, 1] * axis[1] + R[1, 2] * axis[2]
    a2 = R[2, 0] * axis[0] + R[2, 1] * axis[1] + R[2, 2] * axis[2]
    x = node.q_scale * q[node.q_index] + node.q_offset
    if node.kind == PRISMATIC:
        p[0] += x * a0
        p[1] += x * a1
        p[2] += x * a2
        S[0], S[1], S[2], S[3], S[4], S[5] = a0, a1, a2, 0.0, 0.0, 0.0
        return
    S[0] = p[1] * a2 - p[2] * a1
    S[1] = p[2] * a0 - p[0] * a2
    S[2] = p[0] * a1 - p[1] * a0
    S[3], S[4], S[5] = a0, a1, a2
    if node.kind == REVOLUTE:
        turn_about(axis, math.sin(x), math.cos(x), R)
    elif node.kind == QUATERNION:
        turn_by_quaternion(q, node.q_index, R)


@inlined
def weigh_node(nodes, i, states):
    """Write the centre of mass of body i and its rotational inertia about it, in world axes."""
    node, s = nodes[i], states[i]
    R, p, c, Ic, inertia = s.R, s.p, s.c, s.Ic, node.inertia
    rotate(R, node.center_of_mass, c)
    for r in range(3):
        c[r] += p[r]
    for r in range(3):
        t0 = R[r, 0] * inertia[0, 0] + R[r, 1] * inertia[1, 0] + R[r, 2] * inertia[2, 0]
        t1 = R[r, 0] * inertia[0, 1] + R[r, 1] * inertia[1, 1] + R[r, 2] * inertia[2, 1]
        t2 = R[r, 0] * inertia[0, 2] + R[r, 1] * inertia[1, 2] + R[r, 2] * inertia[2, 2]
        for k in range(r + 1):
            Ic[r, k] = t0 * R[k, 0] + t1 * R[k, 1] + t2 * R[k, 2]
            Ic[k, r] = Ic[r, k]


@inlined
def move_node(nodes, i, v, a, states):
    """
    Write the spatial velocity and acceleration of body i, [CK00] (17)-(19).

    ``V = V_parent + S v`` and ``A = A_parent + S a + (V_carrier × S) v``. The carrier of an axis is
    the parent; for the rotations of a floating joint it is the last translation.
    """
    node, s = nodes[i], states[i]
    S, V, A = s.S, s.V, s.A
    if node.parent >= 0:
        parent = states[node.parent]
        put(V, 0, six(parent.V, 0))
        put(A, 0, six(parent.A, 0))
    else:
        put(V, 0, 0.0)
        put(A, 0, 0.0)
    if node.v_index < 0:
        return
    rate, acceleration = v[node.v_index], a[node.v_index]
    if node.carrier >= 0:
        add_cross_motion(states[node.carrier].V, S, rate, A)
    put(V, 0, six(V, 0) + rate * six(S, 0))
    put(A, 0, six(A, 0) + acceleration * six(S, 0))


@inlined
def write_velocity(nodes, i, v, states):
    """Write the spatial velocity of body i, as `move_node` does."""
    node, s = nodes[i], states[i]
    for r in range(6):
        s.V[r] = states[node.parent].V[r] if node.parent >= 0 else 0.0
        if node.v_index >= 0:
            s.V[r] += v[node.v_index] * s.S[r]


@inlined
def place_point(points, e, states):
    """Write the pose of operational point e."""
    frame = points[e].frame
    place_on(frame.node, frame.rotation, frame.position, states, points[e].R, points[e].p)


@inlined
def move_with(node, states, p, v, a):
    """
    Write the velocity and the classical acceleration of body ``node`` where the point ``p`` is.

    ``v = V + ω × p``, ``a = A + α × p + ω × v``: the spatial acceleration alone is wrong by ω × v.
    """
    if node < 0:
        for r in range(6):
            v[r] = a[r] = 0.0
        return
    V, A = states[node].V, states[node].A
    (v0, v1, v2), (a0, a1, a2) = linear_at(V, p), linear_at(A, p)
    w0, w1, w2, b0, b1, b2 = V[3], V[4], V[5], A[3], A[4], A[5]
    a[0] = a0 + w1 * v2 - w2 * v1
    a[1] = a1 + w2 * v0 - w0 * v2
    a[2] = a2 + w0 * v1 - w1 * v0
    a[3], a[4], a[5] = b0, b1, b2
    v[0], v[1], v[2] = v0, v1, v2
    v[3], v[4], v[5] = w0, w1, w2


@inlined
def move_point(points, e, states):
    """Write the velocity and the classical acceleration of operational point e."""
    move_with(points[e].frame.node, states, points[e].p, points[e].v, points[e].a)


@inlined
def move_relatively(points, e, states):
    """
    Write the motion of operational point e relative to the other link, in world axes.

    That of the point minus that of the other body at the same place, without the effect of rotating
    axes on the acceleration. The pose of the other frame is written, too.
    """
    point = points[e]
    other = point.other
    place_on(other.node, other.rotation, other.position, states, point.other_R, point.other_p)
    move_with(other.node, states, point.p, point.other_v, point.other_a)
    for r in range(6):
        point.v[r] -= point.other_v[r]
        point.a[r] -= point.other_a[r]


@inlined
def move_in_other(points, e, states):
    """
    Write velocity and acceleration of point e in the rotating frame of the other link.

    ``R ẋ`` and ``R ẍ`` in world axes: the relative acceleration without that of Coriolis,
    ``2 ω × R ẋ``; for the rotation, without ``ω × R ω_rel``.
    """
    move_relatively(points, e, states)
    point = points[e]
    if point.other.node < 0:
        return
    w, v, a = states[point.other.node].V, point.v, point.a
    for first in range(0, 6, 3):
        twice = 2.0 if first == 0 else 1.0
        x, y, z = twice * v[first], twice * v[first + 1], twice * v[first + 2]
        a[first] -= w[4] * z - w[5] * y
        a[first + 1] -= w[5] * x - w[3] * z
        a[first + 2] -= w[3] * y - w[4] * x


@kernel
def move(nodes, q, v, a, states, points):
    """Outward recursion: poses, velocities and accelerations of all bodies and points."""
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        move_node(nodes, i, v, a, states)
    for e in range(points.size):
        place_point(points, e, states)
        move_point(points, e, states)


@kernel
def fill_jacobian(nodes, states, points, supports, jacobian):
    """
    Write the stacked Jacobian, [CK00] (24)-(25), of placed bodies and points.

    Column k of point e is S_k moved to the point if node k supports it, else zero.
    """
    jacobian.fill(0.0)
    for i in range(nodes.size):
        column = nodes[i].v_index
        if column < 0:
            continue
        S = states[i].S
        for e in range(points.size):
            if not supports[i, e]:
                continue
            row = 6 * e
            jacobian[row, column], jacobian[row + 1, column], jacobian[row + 2, column] = (
                linear_at(S, points[e].p))
            for r in range(3, 6):
                jacobian[row + r, column] = S[r]
