# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a cycle is within the limits of the joints as it is: all that most cycles need."""

from opspace_control.compiled import called, inlined
from opspace_control.control.active_limits import ROUNDING
from opspace_control.control.stack import base_wrench
from opspace_control.dynamics.center_of_mass import add_force
from opspace_control.dynamics.operational_space_inertia import is_group
from opspace_control.dynamics.workspace import COUNTS
from opspace_control.model.nodes import ACTIVE, LOCKED
from opspace_control.spatial.vectors import add_wrench, dot


@inlined
def push_center(nodes, states, supports, e, mass, wrench):
    """Write a force at a centre of mass to all its bodies, ``z``, by their parts of the mass."""
    for i in range(nodes.size):
        if supports[i, e] & COUNTS:
            share = nodes[i].mass / mass
            add_force(states[i].c, share * wrench[0], share * wrench[1], share * wrench[2],
                      states[i].z)


@inlined
def push_links(nodes, states, points, supports, push, joint_force, wrench):
    """Write the stack's forces, (k,), to the links they act on, ``z``, and to joints, (nv,)."""
    for k in range(joint_force.size):
        joint_force[k] = 0.0
    for i in range(nodes.size):
        for r in range(6):
            states[i].z[r] = 0.0
    for e in range(points.size):
        point = points[e]
        if is_group(point):
            for r in range(6):
                if point.joints[r] >= 0:
                    joint_force[nodes[point.joints[r]].v_index] += push[6 * e + r]
            continue
        base_wrench(point, push, 6 * e, wrench)
        if point.whole:
            push_center(nodes, states, supports, e, point.mass, wrench)
            continue
        if point.frame.node >= 0:
            add_wrench(point.p, wrench, states[point.frame.node].z)
        if point.other.node >= 0:
            for r in range(6):
                wrench[r] = -wrench[r]
            add_wrench(point.p, wrench, states[point.other.node].z)


@called
def answer_pushes(nodes, states, felt, points, supports, push, joint_force, wrench, a_null, a):
    """
    Write how joints accelerate, (nv,), by the motion advised and the stack's forces, (k,): O(n).

    Needs the articulated inertias of all nodes that are felt; what is not felt does not answer.
    """
    push_links(nodes, states, points, supports, push, joint_force, wrench)
    for k in range(a.size):
        a[k] = a_null[k]
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        s.u = 0.0
        if felt[i] and node.status != LOCKED:
            s.u = (joint_force[node.v_index] + dot(s.z, s.S)) / s.D
        if felt[i] and node.parent >= 0:
            outer = states[node.parent].z
            for r in range(6):
                outer[r] += s.z[r] - s.u * s.U[r]
    for i in range(nodes.size):
        node, s = nodes[i], states[i]
        for r in range(6):
            s.z[r] = 0.0
            s.B[r] = states[node.parent].B[r] if node.parent >= 0 else 0.0
        if felt[i] and node.status != LOCKED:
            x = s.u - dot(s.U, s.B) / s.D
            a[node.v_index] += x
            for r in range(6):
                s.B[r] += x * s.S[r]


@called
def within_limits(nodes, limits, a):
    """Return whether no joint is held, and none accelerates beyond its limits, (nv,)."""
    for k in range(limits.size):
        limit = limits[k]
        if limit.q_index < 0 or nodes[limit.node].status != ACTIVE:
            continue
        if limit.motion != 0 or limit.effort != 0:
            return False
        slack = ROUNDING * limit.acceleration
        if not limit.least - slack <= a[k] <= limit.greatest + slack:
            return False
    return True


@called
def note_efforts(nodes, limits, effort_limits, tau):
    """Let joints whose force is about to be cut be held at it from the next cycle on."""
    for k in range(limits.size):
        if limits[k].q_index >= 0 and nodes[limits[k].node].status == ACTIVE and (
                abs(tau[k]) > effort_limits[k] > 0.0):
            limits[k].effort = 1 if tau[k] > 0.0 else -1
