# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Directions that tasks do not get: singular ones, and conflicts with tasks above."""

from dataclasses import dataclass

import numpy as np

from opspace_control.control.data import ACTIVATION
from opspace_control.spatial.eigen import smooth_step, truncation_threshold
from opspace_control.tasks.arguments import AXES

# Smaller components of a direction are not reported.
_SMALL = 0.05
# A direction met by this part is not reported.
_MET = 0.999


@dataclass(frozen=True)
class TruncatedDirection:
    """A direction in which the tasks of one level do not get their acceleration."""

    priority: int
    """Of these tasks."""
    met: float
    """How much of it is met, from 0 to 1."""
    conflict: bool
    """Whether tasks above determine it: without them the robot could move so. Otherwise the
    robot cannot, or tasks of the level contradict each other."""
    wrench: dict
    """From (task name, axis) to components, largest 1: of the force and moment that accelerates
    nothing, and so is not applied. A task of joints has one 'joints' for all."""

    def __str__(self):
        words = ', '.join(f'{part:+.2g} {task} {axis}' for (task, axis), part
                          in self.wrench.items())
        why = 'determined by tasks above' if self.conflict else 'nothing can move so'
        return f'{words} (priority {self.priority}, {100.0 * self.met:.0f} % met: {why})'


def truncated_directions(controller):
    """
    Return the `TruncatedDirection`s of a controller's last cycle, in order of priority.

    Each level's part of Λ⁻¹ that those above leave it is decomposed as the cycle does; for
    diagnostics, not for a cycle.
    """
    tasks = [task for task in controller.tasks.values() for _ in range(task.points)]
    L, scale = controller.inverse_inertia, controller.row_scales
    activation = controller._rows[ACTIVATION, -len(L):]
    if not np.isfinite(L).all():
        return ()
    found, left, first = [], L.copy(), 0
    for priority in sorted({task.priority for task in tasks}):
        level = [task for task in tasks if task.priority == priority]
        rows = np.arange(6 * first, 6 * (first + len(level)))
        first += len(level)
        threshold = truncation_threshold(
            activation[rows].sum(), controller.singularity_threshold)
        rows, names = _controlled_rows(rows, level, scale)
        if not rows.size:
            continue
        S = scale[rows]
        values, vectors = np.linalg.eigh(S[:, None] * left[np.ix_(rows, rows)] * S)
        met = np.array([smooth_step(value / threshold) for value in values])
        for k in np.flatnonzero(met < _MET):
            unprojected = vectors[:, k] @ (S[:, None] * L[np.ix_(rows, rows)] * S) @ vectors[:, k]
            found.append(TruncatedDirection(priority, float(met[k]), bool(unprojected > threshold),
                                 _in_words(names, vectors[:, k])))
        gain = np.where(met > 0.0, met / np.where(met > 0.0, values, 1.0), 0.0)
        X = S[:, None] * (vectors * gain @ vectors.T) * S
        left = left - left[:, rows] @ X @ left[rows]
    return tuple(found)


def _controlled_rows(rows, level, scale):
    """Return the controlled rows of a level, and (task name, axis) of each."""
    names = [(task.name, axis) for task in level
             for axis in (AXES if hasattr(task, 'controlled_axes') else ('joints',) * 6)]
    kept = scale[rows] > 0.0
    return rows[kept], [name for name, yes in zip(names, kept, strict=True) if yes]


def _in_words(names, vector):
    """Return the larger components by name, those of one name summed up, the largest 1."""
    sums = {}
    for name, value in zip(names, vector / vector[np.abs(vector).argmax()], strict=True):
        if abs(value) > _SMALL:
            sums[name] = sums.get(name, 0.0) + float(value)
    return sums
