# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled law of a task at a point: motion by [K87] (4.3)-(4.5), force by its section V."""

import math

import numpy as np

from opspace_control.compiled import called, inlined
from opspace_control.spatial.rotations import rotation_vector
from opspace_control.spatial.vectors import multiply_transpose
from opspace_control.tasks.force_law import (
    FORCE_CONTROL,
    demand_force,
    forget_force,
    release_force,
)
from opspace_control.tasks.impedance_law import SPRING, stretch_spring
from opspace_control.tasks.specification_law import (
    motion_share,
    place_axes,
    row_activation,
    take_components,
)
from opspace_control.tasks.trajectory_law import STAYS, TRAJECTORY

# One task. Poses are in the base frame (the world for a floating base), those of a relative task in
# the frame of its other link. Vectors are in the axes of that frame or, where the row says so,
# along the task's axes: those of its specification frames.
POSE_TASK = np.dtype([
    ('unattached', np.bool_),            # its frame is on no link: an object in fingertips
    ('relative', np.bool_),              # in the frame, and along the axes, of the point's other
                                         # link instead of the base
    ('axes_node', np.int64, (2,)),       # body of the axes of translation, of rotation
    ('axes_rotation', np.float64, (2, 3, 3)),  # of the axes in that body's frame
    ('turned', np.bool_),                # whether they may differ from those of the base
    ('turning', np.bool_),               # whether the specification frames have changed
    ('turn_axis', np.float64, (2, 3)),   # of the rotation from the new axes to the former ones
    ('turn_angle', np.float64, (2,)),    # rad
    ('turn_left', np.float64),           # fraction of it that is left, from 1 to 0
    ('axes', np.float64, (2, 3, 3)),     # S_fᵀ and S_τᵀ of [K87] (2.3): the axes, by column
    ('motion', np.float64, (6,)),        # Ω: 1 for an axis along which motion is controlled
    ('force', FORCE_CONTROL),                    # Ω̃ and force control
    ('impedance', np.float64),           # 0: a decoupled unit mass; 1: a spring; between: blended
    ('spring', SPRING),
    ('kp', np.float64, (6,)),            # 1/s², along the task's axes
    ('kd', np.float64, (6,)),            # 1/s, likewise
    ('max_linear_velocity', np.float64),   # m/s, inf for none
    ('max_angular_velocity', np.float64),  # rad/s, inf for none
    ('activation', np.float64),          # of the task, from 0 (off) to 1 (exact)
    ('displaced_by', np.int64),          # contact or grasp that has disabled it, from 1, or 0
    ('target_R', np.float64, (3, 3)),
    ('target_p', np.float64, (3,)),      # m; NaN: the pose of the next cycle
    ('target_twist', np.float64, (6,)),  # feed-forward, m/s and rad/s
    ('target_acceleration', np.float64, (6,)),  # feed-forward, m/s² and rad/s²
    ('trajectory', TRAJECTORY),          # of the target to a goal
    ('R', np.float64, (3, 3)),           # of the frame at the last cycle
    ('p', np.float64, (3,)),             # m
    ('error', np.float64, (6,)),         # target − pose, m and rad
    ('last_rotation', np.float64, (3,)),  # its rotational part at the last cycle, rad
    # Along the task's axes:
    ('axis_error', np.float64, (6,)),    # the error, m and rad
    ('rate', np.float64, (6,)),          # feed-forward twist − twist, m/s and rad/s
    ('row_activation', np.float64, (6,)),  # from 0 to 1
    ('acceleration', np.float64, (6,)),  # a*, the task acceleration, m/s² and rad/s²
    ('spring_wrench', np.float64, (6,)),  # of spring and damper: it moves the robot, N and N m
    ('compliant', np.float64, (6,)),     # 1 where external forces may move the point, else 0
    ('applied_wrench', np.float64, (6,)),  # F_a of (5.5), which the environment balances, N and N m
    # In base axes:
    ('wrench', np.float64, (6,)),        # the whole commanded wrench, N and N m
], align=True)

# Up to this angle, rad, the error keeps its direction past half a turn: otherwise the sign of an
# error of half a turn would alternate.
_KEEP_DIRECTION = 1.1 * math.pi
_ALMOST_HALF_A_TURN = 2.0 * math.pi - _KEEP_DIRECTION


@called
def clear_pose_goal(task):
    """Make the pose of the next cycle the goal, and let the target force fade."""
    for r in range(3):
        task.target_p[r] = math.nan
        for c in range(3):
            task.target_R[r, c] = 1.0 if r == c else 0.0
    for r in range(6):
        task.target_twist[r] = task.target_acceleration[r] = 0.0
    task.trajectory.stage = STAYS
    release_force(task.force)


