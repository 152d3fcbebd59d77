# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Wrenches h of the grips of a grasp: the object's resultant and internal forces, [RKR95] (23).

The constraint forces λ distribute the load as the mechanism does. The joints exert ``λ + h`` in
addition, which makes the grips' wrenches those of the virtual linkage.
"""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.control.grasping.friction_cone import least_grasp_force
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.tasks.specification_law import row_activation

# Internal forces of five effectors, without the grasp force.
MAX_BASIS = 24

# An object in several effectors. The first one carries its mass and inertia.
GRASP = np.dtype([
    ('task', np.int64),                # number of the object's task
    ('first', np.int64),               # of its grips, and the number after the last
    ('end', np.int64),
    ('activation', np.float64),        # from 0 (not grasped) to 1
    ('mass', np.float64),              # of the object, kg
    ('center', np.float64, (3,)),      # its centre of mass in the object's frame, m
    ('inertia', np.float64, (3, 3)),   # about it, object's axes, kg m²
    ('grasp_force', np.float64),       # pressure of each member of the virtual linkage, N: least
    ('max_grasp_force', np.float64),   # and greatest, where friction requires more
    ('resultant', np.float64, (6,)),   # of all grips, on the object, about its origin, N and N m
    ('applied_force', np.float64),  # of the last cycle, N
    ('middle', np.float64, (3,)),      # of the grips, from the object's origin, m
    ('line', np.float64, (3,)),        # of two fingertips, about which they exert no moment
    ('turn', np.float64, (3, 3)),      # pseudo-inverse of their leverage about it, 1/m²
    ('length', np.float64),            # ℓ, lever that makes a moment a force, m
    ('inverse_leverage', np.float64, (3, 3)),  # moments of the grips included, 1/m²
    ('minimum_effort', np.float64),    # weight of the minimum-effort internal force, from 0 to 1
    ('grasp_force_free', np.float64),  # weight of the grasp force in it, from 0 to 1
    ('basis_size', np.int64),          # of its basis, whose last vector is the grasp force
], align=True)

# One effector's grip. Vectors are in the object's axes.
GRIP = np.dtype([
    ('constraint', np.int64),          # its number, -1 for the carrier
    ('place', np.float64, (3,)),       # where it is on the object, m
    ('load_share', np.float64, (6, 6)),  # its wrench for a resultant
    ('internal', np.float64, (6,)),    # its wrench of the desired internal forces, N and N m
    ('unit_force', np.float64, (6,)),  # its wrench of a grasp force of 1 N
    ('inward', np.float64, (3,)),      # normal of the object's surface there
    ('friction', np.float64),          # coefficient over the margin, inf: it cannot slip
    ('wrench', np.float64, (6,)),      # h of the last cycle: on the object at the grip, N and N m
    ('basis', np.float64, (6, MAX_BASIS)),  # its wrenches of internal forces of 1 N
    ('admissible', np.float64, (MAX_BASIS + 1, 6)),  # those that passive joints admit
], align=True)


@inlined
def object_point(points, first, task):
    """Return the number of the point of a task, -1 if there is none."""
    for e in range(first, points.size):
        if points[e].record == task and not is_group(points[e]):
            return e
    return -1


@inlined
def read_acceleration(task, point, environment, residual, a, w):
    """
    Write the object's reference acceleration, angular velocity and environment wrench.

    Along the task's axes its acceleration less the residual, elsewhere that of the null space.

    Parameters
    ----------
    task, point : POSE_TASK, POINT records
        Of the object.
    environment : (6,) array
        Wrench on the environment, along the task's axes, N and N m.
    residual : (6,) array
        Of the task's acceleration, along its axes, m/s² and rad/s².
    a : (4, 3) array
        Receives linear and angular acceleration, and that force and moment, object's axes.
    w : (3,) array
        Receives the angular velocity, object's axes, rad/s.

    """
    R, axes = point.R, point.axes
    for part in range(2):
        for c in range(3):
            a[part, c] = a[part + 2, c] = 0.0
        for k in range(3):
            r = 3 * part + k
            x, y, z = axes[part, 0, k], axes[part, 1, k], axes[part, 2, k]
            first = 3 * part
            along = x * point.a[first] + y * point.a[first + 1] + z * point.a[first + 2]
            if task.row_activation[r] > 0.0:
                along += task.activation * (task.acceleration[r] - along - residual[r])
            for c in range(3):
                # Row k of the task's axes, seen in the object's.
                turned = R[0, c] * x + R[1, c] * y + R[2, c] * z
                a[part, c] += turned * along
                a[part + 2, c] += turned * environment[r]
    for c in range(3):
        w[c] = R[0, c] * point.v[3] + R[1, c] * point.v[4] + R[2, c] * point.v[5]


@inlined
def balance_object(grasp, R, gravity, a, w):
    """
    Write the resultant of the grips, by Newton and Euler about the object's origin.

    ``f = m (a + α × c + ω × (ω × c) − g) + f_env``, ``n = I α + ω × I ω + c × f_m + n_env``.
    """
    m, c, inertia, resultant = grasp.mass, grasp.center, grasp.inertia, grasp.resultant
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        weight = R[0, r] * gravity[0] + R[1, r] * gravity[1] + R[2, r] * gravity[2]
        wc = w[0] * c[0] + w[1] * c[1] + w[2] * c[2]
        ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
        resultant[r] = m * (a[0, r] - weight + a[1, i] * c[j] - a[1, j] * c[i]
                            + w[r] * wc - c[r] * ww)
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        momentum_i = inertia[i, 0] * w[0] + inertia[i, 1] * w[1] + inertia[i, 2] * w[2]
        momentum_j = inertia[j, 0] * w[0] + inertia[j, 1] * w[1] + inertia[j, 2] * w[2]
        resultant[3 + r] = (
            inertia[r, 0] * a[1, 0] + inertia[r, 1] * a[1, 1] + inertia[r, 2] * a[1, 2]
            + w[i] * momentum_j - w[j] * momentum_i + c[i] * resultant[j] - c[j] * resultant[i])
    for r in range(3):
        resultant[r] += a[2, r]
        resultant[3 + r] += a[3, r]


@inlined
def balance_about_line(grasp, R, gravity, a, w):
    """
    Replace the angular acceleration about the line of two fingertips by the passive one.

    Two point contacts exert no moment about their line; the resultant is updated.
    """
    m, axis, c, f = grasp.mass, grasp.line, grasp.center, grasp.resultant
    moment = inertia = along = distance = 0.0
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        d = c[r] - grasp.middle[r]
        along += axis[r] * d
        distance += d * d
        moment += axis[r] * (f[3 + r] - grasp.middle[i] * f[j] + grasp.middle[j] * f[i])
        for k in range(3):
            inertia += axis[r] * grasp.inertia[r, k] * axis[k]
    inertia += m * (distance - along * along)
    if inertia <= 0.0:
        return
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        a[1, r] -= moment / inertia * axis[r]
        # The acceleration of the line itself stays.
        a[0, r] += moment / inertia * (axis[i] * grasp.middle[j] - axis[j] * grasp.middle[i])
    balance_object(grasp, R, gravity, a, w)


@inlined
def planned_wrench(grip, resultant, load_weight, internal_weight, r):
    """Return row r of the weighted sum of a grip's share of the resultant and internal wrench."""
    t = 0.0
    for c in range(6):
        t += grip.load_share[r, c] * resultant[c]
    return load_weight * t + internal_weight * grip.internal[r]


