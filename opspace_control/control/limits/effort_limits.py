# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joint forces, as they are given."""

import numpy as np

from opspace_control.errors import ControlError


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
