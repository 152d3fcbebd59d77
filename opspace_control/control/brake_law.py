# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts for a robot that is not controlled, compiled: its weight, a hold, and damping."""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.hybrid_dynamics import gather_torques, load_node
from opspace_control.dynamics.kinematics import move_node, place_node, place_point, weigh_node
from opspace_control.model.nodes import ACTIVE

# Of pure damping: a robot left to it loses two thirds of its speed in a tenth of a second.
DAMPING_RATE = 10.0  # 1/s
# Of the hold, 1/s²: critical with DAMPING_RATE. An error Δτ of the gravity torques moves the joints
# by A⁻¹ Δτ / _STIFFNESS. With masses wrong by 10 % the hands of dual_arm move by 40 mm; by 83 mm
# with half the stiffness, by 19 mm with twice of it, which passes on 1.4 times the noise of
# velocities: each time with critical damping.
_STIFFNESS = DAMPING_RATE ** 2 / 4.0
# A reading that changes by more from one call to the next does not tell of a motion.
_JUMP = 0.1  # rad or m; 50 rad/s at 500 Hz
_PRESENT = 0.05  # s, age of a velocity; a fall has changed its own by 0.5 m/s then

WEIGHT, GRAVITY_HOLD, COMPLIANT_HOLD, DAMP, DAMP_ALL = range(5)

BRAKE = np.dtype([
    ('hold_active', np.bool_),     # whether a gravity hold has begun
    ('contact_mass', np.float64),  # that each contact carries, kg
    ('zero', np.float64, (3,)),    # no gravity, m/s²
], align=True)

BRAKE_DOF = np.dtype([
    ('q_index', np.int64),         # into q, -1 for a rotation of a quaternion
    ('turns_freely', np.bool_),    # a rotation without position limits
    ('usable', np.bool_),          # whether it is active and has effort
    ('q', np.float64),             # at the last call of a hold, rad or m
    ('displacement', np.float64),  # since the hold began, rad or m
], align=True)


class Braking(NamedTuple):
    """What brakes a robot; ``nodes``, ``cycle`` and ``effort_limits`` are its controller's."""

    numbers: np.ndarray         # BRAKE, one
    dofs: np.ndarray            # (nv,) of BRAKE_DOF
    cycle: np.ndarray           # CYCLE, one
    nodes: np.ndarray           # (n,) of NODE
    effort_limits: np.ndarray   # (nv,), N·m or N
    states: np.ndarray          # (n,) of NODE_STATE, scratch
    feet: np.ndarray            # (k,) of POINT: contacts of a floating robot
    supports: np.ndarray        # (n, k): whether a node moves a foot
    acceleration: np.ndarray    # (nv,), scratch
    still: np.ndarray           # (nv,) of zeros
    velocity: np.ndarray        # (nv,), scratch
    damping: np.ndarray         # (nv,), scratch


@called
def inertial_torques(brake, gravity, q, a, tau):
    """Write ``A a + g`` (nv,), 0 at passive joints, [CK00] Table 2."""
    nodes, states = brake.nodes, brake.states
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        move_node(nodes, i, brake.still, a, states)
        load_node(nodes, i, gravity, states)
    gather_torques(nodes, brake.still, a, states, tau)


@called
def shrink(brake, tau):
    """Shrink the efforts of usable joints alike until all are within limits; others become 0."""
    dofs, limits, most = brake.dofs, brake.effort_limits, 1.0
    for k in range(tau.size):
        if dofs[k].usable:
            most = max(most, abs(tau[k]) / limits[k])
    for k in range(tau.size):
        tau[k] = min(max(tau[k] / most, -limits[k]), limits[k]) if dofs[k].usable else 0.0


@inlined
def column(S, p, r):
    """Return a linear component of the motion S at the point p."""
    x, y = (r + 1) % 3, (r + 2) % 3
    return S[r] + S[3 + x] * p[y] - S[3 + y] * p[x]


@called
def damp_feet(brake, v, tau):
    """
    Add ``−rate Jᵀ m J v`` of each foot of the placed robot, with J from the base and its mass m.

    `damping` knows nothing of what legs carry: each contact, engaged or not, is damped as if it
    carried its share of the robot, which sinks at ``g / rate``, 1 m/s.
    """
    nodes, states, feet = brake.nodes, brake.states, brake.feet
    foot_damping = DAMPING_RATE * brake.numbers[0].contact_mass
    for e in range(feet.size):
        place_point(feet, e, states)
        for r in range(3):
            force = 0.0
            for i in range(nodes.size):
                if nodes[i].v_index >= 6 and brake.supports[i, e]:
                    force += column(states[i].S, feet[e].p, r) * v[nodes[i].v_index]
            for i in range(nodes.size):
                if nodes[i].v_index >= 6 and brake.supports[i, e]:
                    tau[nodes[i].v_index] -= (
                        foot_damping * force * column(states[i].S, feet[e].p, r))


