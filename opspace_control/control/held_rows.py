# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The rows of the stack that hold joints at their limits, and what they do to all other joints.

A joint that would pass the limits of its acceleration is held at the nearest one: a row ``e_jᵀ q̈``
above all tasks. One that would pass a limit of its effort is held at that, a row ``A_k q̈``: what
answers to it is the acceleration of joint k alone.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.dynamics.articulated_body import eliminate_node, set_inertia
from opspace_control.dynamics.inverse_dynamics import add_inertial_force
from opspace_control.dynamics.operational_space_inertia import (
    is_group,
    propagate_points,
    propagate_points_passive,
    spread_forces,
    start_passive_propagation,
    start_propagation,
)
from opspace_control.dynamics.workspace import CENTER, COUNTS, OTHER, OWN, poisoned
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.vectors import dot

MOTION, EFFORT = range(2)
# Numbers of a row that holds a joint: what it is to be beyond the motion advised, its own mobility,
# the limit that it is measured by, its scale, the force that holds, and scratch. Then, a number a
# joint, the joint forces of the motion advised.
WISH, MOBILITY, MEASURE, SCALING, HOLDING, GAINS, COLUMN, WORK, ADVISED = range(9)
_COUNT = 9
# Planes of memory: what joints feel of the stack, its Jacobian, and its mobility, as given; what
# joints feel of the rows here, the joint forces of their units, their coupling with the stack and
# with each other; two of scratch; and the numbers.
(FEELING, JACOBIAN, GIVEN, GIVEN_Q, FELT, TORQUES, COUPLING, OWN_MOBILITY, FACTORED, ROTATION,
 NUMBERS) = range(11)
_PLANES = 11


def limit_room(nodes, dofs, rows):
    """Return the memory of `resolve_within_limits`: planes for so many joints and rows."""
    side = max(nodes.size, 2 * dofs, rows, _COUNT)
    return poisoned((_PLANES, side, side))


@called
def feel_stack(nodes, states, supports, points, yields, K, mobility, passive_mobility):
    """Write Λ⁻¹ (and Q) anew, lower triangles, and what each joint feels of unit wrenches, K."""
    for i in range(nodes.size):
        set_inertia(nodes, i, states)
        for r in range(6):
            for k in range(3):
                states[i].F[r, k] = states[i].FP[r, k] = 0.0
    for e in range(points.size):
        start_propagation(points, e)
        start_passive_propagation(points, e)
    K[:] = 0.0
    mobility[:] = 0.0
    passive_mobility[:] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        eliminate_node(nodes, i, states)
        propagate_points(nodes, i, supports, states, points, mobility)
        for e in range(points.size):
            if supports[i, e] and nodes[i].status != LOCKED:
                for r in range(6):
                    K[i, 6 * e + r] = points[e].K[r]
        if yields:
            propagate_points_passive(nodes, i, supports, states, points, passive_mobility)


@called
def see_jacobian(nodes, states, supports, points, Jacobian):
    """Write the Jacobian of the stack, (n, k): what each joint feels if no other gives way."""
    Jacobian[:] = 0.0
    for e in range(points.size):
        point = points[e]
        start_propagation(points, e)
        for i in range(nodes.size - 1, -1, -1):
            s, row = states[i], Jacobian[i]
            for r in range(6):
                if point.joints[r] == i:
                    row[6 * e + r] = 1.0
            if is_group(point):
                continue
            if supports[i, e] & CENTER:
                see_center(nodes, i, supports[i, e], states, point, row[6 * e:6 * e + 3])
                continue
            for r in range(6):
                for k in range(6):
                    if supports[i, e] & OWN:
                        row[6 * e + r] += point.Psi[k, r] * s.S[k]
                    if supports[i, e] & OTHER:
                        row[6 * e + r] += point.Psi_other[k, r] * s.S[k]


@inlined
def see_center(nodes, i, support, states, point, row):
    """Write what joint i feels of unit forces at a centre of mass, which its bodies carry, FP."""
    s, parent = states[i], nodes[i].parent
    if support & COUNTS:
        spread_forces(nodes[i].mass / point.mass, point.axes, s.c, s.FP)
    for k in range(3):
        for r in range(6):
            row[k] += s.FP[r, k] * s.S[r]
            if parent >= 0:
                states[parent].FP[r, k] += s.FP[r, k]
            s.FP[r, k] = 0.0


@inlined
def feel_torque(nodes, node, states, felt):
    """Write what each joint feels of a unit torque at the joint of a node, (n,)."""
    felt[:] = 0.0
    felt[node] = 1.0
    z = states[node].z
    for r in range(6):
        z[r] = -states[node].U[r] / states[node].D
    i = nodes[node].parent
    while i >= 0:
        if nodes[i].status != LOCKED:
            s = states[i]
            felt[i] = dot(z, s.S)
            for r in range(6):
                z[r] -= s.U[r] * felt[i] / s.D
        i = nodes[i].parent


