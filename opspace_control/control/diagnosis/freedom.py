# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How freely the actuated joints accelerate the controlled axes of tasks, at one state.

It is what singular directions are found by, before anything moves and in diagnostics.
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from opspace_control.dynamics.operational_space import (
    RANK_TOLERANCE,
    free_responses,
    operational_space,
    row_scales,
)
from opspace_control.spatial.eigen import SINGULARITY_THRESHOLD, truncation_threshold
from opspace_control.tasks.arguments import AXES
from opspace_control.tasks.task import OperationalTask

# Times the eigenvalue below which it is truncated, a direction is nearly lost.
_NEAR = 2.0


@dataclass(frozen=True)
class Direction:
    """
    A direction in which some tasks' frames accelerate little or not at all.

    ``wrench`` maps (task name, axis) to the components, largest 1, of the force and moment that
    accelerates nothing else; a radian counts as much as the frame's own inertia makes it.
    ``eigenvalue`` is that of the scaled Λ⁻¹, without unit.
    """

    eigenvalue: float
    wrench: dict


@dataclass(frozen=True)
class Freedom:
    """
    How the actuated joints can accelerate the controlled axes of some tasks, at one state.

    The eigenvalues (k,), ascending, are those of Λ⁻¹ scaled as the control cycle scales it: neither
    mass nor unit is left in them. ``rank`` of the k axes can be accelerated independently;
    ``immovable`` lists the (task, axis) that no joint accelerates, ``weak`` further directions, the
    weakest first, whose eigenvalue is below ``below`` of `task_freedom`.
    """

    rank: int
    eigenvalues: np.ndarray
    immovable: tuple
    weak: tuple

    @property
    def least_eigenvalue(self):
        """Return the smallest eigenvalue of the directions that are not lost; 0 if all are."""
        kept = self.eigenvalues[self.eigenvalues > RANK_TOLERANCE]
        return float(kept.min(initial=math.inf)) if kept.size else 0.0

    @property
    def condition(self):
        """Condition number of the scaled Λ⁻¹ in the directions that are not lost."""
        least = self.least_eigenvalue
        return float(self.eigenvalues.max()) / least if least else math.inf


def nearly_lost(axes, threshold=SINGULARITY_THRESHOLD):
    """Return the scaled eigenvalue below which one of so many axes is reported."""
    return _NEAR * truncation_threshold(axes, threshold)


def task_freedom(model, state, tasks, below=None):
    """
    Return the `Freedom` that all ``tasks`` (at least one) have together.

    Raises a ModelError for an unknown frame.

    Parameters
    ----------
    model : RobotModel
        The robot; passive and locked joints accelerate nothing of their own.
    state : RobotState
        Made for this model.
    tasks : sequence of OperationalTask
        Their frames and controlled axes count, not their goals.
    below : float, optional
        Scaled eigenvalue below which a direction is told of; what is `nearly_lost` where these are
        all tasks if not given.

    """
    inverse_inertia, scale = _inverse_inertia(model, state, tasks)
    return scaled_freedom(inverse_inertia, tasks, scale, below)


def independent_axes(model, states, task, count):
    """
    Return ``count`` axes of a task that active joints accelerate independently, in one posture.

    It is the posture in which the task has the largest rank, the first of several. Of the choices
    of axes none of which is nearly lost there, that with most translations, then that with the
    largest least eigenvalue.

    Parameters
    ----------
    model : RobotModel
        The robot.
    states : sequence of RobotState
        The postures.
    task : OperationalTask
        Its frame and controlled axes count.
    count : int
        At least 1; no more than the largest rank of the task.

    """
    inverse_inertia, scale = max(
        (_inverse_inertia(model, state, [task]) for state in states),
        key=lambda terms: scaled_freedom(terms[0], [task], terms[1]).rank)
    scaled = scale[:, None] * inverse_inertia * scale

    def merit(axes):
        index = [AXES.index(axis) for axis in axes]
        least = np.linalg.eigvalsh(scaled[np.ix_(index, index)])[0]
        sound = least >= nearly_lost(count)
        return sound, sound * len(set(axes) & set('xyz')), least
    return max(combinations(task.controlled_axes, count), key=merit)


