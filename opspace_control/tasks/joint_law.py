# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled law of a group of joints that is controlled exactly."""

import math

import numpy as np

from opspace_control.compiled import inlined

# Up to six joints of a joint task; entries without one are not selected.
JOINT_TASK = np.dtype([
    ('dof', np.int64, (6,)),             # index into v, 0 where there is none
    ('q_index', np.int64, (6,)),         # index into q, likewise
    ('turns_freely', np.float64, (6,)),  # 1 for a rotation without position limits
    ('selected', np.float64, (6,)),      # 1 for a joint, 0 for none
    ('activation', np.float64),          # of the task, from 0 (off) to 1 (exact)
    ('kp', np.float64, (6,)),            # 1/s²
    ('kd', np.float64, (6,)),            # 1/s
    ('max_velocity', np.float64),        # rad/s or m/s, inf for none
    ('target', np.float64, (6,)),        # rad or m; NaN: the position of the next cycle
    ('target_velocity', np.float64, (6,)),      # feed-forward, rad/s or m/s
    ('target_acceleration', np.float64, (6,)),  # feed-forward, rad/s² or m/s²
    ('position', np.float64, (6,)),      # at the last cycle, rad or m
    ('error', np.float64, (6,)),         # target − position, rad or m
    ('acceleration', np.float64, (6,)),  # a*, the task acceleration, rad/s² or m/s²
    ('force', np.float64, (6,)),         # joint force on top of the posture's, N m or N
], align=True)


@inlined
def demand_joints(task, q, v):
    """
    Write the task accelerations of a joint task.

    ``a* = a_d + kd (v_d + ν kp/kd e − v)`` for each joint, ``ν = min(1, V_max / |kp/kd e|)`` as in
    [K87] (4.4)-(4.5) for a single axis.
    """
    for r in range(6):
        if task.selected[r] == 0.0:
            task.acceleration[r] = task.error[r] = 0.0
            continue
        x = q[task.q_index[r]]
        task.position[r] = x
        if math.isnan(task.target[r]):
            task.target[r] = x
        error = task.target[r] - x
        if task.turns_freely[r] > 0.0:
            error -= 2.0 * math.pi * math.floor(error / (2.0 * math.pi) + 0.5)
        task.error[r] = error
        kp, kd = task.kp[r], task.kd[r]
        approach = kp * error
        if abs(approach) > kd * task.max_velocity:
            approach = math.copysign(kd * task.max_velocity, error)
        task.acceleration[r] = (task.target_acceleration[r] + approach
                                + kd * (task.target_velocity[r] - v[task.dof[r]]))
