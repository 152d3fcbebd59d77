# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays that a controller's cycles write."""

from typing import NamedTuple

import numpy as np

from opspace_control.control.data import (
    RESIDUAL,
    SCALE,
    STACK_ROWS,
    Demand,
    Grasping,
    Limits,
    Results,
    Robot,
    Scratch,
    Storage,
)
from opspace_control.control.solver.level_inverse import Decomposition
from opspace_control.control.solver.semidefinite import Factor
from opspace_control.dynamics.data import make_arrays


class Arguments(NamedTuple):
    """What a controller gives to its kernel in every cycle."""

    cycle: np.ndarray  # (1,) CYCLE
    robot: Robot
    demand: Demand
    grasping: Grasping
    limits: Limits
    storage: Storage


def make_storage(nodes, dofs, rows, columns, constrained, limits):
    """
    Return the `Storage` of a controller.

    Sizes are those of the nodes, of the degrees of freedom, of the rows of the stack, of these and
    the rows of trunks, and of those of constraints; the LimitData ``limits`` is None for the bare
    law.
    """
    sizes = {'n': nodes, 'nv': dofs, 'k': rows, 'b': columns, 'c': constrained,
             't': rows - constrained, 'STACK_ROWS': STACK_ROWS}
    results = make_arrays(Results, sizes)
    results.stack[RESIDUAL] = 0.0
    parts = {name: make_arrays(kind, sizes, scale=results.stack[SCALE]) for name, kind in (
        ('constraint_factor', Factor), ('passive_factor', Factor), ('level', Decomposition))}
    return Storage(memory=limits.memory if limits else None, results=results, scratch=make_arrays(
        Scratch, sizes, bounded=limits.scratch if limits else None, **parts))
