# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Hybrid dynamics in O(n), [JR94] 5: accelerations of active joints, forces of passive ones are known.

Without passive nodes this is recursive Newton-Euler, with all nodes passive the articulated-body
algorithm. The passive elimination visits the nodes of passive subtrees only.
[JR94] counts links from the tip and gathers forces while it eliminates. Here forces stay with their
links until one last inward recursion, because wrenches of tasks and contacts are known only after
the accelerations.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.checks import checked
from opspace_control.compiled import inlined, kernel, rare
from opspace_control.dynamics.articulated_body import joint_inertia, propagate_inertia, set_inertia
from opspace_control.dynamics.data import NODE_STATE, nan_filled, points_on
from opspace_control.dynamics.kinematics import move_node, place_node, place_point, weigh_node
from opspace_control.dynamics.preparation import GRAVITY, joint_vector, prepared
from opspace_control.errors import StateError
from opspace_control.model.nodes import PASSIVE, with_subtrees
from opspace_control.spatial.six import add_six, put, six
from opspace_control.spatial.vectors import add_wrench, dot


@inlined
def is_empty(m, Ic):
    """Return whether a body has neither mass nor inertia, as those inside a chain of nodes."""
    return m == 0.0 and Ic[0, 0] + Ic[1, 1] + Ic[2, 2] == 0.0


@inlined
def load_node(nodes, i, gravity, states):
    """
    Write the net force of the motion of body i, minus its weight, [CK00] Table 2.

    Newton and Euler about the centre of mass, moved to the root link's origin. Gravity is a force
    here, so accelerations are those of the bodies.
    """
    m = nodes[i].mass
    s = states[i]
    V, A, f, c, Ic = s.V, s.A, s.f, s.c, s.Ic
    if is_empty(m, Ic):
        for r in range(6):
            f[r] = 0.0
        return
    c0, c1, c2 = c[0], c[1], c[2]
    w0, w1, w2 = V[3], V[4], V[5]
    a0, a1, a2 = A[3], A[4], A[5]
    # Newton: the velocity v of the centre of mass, and its mass times acceleration.
    v0 = V[0] + w1 * c2 - w2 * c1
    v1 = V[1] + w2 * c0 - w0 * c2
    v2 = V[2] + w0 * c1 - w1 * c0
    f0 = m * (A[0] + a1 * c2 - a2 * c1 + w1 * v2 - w2 * v1 - gravity[0])
    f1 = m * (A[1] + a2 * c0 - a0 * c2 + w2 * v0 - w0 * v2 - gravity[1])
    f2 = m * (A[2] + a0 * c1 - a1 * c0 + w0 * v1 - w1 * v0 - gravity[2])
    # Euler: the angular momentum h about it, and its rate.
    xx, xy, xz, yy, yz, zz = Ic[0, 0], Ic[0, 1], Ic[0, 2], Ic[1, 1], Ic[1, 2], Ic[2, 2]
    h0 = xx * w0 + xy * w1 + xz * w2
    h1 = xy * w0 + yy * w1 + yz * w2
    h2 = xz * w0 + yz * w1 + zz * w2
    f[0], f[1], f[2] = f0, f1, f2
    f[3] = xx * a0 + xy * a1 + xz * a2 + w1 * h2 - w2 * h1 + c1 * f2 - c2 * f1
    f[4] = xy * a0 + yy * a1 + yz * a2 + w2 * h0 - w0 * h2 + c2 * f0 - c0 * f2
    f[5] = xz * a0 + yz * a1 + zz * a2 + w0 * h1 - w1 * h0 + c0 * f1 - c1 * f0


@inlined
def add_inertial_force(m, c, Ic, B, f):
    """Add the inertia of a body times an additional spatial acceleration B to a force (6,)."""
    if is_empty(m, Ic):
        return
    a0, a1, a2 = B[3], B[4], B[5]
    f0 = m * (B[0] + a1 * c[2] - a2 * c[1])
    f1 = m * (B[1] + a2 * c[0] - a0 * c[2])
    f2 = m * (B[2] + a0 * c[1] - a1 * c[0])
    f[0] += f0
    f[1] += f1
    f[2] += f2
    f[3] += Ic[0, 0] * a0 + Ic[0, 1] * a1 + Ic[0, 2] * a2 + c[1] * f2 - c[2] * f1
    f[4] += Ic[1, 0] * a0 + Ic[1, 1] * a1 + Ic[1, 2] * a2 + c[2] * f0 - c[0] * f2
    f[5] += Ic[2, 0] * a0 + Ic[2, 1] * a1 + Ic[2, 2] * a2 + c[0] * f1 - c[1] * f0


