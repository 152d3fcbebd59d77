# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of a cycle that keeps limits."""

import numpy as np

from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import (
    BoundedScratch,
    BoundRows,
    ContactForces,
    Problem,
    RestingRows,
    Truncation,
)
from opspace_control.control.limits.distances import Distances
from opspace_control.control.singular.direction_motion import DIRECTION_ROWS
from opspace_control.control.solver.level_inverse import make_decomposition
from opspace_control.control.solver.levels import LEVEL_SCRATCH
from opspace_control.dynamics.data import nan_filled


def make_bounded_scratch(nodes, dofs, m, constraints, k, levels, near):
    """
    Return the `BoundedScratch` of a controller, filled with NaN, its integers with zeros.

    Parameters
    ----------
    nodes, dofs, m, constraints, k, levels, near : int
        The numbers of nodes, degrees of freedom, bounds, constraints, rows of the stack, levels of
        tasks, and near pairs at most.

    """
    b, c, size, nan = CONTACT_BOUNDS * constraints, 6 * constraints, m + k, nan_filled
    return BoundedScratch(
        projection=np.zeros((nodes, k)), effort_limits=nan(dofs), a_ref=nan(dofs),
        tau_posture=nan(dofs), tau_null=nan(dofs), tau_ref=nan(dofs),
        carried=nan((nodes, 4)), moment=nan(4), moments=nan((2, nodes)),
        gravity_rates=nan((dofs, dofs)),
        directions=nan((DIRECTION_ROWS, max(dofs, k, 12))),
        bound_rows=BoundRows(
            index=np.full(m, -1), dof=np.full(m, -1), kind=np.full(m, -1),
            projection=nan((m, nodes)), response=nan(nodes), torque=nan((m, dofs)),
            coordinates=nan((m, k)),
            coupling=nan((m, k)), direction=nan((m, k)), internal=nan((m, k)), gram=nan((m, m)),
            mobility=nan(m), offset=nan(m), force=nan(m)),
        contacts=ContactForces(
            direction=nan((b, 6)), bounds=nan((2, b)), force=nan(c), internal=nan(c),
            reference=nan((2, c)), effort=nan((2, dofs)), singular_reaction=nan(c),
            coordinates=nan(c)),
        distances=Distances(least=nan(near), gradient=nan((near, dofs)), motion=nan((2, 6)),
                            states=np.zeros((levels + 2, near), int)),
        resting_rows=RestingRows(
            response=nan((k, m)), level=make_decomposition(m, nan(m)), wanted=nan(m),
            multipliers=nan(m), gravity_node=np.full(m, -1)),
        problem=Problem(
            task_rows=np.zeros(k, int), levels=np.zeros(levels + 1, int), gram=nan((k, k)),
            left=nan((k, k)), vectors=nan((k, k)), truncated=np.zeros(levels, bool),
            softness=nan((2, k)), start=nan(k), first_rows=np.zeros(levels + 2, int),
            steps=np.zeros(levels + 1, int), G=nan((size, size)), all_softness=nan((2, size)),
            bounds=nan((2, size)), free=nan(size), state=np.zeros((levels + 1, size), int),
            factor=nan((size, size)), order=np.zeros(size, int),
            scratch=nan((LEVEL_SCRATCH, size)), f_y=nan((2, size))),
        truncation=Truncation(
            bounds=nan((2, k)), free=nan(k), scale=nan(k), product=nan(k), factor=nan((k, k)),
            order=np.zeros(k, int), work=nan((2 * k + 1, k))))
