# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The rows of the stack that hold joints at their limits, and what they do to all other joints.

A joint that would pass the limits of its acceleration is held at the nearest one: a row ``e_jᵀ q̈``
above all tasks. One that would pass a limit of its effort is held at that, a row ``A_k q̈``: what
answers to it is the acceleration of joint k alone, passive joints doing what it induces.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.hierarchy.giving_way import feel_giving_way
from opspace_control.control.hierarchy.modes import FORCES, GIVEN
from opspace_control.control.hierarchy.planes import (
    AGAINST,
    BORNE,
    COUPLING,
    FACTORED,
    LOADS,
    NUMBERS,
    OWN_MOBILITY,
    ROTATION,
)
from opspace_control.control.hierarchy.release import decompose_level, solve_level
from opspace_control.control.hierarchy.semidefinite import solve_semidefinite
from opspace_control.control.limits.limit_law import KINDS, LOAD, MOTION, held_by
from opspace_control.control.limits.loads import growth_of
from opspace_control.dynamics.inverse_dynamics import add_inertial_force
from opspace_control.dynamics.weights import branch_end
from opspace_control.model.nodes import LOCKED
from opspace_control.spatial.vectors import dot

# Scaled eigenvalue below which rows cannot all be met.
_THRESHOLD = 1e-5
# A joint that stands by less than this, from 0 to 1, is as good as free.
_LEAST = 1e-3
# Numbers of a row that holds a joint: what it is to be beyond the motion advised, its own mobility,
# the limit that it is measured by, its scale, the force that holds, and scratch. Then, a number a
# joint, the joint forces of the motion advised, and with what grips have to bear of it.
WISH, MOBILITY, MEASURE, SCALING, HOLDING, GAINS, COLUMN, WORK, ADVISED, BEARING = range(10)


@inlined
def keep_feelings(nodes, i, supports, points, K):
    """Write what joint i feels of the points' unit wrenches, which have just been carried there."""
    for e in range(points.size):
        if supports[i, e]:
            for r in range(6):
                K[i, 6 * e + r] = 0.0 if nodes[i].status == LOCKED else points[e].K[r]


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
def feel_torques(nodes, states, torque, felt):
    """Write what each joint feels, (n,), of some joint forces, (nv,), none of them at a brake."""
    for i in range(nodes.size):
        for r in range(6):
            states[i].z[r] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        felt[i] = 0.0
        if node.status != LOCKED:
            felt[i] = torque[node.v_index] + dot(s.z, s.S)
            for r in range(6):
                s.z[r] -= s.U[r] * felt[i] / s.D
        if node.parent >= 0:
            for r in range(6):
                states[node.parent].z[r] += s.z[r]


@inlined
def feel_acceleration(nodes, node, states, felt, torque):
    """
    Write what each joint feels, (n,), of the torques, (nv,), that accelerate one joint by 1.

    All joints beyond it are carried along, all others stay: its column of A.
    """
    felt[:] = 0.0
    torque[:] = 0.0
    S = states[node].S
    end = branch_end(nodes, node)
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