def responding_nodes(nodes):
    """
    Return the nodes of passive subtrees, (n,) bool: passive nodes and all nodes further out.

    Only their bodies move in a passive-joint response: `start_passive_inertia`, `eliminate_passive`
    and `induce_node` visit no others.
    """
    return with_subtrees(nodes, nodes['status'] == PASSIVE)


@inlined
def start_passive_inertia(i, states):
    """Copy the body's own inertia to IP, zero to z; `eliminate_passive` of children adds."""
    s = states[i]
    for r in range(6):
        put(s.IP[r], 0, six(s.IA[r], 0))
    put(s.z, 0, 0.0)


@inlined
def eliminate_passive(nodes, i, responds, passive_torque, a, states):
    """
    Inward step of [JR94] (4.8), (5.2a) for node i of a passive subtree: eliminate it if passive.

    ``IP`` becomes the articulated-body inertia of the subtree of node i, its passive joints free
    and all others rigid; ``z`` the corresponding bias force of the motion of the outward recursion.
    ``UP = IP S`` and ``DP = Sᵀ UP``; the paper's G_p is UP / DP at a passive joint, else zero.
    """
    node, s = nodes[i], states[i]
    torque = inverse_DP = 0.0
    add_six(s.z, s.f)
    put(s.UP, 0, 0.0)
    if node.v_index >= 0:
        s.DP = joint_inertia(s.IP, s.S, s.UP) + node.armature
    if node.status == PASSIVE:
        inverse_DP = 1.0 / s.DP
        torque = passive_torque[node.v_index] - node.armature * a[node.v_index]
    if node.parent >= 0 and responds[node.parent]:
        propagate_inertia(s.IP, s.UP, inverse_DP, states[node.parent].IP)
    propagate_passive_force(nodes, i, responds, torque, states)


@inlined
def propagate_passive_force(nodes, i, responds, torque, states):
    """
    Inward step of the force ``z`` for node i of a passive subtree.

    ``u = τ_p − Sᵀ z`` accelerates a passive joint; ``z + UP u / DP`` adds to the parent's force.
    Called alone it serves wrenches that are known later: with z from them and zero torque,
    `induce_node` and `gather_torques` then give ``J_Gᵀ f``, [JR94] (6.8).
    """
    node, s = nodes[i], states[i]
    gain = 0.0
    if node.status == PASSIVE:
        s.u = torque - dot(s.z, s.S)
        gain = s.u / s.DP
    if node.parent >= 0 and responds[node.parent]:
        outer = states[node.parent].z
        put(outer, 0, six(outer, 0) + six(s.z, 0) + gain * six(s.UP, 0))


@inlined
def respond_node(nodes, i, responds, states, a):
    """
    Outward step of [JR94] (5.2b) for node i of a passive subtree: write its induced acceleration.

    ``B`` is the induced acceleration of body i in addition to the known one; a passive joint's own
    part is added to ``a``.
    """
    node, s = nodes[i], states[i]
    B = s.B
    if node.parent >= 0 and responds[node.parent]:
        put(B, 0, six(states[node.parent].B, 0))
    else:
        put(B, 0, 0.0)
    if node.status == PASSIVE:
        x = (s.u - dot(s.UP, B)) / s.DP
        a[node.v_index] += x
        put(B, 0, six(B, 0) + x * six(s.S, 0))


@inlined
def induce_node(nodes, i, responds, states, a):
    """Do as `respond_node`; add the acceleration to ``A``, its inertial force to ``f``."""
    s = states[i]
    respond_node(nodes, i, responds, states, a)
    add_six(s.A, s.B)
    add_inertial_force(nodes[i].mass, s.c, s.Ic, s.B, s.f)


@inlined
def gather_torques(nodes, passive_torque, a, states, tau):
    """
    Inward recursion over all nodes: write the joint forces that balance the links' forces ``f``.

    ``τ = Sᵀ f`` plus the motor's inertia times ``a``; f then adds to the parent's. At a passive
    joint the result is ``passive_torque`` up to rounding, which is written instead.
    """
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        if node.v_index >= 0:
            if node.status == PASSIVE:
                tau[node.v_index] = passive_torque[node.v_index]
            else:
                tau[node.v_index] = dot(s.f, s.S) + node.armature * a[node.v_index]
        if node.parent >= 0:
            add_six(states[node.parent].f, s.f)