@inlined
def write_planned_wrench(grip, resultant, load_weight, internal_weight):
    """Write that sum as the grip's wrench."""
    for r in range(6):
        grip.wrench[r] = planned_wrench(
            grip, resultant, load_weight, internal_weight, r)


@inlined
def plan_grips(grasp, grips):
    """
    Write the grips' wrenches h, with the least grasp force that keeps them in friction.

    While the activation rises, the grasp force leads the load, which rises linearly like the
    carrier's payload: friction needs the normal force first.
    """
    weight, grasp_force = row_activation(grasp.activation), grasp.grasp_force
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            write_planned_wrench(grip, grasp.resultant, 1.0, 1.0)
            grasp_force = max(grasp_force, least_grasp_force(
                grip.friction, grip.inward, grip.wrench, grip.unit_force, grasp.max_grasp_force))
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        write_planned_wrench(grip, grasp.resultant, grasp.activation, weight)
        for r in range(6):
            grip.wrench[r] += weight * grasp_force * grip.unit_force[r]
    grasp.applied_force = grasp_force


@inlined
def place_grips(grasp, grips, R, active, gripped):
    """Write the grips' wrenches h to the active constraint rows, base axes."""
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint < 0:
            continue
        h, first = grips[k].wrench, 6 * grips[k].constraint
        for part in range(0, 6, 3):
            for r in range(3):
                i = first + part + r
                if active[i] > 0.0:
                    gripped[i] = R[r, 0] * h[part] + R[r, 1] * h[part + 1] + R[r, 2] * h[part + 2]


@inlined
def sum_shares(grasp, grips, R, active, column, turned, y):
    """Write ``Σ shareᵀ c`` of a grasp's grips, object's axes; ``turned`` (6,) is scratch."""
    for r in range(6):
        y[r] = 0.0
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint < 0:
            continue
        first = 6 * grips[k].constraint
        for r in range(6):
            turned[r] = 0.0
            for d in range(3):
                i = first + r - r % 3 + d
                if active[i] > 0.0:
                    turned[r] += R[d, r % 3] * column[i]
        for r in range(6):
            for d in range(6):
                y[r] += grips[k].load_share[d, r] * turned[d]


@inlined
def share_gradient(grasp, grips, R, active, column, scratch, wrench):
    """
    Write ``Mᵀ Σ shareᵀ c``, (6,), base axes: the gradient of ``cᵀ h`` by the object's acceleration.

    ``column`` is a joint's column c of J_c, M the object's inertia at its origin as in
    `balance_object`; ``scratch`` is (3, 6).
    """
    turned, y, f = scratch[0], scratch[1], scratch[2]
    m, c = grasp.mass, grasp.center
    sum_shares(grasp, grips, R, active, column, turned, y)
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        f[r] = m * (y[r] + y[3 + i] * c[j] - y[3 + j] * c[i])
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        turned[r], turned[3 + r] = f[r], c[i] * f[j] - c[j] * f[i]
        for d in range(3):
            turned[3 + r] += grasp.inertia[d, r] * y[3 + d]
    for part in range(0, 6, 3):
        for r in range(3):
            wrench[part + r] = 0.0
            for d in range(3):
                wrench[part + r] += R[r, d] * turned[part + d]


@inlined
def exert_grips(grasp, grips, active, reaction, gripped, exerted):
    """Write what joints exert at the constraints of a grasp: ``λ + h``; grips react with −h."""
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint >= 0:
            first = 6 * grips[k].constraint
            for i in range(first, first + 6):
                exerted[i] = active[i] * reaction[i] + gripped[i]
