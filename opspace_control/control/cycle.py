# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
One control cycle, compiled: the straight line of this package.

    state → kinematics + dynamics → tasks → torque → limits
"""

from opspace_control.compiled import called, inlined, kernel
from opspace_control.control.grasping.fingertip_law import lead_effectors
from opspace_control.control.grasping.load_sharing import plan_loads, share_loads
from opspace_control.control.grasping.relief import relieve_drives
from opspace_control.control.hierarchy.handover import add_keepers
from opspace_control.control.hierarchy.modes import forget_leads, see_wants
from opspace_control.control.hierarchy.planes import FEELING, LEADING
from opspace_control.control.hierarchy.singularity import nudge
from opspace_control.control.hierarchy.stack import (
    ASKED,
    FACTOR,
    FACTOR_Q,
    GRAM_Q,
    MISSED,
    SCALE,
    SPARE,
    VECTORS,
    L,
    Q,
    apply_forces,
    resolve_stack,
    stack_points,
)
from opspace_control.control.limits.active_limits import add_holding
from opspace_control.control.limits.effort_cut import limit_efforts
from opspace_control.control.limits.ends import find_ends
from opspace_control.control.limits.grip_efforts import bear_all, count_closed
from opspace_control.control.limits.held_rows import keep_feelings
from opspace_control.control.limits.keeping import keep_limits
from opspace_control.control.limits.limit_check import (
    forget_unfit,
    let_go_of_joints,
    note_efforts,
)
from opspace_control.control.limits.limit_law import bound_posture, faded
from opspace_control.control.limits.loads import bound_loads
from opspace_control.dynamics.articulated_body import eliminate_node, set_inertia
from opspace_control.dynamics.hybrid_dynamics import (
    gather_torques,
    give_way,
    induce_node,
    start_yielding,
    yield_node,
)
from opspace_control.dynamics.inverse_dynamics import load_node
from opspace_control.dynamics.kinematics import move_node, place_node, weigh_node
from opspace_control.dynamics.operational_space_inertia import (
    propagate_points,
    propagate_points_passive,
)
from opspace_control.dynamics.passive_forces import passive_forces
from opspace_control.model.nodes import PASSIVE
from opspace_control.tasks.posture_law import demand_posture

# While directions near singularities are led, a posture pulls with this part of what joints can do.
# Where two motions of the joints take turns in moving a direction its pull swings from one to the
# other, and the rest is for what damps that. Robots that also drift need all of it to come back.
_PULL = 0.15
# It does so gradually, within s.
_TIME = 0.03


@called
def move_outward(nodes, states, felt, yields, gravity, q, v, a):
    """Outward recursion: where the bodies are, how they move, and what that takes."""
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        move_node(nodes, i, v, a, states)
        load_node(nodes, i, gravity, states)
        if felt[i]:
            set_inertia(nodes, i, states)
        if yields[i]:
            start_yielding(nodes, i, states)


@called
def let_go(nodes, states, yields, passive_torque, a):
    """
    Let passive joints do what the motion of the others induces: inwards, then outwards.

    Afterwards ``z`` is zero, ready for wrenches that come later.
    """
    for i in range(nodes.size - 1, -1, -1):
        if yields[i]:
            yield_node(nodes, i, yields, passive_torque, a, states)
    for i in range(nodes.size):
        if yields[i]:
            induce_node(nodes, i, yields, states, a)
            for r in range(6):
                states[i].z[r] = 0.0


@called
def let_go_again(nodes, states, yields, joint_tasks, joint_force, a):
    """
    Let passive joints give way to the wrenches that came later, too.

    A force asked of a passive joint itself is one that the others have to bring about: they act as
    if its reaction acted on it, [JR94] (6.9).
    """
    for i in range(nodes.size - 1, -1, -1):
        if yields[i]:
            reaction = 0.0
            if joint_tasks.size > 0 and nodes[i].status == PASSIVE:
                reaction = -joint_force[nodes[i].v_index]
            give_way(nodes, i, yields, reaction, states)
    for i in range(nodes.size):
        if yields[i]:
            induce_node(nodes, i, yields, states, a)


@called
def sum_mobility(cycle, nodes, states, felt, points, supports, squares, K):
    """
    Inward recursion: what wrenches at the points do there through all joints, L, and Q.

    ``K`` receives what each joint feels of them, or is None.
    """
    for r in range(6 * points.size):
        for c in range(r + 1):
            squares[L, r, c] = 0.0
            if cycle.yields:
                squares[Q, r, c] = 0.0
    for i in range(nodes.size - 1, -1, -1):
        if not felt[i]:
            continue
        eliminate_node(nodes, i, states)
        propagate_points(nodes, i, supports, states, points, squares[L])
        if K is not None:
            keep_feelings(nodes, i, supports, points, K)
        if cycle.yields:
            propagate_points_passive(nodes, i, supports, states, points, squares[Q])


@inlined
def see_points(
        cycle, nodes, states, felt, yields, points, supports, constraints, tasks, sensors,
        joint_tasks, grasps, grips, passive_dofs, a_null, passive_torque, rows, squares, small,
        K, q, v):
    """See where everything is and how q̈_null moves it, what is asked for, and what moves it."""
    gravity = cycle.gravity[:]  # of the kind that other kernels have: load_node compiles once
    if cycle.floating_base:
        for r in range(3):
            cycle.origin[r] = q[r]
    move_outward(nodes, states, felt, yields, gravity, q, v, a_null)
    if cycle.yields:
        passive_forces(nodes, passive_dofs, q, v, passive_torque)
        let_go(nodes, states, yields, passive_torque, a_null)
    stack_points(cycle, nodes, states, yields, points, supports, constraints, tasks, sensors,
                 joint_tasks, q, v, a_null, rows)
    if grasps is not None:
        lead_effectors(cycle, grasps, grips, states, points, constraints, tasks, sensors, rows,
                       small)
    sum_mobility(cycle, nodes, states, felt, points, supports, squares, K)


@inlined
def move_joints_by_forces(
        cycle, nodes, states, yields, points, supports, constraints, tasks, joint_tasks, grasps,
        grips, a_null, a_task, passive_torque, joint_force, rows, squares, orders, tau):
    """Turn the stack's forces into joint forces."""
    if grasps is not None:
        plan_loads(cycle, grasps, grips, constraints.size, tasks, points, rows)
        share_loads(cycle, grasps, grips, constraints.size, rows, squares, orders)
    apply_forces(nodes, states, yields, points, supports, constraints, tasks, joint_tasks,
                 joint_force, rows)
    if cycle.yields:
        let_go_again(nodes, states, yields, joint_tasks, joint_force, a_task)
    gather_torques(nodes, passive_torque, a_null, states, tau)
    if joint_tasks.size > 0:
        for k in range(tau.size):
            tau[k] += joint_force[k]


