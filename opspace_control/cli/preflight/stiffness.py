# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How far a load that the controller does not know moves a task's frame."""

import numpy as np

from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.tasks.arguments import AXES
from opspace_control.tasks.pose_kinds import CenterOfMassTask, RelativeTask

LOAD = 1.0  # kg


def sag(model, state, task, values):
    """
    Return how far a load of `LOAD` at a task's frame moves it for good: a dict, or None.

    The law holds against a force F with ``Λ kp e``, so that ``e = (J A⁻¹ Jᵀ F) / kp``, to first
    order. What `DisturbanceObserver` compensates within its bounds is no more in F. ``bare`` and
    ``compensated`` are pairs of m and rad, ``values`` parameters of the controller. None for a
    robot with a floating base or passive joints, and for tasks that are springs, control force,
    have axes other than the base's, or move no frame of a link in all of their axes.
    """
    if model.floating_base or model.passive.any() or isinstance(
            task, (CenterOfMassTask, RelativeTask)) or task.mode != 'decoupled' or (
            task.force_axes or not task.frame or task.axes_frame != (None, None)):
        return None
    rows, free = [AXES.index(axis) for axis in task.axes], ~model.locked
    J = task.jacobian(model, state)[:, free]
    response = np.linalg.solve(model.mass_matrix(state)[np.ix_(free, free)], J.T)
    load = np.concatenate([LOAD * GRAVITY, np.zeros(3)])
    acceleration = J[rows] @ response @ load
    mobility = J[rows] @ response[:, rows]
    if np.linalg.matrix_rank(mobility) < len(rows):
        return None
    error, force = np.zeros((2, 6))
    error[rows] = acceleration / task.kp[rows]
    force[rows] = np.linalg.solve(mobility, acceleration)
    share = min([1.0, *(values[f'disturbance.{bound}'] / size for bound, size in (
        ('max_force', np.linalg.norm(force[:3])), ('max_moment', np.linalg.norm(force[3:])))
        if size > values[f'disturbance.{bound}'])])
    size = np.linalg.norm(error.reshape(2, 3), axis=1)
    return {'bare': size.tolist(), 'compensated': ((1.0 - share) * size).tolist()}