def _inverse_inertia(model, state, tasks):
    """Return Λ⁻¹ (6m, 6m) of the active joints in the axes of the tasks, and its scaling (6m,)."""
    mass = model.nodes['mass'].sum()
    S = _specification(model, state, tasks)
    # Active joints alone are measured by what all joints that are free can do.
    inverse_inertia, whole = (S @ L @ S.T for L in _mobility(model, state, tasks))
    return inverse_inertia, row_scales(whole.diagonal(), 1.0 / mass)


def scaled_freedom(inverse_inertia, tasks, scale, below=None):
    """Return the `Freedom` of ``tasks`` with this Λ⁻¹ (6m, 6m), its rows scaled by (6m,)."""
    chosen = [(6 * e + r, (task.name, axis)) for e, task in enumerate(tasks)
              for r, axis in enumerate(AXES) if axis in task.controlled_axes]
    index, rows = [i for i, _ in chosen], [row for _, row in chosen]
    scaled = (scale[:, None] * inverse_inertia * scale)[np.ix_(index, index)]
    eigenvalues, vectors = np.linalg.eigh(scaled)
    fixed = scaled.diagonal() <= RANK_TOLERANCE
    lost = eigenvalues <= RANK_TOLERANCE
    weak = ~lost & (eigenvalues < (nearly_lost(len(rows)) if below is None else below))
    directions = [*_sparse(vectors[:, lost], fixed), *vectors[:, weak].T]
    values = [*[0.0] * (len(directions) - weak.sum()), *eigenvalues[weak]]
    return Freedom(
        rank=int((~lost).sum()), eigenvalues=eigenvalues.clip(0.0),
        immovable=tuple(row for row, yes in zip(rows, fixed, strict=True) if yes),
        weak=tuple(Direction(float(value), dict(zip(rows, _normalised(vector), strict=True)))
                   for value, vector in zip(values, directions, strict=True)))


def _mobility(model, state, tasks):
    """Return what active joints, and all free ones, can do with the tasks' points, base axes."""
    if all(type(task).jacobian is OperationalTask.jacobian for task in tasks):
        frames = [task.frame for task in tasks]
        return (operational_space(model, state, frames).inverse_inertia,
                free_responses(model, state, frames)[0])
    A = model.mass_matrix(state)
    J = np.vstack([task.jacobian(model, state) for task in tasks])
    whole, passive = (
        J[:, some] @ np.linalg.solve(A[np.ix_(some, some)], J[:, some].T)
        for some in (~model.locked, model.passive & ~model.locked))
    return whole - passive, whole


def _specification(model, state, tasks):
    """Return what turns base axes into the axes of all tasks, S_f and S_τ of [K87] (2.3)."""
    frames = [frame or task.reference for task in tasks for frame in task.axes_frame]
    names = [name or model.root_link for name in frames]
    poses = model.forward_kinematics(state, names)
    rotations = [rotation for task in tasks for rotation in task.axes_rotation]
    S = np.zeros((6 * len(tasks), 6 * len(tasks)))
    for k, (name, rotation) in enumerate(zip(frames, rotations, strict=True)):
        R = poses[name][:3, :3] @ rotation if name else rotation
        S[3 * k:3 * k + 3, 3 * k:3 * k + 3] = R.T
    return S


def _sparse(vectors, fixed):
    """Return an echelon basis, few entries a row, of the columns of ``vectors`` sans ``fixed``."""
    rest = vectors.T.copy()
    rest[:, fixed] = 0.0
    rows = []
    while rest.size and np.abs(rest).max() > 1e-6:
        row, pivot = np.unravel_index(np.abs(rest).argmax(), rest.shape)
        direction = rest[row] / rest[row, pivot]
        rest = rest - np.outer(rest[:, pivot], direction)
        rows = [other - other[pivot] * direction for other in rows] + [direction]
    return rows


def _normalised(vector):
    largest = vector[np.abs(vector).argmax()]
    return (vector / largest).tolist()