@inlined
def relieve(cycle, nodes, states, points, supports, constraints, grasps, grips, effort_limits,
            rows, squares, orders, tau):
    """Let internal forces that nobody asks for spare the drives."""
    if grasps is not None:
        relieve_drives(cycle, nodes, states, points, supports, constraints, grasps, grips,
                       effort_limits, rows[ASKED], rows[SCALE], squares[Q], squares[FACTOR_Q],
                       squares[GRAM_Q], orders[1], squares[FACTOR], squares[VECTORS], squares[L],
                       rows[SPARE:], tau)


@kernel
def control_cycle(
        cycles, nodes, states, felt, yields,  # robot
        points, supports, constraints, tasks, sensors, joint_tasks,  # what is asked of it
        levels, grasps, grips, dofs, posture,
        passive_dofs, a_null, a_task, passive_torque, joint_force,  # scratch from here on
        Lambda_inverse, rows, squares, orders, small,
        effort_limits, dt, q, v, tau):
    """
    Write the joint forces of all that is asked for: [CK00] (11)-(13), [JR94] 5, [RKR95] 3.2.

    ``τ = hybrid(q̈_null) + J_Gᵀ f``, ``f = Λ (a* − a_null)``, without A or A⁻¹, in O(nm + m³). The
    motion q̈_null alone is what the outward pass goes through, passive joints doing what it induces
    them to do; so a_null is what the points are seen to do, and f is added to the links before the
    inward pass: no Jacobian is formed either. With all joints active and no constraint this is
    ``τ = A q̈_null + b + g + Jᵀ f``.

    ``grasps`` and ``grips`` are None where there are none: their law is not even compiled then.
    """
    cycle = cycles[0]
    cycle.dt = dt
    demand_posture(nodes, dofs, posture, q, v, a_null)
    see_points(cycle, nodes, states, felt, yields, points, supports, constraints, tasks, sensors,
               joint_tasks, grasps, grips, passive_dofs, a_null, passive_torque, rows, squares,
               small, None, q, v)
    resolve_stack(cycle, 6 * constraints.size, points, tasks, levels, rows, squares, orders, small,
                  Lambda_inverse, None)
    move_joints_by_forces(
        cycle, nodes, states, yields, points, supports, constraints, tasks, joint_tasks, grasps,
        grips, a_null, a_task, passive_torque, joint_force, rows, squares, orders, tau)
    relieve(cycle, nodes, states, points, supports, constraints, grasps, grips, effort_limits, rows,
            squares, orders, tau)
    cycle.limited = limit_efforts(nodes, effort_limits, tau)


