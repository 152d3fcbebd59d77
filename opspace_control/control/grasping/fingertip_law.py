# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The compiled law of a grasp by fingertips, in which no link carries the object.

The object's pose and motion are the least squares of the effectors' positions. Each effector is
constrained to a place on the object, which moves as the object's task demands.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.data import ACTIVATION, FORCE
from opspace_control.control.grasping.grasp_law import object_point, read_acceleration
from opspace_control.control.stack.rows import stack_task
from opspace_control.spatial.vectors import add_cross, rotate

# The rotation between cycles is small, and each iteration squares the remaining angle.
_ITERATIONS = 3


@inlined
def to_object_axes(R, x, y, c, into):
    """Write ``Rᵀ (x − y) − c``, object's axes."""
    for r in range(3):
        into[r] = -c[r]
        for k in range(3):
            into[r] += R[k, r] * (x[k] - y[k])


@inlined
def rotate_axes(R, d):
    """Replace R by ``R (1 + d ×)``, d a small rotation vector, and orthonormalise it."""
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
def least_squares_turn(grasp, grips, points, R, middle, kind, w, scratch, into):
    """
    Write the rotation vector, angular velocity or acceleration (kind 0, 1, 2) of least squares.

    ``(Σ |u|² − u uᵀ)⁺ Σ u × Rᵀ (x − x̄)``, u from the middle of the effectors, object's axes.
    """
    arm, rest, turned, offset, x = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for r in range(3):
        turned[r] = offset[r] = 0.0
    for k in range(grasp.first, grasp.end):
        tip = points[grips[k].constraint]
        for r in range(3):
            arm[r] = grips[k].place[r] - grasp.middle[r]
        if kind == 2:  # less the centripetal acceleration
            for r in range(3):
                rest[r] = offset[r] = 0.0
            add_cross(w, arm, rest)
            add_cross(w, rest, offset)
        for r in range(3):
            x[r] = tip.p[r] if kind == 0 else (tip.v[r] if kind == 1 else tip.a[r])
        to_object_axes(R, x, middle, offset, rest)
        add_cross(arm, rest, turned)
    rotate(grasp.turn, turned, into)


@inlined
def estimate_object(grasp, grips, points, point, small):
    """
    Write pose, velocity and acceleration of the object: the rigid-body fit to its effectors.

    Rotation about the line of two effectors is unobservable and stays.
    """
    N, R, scratch = grasp.end - grasp.first, point.frame.rotation, small[1]
    p, v, a, w, alpha = small[0, 0], small[0, 1], small[0, 2], small[0, 3], small[0, 4]
    for r in range(3):
        p[r] = v[r] = a[r] = 0.0
        for k in range(grasp.first, grasp.end):
            tip = points[grips[k].constraint]
            p[r] += tip.p[r] / N
            v[r] += tip.v[r] / N
            a[r] += tip.a[r] / N
    for _ in range(_ITERATIONS):
        least_squares_turn(grasp, grips, points, R, p, 0, w, scratch, alpha)
        rotate_axes(R, alpha)
    least_squares_turn(grasp, grips, points, R, v, 1, w, scratch, w)
    least_squares_turn(grasp, grips, points, R, a, 2, w, scratch, alpha)
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
    Write position, velocity and acceleration of the point at ``arm`` from p: rows of ``into``.

    p, v, a are in base axes; ``arm``, angular velocity w and acceleration alpha in the object's.
    """
    v_turn, a_turn, turned = into[3], into[4], into[5]
    for r in range(3):
        v_turn[r] = a_turn[r] = 0.0
    add_cross(w, arm, v_turn)
    add_cross(alpha, arm, a_turn)
    add_cross(w, v_turn, a_turn)
    rotate(R, arm, turned)
    for r in range(3):
        into[0, r] = p[r] + turned[r]
    rotate(R, v_turn, turned)
    for r in range(3):
        into[1, r] = v[r] + turned[r]
    rotate(R, a_turn, turned)
    for r in range(3):
        into[2, r] = a[r] + turned[r]


@rare
def constrain_fingertips(cycle, grasping, robot, demand, rows, small):
    """
    Write the constraint rows of fingertips, after the estimate of their object and its task row.

    ``a_i = a + α × r_i + ω × (ω × r_i) − kp e_i − kd ė_i``
    """
    states, points, (grasps, grips) = robot.states, robot.points, grasping
    constraints, tasks, sensors = demand.constraints, demand.tasks, demand.sensors
    for g in range(grasps.size):
        grasp = grasps[g]
        e = object_point(points, constraints.size, grasp.task)
        task, point, first = tasks[grasp.task], points[e], 6 * e
        if not task.unattached:
            continue
        estimate_object(grasp, grips, points, point, small)
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
            tip, constraint = points[c], constraints[c]
            move_body(point.R, point.p, point.v, small[1, 0], w, a[1], grips[k].place, small[2])
            for r in range(3):
                constraint.error[r] = tip.p[r] - small[2, 0, r]
                rows[FORCE, 6 * c + r] = (
                    small[2, 2, r] - tip.a[r] - constraint.kp * constraint.error[r]
                    - constraint.kd * (tip.v[r] - small[2, 1, r]))
