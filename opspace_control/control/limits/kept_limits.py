# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints that a controller's cycle keeps, and how they change."""

import numpy as np

from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import (
    BoundedScratch,
    BoundRows,
    ContactForces,
    Memory,
    Problem,
    RestingRows,
    Truncation,
)
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.control.limits.kinds import KINDS, check_kinds
from opspace_control.control.singular.direction_motion import DIRECTION_ROWS
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
    memory : Memory
    scratch : BoundedScratch
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
        bounds, levels = bound_count(model.nv, constraints), max(levels, 1)
        self.memory = Memory(
            bound_state=np.zeros((levels + 1, bounds), int),
            contact_active=np.zeros(CONTACT_BOUNDS * constraints, int))
        self.scratch = BoundedScratch(
            projection=np.zeros((nodes.size, rows)), a_ref=nan_filled(model.nv),
            tau_posture=nan_filled(model.nv), tau_null=nan_filled(model.nv),
            tau_ref=nan_filled(model.nv), carried=nan_filled((nodes.size, 4)),
            moment=nan_filled(4), moments=nan_filled((2, nodes.size)),
            gravity_rates=nan_filled((model.nv, model.nv)),
            directions=nan_filled((DIRECTION_ROWS, max(model.nv, rows, 12))),
            bound_rows=_bound_rows(bounds, nodes.size, model.nv, rows),
            contacts=_contact_forces(constraints, model.nv),
            resting_rows=_resting_rows(bounds, rows), problem=_problem(bounds, rows, levels),
            truncation=_truncation(rows))
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


def bound_count(dofs, constraints):
    """Return how many numbers `bound_number` has for so many dofs and constraints."""
    return KINDS * dofs + CONTACT_BOUNDS * constraints


def _bound_rows(m, n, dofs, rows):
    """Return the `BoundRows` of m bounds, n nodes, so many dofs and rows of the stack."""
    return BoundRows(
        index=np.full(m, -1), dof=np.zeros(m, int), kind=np.zeros(m, int),
        projection=nan_filled((m, n)), torque=nan_filled((m, dofs)),
        coordinates=nan_filled((m, rows)), coupling=nan_filled((m, rows)),
        direction=nan_filled((m, rows)), internal=nan_filled((m, rows)), gram=nan_filled((m, m)),
        mobility=nan_filled(m), offset=nan_filled(m), force=nan_filled(m))


def _contact_forces(constraints, dofs):
    """Return the `ContactForces` of so many constraints and dofs."""
    bounds, forces = CONTACT_BOUNDS * constraints, 6 * constraints
    return ContactForces(
        direction=nan_filled((bounds, 6)), bounds=nan_filled((2, bounds)),
        force=nan_filled(forces), internal=nan_filled(forces), reference=nan_filled((2, forces)),
        effort=nan_filled((2, dofs)), singular_reaction=nan_filled(forces),
        coordinates=nan_filled(forces))


def _resting_rows(m, rows):
    """Return the `RestingRows` of m bounds and so many rows of the stack."""
    return RestingRows(
        response=nan_filled((rows, m)), factor=nan_filled((m, m)), vectors=nan_filled((m, m)),
        numbers=nan_filled((4, m)), multipliers=nan_filled(m), gravity_node=np.zeros(m, int),
        order=np.zeros(m, int), sizes=np.zeros(2, int))


def _problem(m, rows, levels):
    """Return the `Problem` of m bounds and so many rows and levels of tasks."""
    size = m + rows
    return Problem(
        task_rows=np.zeros(rows, int), levels=np.zeros(levels + 1, int),
        gram=nan_filled((rows, rows)), left=nan_filled((rows, rows)),
        vectors=nan_filled((rows, rows)), truncated=np.zeros(levels, bool),
        softness=nan_filled((2, rows)), start=nan_filled(rows),
        first_rows=np.zeros(levels + 2, int), steps=np.zeros(levels + 1, int),
        G=nan_filled((size, size)), all_softness=nan_filled((2, size)),
        bounds=nan_filled((2, size)), free=nan_filled(size),
        state=np.zeros((levels + 1, size), int), factor=nan_filled((size, size)),
        order=np.zeros(size, int), scratch=nan_filled((LEVEL_SCRATCH, size)),
        f_y=nan_filled((2, size)))


def _truncation(rows):
    """Return the `Truncation` of so many rows of the stack."""
    bounds, (free, scale, product) = nan_filled((2, rows)), nan_filled((3, rows))
    return Truncation(
        bounds=bounds, free=free, scale=scale, product=product, factor=nan_filled((rows, rows)),
        order=np.zeros(rows, int), work=nan_filled((2 * rows + 1, rows)))