@kernel
def limited_cycle(
        cycles, nodes, states, felt, yields,
        points, supports, constraints, tasks, sensors, joint_tasks,
        levels, grasps, grips, dofs, posture,
        passive_dofs, a_null, a_task, passive_torque, joint_force,
        Lambda_inverse, rows, squares, orders, small,
        effort_limits, limits, room, dt, q, v, tau):
    """Do the same within the limits of joints' positions and velocities, and of efforts first."""
    cycle = cycles[0]
    cycle.dt = dt
    held, keeps = 6 * constraints.size, cycle.kept > 0.0
    closed = count_closed(constraints)
    drifts = cycle.yields and closed == 0
    cycle.efforts = closed == 0 or (
        grasps is not None and not cycle.yields and bear_all(closed, constraints, grasps, grips))
    demand_posture(nodes, dofs, posture, q, v, a_null)
    if cycle.stuck:
        nudge(nodes, a_null)
    if keeps:
        share = 1.0 if drifts else 1.0 - (1.0 - _PULL) * cycle.leading
        bound_posture(nodes, dofs, limits, share, cycle.kept,
                      cycle.return_rate, cycle.approach_rate, q, v, a_null)
    forget_unfit(nodes, supports, constraints, limits, cycle.efforts, not cycle.yields)
    see_points(cycle, nodes, states, felt, yields, points, supports, constraints, tasks, sensors,
               joint_tasks, grasps, grips, passive_dofs, a_null, passive_torque, rows, squares,
               small, room[FEELING], q, v)
    if keeps and not drifts:
        bound_loads(cycle, nodes, states, supports, constraints, limits, v, room)
    between_ends = find_ends(limits, keeps and not drifts, dt, v)
    cycle.leads, cycle.ends = keeps and not between_ends, 0
    cycle.led = cycle.stuck = False
    if keeps:
        see_wants(points, tasks, joint_tasks, held, v, room[LEADING])
        forget_leads(room[LEADING], rows.shape[1])
    robot = (cycle, room[LEADING], nodes, states, supports, points, tasks, limits, dofs, v, a_null,
             rows[SCALE], room, squares[Q], yields, held)
    resolve_stack(cycle, held, points, tasks, levels, rows, squares, orders, small, Lambda_inverse,
                  robot)
    cycle.held = cycle.solutions = 0
    if keeps:
        keep_limits(
            cycle, nodes, states, points, supports, tasks, levels, held, grasps, grips, limits,
            effort_limits, between_ends, a_null, a_task, joint_force, room, rows, squares, orders,
            small, Lambda_inverse, robot, tau)
    else:
        let_go_of_joints(limits)
        rows[MISSED, :] = 0.0
    cycle.leading = faded(cycle.leading, cycle.led, dt, _TIME) if keeps else 0.0
    move_joints_by_forces(
        cycle, nodes, states, yields, points, supports, constraints, tasks, joint_tasks, grasps,
        grips, a_null, a_task, passive_torque, joint_force, rows, squares, orders, tau)
    if cycle.solutions > 0:
        add_holding(cycle.held, room, tau)
        add_keepers(room[LEADING], tau)
    elif keeps:
        note_efforts(nodes, limits, effort_limits, tau)
    relieve(cycle, nodes, states, points, supports, constraints, grasps, grips, effort_limits, rows,
            squares, orders, tau)
    cycle.limited = limit_efforts(nodes, effort_limits, tau)
