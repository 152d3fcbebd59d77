# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Hybrid dynamics in O(n): some joints' accelerations are known and some joints' forces, [JR94] 5.

Where no node is passive this is recursive Newton-Euler, where all are it is the articulated-body
algorithm; what the passive nodes need is done for the nodes that yield and for no other.
The equations of [JR94] count links from the tip and gather while they eliminate; here forces stay
with their links until one last inward recursion, so that wrenches of tasks and contacts, which are
known only after the accelerations are, can join them.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.articulated_body import body_inertia, hand_on, joint_inertia
from opspace_control.dynamics.inverse_dynamics import add_inertial_force, load_node
from opspace_control.dynamics.kinematics import move_node, place_node, place_point, weigh_node
from opspace_control.dynamics.preparation import GRAVITY, joint_vector, prepared
from opspace_control.dynamics.workspace import NODE_STATE, make_points, poisoned
from opspace_control.errors import StateError
from opspace_control.model.nodes import PASSIVE
from opspace_control.spatial.vectors import add_wrench, dot


def yielding_nodes(nodes):
    """
    Return which bodies move when passive joints give way, (n,) bool.

    They are those of the passive nodes and of all nodes further out: the only ones for which
    `start_yielding`, `yield_node` and `induce_node` have anything to do.

    Parameters
    ----------
    nodes : (n,) array of NODE
        Parents before children.

    """
    yields = nodes['status'] == PASSIVE
    for i, parent in enumerate(nodes['parent'].tolist()):
        if parent >= 0 and yields[parent]:
            yields[i] = True
    return yields


@inlined
def start_yielding(nodes, i, states):
    """Write the body's own inertia to IP and zero to z, to which `yield_node` adds from beyond."""
    s = states[i]
    body_inertia(nodes[i].mass, s.c, s.Ic, s.IP)
    for r in range(6):
        s.z[r] = 0.0


@inlined
def free_joint(nodes, i, states):
    """
    Write UP and DP of joint i if it is passive, [JR94] (4.8), and return 1 / DP; else 0 for both.

    ``UP = IP S``, ``DP = Sᵀ UP``; the paper's G_p is UP / DP.
    """
    s = states[i]
    if nodes[i].status == PASSIVE:
        s.DP = joint_inertia(s.IP, s.S, s.UP) + nodes[i].armature
        return 1.0 / s.DP
    for r in range(6):
        s.UP[r] = 0.0
    return 0.0


@inlined
def yield_node(nodes, i, yields, passive_torque, a, states):
    """
    Inward step of [JR94] (4.8), (5.2a): let joint i give way if it is passive, for node i yields.

    ``IP`` becomes the inertia of all that node i carries with the passive joints further out free
    and all others rigid, ``z`` the force that moves it as the outward recursion said, those joints
    having given way.
    """
    node, s = nodes[i], states[i]
    torque = 0.0
    for r in range(6):
        s.z[r] += s.f[r]
    inverse_DP = free_joint(nodes, i, states)
    if node.status == PASSIVE:
        torque = passive_torque[node.v_index] - node.armature * a[node.v_index]
    if node.parent >= 0 and yields[node.parent]:
        hand_on(s.IP, s.UP, inverse_DP, states[node.parent].IP)
    give_way(nodes, i, yields, torque, states)


@inlined
def give_way(nodes, i, yields, torque, states):
    """
    Inward step: let joint i give way to the force ``z`` if it is passive, for node i yields.

    ``u = τ_p − Sᵀ z`` is left to accelerate it; ``z + UP u / DP`` goes on to the parent. By itself
    it is for wrenches that come later, with z made of them alone and a torque of zero: followed by
    `induce_node` and `gather_torques` it makes ``J_Gᵀ f`` of them, [JR94] (6.8).
    """
    node, s = nodes[i], states[i]
    gain = 0.0
    if node.status == PASSIVE:
        s.u = torque - dot(s.z, s.S)
        gain = s.u / s.DP
    if node.parent >= 0 and yields[node.parent]:
        outer = states[node.parent].z
        for r in range(6):
            outer[r] += s.z[r] + gain * s.UP[r]


@inlined
def induce_node(nodes, i, yields, states, a):
    """
    Outward step of [JR94] (5.2b) for a node that yields: what joint i is induced to do if passive.

    ``B`` is the induced acceleration of body i, on top of the one that it was given. It is added to
    ``A``, and the force it takes to ``f``; the joint's own part is added to ``a``.
    """
    node, s = nodes[i], states[i]
    A, B = s.A, s.B
    carried = node.parent >= 0 and yields[node.parent]
    for r in range(6):
        B[r] = states[node.parent].B[r] if carried else 0.0
    if node.status == PASSIVE:
        x = (s.u - dot(s.UP, B)) / s.DP
        a[node.v_index] += x
        for r in range(6):
            B[r] += x * s.S[r]
    for r in range(6):
        A[r] += B[r]
    add_inertial_force(nodes[i].mass, s.c, s.Ic, B, s.f)


@inlined
def gather_torques(nodes, passive_torque, a, states, tau):
    """
    Inward recursion over all nodes: write the joint forces of the links' forces ``f``.

    Each joint takes its force's component along S, and what its acceleration ``a`` takes of its
    motor, and hands the force to its parent. At a passive
    joint, which has given way, that is ``passive_torque`` but for rounding.
    """
    for i in range(nodes.size - 1, -1, -1):
        node, s = nodes[i], states[i]
        if node.v_index >= 0:
            if node.status == PASSIVE:
                tau[node.v_index] = passive_torque[node.v_index]
            else:
                tau[node.v_index] = dot(s.f, s.S) + node.armature * a[node.v_index]
        if node.parent >= 0:
            outer = states[node.parent].f
            for r in range(6):
                outer[r] += s.f[r]


