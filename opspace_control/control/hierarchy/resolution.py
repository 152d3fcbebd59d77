# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
From task accelerations to task forces, in strict order of priority.

The block LDLᵀ of Λ⁻¹ is the hierarchy: what a level leaves to the next is its Schur complement,
``L_{2|1} = L_22 − L_21 X_1 L_12``, which is ``J_2 N_1 A⁻¹ (J_2 N_1)ᵀ`` ([K87] 6, [CK00] (9)-(10)).
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.hierarchy.singularity import lead_level, near_from
from opspace_control.control.hierarchy.structures import (
    ASKED,
    COMPLIANT,
    FACTOR,
    FORCE,
    MOVING,
    PUSH,
    SCALE,
    SPARE,
    VECTORS,
    Decomposition,
    L,
)
from opspace_control.control.hierarchy.truncation import decompose_level, solve_level
from opspace_control.spatial.eigen import truncation_threshold


@inlined
def account_for_pushes(mobility, first, last, moving, compliant, x):
    """
    Take off what the pushes in rows first to last accelerate.

    All rows below that level make up for it, and those of the level as far as they are not
    compliant themselves.
    """
    for c in range(first, last):
        if moving[c] == 0.0:
            continue
        for r in range(first, last):
            x[r] -= (1.0 - compliant[r]) * moving[c] * (
                mobility[r, c] if r >= c else mobility[c, r])
        for r in range(last, x.size):
            x[r] -= moving[c] * mobility[r, c]


@called
def pass_on(squares, first, last, exactly, level, x, column):
    """
    Write to the rows below what this level leaves them, of motion and of mobility.

    Above the diagonal L keeps ``Y = X L_ℓ,rest``, by which the forces below disturb this level.
    """
    mobility = squares[L]
    for j in range(last, x.size):
        t = 0.0
        for r in range(first, last):
            t += mobility[j, r] * x[r]
            column[r - first] = mobility[j, r]
        x[j] -= t
        solve_level(exactly, level, column)
        for i in range(last, j + 1):
            t = 0.0
            for r in range(first, last):
                t += mobility[i, r] * column[r - first]
            mobility[j, i] -= t
        for r in range(first, last):
            mobility[r, j] = column[r - first]


@called
def resolve_forces(rows, squares, levels, threshold, data):
    """
    Replace the accelerations that the tasks ask for by the forces that give them, ``x = Λ b``.

    [CK00] (13), bounded and continuous through singularities. No level disturbs one above; it uses
    all that they leave it. Exact wherever no eigenvalue of a level's scaled Schur complement is
    below the threshold divided by the number of the level's axes; what is below is truncated, and
    left to the levels below, in the end to the null space. The scaling is that of the unprojected
    Λ⁻¹, so all of a level in full conflict, which leaves but rounding errors, is truncated.

    Parameters
    ----------
    rows : (ROWS, k) array
        ``ASKED``: how much of each axis the tasks ask for, from 0 (nothing) to 1 (all, exactly).
        ``PUSH``: forces that come on top, N and N m, such as ``Ω̃ F_a`` of [K87] (5.4).
        ``MOVING``: that part of the pushes that accelerates what it acts on, because nothing in the
        environment holds against it, such as the force of an impedance.
        ``COMPLIANT``: 1 for rows that such pushes may move, 0 for rows that make up for them.
        ``SCALE``: from `scale_rows`.
        ``FORCE``: ``a* − a_null``, m/s² and rad/s²; becomes the forces, N and N m.
        Scratch from ``SPARE`` on.
    squares : (SQUARES, k, k) array
        ``L``: Λ⁻¹, lower triangle; overwritten. ``FACTOR`` and ``VECTORS`` are scratch.
    levels : (l + 1,) array of int
        First row of each level, the highest first, and the end of the last. Rows before the first
        level are none of this.
    threshold : float
        Of the scaled eigenvalues times the number of axes, without unit.
    data : Data
        For `lead_level`, which leads directions below the threshold instead; or None.

    Returns
    -------
    float
        Lower bound of the smallest scaled eigenvalue, 0 where some may be below the threshold.

    """
    mobility, x, push, smallest = squares[L], rows[FORCE], rows[PUSH], math.inf
    for number in range(levels.size - 1):
        first, last = levels[number], levels[number + 1]
        level = Decomposition(
            squares[FACTOR], squares[VECTORS], rows[SPARE, first:last], rows[SCALE, first:last],
            rows[SPARE + 1, first:last])
        column = rows[SPARE + 2, first:last]
        account_for_pushes(mobility, first, last, rows[MOVING], rows[COMPLIANT], x)
        axes = 0.0
        for r in range(first, last):
            axes += rows[ASKED, r]
        truncated = near = truncation_threshold(axes, threshold)
        if data is not None and data.cycle.leads:
            near = near_from(
                data.scratch.limits.leads, rows[SCALE], first, last, truncated)
        least = decompose_level(mobility, first, truncated, near, level)
        exactly, led = least > 0.0, False
        if data is not None:
            led = not exactly and data.cycle.leads
            if led:
                least = lead_level(data, number, truncated, level, column, x[first:last])
        smallest = min(smallest, least)
        if not led:
            solve_level(exactly, level, x[first:last])
        if last < x.size:
            pass_on(squares, first, last, exactly, level, x, column)
    for number in range(levels.size - 2, -1, -1):
        first, last = levels[number], levels[number + 1]
        for r in range(first, last):
            x[r] += push[r]
            for j in range(last, x.size):
                x[r] -= mobility[r, j] * x[j]
    return smallest