@inlined
def measure_error(task, R_error):
    """
    Write the task's error: position difference, and rotation vector from pose to goal, rad.

    The instantaneous rotation of [K87] V, the short way round. Near half a turn it keeps the
    direction of the last cycle, so the error has no step there.
    """
    error, last = task.error, task.last_rotation
    for r in range(3):
        error[r] = task.target_p[r] - task.p[r]
    multiply_transpose(task.target_R, task.R, R_error)
    rotation_vector(R_error, error, 3)
    along = error[3] * last[0] + error[4] * last[1] + error[5] * last[2]
    if along < 0.0:
        angle = math.sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
        before = math.sqrt(last[0] * last[0] + last[1] * last[1] + last[2] * last[2])
        if angle > _ALMOST_HALF_A_TURN and before > _ALMOST_HALF_A_TURN:
            for r in range(3, 6):
                error[r] *= 1.0 - 2.0 * math.pi / angle
    for r in range(3):
        last[r] = error[3 + r]


@inlined
def demand_motion(task, first, limit):
    """
    Add the PD law, [K87] (4.3), with a limited goal velocity to a* of three axes.

    ``kd (v_d + ν kp/kd e − v)``, ``ν = min(1, V_max / |kp/kd e|)``, (4.4)-(4.5). Far from the goal
    the frame approaches it at V_max plus the feed-forward v_d, on a straight line if ``kp/kd`` is
    the same for all axes. Near the goal it is the PD law.
    """
    kp, kd, error, motion = task.kp, task.kd, task.axis_error, task.motion
    nu = 1.0
    if limit < math.inf:
        square = 0.0
        for r in range(first, first + 3):
            if motion[r] != 0.0 and kp[r] > 0.0:
                speed = kp[r] * error[r] / kd[r]
                square += motion[r] * speed * speed
        if square > limit * limit:
            nu = limit / math.sqrt(square)
    for r in range(first, first + 3):
        a = motion_share(task, r) * (nu * kp[r] * error[r] + kd[r] * task.rate[r])
        task.acceleration[r] += a if motion[r] != 0.0 else 0.0


@inlined
def write_relative_pose(task, point):
    """Write the frame's pose in the frame of the other link; its axes become those of the task."""
    S = point.other_R
    x, y, z = (point.p[0] - point.other_p[0], point.p[1] - point.other_p[1],
               point.p[2] - point.other_p[2])
    for r in range(3):
        task.p[r] = S[0, r] * x + S[1, r] * y + S[2, r] * z
        for c in range(3):
            task.R[r, c] = (S[0, r] * point.R[0, c] + S[1, r] * point.R[1, c]
                            + S[2, r] * point.R[2, c])
            task.axes[0, r, c] = task.axes[1, r, c] = S[r, c]


@inlined
def write_pose(task, point, origin):
    """Write the frame's pose; without a goal it becomes the goal."""
    if task.relative:
        write_relative_pose(task, point)
    else:
        for r in range(3):
            task.p[r] = origin[r] + point.p[r]
            for c in range(3):
                task.R[r, c] = point.R[r, c]
    if math.isnan(task.target_p[0]):
        for r in range(3):
            task.target_p[r] = task.p[r]
            for c in range(3):
                task.target_R[r, c] = task.R[r, c]


@inlined
def demand_pose(task, point, origin, states, sensors, dt, at_limits, R_error):
    """
    Write a task's acceleration ``Ω a_m* + Ω̃ a_s*`` and force F_a along its axes, [K87] (5.5).

    ``point`` is placed and moved, relative to ``origin`` (3,), the root link's, m; ``states`` are
    placed, the specification frames are on their bodies; ``sensors`` are measured. ``at_limits``
    tells whether limits cut efforts or reduced forces in the last cycle, ``dt``, s, the time since;
    ``R_error`` (3, 3) is scratch.
    """
    write_pose(task, point, origin)
    measure_error(task, R_error)
    for r in range(6):
        task.axis_error[r] = task.error[r]
        task.rate[r] = -point.v[r]
        task.acceleration[r] = task.target_acceleration[r]
        task.spring_wrench[r] = task.compliant[r] = 0.0
    if task.relative:
        take_components(task, task.rate)
    for r in range(6):
        task.rate[r] += task.target_twist[r]
    if task.turned:
        place_axes(task, states, dt, R_error)
        take_components(task, task.axis_error)
        take_components(task, task.rate)
        take_components(task, task.acceleration)
    if task.impedance > 0.0:
        stretch_spring(task, dt, R_error)
    else:
        task.spring.p[0] = math.nan
    limit = task.max_linear_velocity
    for first in range(0, 6, 3):
        demand_motion(task, first, limit)
        limit = task.max_angular_velocity
    force_activation = 0.0
    for r in range(6):
        force_activation += task.activation * task.force.axes[r]
        task.row_activation[r] = row_activation(
            task.activation * min(1.0, task.motion[r] + task.force.axes[r]))
    if force_activation > 0.0:
        demand_force(task, point, sensors, dt, at_limits)
    else:
        forget_force(task)
