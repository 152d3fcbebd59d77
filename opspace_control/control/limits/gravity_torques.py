# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Limits of gravity torques g_k(q), kept as limits of positions are.

Joints have one that support a branch whose weight drives alone are sure to support. In grasps that
are planned, the branch has its grips' shares of the objects' weights, and g_k includes internal
forces.

A joint whose gravity torque takes all its effort cannot brake. So g_k has a limit of its own, a
little below the effort limit, and approaches it at most so fast that it can stop there, by a row
``∇g_k · q̈`` of the uppermost level.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.limits.grip_weights import add_grips_at_rest
from opspace_control.dynamics.braking import braking_speed
from opspace_control.dynamics.data import OTHER, OWN
from opspace_control.dynamics.weights import branch_end, gather_weights, gravity_torque_of, lift
from opspace_control.model.nodes import ACTIVE, PASSIVE, PRISMATIC
from opspace_control.spatial.eigen import smooth_step
from opspace_control.spatial.vectors import dot

# Part of the limit below which a gravity torque has no row; from twice as much on its row is exact.
_LIGHT = 0.3
# Rates of a gravity torque below this part of its limit are rounding, 1/s².
_NOTHING = 1e-6
# A gravity torque is near its limit within this part of it.
_NEAR = 0.02
# Part of what one joint can do to a gravity torque that brakes it: other joints move it, too.
_SHARE = 0.5
# Least square of the part to which a limit is kept: a bound a million times wider bounds nothing.
_LEAST_KEPT = 1e-6


@inlined
def length(x):
    """Return the length of a vector (3,)."""
    return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


@inlined
def across(x, axis):
    """Return the component of a vector (3,) across an axis, (3,) of length 1."""
    along = x[0] * axis[0] + x[1] * axis[1] + x[2] * axis[2]
    return math.sqrt(max(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - along * along, 0.0))


@inlined
def stroke(node, limits):
    """Return how far at most a sliding joint, or one that mimics it, is from its zero, m."""
    for k in range(limits.size):
        if limits[k].q_index == node.q_index:
            most = max(abs(limits[k].lower), abs(limits[k].upper))
            return abs(node.q_scale) * most + abs(node.q_offset)
    return math.inf


@called
def bound_moments(nodes, limits, subtrees, moments):
    """
    Write bounds of the moments of all subtrees' weights, over all postures and per m/s², (2, n).

    First about the joint's own axis, then about any axis through its origin: ``Σ m_i r_i``, the
    branch stretched out across the axis. ``subtrees`` is that of `gather_weights`.
    """
    for i in range(nodes.size):
        moments[0, i] = nodes[i].mass * across(nodes[i].center_of_mass, nodes[i].axis)
        moments[1, i] = nodes[i].mass * length(nodes[i].center_of_mass)
    for i in range(nodes.size - 1, -1, -1):
        parent, mass, reach = nodes[i].parent, subtrees[i, 0], 0.0
        if nodes[i].kind == PRISMATIC and mass > 0.0:  # 0 times no limit would be NaN
            reach = stroke(nodes[i], limits)
        if parent >= 0:
            where, rest = nodes[i].position, moments[1, i] + mass * reach
            moments[0, parent] += rest + mass * across(where, nodes[parent].axis)
            moments[1, parent] += rest + mass * length(where)
        if nodes[i].kind == PRISMATIC:  # its gravity torque is a force
            moments[0, i] = mass


@called
def write_gradient(nodes, states, node, side, subtrees, gravity, moment, row):
    """
    Write the gradient (nv,) of the absolute gravity torque of a node; ``side`` is its sign.

    ``∂g_k/∂q_j`` is minus the axis of the nearer of the two joints times the moment that the other
    one lifts (g is the gradient of a potential), zero on another branch.
    """
    row[:] = 0.0
    for j in range(node, branch_end(nodes, node)):
        if nodes[j].status == ACTIVE:
            lift(j, states, subtrees, gravity, moment)
            for r in range(3):
                row[nodes[j].v_index] -= side * states[node].S[3 + r] * moment[r]
    lift(node, states, subtrees, gravity, moment)
    j = nodes[node].parent
    while j >= 0:
        if nodes[j].status == ACTIVE:
            for r in range(3):
                row[nodes[j].v_index] -= side * states[j].S[3 + r] * moment[r]
        j = nodes[j].parent


@inlined
def moves_one_side(support):
    """Return whether a joint moves one of the two frames of a constraint, not both as one."""
    return (support & OWN != 0) != (support & OTHER != 0)


@inlined
def has_passive_beyond(nodes, node):
    """Return whether a joint beyond that of a node is passive."""
    passive = 0
    for i in range(node + 1, branch_end(nodes, node)):
        if nodes[i].status == PASSIVE:
            passive += 1
    return passive > 0


