# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Scaling and activation of the rows of the stack.

The scale of a row takes masses and units out of Λ⁻¹, so that singular directions can be told by an
eigenvalue. Partial activation enlarges the diagonal.
"""

import math

from opspace_control.compiled import inlined
from opspace_control.spatial.eigen import truncation_threshold
from opspace_control.spatial.six import put, six

# A relative turn that two links cannot make still leaves the square of rounding errors.
_ROUNDING = 1e-12
# Part of the mobility of the robot moved as one body below which a contact of large inertia holds a
# row: its own is 1e-7, that of rows that can move about 1.
IMMOVABLE = 1e-4
# Part of the mobility without constraints below which a task may be in conflict with these.
_LEFT = 1e-2


@inlined
def level_threshold(activation, first, last, threshold):
    """
    Return the scaled eigenvalue of a level below which directions are truncated.

    It is the ``threshold`` divided by the number of the level's axes, that of their activations, so
    that it is continuous while a task comes in or goes out.
    """
    axes = 0.0
    for r in range(first, last):
        axes += activation[r]
    return truncation_threshold(axes, threshold)


@inlined
def copy_mobility(mobility, first, out):
    """Copy the mobility of rows from the first one on to ``out``, its blocks to the diagonal."""
    for r in range(out.shape[0]):
        for c in range(0, r + 1, 6):
            put(out[r], c, six(mobility[first + r], first + c))


@inlined
def scale_rows(L, activation, single_joint, own_mobility, least_mobility, least_turning, immovable,
               scale):
    """
    Write the scaling that takes masses and units out of Λ⁻¹, one number per point and kind.

    It is ``1 / sqrt`` of the mean diagonal of the point's linear block, or of its angular one, so a
    turned base frame changes nothing. A point that hardly anything can move, such as one on the
    axes of all its joints, is measured by ``least_mobility`` instead of by itself: else rounding
    errors would count as freedoms. A point that is seen from another link, and so is moved by both,
    is scaled by the mobility of its own link, ``own_mobility``: a light wrist of the other would
    hide it. Rows that cannot move or are not active get zero; for those that cannot turn,
    ``least_turning`` is the measure; ``immovable`` is the part of both that counts as none. The row
    of a ``single_joint`` is scaled by itself.
    """
    for first in range(0, scale.size, 3):
        mobility = (L[first, first] + L[first + 1, first + 1] + L[first + 2, first + 2]) / 3.0
        mobility = min(mobility, own_mobility[first])
        s = 0.0
        if first % 6 == 0:
            if mobility > immovable * least_mobility:
                s = 1.0 / math.sqrt(max(mobility, least_mobility))
        elif mobility > max(_ROUNDING, immovable) * least_turning:
            s = 1.0 / math.sqrt(mobility)
        for r in range(first, first + 3):
            if single_joint[r] > 0.0:
                s = 1.0 / math.sqrt(L[r, r]) if L[r, r] > 0.0 else 0.0
            scale[r] = s * activation[r]


@inlined
def rescale_rows(rest, mobility, constrained, single_joint, scale):
    """
    Scale the tasks' rows by the mobility that constraints leave them.

    A light object in heavy arms has much more mobility of its own than the closed chain, which is
    no loss of a direction. Below `_LEFT` of its ``mobility``, the diagonal of L, a row may be in
    conflict with the constraints.
    """
    for first in range(constrained, scale.size, 3):
        size = 1 if single_joint[first] > 0.0 else 3
        for part in range(first, first + 3, size):
            left, whole = 0.0, 0.0
            for r in range(part, part + size):
                left += rest[r, r]
                whole += mobility[r]
            if left < whole:
                factor = 1.0 / math.sqrt(max(left / whole, _LEFT))
                for r in range(part, part + size):
                    scale[r] *= factor


@inlined
def regularise_rows(L, Q, constrained, activation):
    """
    Inflate the diagonal of each row that has an activation a between 0 and 1, to ``L_rr / a²``.

    As if a spring were between its force and its point: 1 is exact, towards 0 the force goes to
    zero. The first rows, those of constraints, are inflated as much in Q: ``L − Q`` stays.
    """
    for r in range(activation.size):
        if 0.0 < activation[r] < 1.0:
            more = L[r, r] * (1.0 / (activation[r] * activation[r]) - 1.0)
            L[r, r] += more
            if r < constrained:
                Q[r, r] += more