@inlined
def feel_acceleration(nodes, node, states, felt, torque):
    """
    Write what each joint feels, (n,), of the torques, (nv,), that accelerate one joint by 1.

    All joints beyond it are carried along, all others stay: its column of A.
    """
    felt[:] = 0.0
    torque[:] = 0.0
    S = states[node].S
    end = node + 1
    while end < nodes.size and nodes[end].parent >= node:
        end += 1
    for i in range(node, end):
        s = states[i]
        for r in range(6):
            s.z[r] = 0.0
        add_inertial_force(nodes[i].mass, s.c, s.Ic, S, s.z)
        if nodes[i].status != LOCKED:
            felt[i] = s.D if i == node else dot(s.U, S)
    for i in range(end - 1, node - 1, -1):
        if nodes[i].v_index >= 0:
            torque[nodes[i].v_index] = dot(states[i].z, states[i].S)
        if i == node:
            torque[nodes[i].v_index] += nodes[i].armature
        else:
            for r in range(6):
                states[nodes[i].parent].z[r] += states[i].z[r]
    i = nodes[node].parent
    while i >= 0:
        if nodes[i].v_index >= 0:
            torque[nodes[i].v_index] = dot(states[node].z, states[i].S)
        i = nodes[i].parent


@called
def hold_joints(nodes, states, limits, effort_limits, a_null, tau_null, K, felt, torques, coupling,
                own, vectors):
    """Write the rows of all joints that are held, their mobility and what is wanted of them."""
    count = 0
    for k in range(limits.size):
        limit = limits[k]
        for kind in range(2):
            sign = limit.motion if kind == MOTION else limit.effort
            if sign == 0:
                continue
            limits[count // 2].row[count % 2] = 2 * k + kind
            if kind == MOTION:
                feel_torque(nodes, limit.node, states, felt[count])
                torques[count, :] = 0.0
                torques[count, k] = 1.0
                bound = limit.greatest if sign > 0 else limit.least
                vectors[WISH, count] = bound - a_null[k]
                vectors[MEASURE, count] = limit.acceleration
            else:
                feel_acceleration(nodes, limit.node, states, felt[count], torques[count])
                vectors[WISH, count] = sign * effort_limits[k] - tau_null[k]
                vectors[MEASURE, count] = effort_limits[k]
            count += 1
    for w in range(count):
        for x in range(w + 1):
            own[w, x] = 0.0
        coupling[w, :] = 0.0
        for i in range(nodes.size):
            if felt[w, i] == 0.0:
                continue
            t = felt[w, i] / states[i].D
            for x in range(w + 1):
                own[w, x] += t * felt[x, i]
            for r in range(coupling.shape[1]):
                coupling[w, r] += t * K[i, r]
        vectors[SCALING, w] = 1.0 / math.sqrt(own[w, w])
        vectors[MOBILITY, w] = own[w, w]
    return count


@called
def move_joints(nodes, states, a_null, K, push, felt, held, a):
    """
    Write how joints accelerate, (nv,), by the motion advised and the wrenches that move them.

    ``push`` are the stack's forces, (k,), ``held`` those of the rows that hold joints.
    """
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = 0.0
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        if node.status == LOCKED:
            continue
        u = -dot(s.U, s.B)
        for r in range(push.size):
            u += K[i, r] * push[r]
        for w in range(held.size):
            u += felt[w, i] * held[w]
        x = u / s.D
        a[node.v_index] = a_null[node.v_index] + x
        for r in range(6):
            s.B[r] += x * s.S[r]


@called
def load_joints(nodes, states, a, tau):
    """Write the joint forces, (nv,), of the motion ``a`` and its forces ``f``, which stay."""
    for i in range(nodes.size):
        for r in range(6):
            states[i].z[r] = states[i].f[r]
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        if node.v_index >= 0:
            tau[node.v_index] = dot(s.z, s.S) + node.armature * a[node.v_index]
        for r in range(6):
            if node.parent >= 0:
                states[node.parent].z[r] += s.z[r]
            s.z[r] = 0.0


@inlined
def sum_torques(nodes, Jacobian, force, torques, held, tau_null, tau):
    """Write the joint forces of motion, tasks and limits, (nv,), N m or N."""
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k < 0:
            continue
        t = tau_null[k]
        for r in range(force.size):
            t += Jacobian[i, r] * force[r]
        for w in range(held.size):
            t += held[w] * torques[w, k]
        tau[k] = t