@inlined
def is_open_branch(nodes, supports, constraints, node):
    """
    Return whether the branch beyond a joint has neither passive joints nor constraints to others.

    A constraint of two links beyond it, such as hands at one object, is part of the branch.
    """
    for e in range(constraints.size):
        if moves_one_side(supports[node, e]) and constraints[e].activation > 0.0:
            return False
    return not has_passive_beyond(nodes, node)


@inlined
def supports_branch(cycle, robot, constraints, node):
    """
    Return whether the drive of a joint has to support its branch, whatever else supports it.

    Nothing else does in an open branch, nor where grips are planned. A contact of a robot that
    floats may: it is not counted on, since its force may be as small as its bounds allow.
    """
    for e in range(constraints.size):
        counts = cycle.has_passive if constraints[e].bounded else cycle.reactions_exerted
        if not counts and moves_one_side(robot.supports[node, e]) and (
                constraints[e].activation > 0.0):
            return False
    return not has_passive_beyond(robot.nodes, node)


@rare
def add_grip_gradient(nodes, states, node, side, gripped, row):
    """Add the gradient (nv,) of ``S_k · w`` to a row, ``S_k · (S_j × w)``: w turns with links."""
    S = states[node].S
    for j in range(node + 1, branch_end(nodes, node)):
        if nodes[j].status != ACTIVE:
            continue
        T, w, total = states[j].S, gripped[j], 0.0
        for r in range(3):
            x, y = (r + 1) % 3, (r + 2) % 3
            total += S[r] * (T[3 + x] * w[y] - T[3 + y] * w[x]) + S[3 + r] * (
                T[x] * w[y] - T[y] * w[x] + T[3 + x] * w[3 + y] - T[3 + y] * w[3 + x])
        row[nodes[j].v_index] += side * total


@called
def bound_gravity_torques(cycle, robot, demand, grasping, limits, v, scratch, small):
    """
    Write the bounds of gravity torques, ``∇g_k · q̈ ≤ gravity_bound``.

    The law of `bound_acceleration`; half of what the strongest joint can do is for braking. The
    term ``q̇ᵀ ∇²g_k q̇`` is neglected: it is small against the return rate.
    """
    nodes, states, constraints = robot.nodes, robot.states, demand.constraints
    subtrees, gravity, gathered, bounded = scratch.subtrees, cycle.gravity, False, False
    weight, planned = length(gravity), cycle.reactions_exerted
    for k in range(limits.size):
        limit = limits[k]
        if math.isinf(limit.gravity_torque) or nodes[limit.node].status != ACTIVE:
            continue
        if not gathered:
            gather_weights(nodes, states, subtrees)
            if planned:
                add_grips_at_rest(
                    robot, demand, grasping, gravity, subtrees, scratch.gripped, small)
            gathered = True
        node, row = limit.node, scratch.gravity_gradient[k]
        torque = gravity_torque_of(node, states, subtrees, gravity)
        in_grasp = planned and scratch.gripped[node].any()
        if in_grasp:
            torque += dot(states[node].S, scratch.gripped[node])
        loaded = abs(torque) >= _LIGHT * limit.gravity_torque and supports_branch(
            cycle, robot, constraints, node)
        if loaded and not bounded:
            bound_moments(nodes, limits, subtrees, scratch.moments)
            bounded = True
        if not (loaded and (
                in_grasp or weight * scratch.moments[0, node] >= limit.gravity_torque)):
            continue
        side = math.copysign(1.0, torque)
        write_gradient(nodes, states, node, side, subtrees, gravity, scratch.moment, row)
        if in_grasp:
            add_grip_gradient(nodes, states, node, side, scratch.gripped, row)
        rate = strongest = 0.0
        for j in range(limits.size):
            if row[j] != 0.0:
                rate += row[j] * v[j]
                strongest = max(strongest, abs(row[j]) * limits[j].acceleration)
        if strongest <= _NOTHING * limit.gravity_torque:
            continue
        limit.gravity_braking = _SHARE * strongest
        left, braking = limit.gravity_torque - side * torque, limit.gravity_braking
        # The second rate along a singular direction knows no shares of an object.
        limit.gravity_near = left <= _NEAR * limit.gravity_torque and not in_grasp
        up, slope = braking_speed(left, braking, cycle.approach_rate)
        if up < 0.0:  # beyond its limit it need not decrease: the robot may have started there
            up = slope = 0.0
        kept = cycle.keep * smooth_step((side * torque / limit.gravity_torque - _LIGHT) / _LIGHT)
        limit.gravity_bound = cycle.return_rate * (up - rate) - slope * rate
        limit.gravity_bound += (1.0 / max(kept * kept, _LEAST_KEPT) - 1.0) * braking
