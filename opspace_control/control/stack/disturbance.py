# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Observation of unknown joint forces in each cycle, for the forces that reject them.

`rejection` has the law of these.
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.dynamics.generalized_momentum import gather_momentum
from opspace_control.dynamics.momentum_observer import (
    APPLIED_TORQUE,
    P_RATE,
    PASSIVE_TORQUE,
    RESIDUAL_TORQUE,
    ROWS,
    P,
    advance_residual,
)

# Of ``Disturbance.flags``.
STARTED, FROZEN, FOUND, EXPECTED = range(4)
# Of ``FOUND``, beside 0 and 1: a grasp is engaged, and what compensates fades.
GRASPS = -1
# Of ``Disturbance.rate``, after the rate itself.
GAIN = 1
# Columns of ``Disturbance.tasks`` from which on bounds and filtered forces are.
BOUND, FILTERED = 6, 8


@called
def observe_disturbance(disturbance, gravity, cycle, robot, grasps, scratch, v):
    """
    Find the mean unknown joint forces between the last state and that of this cycle.

    Bodies are placed and moved; ``z`` of all nodes is zero before and afterwards. While a grasp is
    engaged the residual has the load, which the law carries already: nothing is found.
    """
    if disturbance.flags.size > 0:
        memory, flags = disturbance.memory, disturbance.flags
        disturbance.rate[GAIN] = -math.expm1(-disturbance.rate[0] * cycle.dt)
        before, flags[FOUND] = flags[STARTED], 0
        if flags[FROZEN] != 0 or not rejects(disturbance.tasks):
            flags[STARTED] = 0
            return
        for g in range(grasps.size):
            if grasps[g].activation > 0.0:
                flags[FOUND], flags[STARTED] = GRASPS, 0
                return
        gather_momentum(robot.nodes, robot.states, gravity, v, memory[P], memory[P_RATE])
        for k in range(v.size):
            memory[PASSIVE_TORQUE, k] = scratch.passive_torque[k] if cycle.has_passive else 0.0
        if advance_residual(robot.nodes, memory[ROWS:], flags, memory, cycle.dt) and (
                before != 0 and cycle.dt > 0.0):
            flags[FOUND] = 1


@inlined
def rejects(tasks):
    """Return whether a task has bounds that let it compensate."""
    largest = 0.0
    for k in range(tasks.shape[0]):
        largest = max(largest, tasks[k, BOUND], tasks[k, BOUND + 1])
    return largest > 0.0


@inlined
def apply_torque(disturbance, tau):
    """Remember the joint forces (nv,) of this cycle for the next one."""
    if disturbance.flags.size > 0:
        for k in range(tau.size):
            disturbance.memory[APPLIED_TORQUE, k] = tau[k]


@called
def interrupt_observer(disturbance):
    """Forget the last state, as after a gap in time; the forces that compensate stay."""
    if disturbance.flags.size > 0:
        disturbance.flags[STARTED] = 0


@called
def restart_observer(disturbance):
    """Begin at zero, as after a time without control."""
    interrupt_observer(disturbance)
    for k in range(disturbance.memory.shape[1]):
        disturbance.memory[RESIDUAL_TORQUE, k] = disturbance.unexpected[0, k] = 0.0
    for k in range(disturbance.tasks.shape[0]):
        for r in range(FILTERED, FILTERED + 6):
            disturbance.tasks[k, r] = 0.0
