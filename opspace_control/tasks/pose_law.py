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
    ('target_R', np.float64, (3, 3)),
    ('target_p', np.float64, (3,)),      # m; NaN: hold the pose seen at the next cycle
    ('target_twist', np.float64, (6,)),  # feed-forward, m/s and rad/s
    ('target_acceleration', np.float64, (6,)),  # feed-forward, m/s² and rad/s²
    ('R', np.float64, (3, 3)),           # of the frame at the last cycle
    ('p', np.float64, (3,)),             # m
    ('error', np.float64, (6,)),         # target − pose, m and rad
    ('acceleration', np.float64, (6,)),  # a*, what the law asks for, m/s² and rad/s²
    ('wrench', np.float64, (6,)),        # f' of [CK00] (13), N and N m
], align=True)

# Past half a turn the error keeps to its way round up to this angle, in rad: a goal that comes
# from half a turn away must not be chased to and fro.
_KEEP_WAY = 1.1 * math.pi


@inlined
def measure_error(task, R_error):
    """Write the task's error: position difference, and rotation vector from pose to goal, rad."""
    error = task.error
    for r in range(3):
        error[r] = task.target_p[r] - task.p[r]
    before0, before1, before2 = error[3], error[4], error[5]
    multiply_transpose(task.target_R, task.R, R_error)
    rotation_vector(R_error, error, 3)
    along = error[3] * before0 + error[4] * before1 + error[5] * before2
    if along < 0.0:
        angle = math.sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
        other_way = 2.0 * math.pi - angle
        if other_way < _KEEP_WAY:
            for r in range(3, 6):
                error[r] *= -other_way / angle


@inlined
def demand_axes(task, first, limit, v):
    """
    Write a* of three axes: PD with feed-forward, [K87] (4.3), its goal velocity held to a limit.

    ``a* = a_d + v̇_d + kd (ν kp/kd e − v)``, ``ν = min(1, V_max / |kp/kd e|)``, (4.4)-(4.5): far from the
    goal the frame travels straight towards it at V_max; near it this is the PD law itself.
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
    demand_axes(task, 0, task.max_linear_velocity, point.v)
    demand_axes(task, 3, task.max_angular_velocity, point.v)
