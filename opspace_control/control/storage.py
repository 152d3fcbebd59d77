# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays that a controller's cycles write."""

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.control.data import (
    RESIDUAL,
    SCALE,
    STACK_ROWS,
    Blocks,
    GraspScratch,
    Results,
    Scratch,
    Storage,
)
from opspace_control.control.limits.bounded_scratch import bounded_of
from opspace_control.control.solver.level_inverse import Decomposition
from opspace_control.control.solver.semidefinite import Factor
from opspace_control.dynamics.data import nan_filled

# Of `Blocks`, as many as `scratch_of` names.
_VECTORS, _SQUARES = 18, 13


def make_storage(dofs, rows, constrained, kept):
    """
    Return the `Storage` of a controller, filled with NaN.

    Parameters
    ----------
    dofs, rows, constrained : int
        Degrees of freedom; rows of the stack, and how many of them are those of constraints.
    kept : KeptLimits
        None for the bare law.

    """
    results = Results(
        a_null=nan_filled(dofs), a_task=nan_filled(dofs),
        Lambda_inverse=nan_filled((rows - constrained, rows - constrained)),
        stack=nan_filled((STACK_ROWS, rows)))
    results.stack[RESIDUAL] = 0.0
    blocks = Blocks(
        joints=nan_filled((2, dofs)), vectors=nan_filled((_VECTORS, rows)),
        squares=nan_filled((_SQUARES, rows, rows)), small=nan_filled((4, 6, 6)),
        orders=np.zeros((3, rows), int), sizes=np.zeros((3, 2), int))
    return Storage(memory=kept.memory if kept else None, results=results, blocks=blocks,
                   bounded=kept.blocks if kept else None)


@inlined
def scratch_of(storage):
    """Return the `Scratch` of a controller."""
    _, results, (joints, v, squares, small, orders, sizes), bounded = storage
    scale = results.stack[SCALE]
    return Scratch(
        passive_torque=joints[0], joint_force=joints[1], wrench=small[3, 0], small=small[:3],
        mobility=squares[0], passive_mobility=squares[1], unconstrained=v[0],
        constraint_factor=Factor(rows=squares[2], gram=squares[3], order=orders[0],
                                 sizes=sizes[0], scale=scale),
        passive_factor=Factor(rows=squares[4], gram=squares[5], order=orders[1], sizes=sizes[1],
                              scale=scale),
        remaining=v[1], coordinates=v[2],
        level=Decomposition(matrix=squares[6], vectors=squares[7], gains=v[3], scale=scale,
                            spare=v[4], order=orders[2], sizes=sizes[2]),
        column=v[5], moving=v[6], exerted=v[7], bound_reaction=v[8], response_reaction=v[9],
        grasps=GraspScratch(
            passive_rows=squares[8:10], admissible=v[10:12], basis=squares[10], gram=squares[11],
            factor=squares[12], gradient=v[12], column=v[13], half=v[14], change=v[15],
            slope=v[16], shares=v[17]),
        bounded=bounded_of(bounded))