@rare
def restore_loads(nodes, states, gravity, v, a):
    """
    Write the links' forces ``f`` of a motion (nv,) and no others; ``z`` is zero.

    As before wrenches were added to them and `gather_torques` summed them.
    """
    for i in range(nodes.size):
        move_node(nodes, i, v, a, states)
        load_node(nodes, i, gravity, states)
        for r in range(6):
            states[i].z[r] = 0.0


@kernel
def solve_hybrid(
        nodes, responds, q, v, points, exerted, gravity,  # robot, state, forces
        states,  # scratch
        a, tau):
    """
    Write the unknown half of the accelerations and of the joint forces, [JR94] (4.4), in O(n).

    At ``points`` (k,) the robot exerts the wrenches ``exerted`` (k, 6), ``[f; n]``, N and N m,
    world axes; ``gravity`` (3,) is in m/s²; ``responds`` is of `responding_nodes`, ``states`` is
    scratch.

    ``a`` (nv,) has the accelerations of active joints, zero at locked ones; at passive ones the
    induced accelerations are added. ``tau`` (nv,) has τ_p at passive joints and receives the forces
    of all other joints, at locked ones that of the brake.
    """
    n = nodes.size
    # Pass 1: the known motion and its inertial forces.
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        move_node(nodes, i, v, a, states)
        load_node(nodes, i, gravity, states)
        if responds[i]:
            set_inertia(nodes, i, states)
            start_passive_inertia(i, states)
    for e in range(points.size):
        place_point(points, e, states)
        if points[e].frame.node >= 0:
            add_wrench(points[e].p, exerted[e], states[points[e].frame.node].f)
    # Pass 2: articulated inertias and bias forces of passive subtrees.
    for i in range(n - 1, -1, -1):
        if responds[i]:
            eliminate_passive(nodes, i, responds, tau, a, states)
    # Pass 3: the induced motion.
    for i in range(n):
        if responds[i]:
            induce_node(nodes, i, responds, states, a)
    # Pass 4: the joint forces of the whole motion.
    gather_torques(nodes, tau, a, states, tau)


class HybridMotion(NamedTuple):
    """Accelerations and forces of all joints, (nv,) each."""

    acceleration: np.ndarray
    """rad/s² or m/s²: as given at active joints, induced at passive ones, zero at locked ones."""
    torque: np.ndarray
    """N m or N: of the motor at active joints, as given at passive ones, of the brake at locked."""


def hybrid_dynamics(model, state, acceleration, torque=None, external=None, gravity=None):
    """
    Return the `HybridMotion`: forces of active joints, accelerations of passive ones, [JR94] 5.

    ``A q̈ + b + g = τ + Jᵀ f``, [JR94] (4.2), in O(n). ``acceleration`` (nv,), q̈, is read at
    active joints and zero at locked ones; ``torque`` (nv,), τ_p, zero if not given, at passive
    ones, see `PassiveForces`. ``external`` has, by frame name, wrenches ``[f; n]`` (6,) on the
    robot at the frame's origin, N and N m, world axes; ``gravity`` (3,) is 9.81 m/s² along -z if
    not given. Without passive joints it is inverse dynamics, with all joints passive forward
    dynamics.
    """
    a = np.where(model.active, joint_vector(model, acceleration, 'acceleration'), 0.0)
    tau = np.zeros(model.nv) if torque is None else joint_vector(model, torque, 'torque')
    nodes, _ = prepared(model, state)
    wrenches = [(frame, checked(wrench, f"The wrench on '{frame}'", StateError, (6,)))
                for frame, wrench in (external or {}).items()]
    gravity = checked(GRAVITY if gravity is None else gravity, 'Gravity', StateError, (3,))
    return hybrid_motion(model, nodes, state, a, tau, wrenches, gravity)


def hybrid_motion(model, nodes, state, a, torque, external=(), gravity=GRAVITY):
    """
    Return the `HybridMotion` of given nodes, with their status.

    ``a`` is read at active joints and is zero at others, ``torque`` is read at passive joints;
    ``external`` has pairs of a frame name and the wrench (6,) on it.
    """
    points = points_on(model, [frame for frame, _ in external])
    exerted = -np.array([wrench for _, wrench in external]).reshape(-1, 6)
    a, tau = a.copy(), torque.copy()
    # A writable copy of gravity, as in the control cycle: a read-only array is another type, for
    # which the kernel would be compiled again.
    solve_hybrid(nodes, responding_nodes(nodes), state.q, state.v, points, exerted, gravity.copy(),
                 nan_filled(nodes.size, NODE_STATE), a, tau)
    return HybridMotion(a, tau)
