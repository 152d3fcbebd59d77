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
from opspace_control.control.hierarchy.modes import FORCES, GIVEN
from opspace_control.control.hierarchy.semidefinite import solve_semidefinite
from opspace_control.control.hierarchy.structures import (
    AGAINST,
    BORNE,
    COUPLING,
    FACTOR_L,
    FACTORED,
    FEELING,
    FELT,
    FORCE,
    GRAM_L,
    HELD,
    LEADING,
    LOADS,
    NUMBERS,
    OWN_MOBILITY,
    ROTATION,
    SCALE,
    SPARE,
    TORQUES,
    WANTED,
    Decomposition,
    L,
)
from opspace_control.control.hierarchy.truncation import decompose_level, solve_level
from opspace_control.control.limits.limit_law import KINDS, LOAD, MOTION, held_by
from opspace_control.control.limits.loads import growth_of
from opspace_control.dynamics.responses import (
    project_passive_response,
    project_torques,
    project_unit_acceleration,
    project_unit_torque,
)

# Scaled eigenvalue below which rows cannot all be met.
_THRESHOLD = 1e-5
# A joint that stands by less than this, from 0 to 1, is as good as free.
_LEAST = 1e-3
# Numbers of a row that holds a joint: what it is to be beyond the motion advised, its own mobility,
# the limit that it is measured by, its scale, the force that holds, and scratch. Then, a number a
# joint, the joint forces of the motion advised, and with what grips have to bear of it.
WISH, MOBILITY, MEASURE, SCALING, HOLDING, GAINS, COLUMN, WORK, ADVISED, BEARING = range(10)


@rare
def hold_joints(data, ends, a_null, tau_null):
    """
    Write the rows of joints that are held, and what is wanted of them; return how many there are.

    Of all of them, or only of those that stand at their ends, where they stay.
    """
    nodes, states, room = data.robot.nodes, data.robot.states, data.scratch.room
    effort_limits, limits = data.bounds.efforts, data.bounds.joints
    leads, loads, vectors, dofs = room[LEADING], room[LOADS], room[NUMBERS], limits.size
    projection, torques = room[FELT, :, :nodes.size], room[TORQUES, :, :dofs]
    count = 0
    for k in range(limits.size):
        limit = limits[k]
        for kind in range(KINDS):
            sign = limit.held[kind]
            if limit.stands[kind] == 0.0 if ends else sign == 0:
                continue
            limits[count // KINDS].row[count % KINDS] = KINDS * k + kind
            if kind == MOTION:
                project_unit_torque(nodes, limit.node, states, projection[count])
                torques[count, :] = 0.0
                torques[count, k] = 1.0
                bound = 0.0 if ends else limit.greatest if sign > 0 else limit.least
                vectors[WISH, count] = bound - a_null[k]
                vectors[MEASURE, count] = limit.acceleration
            elif kind == LOAD:
                for j in range(limits.size):
                    torques[count, j] = loads[k, j]
                project_torques(nodes, states, torques[count], projection[count])
                bound = 0.0 if ends else limit.growth
                vectors[WISH, count] = bound - growth_of(loads[k], a_null)
                vectors[MEASURE, count] = limit.firmness
            else:
                project_unit_acceleration(
                    nodes, limit.node, states, projection[count], torques[count])
                if data.cycle.has_passive:
                    project_passive_response(
                        nodes, states, data.robot.responds, leads[FORCES, :dofs],
                        leads[GIVEN, :dofs], projection[count], torques[count])
                vectors[WISH, count] = sign * effort_limits[k] - tau_null[k]
                vectors[MEASURE, count] = effort_limits[k]
            count += 1
    return count


@rare
def couple_rows(data, count):
    """Write what rows that joints feel do to each other, and to the stack."""
    room, n, size = data.scratch.room, data.robot.nodes.size, data.scratch.rows.shape[1]
    projection, coupling, own = room[FELT, :, :n], room[COUPLING, :, :size], room[OWN_MOBILITY]
    K, vectors = room[FEELING, :n, :size], room[NUMBERS]
    for w in range(count):
        for x in range(w + 1):
            own[w, x] = 0.0
        coupling[w, :] = 0.0
        for i in range(n):
            if projection[w, i] == 0.0:
                continue
            t = projection[w, i] / data.robot.states[i].D
            for x in range(w + 1):
                own[w, x] += t * projection[x, i]
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
def leave_to_constraints(data, count):
    """
    Take off what constraints bear of the rows that hold joints: nature comes before any row.

    As in `eliminate_constraints`, these rows having no part in Q: ``M − C_c L_cc⁺ C_cᵀ``,
    ``C_t − C_c L_cc⁺ L_ct``, ``w + C_c (λ0 − z)``. ``L_cc⁺ C_cᵀ`` is kept, BORNE.
    """
    rows, squares, room = data.scratch.rows, data.scratch.squares, data.scratch.room
    own, coupling, vectors = room[OWN_MOBILITY], room[COUPLING], room[NUMBERS]
    constrained, held, z = 6 * data.demand.constraints.size, rows[HELD], rows[WANTED]
    if constrained == 0:
        return
    for w in range(count):
        borne = room[BORNE, w]
        for c in range(constrained):
            borne[c] = coupling[w, c]
            before = held[c] if data.cycle.has_passive else 0.0
            vectors[WISH, w] += coupling[w, c] * (before - z[c])
        solve_semidefinite(squares[FACTOR_L], squares[GRAM_L], data.scratch.orders[0],
                           data.cycle.ranks[0], rows[SCALE], constrained, borne, rows[SPARE])
        for x in range(w + 1):
            for c in range(constrained):
                own[w, x] -= coupling[x, c] * borne[c]
    for w in range(count):
        for t in range(constrained, rows.shape[1]):
            for c in range(constrained):
                coupling[w, t] -= room[BORNE, w, c] * squares[L, t, c]


@inlined
def decomposed_rows(count, room):
    """Return the `Decomposition` of the rows that hold joints."""
    vectors = room[NUMBERS]
    return Decomposition(room[FACTORED], room[ROTATION], vectors[GAINS, :count],
                         vectors[SCALING, :count], vectors[WORK, :count])


@inlined
def decompose_rows(count, room):
    """Prepare `solve_rows`; return whether the rows that hold joints can all be met."""
    first = int(0.0)  # no literal: what is called compiles once
    return count == 0 or decompose_level(
        room[OWN_MOBILITY], first, _THRESHOLD, _THRESHOLD, decomposed_rows(count, room)) > 0.0


@rare
def take_off_held(data, exactly, count):
    """Take what holds joints off what is wanted and off the mobility of the tasks."""
    room, left, mobility = data.scratch.room, data.scratch.squares[L], data.scratch.Lambda_inverse
    wanted, force = data.scratch.rows[WANTED], data.scratch.rows[FORCE]
    constrained = 6 * data.demand.constraints.size
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
            left[r, c] = mobility[r - constrained, c - constrained]
            for w in range(count):
                left[r, c] -= coupling[w, r] * against[w]


@rare
def solve_rows(exactly, count, room, x):
    """Replace accelerations of the rows that hold joints, (count,), by forces, ``M⁻¹ x``."""
    solve_level(exactly, decomposed_rows(count, room), x)
