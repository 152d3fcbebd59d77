# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Bounds on the force of a contact: it pushes, within friction, from inside the sole.

Each bound is a row ``l ≤ dᵀ λ ≤ u``, λ being the wrench on the link at the centre of the sole, base
axes. The friction pyramid is inside the cone; the moments on a rectangular sole are those that
pressures and friction on it can exert: Caron, Pham and Nakamura, Stability of surface contacts for
humanoid robots, ICRA 2015. A line is a rectangle without width: no moment about it.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.spatial.vectors import rotate

# Rows of a contact: its normal force; friction, four; and on a sole the centre of pressure, four,
# and the moment about the normal, eight.
NORMAL, FRICTION, PRESSURE, TORSION, CONTACT_BOUNDS = 0, 1, 5, 9, 17
# Those that a line does not have: they are empty, or the same as others.
OFF_A_LINE = (PRESSURE, PRESSURE + 1, TORSION + 2, TORSION + 3, TORSION + 6, TORSION + 7)
# What their names are, for messages.
BOUND_NAMES = (
    'normal force', *4 * ('friction',), *4 * ('centre of pressure',), *8 * ('friction torque',))


@inlined
def add_axis(direction, axis, force, moment):
    """Add ``force tᵀ f + moment tᵀ n`` to a row, t being an axis."""
    for r in range(3):
        direction[r] += force * axis[r]
        direction[3 + r] += moment * axis[r]


@inlined
def write_axes(normal, R, turned, length, axes):
    """
    Write the axes of a contact, rows of (3, 3): along and across the ground, and the normal.

    The first is the direction ``R length`` if ``turned``, else of the base axes that which is least
    normal.
    """
    for r in range(3):
        axes[2, r] = normal[r]
    least = 0
    for r in range(3):
        if abs(normal[r]) < abs(normal[least]):
            least = r
    along = 0.0
    if turned:
        rotate(R, length, axes[0])
    for r in range(3):
        if not turned:
            axes[0, r] = 1.0 if r == least else 0.0
        along += axes[0, r] * normal[r]
    size = 0.0
    for r in range(3):
        axes[0, r] -= along * normal[r]
        size += axes[0, r] * axes[0, r]
    for r in range(3):
        axes[0, r] /= math.sqrt(size)
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        axes[1, r] = normal[i] * axes[0, j] - normal[j] * axes[0, i]


@rare
def write_contact_bounds(constraint, R, axes, directions, bounds):
    """
    Write the bounds of a contact.

    ``|t_iᵀ f| ≤ μ nᵀ f`` with μ of the contact over √2; at the centre of the sole, half as long as
    X and half as wide as Y, ``|n_x| ≤ Y f_z``, ``|n_y| ≤ X f_z`` and
    ``|n_z| ≤ μ (X + Y) f_z − |Y f_x ± μ n_x| − |X f_y ± μ n_y|`` (Caron et al. (19)-(21)). Of a
    line Y and n_x are zero, which makes some of these rows empty and others the same.

    Parameters
    ----------
    constraint : CONSTRAINT record
        Of a contact.
    R : (3, 3) array
        Orientation of its link.
    axes : (3, 3) array
        Scratch.
    directions : (CONTACT_BOUNDS, 6) array
        Receives d of each row.
    bounds : (2, CONTACT_BOUNDS) array
        Receives l and u, N and N m; ±inf for none.

    """
    X, Y = constraint.sole[3], constraint.sole[4]
    flat = math.inf > X
    friction = constraint.friction / math.sqrt(2.0)
    write_axes(constraint.normal, R, flat, constraint.along, axes)
    for f in range(CONTACT_BOUNDS):
        bounds[0, f] = -math.inf
        bounds[1, f] = 0.0 if f < PRESSURE or flat else math.inf
        for r in range(6):
            directions[f, r] = 0.0
    if constraint.line:
        for f in OFF_A_LINE:
            bounds[1, f] = math.inf
    bounds[0, NORMAL], bounds[1, NORMAL] = constraint.normal_force[0], constraint.normal_force[1]
    add_axis(directions[NORMAL], axes[2], 1.0, 0.0)
    for f in range(4):
        sign, axis = 1.0 - 2.0 * (f % 2), f // 2
        row = directions[FRICTION + f]
        add_axis(row, axes[axis], sign, 0.0)
        add_axis(row, axes[2], -friction, 0.0)
        if flat:
            row = directions[PRESSURE + f]
            add_axis(row, axes[axis], 0.0, sign)
            add_axis(row, axes[2], -(X if axis == 1 else Y), 0.0)
    if flat:
        for f in range(8):
            turn, first, second = (1.0 - 2.0 * (f % 2), 1.0 - 2.0 * (f // 2 % 2),
                                   1.0 - 2.0 * (f // 4))
            row = directions[TORSION + f]
            add_axis(row, axes[2], -friction * (X + Y), turn)
            add_axis(row, axes[0], first * Y, turn * first * friction)
            add_axis(row, axes[1], second * X, turn * second * friction)
