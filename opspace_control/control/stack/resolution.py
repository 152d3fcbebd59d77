# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
From task accelerations to task forces, in strict order of priority.

The block LDLᵀ of Λ⁻¹ is the hierarchy: what a level leaves to the next is its Schur complement,
``L_{2|1} = L_22 − L_21 X_1 L_12``, which is ``J_2 N_1 A⁻¹ (J_2 N_1)ᵀ`` ([K87] 6, [CK00] (9)-(10)).
"""

import math

from opspace_control.compiled import inlined
from opspace_control.control.data import (
    ACTIVATION,
    APPLIED,
    COMPLIANT,
    FORCE,
    MOVING,
    SCALE,
)
from opspace_control.control.singular.direction_law import control_level, level_neighbourhood
from opspace_control.control.solver.cholesky import symmetric
from opspace_control.control.solver.level_inverse import (
    decompose_level,
    rows_of_level,
    solve_columns,
    solve_level,
)
from opspace_control.control.stack.scaling import level_threshold
from opspace_control.spatial.dense import dot_product
from opspace_control.spatial.six import put, six


@inlined
def subtract_applied(mobility, first, last, moving, compliant, x):
    """
    Subtract the accelerations by applied forces in rows first to last.

    All rows below that level compensate for them, and those of the level as far as they are not
    compliant themselves.
    """
    for c in range(first, last):
        if moving[c] == 0.0:
            continue
        for r in range(first, last):
            x[r] -= (1.0 - compliant[r]) * moving[c] * symmetric(mobility, r, c)
        for r in range(last, x.size):
            x[r] -= moving[c] * mobility[r, c]


@inlined
def used_rows(scale, e):
    """Return the first and the end of those of six rows from e on that have a scale."""
    begin, end = e + 6, e
    for r in range(e, e + 6):
        if scale[r] != 0.0:
            begin, end = min(begin, r), r + 1
    return begin, end


@inlined
def pass_on(mobility, first, last, level, scale, x, column):
    """
    Write the motion and mobility that this level leaves to those rows below that have a ``scale``.

    Above the diagonal L, which is 0 there, keeps ``Y = X L_ℓ,rest``, by which the forces below
    disturb this level.
    """
    order, used = level.order, level.sizes[1]
    for e in range(last, x.size, 6):
        begin, end = used_rows(scale, e)
        if begin >= end:
            continue
        motion = six(x, e)
        for p in range(used):
            r = first + order[p]
            for j in range(begin, end):
                mobility[r, j] = mobility[j, r]
            motion = motion - x[r] * six(mobility[r], e)
        put(x, e, motion)
        solve_columns(level, mobility, first, begin, end, column)
        for d in range(last, e + 6, 6):
            for j in range(begin, end):
                numbers = six(mobility[j], d)
                for p in range(used):
                    r = first + order[p]
                    numbers = numbers - mobility[j, r] * six(mobility[r], d)
                put(mobility[j], d, numbers)


@inlined
def resolve_forces(stack, scratch, levels, threshold, data):
    """
    Replace the accelerations of the tasks by their forces, ``x = Λ b``.

    [CK00] (13), bounded and continuous through singularities. No level disturbs one above; it uses
    all that they leave it. Exact wherever no eigenvalue of a level's scaled Schur complement is
    below the threshold divided by the number of the level's axes; what is below is truncated, and
    left to the levels below, in the end to the null space. The scaling is that of the unprojected
    Λ⁻¹, so all of a level in full conflict, which leaves but rounding errors, is truncated.

    Parameters
    ----------
    stack : (STACK_ROWS, k) array
        ``ACTIVATION`` of each row, from 0 (free) to 1 (controlled, exactly).
        ``APPLIED`` forces, N and N m, such as ``Ω̃ F_a`` of [K87] (5.4), are added to those of Λ.
        ``MOVING``: the part of them that the environment does not balance, such as the force of an
        impedance; it accelerates the rows.
        ``COMPLIANT``: 1 for rows that such forces may move, 0 for rows that compensate for them.
        ``SCALE``: from `scale_rows`.
        ``FORCE``: ``a* − a_null``, m/s² and rad/s²; becomes the forces, N and N m.
    scratch : Scratch
        ``mobility``: Λ⁻¹, lower triangle; overwritten. ``level`` and ``column`` are written.
    levels : (l + 1,) array of int
        First row of each level, the highest first, and the end of the last. Rows before the first
        level are none of this.
    threshold : float
        Of the scaled eigenvalues times the number of axes, without unit.
    data : Data
        For `control_level`, the law of singular directions; None to truncate these.

    Returns
    -------
    float
        Lower bound of the smallest scaled eigenvalue, 0 where some may be below the threshold.

    """
    mobility, x, applied, smallest = scratch.mobility, stack[FORCE], stack[APPLIED], math.inf
    scale = stack[SCALE]
    for number in range(levels.size - 1):
        first, last = levels[number], levels[number + 1]
        level = rows_of_level(scratch.level, first, last)
        column = scratch.column[first:last]
        subtract_applied(mobility, first, last, stack[MOVING], stack[COMPLIANT], x)
        truncated = near = level_threshold(stack[ACTIVATION], first, last, threshold)
        if data is not None and data.cycle.singular_control:
            near = level_neighbourhood(
                data.scratch.bounded.directions, scale, first, last, truncated)
        directions = data is not None and data.cycle.singular_control
        least = decompose_level(mobility, first, truncated, near, directions, level)
        controlled = False
        if data is not None:
            controlled = directions and level.sizes[0] < 0
            if controlled:
                least = control_level(data, number, truncated, level, column, x[first:last])
        smallest = min(smallest, least)
        if not controlled:
            solve_level(level, x[first:last])
        if last < x.size:
            pass_on(mobility, first, last, level, scale, x, column)
    for number in range(levels.size - 2, -1, -1):
        first, last = levels[number], levels[number + 1]
        for r in range(first, last):
            disturbed = 0.0
            if scale[r] != 0.0:
                disturbed = dot_product(mobility[r, last:], x[last:], x.size - last)
            x[r] += applied[r] - disturbed
    return smallest
