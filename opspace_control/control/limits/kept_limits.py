# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints that a controller's cycle keeps, and how they change."""

import numpy as np

from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import (
    BoundRows,
    ContactForces,
    LimitData,
    Problem,
    RestingRows,
)
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.control.limits.kinds import KINDS, check_kinds
from opspace_control.control.singular.direction_motion import SINGULAR_ROWS
from opspace_control.control.solver.levels import LEVEL_SCRATCH
from opspace_control.dynamics.data import nan_filled
from opspace_control.errors import ControlError

# Numbers of `LIMIT` that follow from those of `JointLimits`, and of `CYCLE`.
_OF_JOINTS = 'lower', 'upper', 'velocity', 'acceleration', 'slow', 'clear', 'gravity_torque'
_OF_ALL = 'return_rate', 'approach_rate', 'kept'


class KeptLimits:
    """
    Limits of joints, as a compiled cycle reads them; all their numbers may change gradually.

    Parameters
    ----------
    limits : JointLimits
    model : RobotModel
    nodes : (n,) array of NODE
        The controller's.
    cycle : (1,) array of CYCLE
        Likewise; receives what is no matter of single joints.
    constraints, rows, levels : int
        Of the stack.

    Attributes
    ----------
    limits : JointLimits
        Those that have been set.
    records : (nv,) array of LIMIT
    memory : LimitData
        Of the cycle.
    gradual : dict of str to array
        The numbers themselves.

    Raises
    ------
    ControlError
        If the limits are another model's, or a kind of limits is not known: `check_kinds`.

    """

    def __init__(self, limits, model, nodes, cycle, constraints, rows, levels):
        check_kinds()
        self._model, self._nodes, self._cycle = model, nodes, cycle
        self.records = self._checked(limits).records(nodes)
        self.memory = _memory(nodes, model.nv, constraints, rows, levels)
        self.gradual = {f'limits.{name}': self.records[name] for name in _OF_JOINTS} | {
            f'limits.{name}': cycle[name] for name in _OF_ALL}
        self.set(limits)

    def set(self, limits):
        """Keep other limits from now on; raises as the constructor."""
        records = self._checked(limits).records(self._nodes)
        for name in _OF_JOINTS:
            self.records[name] = records[name]
        for name in _OF_ALL:
            self._cycle[name] = getattr(limits, name)
        self.limits = limits

    def _checked(self, limits):
        if not isinstance(limits, JointLimits) or limits.model is not self._model:
            raise ControlError(f'limits = {limits!r} cannot be used.',
                               cure='Give JointLimits(model) of the same model.')
        return limits


def _memory(nodes, dofs, constraints, rows, levels):
    """Return the `LimitData` of a controller with so many dofs, constraints, rows and levels."""
    n, m, levels = nodes.size, KINDS * dofs + CONTACT_BOUNDS * constraints, max(levels, 1)
    side = max(n + 1, m, rows, SINGULAR_ROWS)
    size = max(m + rows, 2 * rows + 1)  # of all rows; what `truncate_level` takes of G as scratch
    bound_rows = BoundRows(
        np.full(m, -1), np.zeros((levels + 1, m), int), *np.zeros((2, m), int),
        nan_filled((m, n)), nan_filled((m, dofs)), *nan_filled((4, m, rows)), nan_filled((m, m)),
        *nan_filled((3, m)))
    bounds, forces = CONTACT_BOUNDS * constraints, 6 * constraints
    contacts = ContactForces(
        nan_filled((bounds, 6)), nan_filled((2, bounds)), np.zeros(bounds, int),
        *nan_filled((2, forces)), nan_filled((2, forces)), nan_filled((2, dofs)),
        *nan_filled((2, forces)))
    resting_rows = RestingRows(nan_filled((rows, m)), *nan_filled((2, m, m)), nan_filled((4, m)),
                               nan_filled(m), *np.zeros((2, m), int), np.zeros(2, int))
    problem = Problem(
        np.zeros(rows, int), np.zeros(levels + 1, int), *nan_filled((3, rows, rows)),
        np.zeros(levels, bool), nan_filled((2, rows)), nan_filled(rows),
        np.zeros(levels + 2, int), np.zeros(levels + 1, int), nan_filled((size, size)),
        *nan_filled((2, 2, size)), nan_filled(size), np.zeros((levels + 1, size), int),
        nan_filled((size, size)), np.zeros(size, int), nan_filled((LEVEL_SCRATCH, size)),
        nan_filled((2, size)))
    return LimitData(
        np.zeros((n, rows)), *nan_filled((4, dofs)), nan_filled((n + 1, 4)),
        nan_filled((dofs + 1, max(n, dofs))), nan_filled((SINGULAR_ROWS, side)), bound_rows,
        contacts, resting_rows, problem)
