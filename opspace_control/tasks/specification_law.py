# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The compiled task specification, [K87] II: axes of motion control and of force control.

Ω and Ω̃ of (2.3)-(2.4) are diagonal in the axes of the specification frame, one for translation and
one for rotation. The task's rows are along these axes, and each row has a weight of either.
"""

import math

from opspace_control.compiled import inlined
from opspace_control.model.nodes import WORLD
from opspace_control.spatial.rotations import rotation_vector, turn_about

# Time in which the axes rotate from one specification frame to another, s.
TURNING_TIME = 0.5


@inlined
def place_axes(task, states, dt, R):
    """
    Write the axes of a task's specification frames, S_fᵀ and S_τᵀ of (2.3), by column.

    After a change of the frames the axes rotate there within `TURNING_TIME`, so that components
    along them are continuous. ``R`` (3, 3) is scratch.
    """
    for k in range(2):
        axes, rotation, about = task.axes[k], task.axes_rotation[k], task.turn_axis[k]
        node = task.axes_node[k]
        for c in range(3):
            x, y, z = rotation[0, c], rotation[1, c], rotation[2, c]
            for r in range(3):
                if node == WORLD:
                    R[r, c] = rotation[r, c]
                else:
                    body = states[node].R
                    R[r, c] = body[r, 0] * x + body[r, 1] * y + body[r, 2] * z
        if task.turning:
            for c in range(3):  # Rᵀ axes: from the new axes to the old
                x, y, z = axes[0, c], axes[1, c], axes[2, c]
                for r in range(3):
                    axes[r, c] = R[0, r] * x + R[1, r] * y + R[2, r] * z
            rotation_vector(axes, about, 0)
            angle = math.sqrt(about[0] * about[0] + about[1] * about[1] + about[2] * about[2])
            task.turn_angle[k] = angle
            task.turn_left = 1.0
            for r in range(3):
                about[r] /= max(angle, 1e-300)
        for r in range(3):
            for c in range(3):
                axes[r, c] = R[r, c]
        if task.turn_left > 0.0:
            angle = task.turn_left * task.turn_angle[k]
            turn_about(about, math.sin(angle), math.cos(angle), axes)
    task.turning = False
    task.turn_left = max(task.turn_left - dt / TURNING_TIME, 0.0)


@inlined
def take_components(task, x):
    """Replace a 6-vector in base axes by its components along the task's axes."""
    for k in range(2):
        x0, x1, x2 = x[3 * k], x[3 * k + 1], x[3 * k + 2]
        for c in range(3):
            x[3 * k + c] = (task.axes[k, 0, c] * x0 + task.axes[k, 1, c] * x1
                            + task.axes[k, 2, c] * x2)


@inlined
def motion_share(task, r):
    """Return which part of row r is motion of a unit mass, from 0 to 1; force and spring: no."""
    motion, force = task.motion[r], task.force.axes[r]
    return (1.0 - task.impedance) * motion / (motion + force) if motion > 0.0 else 0.0


@inlined
def row_activation(activation):
    """
    Return the activation of a row, from 0 to 1, for an activation a of the task from 0 to 1.

    The diagonal of Λ⁻¹ becomes larger by ``((1 − a) / a)²``.
    """
    rest = 1.0 - activation
    if activation * rest > 0.0:
        return activation / math.sqrt(activation * activation + rest * rest)
    return activation
