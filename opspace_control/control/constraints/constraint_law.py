# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled law of a constraint: its error, its acceleration and its Jacobian."""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.dynamics.data import OTHER, OWN
from opspace_control.dynamics.kinematics import move_relatively
from opspace_control.dynamics.responses import add_acceleration
from opspace_control.spatial.rotations import rotation_vector
from opspace_control.spatial.vectors import linear_at, multiply_transpose, rotate

# One constraint of the frame of its point to its other frame, on a link or in the world. Rows are
# along base axes.
CONSTRAINT = np.dtype([
    ('selected', np.float64, (6,)),   # 1 for a constrained axis, 0 for a free one
    ('activation', np.float64),       # from 0 (none) to 1 (rigid)
    ('kp', np.float64),               # 1/s², against drift
    ('kd', np.float64),               # 1/s, against drift
    # Of a contact, see `write_contact_bounds`:
    ('bounded', np.bool_),            # whether its force has bounds
    ('normal', np.float64, (3,)),     # away from the ground, base axes
    ('friction', np.float64),         # coefficient
    ('normal_force', np.float64, (2,)),  # least and greatest, N
    ('sole', np.float64, (5,)),       # centre in the frame, half length, half width, m; inf: none
    ('along', np.float64, (3,)),      # direction of its length in the frame, a unit vector
    ('line', np.bool_),               # whether it has no width: the link may rotate about it
    ('arm', np.float64, (3,)),        # from the frame's origin to its centre, base axes, m
    ('internal_wrench', np.float64, (6,)),  # x, commanded: on the first link, N and N m
    ('error', np.float64, (6,)),      # of position and orientation, m and rad
    # Wrenches on the first link, moments about the sole's centre, N and N m:
    ('force', np.float64, (6,)),      # λ, predicted
    ('exerted', np.float64, (6,)),    # that the joints add there
], align=True)


@inlined
def capture_place(point, origin, states):
    """Set the other frame of a point, which may be in the world, to its present pose."""
    frame, R, p = point.other, point.R, point.p
    if frame.node < 0:
        for r in range(3):
            frame.position[r] = origin[r] + p[r]
            for c in range(3):
                frame.rotation[r, c] = R[r, c]
        return
    body = states[frame.node]
    for r in range(3):
        frame.position[r] = 0.0
        for k in range(3):
            frame.position[r] += body.R[k, r] * (p[k] - body.p[k])
        for c in range(3):
            frame.rotation[r, c] = 0.0
            for k in range(3):
                frame.rotation[r, c] += body.R[k, r] * R[k, c]


@inlined
def add_induced(node, responds, states, p, sign, response):
    """Add the passive-joint response of body ``node``, its acceleration at the point ``p``."""
    if node < 0 or not responds[node]:
        return
    add_acceleration(states[node].B, p, sign, response)


@inlined
def place_sole(constraint, point):
    """
    Write where the centre of a sole is, and the axes of the angular rows of a line.

    A link may rotate about a line t: the rows are those of ``1 − t tᵀ`` instead of base axes, three
    of which two are independent. Forces of these rows are moments in base axes.
    """
    rotate(point.R, constraint.sole, constraint.arm)
    if constraint.line:
        P = point.axes[1]
        rotate(point.R, constraint.along, P[0])
        t0, t1, t2 = P[0, 0], P[0, 1], P[0, 2]
        P[0, 0], P[1, 1], P[2, 2] = 1.0 - t0 * t0, 1.0 - t1 * t1, 1.0 - t2 * t2
        P[0, 1] = P[1, 0] = -t0 * t1
        P[0, 2] = P[2, 0] = -t0 * t2
        P[1, 2] = P[2, 1] = -t1 * t2


@inlined
def project_rotation(axes, x):
    """Replace the angular part of a motion (6,) by its components along axes, by column."""
    x0, x1, x2 = x[3], x[4], x[5]
    for r in range(3):
        x[3 + r] = axes[0, r] * x0 + axes[1, r] * x1 + axes[2, r] * x2


@inlined
def constraint_response(point, responds, states, response):
    """Write how the passive-joint response accelerates a constraint along its rows, (6,)."""
    for r in range(6):
        response[r] = 0.0
    add_induced(point.frame.node, responds, states, point.p, 1.0, response)
    add_induced(point.other.node, responds, states, point.p, -1.0, response)
    project_rotation(point.axes[1], response)


@inlined
def demand_constraint(constraint, points, e, origin, states, responds, R_error, demand, response):
    """
    Write the acceleration ``a_c − a`` that keeps a constraint closed, from that of q̈_null.

    ``a_c = −kp e − kd v`` lets drift decay; ``response`` is the part of ``a`` that passive joints
    cause.

    Parameters
    ----------
    constraint : CONSTRAINT record
        Its error is written.
    points, e : array of POINT, int
        Its point, placed and moved.
    origin : (3,) array
        Root link's origin, m; the point is given from there.
    states, responds : (n,) arrays
        The bodies; which of them have a passive-joint response.
    R_error : (3, 3) array
        Scratch.
    demand, response : (6,) arrays
        Results, m/s² and rad/s².

    """
    point = points[e]
    if math.isnan(point.other.position[0]):
        capture_place(point, origin, states)
    move_relatively(points, e, states)
    error = constraint.error
    for r in range(3):
        error[r] = point.p[r] - point.other_p[r]
        if point.other.node < 0:
            error[r] += origin[r]
    if constraint.selected[3] + constraint.selected[4] + constraint.selected[5] > 0.0:
        multiply_transpose(point.R, point.other_R, R_error)
        rotation_vector(R_error, error, 3)
    else:
        error[3] = error[4] = error[5] = 0.0
    for r in range(6):
        demand[r] = -constraint.kp * error[r] - constraint.kd * point.v[r] - point.a[r]
    project_rotation(point.axes[1], demand)
    constraint_response(point, responds, states, response)


@inlined
def constraint_column(i, states, points, supports, count, column):
    """Write the column of J_c of joint i, (count,); return whether it moves any row."""
    S, moves = states[i].S, False
    for e in range(count // 6):
        support = supports[i, e]
        sign = (1.0 if support & OWN else 0.0) - (1.0 if support & OTHER else 0.0)
        moves = moves or sign != 0.0
        axes, k = points[e].axes[1], 6 * e
        x, y, z = linear_at(S, points[e].p)
        column[k], column[k + 1], column[k + 2] = sign * x, sign * y, sign * z
        for r in range(3):
            column[k + 3 + r] = sign * (
                axes[0, r] * S[3] + axes[1, r] * S[4] + axes[2, r] * S[5])
    return moves