@called
def damping(brake, rate, q, v, tau):
    """
    Write ``−rate A v``, [K87] (7.6), within the effort limits.

    Where a limit is passed all efforts shrink alike; joints that are passive, locked or without
    effort take no part.
    """
    dofs, nodes, a = brake.dofs, brake.nodes, brake.acceleration
    for k in range(a.size):
        dofs[k].usable, a[k] = False, 0.0
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0 and nodes[i].status == ACTIVE and brake.effort_limits[k] > 0.0:
            dofs[k].usable, a[k] = True, -rate * v[k]
    inertial_torques(brake, brake.numbers[0].zero, q, a, tau)
    shrink(brake, tau)


@called
def weigh(brake, q, tau):
    """Write the gravity torques of the robot; zero at joints that are passive or locked."""
    nodes = brake.nodes
    inertial_torques(brake, brake.cycle[0].gravity, q, brake.still, tau)
    for i in range(nodes.size):
        if nodes[i].v_index >= 0 and nodes[i].status != ACTIVE:
            tau[nodes[i].v_index] = 0.0


@called
def displace(brake, q):
    """Note how far each dof with one coordinate is from where the hold began."""
    dofs, nodes, begins = brake.dofs, brake.nodes, not brake.numbers[0].hold_active
    brake.numbers[0].hold_active = True
    for k in range(dofs.size):
        dof = dofs[k]
        now = q[dof.q_index] if dof.q_index >= 0 else 0.0
        if begins:
            dof.q, dof.displacement = now, 0.0
        step = now - dof.q
        if dof.turns_freely:
            step -= 2.0 * math.pi * math.floor(step / (2.0 * math.pi) + 0.5)
        if abs(step) < _JUMP:
            dof.displacement += step
        dof.q = now
    for i in range(nodes.size):
        if nodes[i].v_index >= 0 and nodes[i].status != ACTIVE:
            dofs[nodes[i].v_index].displacement = 0.0


@called
def gravity_hold(brake, compliant, q, v, tau):
    """Write the efforts (nv,) of `Brake.gravity_hold`."""
    displace(brake, q)
    stiff = not compliant and brake.feet.size == 0
    for k in range(v.size):
        s = brake.dofs[k].displacement if stiff else 0.0
        brake.velocity[k] = v[k] + _STIFFNESS / DAMPING_RATE * s
    damping(brake, DAMPING_RATE, q, brake.velocity, brake.damping)
    if brake.feet.size > 0:
        damp_feet(brake, brake.velocity, brake.damping)
        shrink(brake, brake.damping)
    weigh(brake, q, tau)
    for k in range(v.size):
        tau[k] += brake.damping[k]


@called
def damp(brake, age, scale, q, v, tau):
    """Write the efforts (nv,) of `Brake.damp`."""
    brake.numbers[0].hold_active = False
    for k in range(v.size):
        tau[k] = 0.0
    if scale > 0.0:
        for k in range(v.size):
            brake.velocity[k] = math.exp(-DAMPING_RATE * age) * v[k]
        damping(brake, DAMPING_RATE, q, brake.velocity, tau)
        if brake.feet.size > 0 and age < _PRESENT:
            damp_feet(brake, brake.velocity, tau)
            shrink(brake, tau)
        for k in range(v.size):
            tau[k] *= scale


@kernel
def brake_robot(brake, manner, age, scale, q, v, tau):
    """
    Write the efforts of a ``manner``, from `WEIGHT` to `DAMP_ALL`.

    ``age``, s, and ``scale`` are those of `damp`; the scale of `DAMP_ALL` is the rate of damping.
    """
    if manner == WEIGHT:
        weigh(brake, q, tau)
    elif manner == DAMP_ALL:
        damping(brake, scale, q, v, tau)
    elif manner == DAMP:
        damp(brake, age, scale, q, v, tau)
    else:
        gravity_hold(brake, manner == COMPLIANT_HOLD, q, v, tau)
