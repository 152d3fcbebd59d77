# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The artificial repulsion of near pairs of shapes, in the posture's reference only.

[K86]: the potential ``U = ½ η (1/ρ − 1/ρ₀)²`` of a distance ρ below ρ₀ exerts the joint forces
``Γ = −∇U = η (1/ρ − 1/ρ₀) / ρ² ∇ρ``. The posture takes ``A⁻¹ Γ``: what the null space of the tasks
leaves of that is its motion under Γ, and U never grows by it. The force of a pair acts along the
line of its nearest points; where these jump, along one parallel to it that does not.
"""

from opspace_control.collision.cores import find_point_of_action
from opspace_control.compiled import inlined, rare
from opspace_control.control.limits.distances import add_gradient
from opspace_control.dynamics.articulated_body import eliminate_node, set_inertia
from opspace_control.dynamics.kinematics import weigh_node
from opspace_control.dynamics.responses import forward_response
from opspace_control.model.nodes import ACTIVE

# Pairs that are nearer, or overlap, have the force that they have there, m: U has a pole at 0.
_NEAREST = 1e-3


@inlined
def firas_force(distance, gain, influence):
    """Return ``−dU/dρ``, N, of the gain η, J m², at a distance ρ below the influence ρ₀, m."""
    rho = max(distance, _NEAREST)
    return gain * (1.0 / rho - 1.0 / influence) / (rho * rho) if rho < influence else 0.0


@inlined
def add_repulsion(cycle, robot, points, row, force):
    """
    Add the forces of all near pairs to joint forces (nv,); return whether there are any.

    ``points`` (2, 3) and ``row`` (nv,) are scratch.
    """
    collision, any_near = robot.collision, False
    for k in range(collision.counts[0].pairs):
        pair = collision.pairs[k]
        if pair.reached == collision.known[0]:
            any_near = True
            a, b = collision.shapes[pair.first], collision.shapes[pair.second]
            find_point_of_action(a, b, points)
            row[:] = 0.0
            add_gradient(robot.nodes, robot.states, a.node, points[0], pair.direction, 1.0, row)
            add_gradient(robot.nodes, robot.states, b.node, points[0], pair.direction, -1.0, row)
            along = firas_force(pair.distance, cycle.repulsion, cycle.repulsion_influence)
            for i in range(force.size):
                force[i] += along * row[i]
    return any_near


@rare
def respond_to_repulsion(nodes, states, force, a):
    """Write ``A⁻¹ Γ`` (nv,) of joint forces Γ (nv,); the bodies are placed, nothing else known."""
    for i in range(nodes.size):
        weigh_node(nodes, i, states)
        set_inertia(nodes, i, states)
        for r in range(6):
            states[i].z[r] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        eliminate_node(nodes, i, states)
    a[:] = 0.0
    forward_response(nodes, states, force, a, a)


@inlined
def repel(cycle, robot, limits, scratch, a):
    """
    Add the motion ``A⁻¹ Γ`` under the forces of near pairs to the posture's accelerations (nv,).

    As a whole it is so small that no joint passes its limit of acceleration by it: Γ has no bound,
    and cutting joints one by one would change its direction.
    """
    force, response = scratch.joint_force, scratch.bounded.a_ref
    force[:] = 0.0
    if not add_repulsion(cycle, robot, scratch.bounded.distances.motion, response, force):
        return
    respond_to_repulsion(robot.nodes, robot.states, force, response)
    largest = 1.0
    for k in range(limits.size):
        if robot.nodes[limits[k].node].status == ACTIVE:
            largest = max(largest, abs(response[k]) / limits[k].acceleration)
    for k in range(a.size):
        a[k] += response[k] / largest
