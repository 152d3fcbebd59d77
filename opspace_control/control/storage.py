# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays that a controller's cycles write."""

from opspace_control.control.data import (
    RESIDUAL,
    SCALE,
    STACK_ROWS,
    GraspScratch,
    Results,
    Scratch,
    Storage,
)
from opspace_control.control.solver.level_inverse import make_decomposition
from opspace_control.control.solver.semidefinite import make_factor
from opspace_control.dynamics.data import nan_filled


def make_storage(dofs, rows, constrained, kept):
    """
    Return the `Storage` of a controller, filled with NaN, its integers with zeros.

    Parameters
    ----------
    dofs, rows, constrained : int
        Degrees of freedom; rows of the stack, and how many of them are those of constraints.
    kept : KeptLimits
        None for the bare law.

    """
    nan, k = nan_filled, rows
    results = Results(
        a_null=nan(dofs), a_task=nan(dofs), Lambda_inverse=nan((k - constrained, k - constrained)),
        stack=nan((STACK_ROWS, k)))
    results.stack[RESIDUAL] = 0.0
    scale = results.stack[SCALE]
    scratch = Scratch(
        passive_torque=nan(dofs), joint_force=nan(dofs), wrench=nan(6), small=nan((3, 6, 6)),
        mobility=nan((k, k)), passive_mobility=nan((k, k)), unconstrained=nan(k),
        constraint_factor=make_factor(k, scale), passive_factor=make_factor(k, scale),
        remaining=nan(k), coordinates=nan(k), level=make_decomposition(k, scale), column=nan(k),
        moving=nan(k), exerted=nan(k), bound_reaction=nan(k), response_reaction=nan(k),
        grasps=GraspScratch(
            passive_rows=nan((2, k, k)), admissible=nan((2, k)), basis=nan((k, k)),
            gram=nan((k, k)), factor=nan((k, k)), gradient=nan(k), column=nan(k), half=nan(k),
            change=nan(k), slope=nan(k), shares=nan(k)),
        bounded=kept.scratch if kept else None)
    return Storage(memory=kept.memory if kept else None, results=results, scratch=scratch)
