# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The safety envelope of efforts: the limits of every command."""

import math

import numpy as np

from opspace_control.compiled import called, kernel
from opspace_control.errors import SafetyError
from opspace_control.safety.supervisor import EFFORT_NOT_FINITE

# Longest time step for the rate limit of efforts, s, however late a cycle is.
LONGEST_STEP = 0.01

# The effort of one degree of freedom, in the order of dof_names.
EFFORT_GUARD = np.dtype([
    ('effort_limit', np.float64),    # N m or N, inf for none
    ('effort_rate', np.float64),     # N m/s or N/s, inf for none
    ('effort', np.float64),          # sent last, N m or N; NaN: none was
], align=True)


@called
def clamp(guards, dt, tau):
    """
    Clip ``tau`` at its limits and at the rate limit for ``dt`` s, and store it.

    Returns the number of efforts at the rate limit, or −1, storing nothing, if one is not finite.
    """
    for k in range(tau.size):
        if not math.isfinite(tau[k]):
            return -1
    rate_limited = 0
    for k in range(tau.size):
        guard = guards[k]
        effort = min(max(tau[k], -guard.effort_limit), guard.effort_limit)
        step = guard.effort_rate * dt
        if effort - guard.effort > step:
            effort = guard.effort + step
            rate_limited += 1
        elif guard.effort - effort > step:
            effort = guard.effort - step
            rate_limited += 1
        tau[k] = guard.effort = effort
    return rate_limited


@kernel
def clamp_efforts(guards, dt, tau):
    """Return what `clamp` does."""
    return clamp(guards, dt, tau)


class Envelope:
    """
    The limits of all efforts.

    ``effort_limits`` (nv,) are in N·m or N, inf for none.
    """

    def __init__(self, model, effort_limits):
        self._model = model
        self.guards = np.zeros(model.nv, EFFORT_GUARD)
        self.guards['effort_limit'] = effort_limits
        self.set_limits()
        self.restart()
        self._tau = np.zeros(model.nv)
        self._clamp = clamp_efforts.partial(self.guards, 0.0, self._tau)

    def set_limits(self, *, effort_rate=math.inf):
        """Set the change of an effort in a second, 1/s, in multiples of its limit, from now on."""
        self.guards['effort_rate'] = scaled(effort_rate, self.guards['effort_limit'])

    def restart(self):
        """Forget the last efforts: the rate limit does not apply to the next ones."""
        self.guards['effort'] = math.nan

    def clamp(self, tau, dt):
        """
        Clamp efforts (nv,), N·m or N, in place: by the limits, then by the rate of change.

        ``|Δτ| ≤ effort_rate · limit · min(dt, LONGEST_STEP)`` between calls ``dt`` s apart. A
        SafetyError EFFORT_NOT_FINITE leaves the efforts unchanged; they must not be sent. Returns
        how many joints are at the rate limit.
        """
        self._tau[:] = tau
        rate_limited = self._clamp(min(dt, LONGEST_STEP))
        if rate_limited < 0:
            k = int(np.flatnonzero(~np.isfinite(tau))[0])
            raise self.not_finite(k, float(tau[k]))
        tau[:] = self._tau
        return rate_limited

    def not_finite(self, k, effort):
        """Return the SafetyError of an effort of dof k that is not finite."""
        joint = self._model.dof_names[k]
        return SafetyError(EFFORT_NOT_FINITE, f"The effort of '{joint}' became {effort}.",
                           joint=joint, value=effort)


def scaled(factor, limits):
    """Return ``factor * limits``; infinite limits stay infinite, also times zero."""
    return np.where(np.isfinite(limits) & np.isfinite(factor), factor * limits, math.inf)
