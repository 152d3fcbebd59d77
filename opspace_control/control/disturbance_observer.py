# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The disturbance observer: tasks compensate unknown joint forces along their axes of motion."""

import math

import numpy as np

from opspace_control.control.data import Disturbance
from opspace_control.control.stack.disturbance import BOUND, FROZEN, STARTED
from opspace_control.dynamics.momentum_observer import APPLIED, RESIDUAL, ROWS
from opspace_control.errors import ControlError
from opspace_control.spatial import read_numbers


class DisturbanceObserver:
    """
    Compensate unknown joint forces along the axes of motion of tasks.

    An observer as `MomentumObserver` estimates the forces r that the model does not have:
    friction, wrong masses, payloads. Tasks then add ``−Λ J Φ r`` along their axes of motion,
    ``Φ = A⁻¹`` without constraints: ``−J̄ᵀ r``, [CK00] (8), with which the points move as those of
    the model. Nothing is exerted along axes of force control, springs and free axes, and nothing
    against what r does in the null space. Effort limits bound the sum.

    The estimate is not an integral of errors: it follows from the motion and from the forces that
    were applied, so it does not grow at limits. It follows r by a filter of the first order, from 0
    on; tasks that are activated gradually compensate gradually.

    Parameters
    ----------
    rate : float
        Of the observer, 1/s. Steady forces are rejected as with integral action of this rate; a
        delay T of the loop needs ``rate + kd`` well below ``1 / T``, kd being that of the tasks.
    max_force, max_moment : float
        Bounds of the compensation of each task, N and N·m. Beyond them all six components shrink
        alike, as near singularities.
    tasks : sequence of str, optional
        Names of tasks; all tasks at points of links if not given.

    Raises
    ------
    ControlError
        For numbers that are no rate or no bound.

    """

    def __init__(self, rate, *, max_force, max_moment, tasks=None):
        for name, value in (('rate', rate), ('max_force', max_force), ('max_moment', max_moment)):
            number = read_numbers(value)
            least = np.finfo(float).tiny if name == 'rate' else 0.0
            if number.shape != () or not number >= least or (
                    name == 'rate' and number == math.inf):
                raise ControlError(f'{name} of a disturbance observer is {value!r}.', value=value,
                                   cure='Give a positive number; bounds may be 0 or inf.')
        self._rate, self._bounds = float(rate), (float(max_force), float(max_moment))
        self._tasks = None if tasks is None else tuple(tasks)
        self._data = None

    @property
    def residual(self):
        """The estimated unknown joint forces r, (nv,), N·m or N; a copy."""
        return self._data.memory[RESIDUAL].copy()

    @property
    def rejected(self):
        """
        Forces that compensate, ``−Λ J Φ r`` within bounds, of the last cycle: dict of (6,).

        By task, N and N·m, along the task's axes.
        """
        return {name: self._data.tasks[k, :BOUND].copy() for name, k in self._records.items()}

    @property
    def frozen(self):
        """Whether the estimate stays as it is, and is compensated; False at first."""
        return bool(self._data.flags[FROZEN])

    @frozen.setter
    def frozen(self, value):
        self._data.flags[FROZEN] = bool(value)

    def apply(self, torque):
        """
        Say which joint forces (nv,), N·m or N, act until the next cycle.

        By default those that the controller has returned; call it after a cycle with others, such
        as those that a safety limit has changed, or that are measured.
        """
        np.copyto(self._data.memory[APPLIED], torque)

    def restart(self):
        """Forget the estimate, as after a time without control; it begins at zero."""
        self._data.flags[STARTED] = 0
        self._data.memory[RESIDUAL] = 0.0

    def bind(self, nv, records, rows):
        """
        Return the `Disturbance` for the kernel of a controller of a robot with nv joints.

        ``records`` has the index of each task at a point of a link by name; ``rows`` is the number
        of rows of the stack. Raises a ControlError if it belongs to a controller already, or for a
        task that is not among them.
        """
        if self._data is not None:
            raise ControlError('The disturbance observer already belongs to a controller.',
                               cure='Make one for each controller.')
        chosen = tuple(records) if self._tasks is None else self._tasks
        for name in chosen:
            if name not in records:
                raise ControlError(f"No task at a point of a link is called '{name}'.", task=name,
                                   cure=f'There are: {", ".join(records) or "none"}.')
        self._records = {name: records[name] for name in chosen}
        self._data = Disturbance(
            memory=np.zeros((ROWS + 2, nv)), flags=np.zeros(2, int),
            tasks=np.zeros((rows // 6, BOUND + 2)), matrix=np.zeros((rows + 1, rows)))
        self._data.memory[ROWS:] = [[self._rate], [np.inf]]
        self._data.tasks[:, BOUND:] = -1.0
        for k in self._records.values():
            self._data.tasks[k, BOUND:] = self._bounds
        return self._data
