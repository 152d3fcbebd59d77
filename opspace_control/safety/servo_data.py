# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the servo reads and writes, and what its calls do."""

from typing import NamedTuple

import numpy as np

from opspace_control.control.brake_law import Braking
from opspace_control.control.data import Demand
from opspace_control.safety.accepted_state import StateMemory
from opspace_control.safety.ramps import RampData

# What a call does.
TAKE, ACCEPT, DECIDE, SEND, BRAKE, GRAVITY_HOLD, DAMP, WATCH, HOLD, RESTART = range(10)
# What comes of all but ACCEPT: nothing is to be sent; the law is to be called, or its efforts are
# to be sent; the same, after a trip; the efforts to be sent are those of the brake.
EARLY, CONTROL, RESUME, BRAKED = range(4)

SERVO = np.dtype([
    ('period', np.float64),     # shortest time between two cycles, s
    ('state_timeout', np.float64),  # age of a state that trips, s, 0 for never
    ('due', np.float64),        # steady time of the next cycle, s
    ('begun', np.bool_),        # whether efforts have a beginning, from gravity torques
    ('last_sent', np.float64),  # steady time of the last efforts, s
    ('dt', np.float64),         # the robot's time since the last cycle, `LONGEST_STEP` at most, s
    ('leapt', np.bool_),        # whether it was longer
    ('verdict', np.int64),      # about the state
    ('fault', np.int64),        # number of the trip of this call's fault, or `NO_TRIP`
    ('news', np.bool_),         # whether it is to be reported
    ('renewed', np.bool_),      # whether control resumes with the present pose as every goal
    ('rate_limited', np.int64),  # efforts at their rate limit
    ('dof', np.int64),          # of the fault, −1 for none
    ('effort', np.float64),     # that was not finite
], align=True)


class ServoData(NamedTuple):
    """What a servo reads and writes."""

    numbers: np.ndarray     # SERVO, one
    supervisor: np.ndarray  # SUPERVISOR, one
    state: StateMemory
    passive: np.ndarray     # (nv,) of bool: joints without a drive
    efforts: np.ndarray     # (nv,) of EFFORT_GUARD
    brake: Braking
    demand: Demand          # of the controller
    ramps: RampData         # of its numbers
    tau: np.ndarray         # (nv,), N·m or N: written by the law, then clamped
    exerted: np.ndarray     # (nv,), of these without those that overcome friction
