# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled motion law of the posture task, [CK00] (11)."""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.model.nodes import ACTIVE, LOCKED, QUATERNION, QUATERNION_AXIS
from opspace_control.spatial.rotations import turn_between

# What the posture law knows of one degree of freedom.
POSTURE_DOF = np.dtype([
    ('kp', np.float64),           # 1/s²
    ('kd', np.float64),           # 1/s
    ('velocity', np.float64),     # feed-forward, rad/s or m/s
    ('acceleration', np.float64),  # feed-forward, rad/s² or m/s²
    ('effort', np.float64),       # feed-forward of the drive on top of the law's, N m or N
    ('turns_freely', np.bool_),   # a rotation without position limits
], align=True)


@inlined
def demand_posture(nodes, dofs, target, q, v, a):
    """
    Write the joint accelerations that the posture asks for, q̈_null of [CK00] (11).

    ``a_d + kp (q_d − q) + kd (v_d − v)``; damping alone, kp = 0 and v_d = 0, is that of the null
    space, [K87] (7.6). A joint held by a brake does not accelerate. A target coordinate that is NaN
    becomes the present one. A rotation without limits goes the short way round: it does not matter
    how often its encoder has turned. Quaternions differ by the rotation vector between them, in
    the joint frame's axes.
    """
    for i in range(nodes.size):
        node = nodes[i]
        k, j = node.v_index, node.q_index
        if k < 0:
            continue
        if node.kind == QUATERNION:
            if math.isnan(target[j]):
                for r in range(j, j + 4):
                    target[r] = q[r]
            turn_between(target, q, j, a, k - 2)
            for r in range(3):
                d = k - 2 + r
                a[d] = (dofs[d].acceleration + dofs[d].kp * a[d]
                        + dofs[d].kd * (dofs[d].velocity - v[d]))
                if nodes[i - 2 + r].status == LOCKED:
                    a[d] = 0.0
        elif node.kind != QUATERNION_AXIS:
            if math.isnan(target[j]):
                target[j] = q[j]
            error = target[j] - q[j]
            if dofs[k].turns_freely:
                error -= 2.0 * math.pi * math.floor(error / (2.0 * math.pi) + 0.5)
            a[k] = 0.0
            if node.status != LOCKED:
                a[k] = (dofs[k].acceleration + dofs[k].kp * error
                        + dofs[k].kd * (dofs[k].velocity - v[k]))


@inlined
def feed_efforts(nodes, dofs, tau):
    """Add the feed-forward efforts to those of active joints, such as what overcomes friction."""
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0 and nodes[i].status == ACTIVE:
            tau[k] += dofs[k].effort
