# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled motion of a target along an online trajectory to its goal."""

import numpy as np

from opspace_control.compiled import called, rare
from opspace_control.spatial.rotations import cross_twice, vector_coefficients

# Stages of a TRAJECTORY: the target stays; a trajectory to the goal is to be planned; it moves.
STAYS, UNPLANNED, MOVES = range(3)
# Of one axis of a trajectory: two of braking, seven of the time-optimal motion, and its end.
SECTIONS = 10

# The motion of a target. Of a pair the first is of translation, the second of rotation, the vector
# of the rotation since the start. Axes are those of the path, and numbers along them relative to
# the goal, which moves evenly.
TRAJECTORY = np.dtype([
    ('stage', np.int64),
    ('time', np.float64),              # since the start, s
    ('first', np.float64),             # time of the first cycle, s: the goal is that of then
    ('duration', np.float64),          # s
    ('goal_p', np.float64, (3,)),      # m
    ('goal_R', np.float64, (3, 3)),
    ('goal_twist', np.float64, (6,)),  # m/s and rad/s
    ('goal_acceleration', np.float64, (6,)),  # m/s² and rad/s²
    ('goal_rate', np.float64, (2, 3)),  # m/s and rad/s of the vector of rotation
    ('start_p', np.float64, (3,)),     # m
    ('start_R', np.float64, (3, 3)),
    ('axes', np.float64, (2, 3, 3)),   # by column
    ('begins', np.float64, (6, SECTIONS)),  # s; of a section in which the jerk is constant
    ('x', np.float64, (6, SECTIONS)),  # at its beginning, m or rad
    ('v', np.float64, (6, SECTIONS)),  # m/s or rad/s
    ('a', np.float64, (6, SECTIONS)),  # m/s² or rad/s²
    ('jerk', np.float64, (6, SECTIONS)),  # m/s³ or rad/s³
    ('vectors', np.float64, (3, 2, 3)),  # scratch: position, rate and second derivative
], align=True)


@rare
def sample_sections(motion, t):
    """Write position, rate and second derivative at the time ``t``, s, in the base's axes."""
    vectors, axes = motion.vectors, motion.axes
    for part in range(2):
        for r in range(3):
            vectors[0, part, r] = vectors[1, part, r] = vectors[2, part, r] = 0.0
        for k in range(3):
            axis, section = 3 * part + k, 0
            for j in range(1, SECTIONS):
                if motion.begins[axis, j] <= t:
                    section = j
            h = t - motion.begins[axis, section]
            x, v, a, jerk = (motion.x[axis, section], motion.v[axis, section],
                             motion.a[axis, section], motion.jerk[axis, section])
            x += h * (v + h * (a / 2.0 + h * jerk / 6.0))
            v += h * (a + h * jerk / 2.0)
            a += h * jerk
            for r in range(3):
                direction = axes[part, r, k]
                vectors[0, part, r] += direction * x
                vectors[1, part, r] += direction * v
                vectors[2, part, r] += direction * a


@rare
def turn_by_vector(phi, R, out):
    """Write ``R(φ) R`` for a rotation vector (3,), rad, and the columns of a rotation R (3, 3)."""
    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    b, c, _, _ = vector_coefficients(square)
    for k in range(3):
        cross_twice(phi, R[:, k], 1.0 - c * square, b, out[:, k])


@rare
def turn_rates(phi, rate, second, twist, acceleration):
    """Write ``ω = L φ̇`` and ``ω̇ = L φ̈ + L̇ φ̇`` to entries 3 to 5 of two vectors (6,)."""
    b, c, b_slope, c_slope = vector_coefficients(
        phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    cross_twice(phi, rate, b, c, twist[3:])
    cross_twice(phi, second, b, c, acceleration[3:])
    along = phi[0] * rate[0] + phi[1] * rate[1] + phi[2] * rate[2]
    x = phi[1] * rate[2] - phi[2] * rate[1]
    y = phi[2] * rate[0] - phi[0] * rate[2]
    z = phi[0] * rate[1] - phi[1] * rate[0]
    acceleration[3] += along * (b_slope * x + c_slope * (phi[1] * z - phi[2] * y)) + c * (
        rate[1] * z - rate[2] * y)
    acceleration[4] += along * (b_slope * y + c_slope * (phi[2] * x - phi[0] * z)) + c * (
        rate[2] * x - rate[0] * z)
    acceleration[5] += along * (b_slope * z + c_slope * (phi[0] * y - phi[1] * x)) + c * (
        rate[0] * y - rate[1] * x)


@rare
def advance_target(task, dt):
    """Move the target of a POSE_TASK on by ``dt``, s, along its trajectory, if it has one."""
    motion = task.trajectory
    if motion.stage != MOVES:
        return
    motion.time += dt
    t, vectors, rate = motion.time, motion.vectors, motion.goal_rate
    if t >= motion.duration:
        # The goal of the first cycle has moved since then.
        motion.stage = STAYS
        for r in range(3):
            task.target_p[r] = motion.goal_p[r] + (t - motion.first) * rate[0, r]
            vectors[0, 1, r] = (t - motion.first) * rate[1, r]
        turn_by_vector(vectors[0, 1], motion.goal_R, task.target_R)
        for r in range(6):
            task.target_twist[r] = motion.goal_twist[r]
            task.target_acceleration[r] = motion.goal_acceleration[r]
        return
    sample_sections(motion, t)
    for part in range(2):
        for r in range(3):
            vectors[0, part, r] += t * rate[part, r]
            vectors[1, part, r] += rate[part, r]
    for r in range(3):
        task.target_p[r] = motion.start_p[r] + vectors[0, 0, r]
        task.target_twist[r] = vectors[1, 0, r]
        task.target_acceleration[r] = vectors[2, 0, r]
    turn_by_vector(vectors[0, 1], motion.start_R, task.target_R)
    turn_rates(vectors[0, 1], vectors[1, 1], vectors[2, 1], task.target_twist,
               task.target_acceleration)


@called
def advance_targets(tasks, dt):
    """Move the targets of all tasks on by ``dt``, s."""
    for k in range(tasks.size):
        if tasks[k].trajectory.stage == MOVES:
            advance_target(tasks[k], dt)
