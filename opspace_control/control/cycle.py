# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
One control cycle, compiled: the straight line of this package.

    state → kinematics + dynamics → tasks → torque → limits
"""

import math

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.control.limits import limit_efforts
from opspace_control.control.resolution import resolve_forces
from opspace_control.dynamics.articulated_body import eliminate_node, set_inertia
from opspace_control.dynamics.inverse_dynamics import gather_torques, load_node
from opspace_control.dynamics.kinematics import (
    move_node,
    move_point,
    place_node,
    place_point,
    weigh_node,
)
from opspace_control.dynamics.operational_space_inertia import (
    propagate_points,
    start_propagation,
)
from opspace_control.spatial.vectors import add_wrench
from opspace_control.tasks.pose_law import demand_pose
from opspace_control.tasks.posture_law import demand_posture

# What a cycle needs besides robot and tasks, and what it has to say.
CYCLE = np.dtype([
    ('gravity', np.float64, (3,)),       # m/s², zero where the hardware compensates it
    ('floating_base', np.bool_),
    ('singularity_threshold', np.float64),  # of the scaled Λ⁻¹, without unit
    ('least_mobility', np.float64),      # of a point, 1/kg: of the robot moved as one body
    ('origin', np.float64, (3,)),        # of the root link in the world, m
    ('least_eigenvalue', np.float64),    # lower bound, of the scaled Λ⁻¹; 0 below the threshold
    ('limited', np.int64),               # how many efforts were cut
    ('R', np.float64, (3, 3)),           # scratch
], align=True)


@inlined
def apply_forces(tasks, points, force, states):
    """Report the forces at the points to their tasks, and add them to the links."""
    for e in range(points.size):
        wrench = tasks[e].wrench
        for r in range(6):
            wrench[r] = force[6 * e + r]
        if points[e].frame.node >= 0:
            add_wrench(points[e].p, wrench, states[points[e].frame.node].f)


@kernel
def control_cycle(
        cycles, nodes, states, points, supports, felt, tasks, dofs, posture,  # robot and tasks
        a_null, asked, demand, Lambda_inverse, scale, factor, vectors, spare, force,  # scratch
        effort_limits, q, v, tau):
    """
    Write the joint forces of the task and posture laws: [CK00] (11)-(13) without A or A⁻¹.

    ``τ = Jᵀ f' + τ_null``, ``τ_null = A q̈_null + b + g``, ``f' = Λ (a* − a_null)``, in O(nm + m³).
    The motion q̈_null alone is what the outward pass goes through, so a_null is what the points are
    seen to do, and f' is added to the links before the inward pass: no Jacobian is formed either.
    """
    cycle = cycles[0]
    n, m = nodes.size, points.size
    gravity = cycle.gravity[:]  # of the kind that other kernels have: load_node compiles once
    if cycle.floating_base:
        for r in range(3):
            cycle.origin[r] = q[r]
    # Posture: the motion advised, and outwards the forces that it would take.
    demand_posture(nodes, dofs, posture, q, v, a_null)
    for i in range(n):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        move_node(nodes, i, v, a_null, states)
        load_node(nodes, i, gravity, states)
        if felt[i]:
            set_inertia(nodes, i, states)
    # Tasks: the accelerations asked of the points beyond those of that motion.
    for e in range(m):
        task = tasks[e]
        place_point(points, e, nodes, states)
        move_point(points, e, states)
        demand_pose(task, points[e], cycle.origin, cycle.R)
        start_propagation(points, e)
        insistence = task.activation / math.hypot(task.activation, 1.0 - task.activation)
        for r in range(6):
            asked[6 * e + r] = insistence * task.selected[r]
            demand[6 * e + r] = task.acceleration[r] - points[e].a[r]
    # Inwards: what the points' inertia is, through all joints.
    for r in range(6 * m):
        for c in range(r + 1):
            Lambda_inverse[r, c] = 0.0
    for i in range(n - 1, -1, -1):
        if felt[i]:
            eliminate_node(nodes, i, states)
            propagate_points(nodes, i, supports, states, points, Lambda_inverse)
    # The forces at the points, and inwards again the torques of everything.
    cycle.least_eigenvalue = resolve_forces(
        Lambda_inverse, demand, asked, cycle.least_mobility, cycle.singularity_threshold, scale,
        factor, vectors, spare, force)
    apply_forces(tasks, points, force, states)
    gather_torques(nodes, states, tau)
    cycle.limited = limit_efforts(nodes, effort_limits, tau)
