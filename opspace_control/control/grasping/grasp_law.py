# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The compiled side of a grasp: what each effector is to do to the object, beyond moving it.

The constraints' own forces λ move the object; how they share the load is up to the mechanism. What
is exerted on top, ``λ + h``, turns them into the wrenches h that the virtual linkage asks for:
each effector's share of the object's resultant, and internal forces ([RKR95] (23)).
"""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.control.grasping.friction_cone import least_squeeze
from opspace_control.dynamics.data import OTHER, OWN
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.tasks.specification_law import row_activation

# So many internal forces can spare the drives: all but the squeeze of five effectors.
WAYS = 24

# An object held by several effectors. The first carries it, its inertia included.
GRASP = np.dtype([
    ('task', np.int64),                # number of the object's task
    ('first', np.int64),               # its grips: the first of them, and the one after the last
    ('end', np.int64),
    ('activation', np.float64),        # from 0 (not grasped) to 1
    ('mass', np.float64),              # of the object, kg
    ('center', np.float64, (3,)),      # its centre of mass in the object's frame, m
    ('inertia', np.float64, (3, 3)),   # about it, object's axes, kg m²
    ('squeeze', np.float64),           # internal forces along the grips' patterns, N: at least
    ('strongest', np.float64),         # and at most, where friction wants more
    ('resultant', np.float64, (6,)),   # of all grips, on the object, about its origin, N and N m
    ('squeezed', np.float64),          # the squeeze of the last cycle, N
    ('middle', np.float64, (3,)),      # of the grips, from the object's origin, m
    ('line', np.float64, (3,)),        # about which nothing turns the object, if there is one
    ('turn', np.float64, (3, 3)),      # pseudo-inverse of their leverage about it, 1/m²
    ('length', np.float64),            # lever by which a moment counts as a force, m
    ('inverse_leverage', np.float64, (3, 3)),  # of grips that exert moments as well, 1/m²
    ('relief', np.float64),            # how much internal forces spare the drives, from 0 to 1
    ('eased', np.float64),             # how much the squeeze is among them, from 0 to 1
    ('width', np.int64),               # how many they are, the squeeze being the last
], align=True)

# One effector's grip. Vectors are in the object's axes.
GRIP = np.dtype([
    ('constraint', np.int64),          # number of the one that holds it, -1 for who carries
    ('place', np.float64, (3,)),       # where it is on the object, m
    ('share', np.float64, (6, 6)),     # its wrench for a resultant
    ('internal', np.float64, (6,)),    # its part of internal forces, N and N m
    ('pattern', np.float64, (6,)),     # and of those of a squeeze of 1 N
    ('inward', np.float64, (3,)),      # normal of the object's surface there
    ('friction', np.float64),          # coefficient to rely on, inf for a grip that cannot slip
    ('wrench', np.float64, (6,)),      # h of the last cycle: on the object at the grip, N and N m
    ('ways', np.float64, (6, WAYS)),   # its part of internal forces that spare the drives, of 1 N
    ('allowed', np.float64, (WAYS + 1, 6)),  # what passive joints allow of these, and of a squeeze
], align=True)


@inlined
def slot_of(points, first, task):
    """Return where in the stack the point of a task is."""
    for e in range(first, points.size):
        if points[e].record == task and not is_group(points[e]):
            return e
    return -1


@inlined
def read_acceleration(task, point, environment, missed, a, w):
    """
    Write how the object is to accelerate, its rate of turn, and what else acts on it.

    Where the task has an axis that is what it asks for, elsewhere the motion advised; less what it
    does not get.

    Parameters
    ----------
    task, point : POSE_TASK, POINT records
        Of the object.
    environment : (6,) array
        Forces along the task's axes that the environment holds against, N and N m.
    missed : (6,) array
        What the task does not get, along its axes, m/s² and rad/s².
    a : (4, 3) array
        Receives acceleration, angular acceleration, and the environment's force and moment, in the
        object's axes.
    w : (3,) array
        Receives the rate of turn, object's axes, rad/s.

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
                along += task.activation * (task.acceleration[r] - along - missed[r])
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
    Write the resultant that the grips must have, by Newton and Euler about the object's origin.

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
def swing_object(grasp, R, gravity, a, w):
    """
    Let an object swing about the line of two fingertips, which have no moment about it.

    How it is to turn about the line, in ``a``, becomes how it does; the resultant follows.
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
        # The line itself stays where it is to be.
        a[0, r] += moment / inertia * (axis[i] * grasp.middle[j] - axis[j] * grasp.middle[i])
    balance_object(grasp, R, gravity, a, w)


@inlined
def planned_wrench(grip, resultant, share, rest, r):
    """Return row r of so much of a grip's share of the resultant and of its internal forces."""
    t = 0.0
    for c in range(6):
        t += grip.share[r, c] * resultant[c]
    return share * t + rest * grip.internal[r]


