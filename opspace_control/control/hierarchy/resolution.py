# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
From task accelerations to task forces, in strict order of priority.

The block LDLᵀ of Λ⁻¹ is the hierarchy: what a level leaves to the next is its Schur complement,
``L_{2|1} = L_22 − L_21 X_1 L_12``, which is ``J_2 N_1 A⁻¹ (J_2 N_1)ᵀ`` ([K87] 6, [CK00] (9)-(10)).
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.hierarchy.release import decompose_level, solve_level
from opspace_control.control.hierarchy.singularity import lead_level, near_from


@inlined
def released_at(asked, threshold):
    """Return the eigenvalue at which a level releases: the threshold is shared by its axes."""
    axes = 0.0
    for r in range(asked.size):
        axes += asked[r]
    return threshold / axes if axes > 1.0 else threshold


@inlined
def account_for_pushes(L, first, last, moving, compliant, x):
    """
    Take off what the pushes in rows first to last accelerate.

    All rows below that level make up for it, and those of the level as far as they are not
    compliant themselves.
    """
    for c in range(first, last):
        if moving[c] == 0.0:
            continue
        for r in range(first, last):
            x[r] -= (1.0 - compliant[r]) * moving[c] * (L[r, c] if r >= c else L[c, r])
        for r in range(last, x.size):
            x[r] -= moving[c] * L[r, c]


@called
def pass_on(L, first, last, exactly, factor, vectors, gains, own, x, column, spare):
    """
    Write to the rows below what this level leaves them, of motion and of mobility.

    Above the diagonal L keeps ``Y = X L_ℓ,rest``, by which the forces below disturb this level.
    """
    rows = x.size
    for j in range(last, rows):
        t = 0.0
        for r in range(first, last):
            t += L[j, r] * x[r]
            column[r - first] = L[j, r]
        x[j] -= t
        solve_level(exactly, factor, vectors, gains, own, column, spare)
        for i in range(last, j + 1):
            t = 0.0
            for r in range(first, last):
                t += L[i, r] * column[r - first]
            L[j, i] -= t
        for r in range(first, last):
            L[r, j] = column[r - first]


@called
def resolve_forces(
        L, levels, asked, push, moving, compliant, threshold, scale, factor, vectors, spare, x,
        robot):
    """
    Replace the accelerations that the tasks ask for by the forces that give them, ``x = Λ b``.

    [CK00] (13), bounded and continuous through singularities. No level disturbs one above; it uses
    all that they leave it. Exact wherever no eigenvalue of a level's scaled Schur complement is
    below the threshold divided by the number of the level's axes; what is below is handed to the
    levels below, and in the end to the null space. The scaling is that of the unprojected Λ⁻¹, so a
    level in full conflict, which leaves nothing but rounding errors, releases everything.

    Parameters
    ----------
    L : (k, k) array
        Λ⁻¹, lower triangle; overwritten.
    levels : (l + 1,) array of int
        First row of each level, the highest first, and the end of the last. Rows before the first
        level are none of this.
    asked : (k,) array
        How much of each axis the tasks ask for, from 0 (nothing) to 1 (all, exactly).
    push : (k,) array
        Forces that come on top, N and N m, such as ``Ω̃ F_a`` of [K87] (5.4).
    moving : (k,) array
        That part of the pushes that accelerates what it acts on, because nothing in the environment
        holds against it, such as the force of an impedance.
    compliant : (k,) array
        1 for rows that such pushes may move, 0 for rows that make up for them.
    threshold : float
        Of the scaled eigenvalues times the number of axes, without unit.
    scale : (k,) array
        From `scale_rows`.
    factor, vectors : (k, k) arrays
        Scratch.
    spare : (3, k) array
        Scratch.
    x : (k,) array
        ``a* − a_null``, m/s² and rad/s²; becomes the forces, N and N m.
    robot : tuple
        For `lead_level`, which leads directions below the threshold instead; or None.

    Returns
    -------
    float
        Lower bound of the smallest scaled eigenvalue, 0 where some may be below the threshold.

    """
    rows = x.size
    smallest = math.inf
    for level in range(levels.size - 1):
        first, last = levels[level], levels[level + 1]
        own, gains, off = scale[first:last], spare[0, first:last], spare[1, first:last]
        account_for_pushes(L, first, last, moving, compliant, x)
        released = released_at(asked[first:last], threshold)
        near = released
        if robot is not None:
            near = near_from(robot, first, last, released)
        least = decompose_level(L, first, own, released, near, factor, vectors, gains, off)
        exactly, led = least > 0.0, False
        if robot is not None:
            led = not exactly and robot[0].leads
            if led:
                least = lead_level(robot, L, levels, level, released, own, factor, vectors, gains,
                                   off, spare[2, first:last], x[first:last])
        smallest = min(smallest, least)
        if not led:
            solve_level(exactly, factor, vectors, gains, own, x[first:last], off)
        if last < rows:
            pass_on(L, first, last, exactly, factor, vectors, gains, own, x, spare[2, first:last],
                    off)
    for level in range(levels.size - 2, -1, -1):
        first, last = levels[level], levels[level + 1]
        for r in range(first, last):
            x[r] += push[r]
            for j in range(last, rows):
                x[r] -= L[r, j] * x[j]
    return smallest
