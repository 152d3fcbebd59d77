# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joint forces: as they are given, and the cut at them, always the last operation."""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.errors import ControlError
from opspace_control.model.nodes import ACTIVE

_ROUNDING = 1e-9  # of a limit


def read_effort_limits(model, limits):
    """Return limits of the joint forces (nv,), the URDF's for None; a ControlError if unusable."""
    wanted = model.effort_limits if limits is None else limits
    try:
        limits = np.broadcast_to(np.array(wanted, dtype=float), (model.nv,)).copy()
    except (TypeError, ValueError):
        limits = np.full(1, np.nan)
    if not (limits >= 0.0).all():
        raise ControlError('effort_limits cannot be used.', value=wanted,
                           cure=f'Give {model.nv} numbers, zero or more, inf for no limit.')
    return limits


@inlined
def limit_efforts(nodes, effort_limits, tau):
    """
    Cut ``tau`` at the effort limits, zero it where it is not ours; return how many were cut.

    An effort beyond its limit by rounding alone does not count. NaN stays, so that the sender of
    the command sees it.
    """
    cut = 0
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k < 0:
            continue
        if nodes[i].status != ACTIVE:
            tau[k] = 0.0
        elif abs(tau[k]) > effort_limits[k]:
            if abs(tau[k]) > (1.0 + _ROUNDING) * effort_limits[k]:
                cut += 1
            tau[k] = math.copysign(effort_limits[k], tau[k])
    return cut