@inlined
def load_grip(grip, resultant, share, rest):
    """Write so much of a grip's share of the resultant, and so much of the internal forces."""
    for r in range(6):
        grip.wrench[r] = planned_wrench(grip, resultant, share, rest, r)


@inlined
def plan_grips(grasp, grips):
    """
    Write the wrenches h of a grasp's grips, squeezed until none of them slips.

    On its way in, the squeeze is ahead of the object's weight, which comes in evenly like the
    payload of who carries it: what only friction holds is squeezed before it is lifted.
    """
    held, squeeze = row_activation(grasp.activation), grasp.squeeze
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        if grip.friction < math.inf:
            load_grip(grip, grasp.resultant, 1.0, 1.0)
            squeeze = max(squeeze, least_squeeze(
                grip.friction, grip.inward, grip.wrench, grip.pattern, grasp.strongest))
    for k in range(grasp.first, grasp.end):
        grip = grips[k]
        load_grip(grip, grasp.resultant, grasp.activation, held)
        for r in range(6):
            grip.wrench[r] += held * squeeze * grip.pattern[r]
    grasp.squeezed = squeeze


@inlined
def place_grips(grasp, grips, R, held, gripped):
    """Write the wrenches h of a grasp's grips to the rows of its constraints, in base axes."""
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint < 0:
            continue
        h, first = grips[k].wrench, 6 * grips[k].constraint
        for part in range(0, 6, 3):
            for r in range(3):
                i = first + part + r
                if held[i] > 0.0:
                    gripped[i] = R[r, 0] * h[part] + R[r, 1] * h[part + 1] + R[r, 2] * h[part + 2]


@inlined
def sum_shares(grasp, grips, R, held, column, seen, y):
    """Write ``Σ shareᵀ c`` of a grasp's grips, object's axes; ``seen`` (6,) is scratch."""
    for r in range(6):
        y[r] = 0.0
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint < 0:
            continue
        first = 6 * grips[k].constraint
        for r in range(6):
            seen[r] = 0.0
            for d in range(3):
                i = first + r - r % 3 + d
                if held[i] > 0.0:
                    seen[r] += R[d, r % 3] * column[i]
        for r in range(6):
            for d in range(6):
                y[r] += grips[k].share[d, r] * seen[d]


@inlined
def weigh_shares(grasp, grips, R, held, column, scratch, wrench):
    """
    Write what the accelerations of the object add to the work of its grips, ``Mᵀ shareᵀ c``.

    ``column`` is how far a joint moves each of the constraints' rows, M the object's inertia at its
    origin, as in `balance_object`; the wrench is in base axes, ``scratch`` (3, 6).
    """
    seen, y, f = scratch[0], scratch[1], scratch[2]
    m, c = grasp.mass, grasp.center
    sum_shares(grasp, grips, R, held, column, seen, y)
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        f[r] = m * (y[r] + y[3 + i] * c[j] - y[3 + j] * c[i])
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        seen[r], seen[3 + r] = f[r], c[i] * f[j] - c[j] * f[i]
        for d in range(3):
            seen[3 + r] += grasp.inertia[d, r] * y[3 + d]
    for part in range(0, 6, 3):
        for r in range(3):
            wrench[part + r] = 0.0
            for d in range(3):
                wrench[part + r] += R[r, d] * seen[part + d]


@inlined
def exert_grips(grasp, grips, held, reaction, gripped, exerted):
    """
    Write what the constraints of a grasp are to exert, ``λ + h``.

    A constraint acts on the effector and its reaction on who carries the object; so h is its
    opposite, and what is exerted on top of λ makes the two equal.
    """
    for k in range(grasp.first, grasp.end):
        if grips[k].constraint >= 0:
            first = 6 * grips[k].constraint
            for i in range(first, first + 6):
                exerted[i] = held[i] * reaction[i] + gripped[i]


@inlined
def fill_row(i, states, points, supports, count, row):
    """Write what joint i does to the rows of the first constraints, its column of J_c."""
    S, any_row = states[i].S, False
    for e in range(count // 6):
        support = supports[i, e]
        sign = (1.0 if support & OWN else 0.0) - (1.0 if support & OTHER else 0.0)
        any_row = any_row or sign != 0.0
        p, k = points[e].p, 6 * e
        row[k] = sign * (S[0] + S[4] * p[2] - S[5] * p[1])
        row[k + 1] = sign * (S[1] + S[5] * p[0] - S[3] * p[2])
        row[k + 2] = sign * (S[2] + S[3] * p[1] - S[4] * p[0])
        for r in range(3, 6):
            row[k + r] = sign * S[r]
    return any_row
