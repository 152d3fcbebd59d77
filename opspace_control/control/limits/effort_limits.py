# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joint forces: as they are given, and the cut of the law's forces at them."""

import math

from opspace_control.checks import checked
from opspace_control.compiled import inlined
from opspace_control.errors import ControlError
from opspace_control.model.nodes import ACTIVE

_ROUNDING = 1e-9  # of a limit


def read_effort_limits(model, limits):
    """Return limits of the joint forces (nv,), the URDF's for None; a ControlError if unusable."""
    return checked(model.effort_limits if limits is None else limits, 'effort_limits', ControlError,
                   (model.nv,), each=True, lowest=0.0, infinite=True)


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
