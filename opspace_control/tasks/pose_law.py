# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled motion law of a pose task, [K87] (4.3)-(4.5)."""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.spatial.rotations import rotation_vector
from opspace_control.spatial.vectors import multiply_transpose

# One pose task. Poses are in the base frame (the world's for a floating base), vectors in its axes.
POSE_TASK = np.dtype([
    ('kp', np.float64, (6,)),            # 1/s²
    ('kd', np.float64, (6,)),            # 1/s
    ('max_linear_velocity', np.float64),   # m/s, inf for none
    ('max_angular_velocity', np.float64),  # rad/s, inf for none
    ('selected', np.float64, (6,)),      # 1 for a controlled axis, 0 for a free one
    ('activation', np.float64),          # of the task, from 0 (off) to 1 (exact)
    ('target_R', np.float64, (3, 3)),
    ('target_p', np.float64, (3,)),      # m; NaN: hold the pose seen at the next cycle
    ('target_twist', np.float64, (6,)),  # feed-forward, m/s and rad/s
    ('target_acceleration', np.float64, (6,)),  # feed-forward, m/s² and rad/s²
    ('R', np.float64, (3, 3)),           # of the frame at the last cycle
    ('p', np.float64, (3,)),             # m
    ('error', np.float64, (6,)),         # target − pose, m and rad
    ('way', np.float64, (3,)),           # its rotational part at the last cycle: the way round
    ('acceleration', np.float64, (6,)),  # a*, what the law asks for, m/s² and rad/s²
    ('push', np.float64, (6,)),          # wrench on top of what the acceleration takes, N and N m
    ('moving', np.float64, (6,)),        # that part of it which nothing holds against, N and N m
    ('compliant', np.float64, (6,)),     # 1 where such a part may move the point, else 0
    ('wrench', np.float64, (6,)),        # all that is exerted, f' of [CK00] (13), N and N m
], align=True)

# Past half a turn the error keeps to its way round up to this angle, in rad: a goal half a turn
# away must not be chased to and fro.
_KEEP_WAY = 1.1 * math.pi
_ALMOST_HALF_A_TURN = 2.0 * math.pi - _KEEP_WAY


@inlined
def measure_error(task, R_error):
    """
    Write the task's error: position difference, and rotation vector from pose to goal, rad.

    The instantaneous rotation of [K87] V, the short way round. Near half a turn both ways are
    about as short, and the one that it went before is kept: the error has no step there.
    """
    error, way = task.error, task.way
    for r in range(3):
        error[r] = task.target_p[r] - task.p[r]
    multiply_transpose(task.target_R, task.R, R_error)
    rotation_vector(R_error, error, 3)
    along = error[3] * way[0] + error[4] * way[1] + error[5] * way[2]
    if along < 0.0:
        angle = math.sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
        before = math.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
        if angle > _ALMOST_HALF_A_TURN and before > _ALMOST_HALF_A_TURN:
            for r in range(3, 6):
                error[r] *= 1.0 - 2.0 * math.pi / angle
    for r in range(3):
        way[r] = error[3 + r]


@inlined
def demand_axes(task, first, limit, v):
    """
    Write a* of three axes: PD with feed-forward, [K87] (4.3), its goal velocity held to a limit.

    ``a* = a_d + kd (v_d + ν kp/kd e − v)``, ``ν = min(1, V_max / |kp/kd e|)``, (4.4)-(4.5). Far
    from the goal the frame travels towards it at V_max, on top of a feed-forward v_d, straight on
    if ``kp/kd`` is the same for all axes. Near it this is the PD law itself.
    """
    kp, kd, error, a = task.kp, task.kd, task.error, task.acceleration
    nu = 1.0
    if limit < math.inf:
        square = 0.0
        for r in range(first, first + 3):
            if task.selected[r] != 0.0 and kp[r] > 0.0:
                speed = kp[r] * error[r] / kd[r]
                square += speed * speed
        if square > limit * limit:
            nu = limit / math.sqrt(square)
    for r in range(first, first + 3):
        a[r] = (task.target_acceleration[r] + nu * kp[r] * error[r]
                + kd[r] * (task.target_twist[r] - v[r]))


@inlined
def demand_pose(task, point, origin, R_error):
    """
    Write the acceleration a* that a pose task asks of its point.

    Parameters
    ----------
    task : POSE_TASK record
        Its goal is read; the rest is written.
    point : POINT record
        Placed and moved.
    origin : (3,) array
        Root link's origin, m; the point is given from there.
    R_error : (3, 3) array
        Scratch.

    """
    for r in range(3):
        task.p[r] = origin[r] + point.p[r]
        for c in range(3):
            task.R[r, c] = point.R[r, c]
    if math.isnan(task.target_p[0]):
        for r in range(3):
            task.target_p[r] = task.p[r]
            for c in range(3):
                task.target_R[r, c] = task.R[r, c]
    measure_error(task, R_error)
    limit = task.max_linear_velocity
    for first in range(0, 6, 3):
        demand_axes(task, first, limit, point.v)
        limit = task.max_angular_velocity
