# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The memory of a cycle that keeps limits: blocks outside, arrays with names in the kernel."""

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import (
    BoundedScratch,
    BoundRows,
    ContactForces,
    Problem,
    RestingRows,
    Truncation,
)
from opspace_control.control.singular.direction_motion import DIRECTION_ROWS
from opspace_control.control.solver.level_inverse import Decomposition
from opspace_control.control.solver.levels import LEVEL_SCRATCH
from opspace_control.dynamics.data import nan_filled


class BoundedBlocks(NamedTuple):
    """The memory of `BoundedScratch`, in as few arrays as shapes allow; see `bounded_of`."""

    projection: np.ndarray
    joints: np.ndarray
    carried: np.ndarray
    moments: np.ndarray
    gravity_rates: np.ndarray
    directions: np.ndarray
    bound_orders: np.ndarray
    bound_numbers: np.ndarray
    bound_squares: np.ndarray
    bound_couplings: np.ndarray
    bound_projection: np.ndarray
    torque: np.ndarray
    response: np.ndarray
    direction: np.ndarray
    contact_bounds: np.ndarray
    contact_forces: np.ndarray
    sizes: np.ndarray
    task_orders: np.ndarray
    levels: np.ndarray
    truncated: np.ndarray
    task_squares: np.ndarray
    task_numbers: np.ndarray
    work: np.ndarray
    squares: np.ndarray
    numbers: np.ndarray
    states: np.ndarray


def make_bounded_blocks(nodes, dofs, m, constraints, k, levels):
    """
    Return the `BoundedBlocks` of a controller.

    Parameters
    ----------
    nodes, dofs, m, constraints, k, levels : int
        The numbers of nodes, degrees of freedom, bounds, constraints, rows of the stack, and levels
        of tasks.

    """
    bounds, size = CONTACT_BOUNDS * constraints, m + k
    return BoundedBlocks(
        projection=np.zeros((nodes, k)), joints=nan_filled((6, dofs)),
        carried=nan_filled((nodes + 1, 4)), moments=nan_filled((2, nodes)),
        gravity_rates=nan_filled((dofs, dofs)),
        directions=nan_filled((DIRECTION_ROWS, max(dofs, k, 12))),
        bound_orders=np.full((5, m), -1), bound_numbers=nan_filled((8, m)),
        bound_squares=nan_filled((3, m, m)), bound_couplings=nan_filled((4, m, k)),
        bound_projection=nan_filled((m, nodes)), torque=nan_filled((m, dofs)),
        response=nan_filled((k, m)), direction=nan_filled((bounds, 6)),
        contact_bounds=nan_filled((2, bounds)), contact_forces=nan_filled((6, 6 * constraints)),
        sizes=np.zeros(2, int), task_orders=np.zeros((2, k), int),
        levels=np.zeros((3, levels + 2), int), truncated=np.zeros(levels, bool),
        task_squares=nan_filled((4, k, k)), task_numbers=nan_filled((8, k)),
        work=nan_filled((2 * k + 1, k)), squares=nan_filled((2, size, size)),
        numbers=nan_filled((7 + LEVEL_SCRATCH, size)), states=np.zeros((levels + 2, size), int))


@inlined
def bounded_of(blocks):
    """Return the `BoundedScratch` of a controller, or None without limits."""
    if blocks is None:
        return None
    joints, orders, v, squares = (
        blocks.joints, blocks.bound_orders, blocks.bound_numbers, blocks.bound_squares)
    couplings, forces, levels = blocks.bound_couplings, blocks.contact_forces, blocks.levels
    tasks, t, rows, states = (
        blocks.task_squares, blocks.task_numbers, blocks.numbers, blocks.states)
    count = blocks.truncated.size
    return BoundedScratch(
        projection=blocks.projection, a_ref=joints[0], tau_posture=joints[1], tau_null=joints[2],
        tau_ref=joints[3], carried=blocks.carried[:-1], moment=blocks.carried[-1],
        moments=blocks.moments, gravity_rates=blocks.gravity_rates, directions=blocks.directions,
        bound_rows=BoundRows(
            index=orders[0], dof=orders[1], kind=orders[2], projection=blocks.bound_projection,
            torque=blocks.torque, coordinates=couplings[0], coupling=couplings[1],
            direction=couplings[2], internal=couplings[3], gram=squares[0], mobility=v[0],
            offset=v[1], force=v[2]),
        contacts=ContactForces(
            direction=blocks.direction, bounds=blocks.contact_bounds, force=forces[0],
            internal=forces[1], reference=forces[2:4], effort=joints[4:6],
            singular_reaction=forces[4], coordinates=forces[5]),
        resting_rows=RestingRows(
            response=blocks.response,
            level=Decomposition(matrix=squares[1], vectors=squares[2], gains=v[3], scale=v[4],
                                spare=v[5], order=orders[3], sizes=blocks.sizes),
            wanted=v[6], multipliers=v[7], gravity_node=orders[4]),
        problem=Problem(
            task_rows=blocks.task_orders[0], levels=levels[0, :count + 1], gram=tasks[0],
            left=tasks[1], vectors=tasks[2], truncated=blocks.truncated, softness=t[0:2],
            start=t[2], first_rows=levels[1], steps=levels[2, :count + 1],
            G=blocks.squares[0], all_softness=rows[0:2], bounds=rows[2:4], free=rows[4],
            state=states[:count + 1], factor=blocks.squares[1], order=states[count + 1],
            scratch=rows[7:], f_y=rows[5:7]),
        truncation=Truncation(
            bounds=t[3:5], free=t[5], scale=t[6], product=t[7], factor=tasks[3],
            order=blocks.task_orders[1], work=blocks.work))
