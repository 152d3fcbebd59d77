# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled filter of a wrench sensor: subtraction of bias and tool weight, low-pass filter."""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.dynamics.kinematics import place_point
from opspace_control.model.nodes import FRAME

# One sensor. Wrenches are those of the tool and of the environment on the robot.
SENSOR = np.dtype([
    ('frame', FRAME),
    ('gravity', np.float64, (3,)),    # m/s², base axes
    ('reading', np.float64, (6,)),    # the last one, sensor axes, at its origin, N and N m
    ('bias', np.float64, (6,)),       # reading without load, N and N m
    ('mass', np.float64),             # of the tool, kg
    ('center', np.float64, (3,)),     # its centre of mass, in the sensor frame, m
    ('cutoff', np.float64),           # of the low-pass filter, Hz, inf for none
    ('timeout', np.float64),          # age up to which a reading is used, s
    ('age', np.float64),              # of the last reading, s, inf before the first
    ('trust', np.float64),            # from 0 (too old, or none) to 1
    ('filtered', np.float64, (6,)),   # without bias and weight, filtered, sensor axes
    ('wrench', np.float64, (6,)),     # the same in base axes, at the sensor's origin
    ('R', np.float64, (3, 3)),        # axes of the sensor
    ('p', np.float64, (3,)),          # its origin, from the root link's origin, m
], align=True)

# Time in which trust goes from 1 to 0 when readings stop, and back, s.
TRUST_TIME = 0.1


@inlined
def measure_wrench(sensors, i, nodes, states, dt):
    """
    Write the wrench of sensor i without bias and weight of the tool, filtered.

    ``w = reading − bias − [m g; c × m g]``, g in the axes of the sensor; then a low-pass filter of
    first order. Inertial forces of the tool remain; they are small while force is controlled.
    """
    sensor = sensors[i]
    place_point(sensors, i, nodes, states)
    R, filtered, wrench, center = sensor.R, sensor.filtered, sensor.wrench, sensor.center
    g0, g1, g2 = sensor.gravity[0], sensor.gravity[1], sensor.gravity[2]
    w0 = sensor.mass * (R[0, 0] * g0 + R[1, 0] * g1 + R[2, 0] * g2)
    w1 = sensor.mass * (R[0, 1] * g0 + R[1, 1] * g1 + R[2, 1] * g2)
    w2 = sensor.mass * (R[0, 2] * g0 + R[1, 2] * g1 + R[2, 2] * g2)
    wrench[0], wrench[1], wrench[2] = w0, w1, w2
    wrench[3] = center[1] * w2 - center[2] * w1
    wrench[4] = center[2] * w0 - center[0] * w2
    wrench[5] = center[0] * w1 - center[1] * w0
    share = 1.0
    if sensor.trust > 0.0 and sensor.cutoff < math.inf:
        share = -math.expm1(-2.0 * math.pi * sensor.cutoff * dt)
    for r in range(6):
        external = sensor.reading[r] - sensor.bias[r] - wrench[r]
        filtered[r] += share * (external - filtered[r])
    for k in range(0, 6, 3):
        x, y, z = filtered[k], filtered[k + 1], filtered[k + 2]
        for r in range(3):
            wrench[k + r] = R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
    step = dt / TRUST_TIME
    sensor.trust = min(max(sensor.trust + (step if sensor.age <= sensor.timeout else -step), 0.0),
                       1.0)
    sensor.age += dt
