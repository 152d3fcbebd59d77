# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The disturbance observer: tasks compensate unknown joint forces along their axes of motion."""


import numpy as np

from opspace_control.checks import checked
from opspace_control.control.data import Disturbance
from opspace_control.control.stack.disturbance import (
    FILTERED,
    FROZEN,
    GREATEST,
    interrupt_observer,
    restart_observer,
)
from opspace_control.dynamics.momentum_observer import APPLIED_TORQUE, RESIDUAL_TORQUE, ROWS
from opspace_control.errors import ControlError


class DisturbanceObserver:
    """
    Compensate unknown joint forces along the axes of motion of tasks.

    From the generalized momentum, as `MomentumObserver` does, each cycle finds the mean r since the
    last one of the forces that the model does not have: friction, wrong masses, payloads. Tasks add
    ``−Λ J Φ r`` along their axes of motion, ``Φ = A⁻¹`` without constraints: ``−J̄ᵀ r``, [CK00] (8),
    with which the points move as those of the model. Nothing is exerted along axes of force
    control, springs and free axes, and nothing against what r does in the null space. Effort limits
    limit the sum.

    These forces, of each task in its axes, pass a filter of the first order. They are no integral
    of errors: they follow from the motion and from the forces that were applied, so they do not
    grow at limits. They begin at zero; tasks that are activated gradually compensate gradually.
    Raises a ControlError for numbers that are no rate or no limit.

    Parameters
    ----------
    rate : float
        Of the filter, 1/s. Steady forces are rejected as with integral action of this rate; a
        delay T of the loop needs ``rate + kd`` well below ``1 / T``, kd being that of the tasks.
    max_force, max_moment : float
        Limits of the compensation of each task, N and N·m. Beyond them all six components shrink
        alike, as near singularities. A task of which both are 0 does not compensate; without any
        that does nothing is computed. A hand yields only to pushes beyond the limits; after one of
        less it overshoots, as the compensation fades in 1 / rate.
    tasks : sequence of str, optional
        Names of tasks; all tasks at points of links if not given.

    """

    def __init__(self, rate, *, max_force, max_moment, tasks=None):
        self._tasks = None if tasks is None else tuple(tasks)
        self._rate, self._limits, self._data = np.zeros(3), np.empty(2), None
        self.set(rate=rate, max_force=max_force, max_moment=max_moment)

    def set(self, *, rate=None, max_force=None, max_moment=None):
        """
        Change numbers of the constructor; what is None stays.

        Limits change at once; of ``controller.gradual`` they are ``disturbance.limits``. A
        ControlError refuses what is no rate or no limit; then nothing changes.
        """
        given = {'rate': rate, 'max_force': max_force, 'max_moment': max_moment}
        allowed = {'lowest': 0.0, 'infinite': True}
        self._rate[0], *self._limits[:] = [
            old if value is None else checked(
                value, f'disturbance observer: {name}', ControlError,
                **({'above': 0.0} if name == 'rate' else allowed))
            for old, (name, value) in zip(
                [self._rate[0], *self._limits], given.items(), strict=True)]
        if self._data is not None:
            self.limits[list(self._records.values())] = self._limits

    @property
    def limits(self):
        """Limits of all tasks at points in use, (t, 2), N and N·m, -1 for those without; a view."""
        return self._data.tasks[:, GREATEST:FILTERED]

    @property
    def rates(self):
        """Rate of the filter, 1/s, of each task that compensates at present: a dict by name."""
        return {name: float(self._rate[0]) for name, k in self._records.items()
                if self.limits[k].max() > 0.0}

    @property
    def residual(self):
        """Mean unknown joint forces r until the last cycle, (nv,), N·m or N, unfiltered: a copy."""
        return self._data.memory[RESIDUAL_TORQUE].copy()

    @property
    def rejected(self):
        """
        Forces that compensate, ``−Λ J Φ r`` filtered and limited, in the last cycle: dict of (6,).

        By task, N and N·m, along the task's axes.
        """
        return {name: self._data.tasks[k, :GREATEST].copy() for name, k in self._records.items()}

    @property
    def frozen(self):
        """Whether the forces that compensate stay as they are; False at first."""
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
        np.copyto(self._data.memory[APPLIED_TORQUE], torque)

    def interrupt(self):
        """Forget the last state, as after a gap in time; the forces that compensate stay."""
        interrupt_observer(self._data)

    def restart(self):
        """Begin at zero, as after a time without control."""
        restart_observer(self._data)

    def register(self, nv, records, rows):
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
            memory=np.zeros((ROWS, nv)), flags=np.zeros(4, int), rate=self._rate,
            tasks=np.zeros((rows // 6, FILTERED + 6)),
            unexpected=np.zeros((2, nv)), matrix=np.zeros((2, rows + 3, rows)),
            rows=np.zeros((5, rows)))
        self.limits[:] = -1.0
        self.set()
        return self._data
