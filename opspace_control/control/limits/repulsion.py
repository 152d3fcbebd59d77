# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The artificial repulsion of near pairs of shapes, in the posture's reference only.

[K86]: the potential ``U = ½ η (1/ρ − 1/ρ₀)²`` of a distance ρ below ρ₀ exerts the joint forces
``Γ = −∇U = η (1/ρ − 1/ρ₀) / ρ² ∇ρ``. The posture takes ``A⁻¹ Γ``: what the null space of the tasks
leaves of that is its motion under Γ, and U never grows by it.
"""

from opspace_control.compiled import inlined, rare
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
def add_repulsion(cycle, collision, gradient, force):
    """Add the forces of all near pairs to joint forces (nv,); return whether there are any."""
    any_near = False
    for s in range(collision.count[0]):
        near = collision.near[s]
        if near.feature == 0 and near.distance < cycle.repulsion_influence:
            any_near = True
            along = firas_force(near.distance, cycle.repulsion, cycle.repulsion_influence)
            for k in range(force.size):
                force[k] += along * gradient[s, k]
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
    force, response = scratch.joint_force, scratch.bounded.a_ref[0]
    force[:] = 0.0
    if not add_repulsion(cycle, robot.collision, scratch.bounded.distances.gradient, force):
        return
    respond_to_repulsion(robot.nodes, robot.states, force, response)
    largest = 1.0
    for k in range(limits.size):
        if robot.nodes[limits[k].node].status == ACTIVE:
            largest = max(largest, abs(response[k]) / limits[k].acceleration)
    for k in range(a.size):
        a[k] += response[k] / largest
