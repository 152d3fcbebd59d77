# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The compiled side of a grasp by fingertips: no effector holds the object's direction.

So no link carries it. Where it is, how it moves and what its grips are to do follow from the places
of the effectors: each of these is held to a place on the object, which moves as its task asks.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.grasping.grasp_law import read_acceleration, slot_of
from opspace_control.control.hierarchy.structures import ACTIVATION, FORCE
from opspace_control.control.stack.rows import stack_task
from opspace_control.spatial.vectors import add_cross, rotate

# From cycle to cycle the object turns little: each round leaves the square of the angle.
_ROUNDS = 3


@inlined
def seen_by_object(R, x, y, c, into):
    """Write ``Rᵀ (x − y) − c``, object's axes."""
    for r in range(3):
        into[r] = -c[r]
        for k in range(3):
            into[r] += R[k, r] * (x[k] - y[k])


@inlined
def turn_by(R, d):
    """Turn axes by a small rotation vector d in themselves, ``R (1 + d ×)``, and set them right."""
    for r in range(3):
        x, y, z = R[r, 0], R[r, 1], R[r, 2]
        R[r, 0] += y * d[2] - z * d[1]
        R[r, 1] += z * d[0] - x * d[2]
    along = length = 0.0
    for r in range(3):
        length += R[r, 0] * R[r, 0]
    for r in range(3):
        R[r, 0] /= math.sqrt(length)
        along += R[r, 0] * R[r, 1]
    length = 0.0
    for r in range(3):
        R[r, 1] -= along * R[r, 0]
        length += R[r, 1] * R[r, 1]
    for r in range(3):
        R[r, 1] /= math.sqrt(length)
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        R[r, 2] = R[i, 0] * R[j, 1] - R[j, 0] * R[i, 1]


@inlined
def sum_turns(grasp, grips, points, R, middle, kind, w, scratch, into):
    """
    Write the turn of the object, of its place, velocity or acceleration (kind 0, 1, 2).

    ``(Σ |u|² − u uᵀ)⁺ Σ u × Rᵀ (x − x̄)``, u from the middle of the effectors, object's axes.
    """
    arm, rest, turned, pull, seen = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for r in range(3):
        turned[r] = pull[r] = 0.0
    for k in range(grasp.first, grasp.end):
        held = points[grips[k].constraint]
        for r in range(3):
            arm[r] = grips[k].place[r] - grasp.middle[r]
        if kind == 2:  # without what it has from turning as fast as it does
            for r in range(3):
                rest[r] = pull[r] = 0.0
            add_cross(w, arm, rest)
            add_cross(w, rest, pull)
        for r in range(3):
            seen[r] = held.p[r] if kind == 0 else (held.v[r] if kind == 1 else held.a[r])
        seen_by_object(R, seen, middle, pull, rest)
        add_cross(arm, rest, turned)
    rotate(grasp.turn, turned, into)


@inlined
def fit_object(grasp, grips, points, point, small):
    """
    Write pose, velocity and advised acceleration of the object, as those of its effectors say.

    The least squares of a rigid body; about the line of two effectors it stays as it is.
    """
    N, R, scratch = grasp.end - grasp.first, point.frame.rotation, small[1]
    p, v, a, w, alpha = small[0, 0], small[0, 1], small[0, 2], small[0, 3], small[0, 4]
    for r in range(3):
        p[r] = v[r] = a[r] = 0.0
        for k in range(grasp.first, grasp.end):
            held = points[grips[k].constraint]
            p[r] += held.p[r] / N
            v[r] += held.v[r] / N
            a[r] += held.a[r] / N
    for _ in range(_ROUNDS):
        sum_turns(grasp, grips, points, R, p, 0, w, scratch, alpha)
        turn_by(R, alpha)
    sum_turns(grasp, grips, points, R, v, 1, w, scratch, w)
    sum_turns(grasp, grips, points, R, a, 2, w, scratch, alpha)
    for r in range(3):
        scratch[0, r] = -grasp.middle[r]
    move_body(R, p, v, a, w, alpha, scratch[0], small[2])
    rotate(R, w, scratch[1])
    rotate(R, alpha, scratch[2])
    for r in range(3):
        point.p[r] = point.frame.position[r] = small[2, 0, r]
        point.v[r], point.a[r] = small[2, 1, r], small[2, 2, r]
        point.v[3 + r], point.a[3 + r] = scratch[1, r], scratch[2, r]
        for c in range(3):
            point.R[r, c] = R[r, c]


@inlined
def move_body(R, p, v, a, w, alpha, arm, into):
    """
    Write where a place of the object is, how fast, and how it accelerates: rows of ``into``.

    p, v, a are those of a place from which the other one is at ``arm``; this, the rate of turn w
    and alpha are in the object's axes.
    """
    swing, pull, turned = into[3], into[4], into[5]
    for r in range(3):
        swing[r] = pull[r] = 0.0
    add_cross(w, arm, swing)
    add_cross(alpha, arm, pull)
    add_cross(w, swing, pull)
    rotate(R, arm, turned)
    for r in range(3):
        into[0, r] = p[r] + turned[r]
    rotate(R, swing, turned)
    for r in range(3):
        into[1, r] = v[r] + turned[r]
    rotate(R, pull, turned)
    for r in range(3):
        into[2, r] = a[r] + turned[r]


@rare
def lead_effectors(cycle, grasping, robot, demand, rows, small):
    """
    Let the effectors of each grasp by fingertips follow the object, and this its task.

    ``a_i = a + α × r_i + ω × (ω × r_i) − kp e_i − kd ė_i``: the rows of their constraints.
    """
    states, points, (grasps, grips) = robot.states, robot.points, grasping
    constraints, tasks, sensors = demand.constraints, demand.tasks, demand.sensors
    for g in range(grasps.size):
        grasp = grasps[g]
        e = slot_of(points, constraints.size, grasp.task)
        task, point, first = tasks[grasp.task], points[e], 6 * e
        if not task.unattached:
            continue
        fit_object(grasp, grips, points, point, small)
        stack_task(task, points, e, cycle, states, sensors, rows)
        w, a = cycle.rate, cycle.motion
        none = small[2, 5]
        for r in range(6):
            rows[ACTIVATION, first + r] = rows[FORCE, first + r] = none[r] = 0.0
        if grasp.activation == 0.0:
            continue
        read_acceleration(task, point, none, none, a, w)
        rotate(point.R, a[0], small[1, 0])
        for k in range(grasp.first, grasp.end):
            c = grips[k].constraint
            held, constraint = points[c], constraints[c]
            move_body(point.R, point.p, point.v, small[1, 0], w, a[1], grips[k].place, small[2])
            for r in range(3):
                constraint.error[r] = held.p[r] - small[2, 0, r]
                rows[FORCE, 6 * c + r] = (
                    small[2, 2, r] - held.a[r] - constraint.kp * constraint.error[r]
                    - constraint.kd * (held.v[r] - small[2, 1, r]))