@rare
def hold_joints(nodes, states, limits, ends, effort_limits, a_null, tau_null, felt, torques,
                vectors, robot):
    """
    Write the rows of joints that are held, and what is wanted of them; return how many there are.

    Of all of them, or only of those that stand at their ends, where they stay.
    """
    cycle, leads, loads, dofs = robot[0], robot[1], robot[12][LOADS], limits.size
    count = 0
    for k in range(limits.size):
        limit = limits[k]
        for kind in range(KINDS):
            sign = limit.held[kind]
            if limit.stands[kind] == 0.0 if ends else sign == 0:
                continue
            limits[count // KINDS].row[count % KINDS] = KINDS * k + kind
            if kind == MOTION:
                feel_torque(nodes, limit.node, states, felt[count])
                torques[count, :] = 0.0
                torques[count, k] = 1.0
                bound = 0.0 if ends else limit.greatest if sign > 0 else limit.least
                vectors[WISH, count] = bound - a_null[k]
                vectors[MEASURE, count] = limit.acceleration
            elif kind == LOAD:
                for j in range(limits.size):
                    torques[count, j] = loads[k, j]
                feel_torques(nodes, states, torques[count], felt[count])
                bound = 0.0 if ends else limit.growth
                vectors[WISH, count] = bound - growth_of(loads[k], a_null)
                vectors[MEASURE, count] = limit.firmness
            else:
                feel_acceleration(nodes, limit.node, states, felt[count], torques[count])
                if cycle.yields:
                    feel_giving_way(nodes, states, robot[14], leads[FORCES, :dofs],
                                    leads[GIVEN, :dofs], felt[count], torques[count])
                vectors[WISH, count] = sign * effort_limits[k] - tau_null[k]
                vectors[MEASURE, count] = effort_limits[k]
            count += 1
    return count


@rare
def couple_rows(nodes, states, count, K, felt, coupling, own, vectors):
    """Write what rows that joints feel do to each other, and to the stack."""
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


@rare
def soften_ends(limits, count, own, vectors):
    """
    Hold softly what does not quite stand yet at its end, or any more.

    Measured by its own mobility, of which constraints may leave nothing but rounding errors.
    """
    for w in range(count):
        k, kind = held_by(limits, w)
        softer = 1.0 + (1.0 / max(limits[k].stands[kind], _LEAST) - 1.0) ** 3
        own[w, w] += (softer - 1.0) * vectors[MOBILITY, w]
        vectors[SCALING, w] /= math.sqrt(softer)


@rare
def leave_to_constraints(cycle, count, constrained, scale, L, F, gram, order, held, z, work,
                         room):
    """
    Take off what constraints bear of the rows that hold joints: nature comes before any row.

    As in `eliminate_constraints`, these rows having no part in Q: ``M − C_c L_cc⁺ C_cᵀ``,
    ``C_t − C_c L_cc⁺ L_ct``, ``w + C_c (λ0 − z)``. ``L_cc⁺ C_cᵀ`` is kept, BORNE.
    """
    own, coupling, vectors = room[OWN_MOBILITY], room[COUPLING], room[NUMBERS]
    if constrained == 0:
        return
    for w in range(count):
        borne = room[BORNE, w]
        for c in range(constrained):
            borne[c] = coupling[w, c]
            vectors[WISH, w] += coupling[w, c] * ((held[c] if cycle.yields else 0.0) - z[c])
        solve_semidefinite(F, gram, order, cycle.ranks[0], scale, constrained, borne, work)
        for x in range(w + 1):
            for c in range(constrained):
                own[w, x] -= coupling[x, c] * borne[c]
    for w in range(count):
        for t in range(constrained, scale.size):
            for c in range(constrained):
                coupling[w, t] -= room[BORNE, w, c] * L[t, c]


@inlined
def decompose_rows(count, room):
    """Prepare `solve_rows`; return whether the rows that hold joints can all be met."""
    vectors, first = room[NUMBERS], int(0.0)  # no literal: what is called compiles once
    return count == 0 or decompose_level(
        room[OWN_MOBILITY], first, vectors[SCALING, :count], _THRESHOLD, _THRESHOLD,
        room[FACTORED], room[ROTATION], vectors[GAINS, :count], vectors[WORK, :count]) > 0.0


@rare
def take_off_held(exactly, count, constrained, room, wanted, mobility, L, force):
    """Take what holds joints off what is wanted and off the mobility of the tasks."""
    coupling, wish = room[COUPLING], room[NUMBERS, WISH]
    for c in range(wanted.size):
        force[c] = wanted[c]
        against = room[AGAINST, c, :count]
        for w in range(count):
            against[w] = coupling[w, c] if c >= constrained else 0.0
        if c < constrained:
            continue
        solve_rows(exactly, count, room, against)
        for w in range(count):
            force[c] -= wish[w] * against[w]
        for r in range(c, wanted.size):
            L[r, c] = mobility[r - constrained, c - constrained]
            for w in range(count):
                L[r, c] -= coupling[w, r] * against[w]


@rare
def solve_rows(exactly, count, room, x):
    """Replace accelerations of the rows that hold joints, (count,), by forces, ``M⁻¹ x``."""
    vectors = room[NUMBERS]
    solve_level(exactly, room[FACTORED], room[ROTATION], vectors[GAINS, :count],
                vectors[SCALING, :count], x, vectors[WORK, :count])