@kernel
def solve_hybrid(
        nodes, yields, q, v, points, exerted, passive_torque, gravity,  # robot, state, forces
        states,  # scratch
        a, tau):
    """
    Write the unknown half of the accelerations and of the joint forces, [JR94] (4.4), in O(n).

    Passive joints of known force accelerate as they must, all others accelerate as told.

    Parameters
    ----------
    nodes, yields : (n,) arrays of NODE, bool
        The robot; `yielding_nodes` of it.
    q, v : arrays
        The state.
    points, exerted : (k,) array of POINT, (k, 6) array
        Where the robot exerts wrenches, and the wrenches ``[f; n]``, N and N m, world axes.
    passive_torque : (nv,) array
        τ_p; read at passive joints.
    gravity : (3,) array
        m/s².
    states : (n,) array of NODE_STATE
        Scratch.
    a : (nv,) array
        Accelerations: given at active joints, zero at locked ones; at passive ones any, to which
        the induced ones are added.
    tau : (nv,) array
        Result: the force of the active joints, ``passive_torque`` at the passive ones, what the
        brake must bear at locked ones.

    """
    n = nodes.size
    # Pass 1: the motion that is known, and the forces that it would take.
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        move_node(nodes, i, v, a, states)
        load_node(nodes, i, gravity, states)
        if yields[i]:
            start_yielding(nodes, i, states)
    for e in range(points.size):
        place_point(points, e, nodes, states)
        if points[e].frame.node >= 0:
            add_wrench(points[e].p, exerted[e], states[points[e].frame.node].f)
    # Pass 2: the inertia and the force that passive joints feel.
    for i in range(n - 1, -1, -1):
        if yields[i]:
            yield_node(nodes, i, yields, passive_torque, a, states)
    # Pass 3: the motion that they are induced to make.
    for i in range(n):
        if yields[i]:
            induce_node(nodes, i, yields, states, a)
    # Pass 4: the joint forces of it all.
    gather_torques(nodes, passive_torque, a, states, tau)


class HybridMotion(NamedTuple):
    """Accelerations and forces of all joints, known and unknown, (nv,) each."""

    acceleration: np.ndarray
    """rad/s² or m/s²: as given at active joints, induced at passive ones, zero at locked ones."""
    torque: np.ndarray
    """N m or N: of the motors at active joints, as given at passive ones, of the brakes."""


def hybrid_dynamics(model, state, acceleration, torque=None, external=None, gravity=None):
    """
    Return the forces of the active joints and the accelerations of the passive ones, [JR94] 5.

    ``A q̈ + b + g = τ + Jᵀ f``, [JR94] (4.2), with q̈ known at the active joints, zero at the locked
    ones, and τ known at the passive ones; in O(n). Without passive joints it is inverse dynamics,
    with no others forward dynamics.

    Parameters
    ----------
    model : RobotModel
        The robot, with its ``passive`` and ``locked`` joints.
    state : RobotState
        Made for this model.
    acceleration : (nv,) array
        q̈, rad/s² or m/s²; read at active joints.
    torque : (nv,) array, optional
        τ_p, N m or N; read at passive joints. Zero if not given; see `PassiveForces`.
    external : dict of str to (6,) array, optional
        Wrenches ``[f; n]`` on the robot at the origins of these frames, N and N m, world axes.
    gravity : (3,) array, optional
        m/s², world axes; 9.81 along -z if not given.

    Returns
    -------
    HybridMotion

    Raises
    ------
    StateError
        If the state is another model's, or an array is not so many finite numbers.
    ModelError
        For an unknown frame.

    """
    a = np.where(model.active, joint_vector(model, acceleration, 'acceleration'), 0.0)
    tau = np.zeros(model.nv) if torque is None else joint_vector(model, torque, 'torque')
    nodes, _ = prepared(model, state)
    wrenches = [(frame, _finite(wrench, 6, f"The wrench on '{frame}'"))
                for frame, wrench in (external or {}).items()]
    given = {} if gravity is None else {'gravity': _finite(gravity, 3, 'Gravity')}
    return hybrid_motion(model, nodes, state, a, tau, wrenches, **given)


def hybrid_motion(model, nodes, state, a, torque, external=(), gravity=GRAVITY):
    """
    Return the motion of a robot whose nodes, and their status, are these.

    ``a`` where they are known, else zero; ``torque`` where the nodes are passive;
    ``external`` are pairs of a frame name and the wrench (6,) on it.
    """
    points, _ = make_points(model, [frame for frame, _ in external])
    exerted = -np.array([wrench for _, wrench in external]).reshape(-1, 6)
    a, tau = a.copy(), poisoned(model.nv)
    # Gravity as an array that can be written, as in the control cycle: no second kind of array
    # to compile for.
    solve_hybrid(nodes, yielding_nodes(nodes), state.q, state.v, points, exerted, torque,
                 gravity.copy(), poisoned(nodes.size, NODE_STATE), a, tau)
    return HybridMotion(a, tau)


def _finite(values, count, what):
    """Return ``count`` finite numbers, or raise a StateError."""
    try:
        numbers = np.array(values, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise StateError(f'{what} is {values!r}.', cure=f'Give {count} finite numbers.',
                         value=values)
    return numbers
