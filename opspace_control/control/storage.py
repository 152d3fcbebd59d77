# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays that a controller's cycles write."""

from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import (
    RESIDUAL,
    SCALE,
    STACK_ROWS,
    BoundedScratch,
    Memory,
    RestingRows,
    Results,
    Scratch,
    Storage,
)
from opspace_control.control.limits.distances import Distances
from opspace_control.control.limits.kinds import KINDS
from opspace_control.control.singular.direction_motion import DIRECTION_ROWS
from opspace_control.control.solver.level_inverse import Decomposition
from opspace_control.control.solver.levels import LEVEL_SCRATCH
from opspace_control.control.solver.semidefinite import Factor
from opspace_control.dynamics.data import make_arrays


def make_storage(dofs, rows, constrained, kept):
    """
    Return the `Storage` of a controller.

    Parameters
    ----------
    dofs, rows, constrained : int
        Degrees of freedom; rows of the stack, and how many of them are those of constraints.
    kept : KeptLimits
        None for the bare law.

    """
    sizes = {'nv': dofs, 'k': rows, 't': rows - constrained, 'STACK_ROWS': STACK_ROWS}
    results = make_arrays(Results, sizes)
    results.stack[RESIDUAL] = 0.0
    parts = {name: make_arrays(kind, sizes, scale=results.stack[SCALE]) for name, kind in (
        ('constraint_factor', Factor), ('passive_factor', Factor), ('level', Decomposition))}
    return Storage(memory=kept.memory if kept else None, results=results, scratch=make_arrays(
        Scratch, sizes, bounded=kept.scratch if kept else None, **parts))


def make_bounded(nodes, dofs, constraints, rows, levels, near):
    """
    Return `Memory` and `BoundedScratch` of a controller that keeps limits.

    Parameters
    ----------
    nodes, dofs, constraints, rows, levels, near : int
        The numbers of nodes, degrees of freedom, constraints, rows of the stack, levels of tasks,
        and near pairs at most.

    """
    b, levels = CONTACT_BOUNDS * constraints, max(levels, 1)
    m = KINDS * dofs + b + near
    sizes = {'n': nodes, 'nv': dofs, 'k': rows, 't': rows, '2t+1': 2 * rows + 1, 'm': m,
             'N': m + rows, 'b': b, '6c': 6 * constraints, 'd': near, 'l': levels,
             'l+1': levels + 1, 'l+2': levels + 2, 'LEVEL_SCRATCH': LEVEL_SCRATCH,
             'DIRECTION_ROWS': DIRECTION_ROWS, 'nv,k': max(dofs, rows, 12)}
    return make_arrays(Memory, sizes), make_arrays(
        BoundedScratch, sizes, distances=make_arrays(Distances, sizes), resting_rows=make_arrays(
            RestingRows, sizes, level=make_arrays(Decomposition, {'k': m})))
