# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
One control cycle, compiled: the straight line of this package.

    state → kinematics + dynamics → forces of tasks → limits → torque → cut of efforts

doc/explanation/developer_notes.md says what each step reads and writes, and what is valid when.
"""

from opspace_control.compiled import called, inlined, kernel
from opspace_control.control.constraints.large_inertia import (
    add_inertia,
    correct_reference,
    demand_contacts,
    exert_contacts,
    predict_contacts,
    respond_contacts,
)
from opspace_control.control.data import FORCE, RESIDUAL, Data
from opspace_control.control.drive_friction import overcome_friction, reserve_friction
from opspace_control.control.grasping.fingertip_law import constrain_fingertips
from opspace_control.control.grasping.load_sharing import plan_loads, share_loads
from opspace_control.control.grasping.minimum_effort import minimise_effort
from opspace_control.control.limits.bounds import any_effort_violated
from opspace_control.control.limits.contact_forces import bound_contacts
from opspace_control.control.limits.determined_efforts import count_closed, find_determined_efforts
from opspace_control.control.limits.distances import bound_distances, find_distances, follow_pairs
from opspace_control.control.limits.effort_limits import limit_efforts
from opspace_control.control.limits.gravity_torques import bound_gravity_torques
from opspace_control.control.limits.limit_law import approached, bound_motion, clip_posture
from opspace_control.control.limits.repulsion import repel
from opspace_control.control.limits.unexpected_motion import observe_motion
from opspace_control.control.problem.bounded_resolution import (
    begin_problem,
    exert_bounds,
    resolve_within_bounds,
    resolve_within_efforts,
    respond_to_stack,
)
from opspace_control.control.problem.least_effort import exert_least_effort
from opspace_control.control.problem.resting import find_resting
from opspace_control.control.singular.direction_law import perturb
from opspace_control.control.singular.direction_motion import (
    clear_singular_forces,
    write_motion_laws,
)
from opspace_control.control.stack.disturbance import apply_torque, observe_disturbance
from opspace_control.control.stack.rows import (
    apply_forces,
    find_used_rows,
    resolve_stack,
    stack_points,
)
from opspace_control.dynamics.articulated_body import set_inertia
from opspace_control.dynamics.hybrid_dynamics import (
    eliminate_passive,
    gather_torques,
    induce_node,
    load_node,
    start_passive_inertia,
)
from opspace_control.dynamics.kinematics import move_node, place_node, weigh_node
from opspace_control.dynamics.operational_space_inertia import sum_products
from opspace_control.dynamics.passive_forces import passive_forces
from opspace_control.dynamics.passive_responses import gather_with_response
from opspace_control.dynamics.trunks import project_trunks
from opspace_control.tasks.posture import demand_posture, feed_efforts
from opspace_control.tasks.trajectory_law import advance_targets

# During singular-direction control the posture's position term uses this part of the joints'
# acceleration limits; the rest damps oscillations between two joint motions of one direction.
# Robots that drift need all of it to return.
_POSTURE_SHARE = 0.15
_TIME = 0.03  # s, in which that part changes


@called
def place_bodies(nodes, states, cycle, q):
    """Outward recursion: where the bodies are."""
    if cycle.floating_base:
        for r in range(3):
            cycle.origin[r] = q[r]
    for i in range(nodes.size):
        place_node(nodes, i, q, states)


@inlined
def move_outward(nodes, states, needs_inertia, responds, gravity, v, a):
    """Outward recursion: how the bodies move, and what that takes."""
    for i in range(nodes.size):
        weigh_node(nodes, i, states)
        move_node(nodes, i, v, a, states)
        load_node(nodes, i, gravity, states)
        if needs_inertia[i] or responds[i]:
            set_inertia(nodes, i, states)
        if responds[i]:
            start_passive_inertia(i, states)


@inlined
def induce_passive(nodes, states, responds, passive_torque, a):
    """
    Write the accelerations that the other joints induce in passive joints: inwards, then outwards.

    Afterwards ``z`` is zero, for the wrenches of `gather_with_response`.
    """
    for i in range(nodes.size - 1, -1, -1):
        if responds[i]:
            eliminate_passive(nodes, i, responds, passive_torque, a, states)
    for i in range(nodes.size):
        if responds[i]:
            induce_node(nodes, i, responds, states, a)
            for r in range(6):
                states[i].z[r] = 0.0


@inlined
def refer_posture(cycle, robot, demand, limits, unsupported, scratch, q, v, a):
    """Write the reference accelerations a (nv,): posture and potentials, clipped to the bounds."""
    demand_posture(robot.nodes, demand.dofs, demand.posture, q, v, a)
    if cycle.repulsion > 0.0 and cycle.keep > 0.0:
        repel(cycle, robot, limits, scratch, a)
    if cycle.direction_lost:
        perturb(robot.nodes, a)
    if cycle.keep > 0.0:
        posture_share = 1.0 if unsupported else 1.0 - (1.0 - _POSTURE_SHARE) * cycle.singular_share
        clip_posture(robot.nodes, demand.dofs, limits, posture_share, cycle.keep, v, a)


@inlined
def evaluate_points(cycle, robot, demand, grasping, results, scratch, trunks, limited, q, v):
    """
    Evaluate the motion q̈_null of bodies and points, the stack's rows, L and Q.

    K too within limits, and with the coordinates of ``trunks`` that forces beyond the stack need.
    """
    gravity = cycle.gravity[:]  # of the kind that other kernels have: load_node compiles once
    nodes, states, a_null, stack = robot.nodes, robot.states, results.a_null, results.stack
    K = scratch.projection[:nodes.size if trunks or limited else 0]
    move_outward(nodes, states, robot.needs_inertia, robot.responds, gravity, v, a_null)
    bound_distances(robot.collision, cycle, states, scratch.bounded, a_null)
    add_inertia(robot.contacts, cycle, states, robot.responds)
    if cycle.has_passive:
        passive_forces(nodes, demand.passive_dofs, q, v, scratch.passive_torque)
        induce_passive(nodes, states, robot.responds, scratch.passive_torque, a_null)
    demand_contacts(robot.contacts, cycle, states, robot.responds)
    stack_points(cycle, robot, demand, q, v, a_null, stack)
    if grasping.grasps.size > 0:
        constrain_fingertips(cycle, grasping, robot, demand, stack, scratch.small)
    find_used_rows(robot, demand, stack)
    scratch.passive.rows[0] = sum_products(
        nodes, states, robot.needs_inertia, robot.carried, robot.crossing, robot.coupling,
        cycle.has_passive, scratch.mobility, scratch.passive.projection, K)
    if trunks:
        project_trunks(nodes, robot.carried, robot.points.size, K)
    correct_reference(robot.contacts, nodes, states, K, stack[FORCE])
    observe_disturbance(
        demand.disturbance, gravity, cycle, robot, grasping.grasps, scratch, K, v)


@inlined
def move_joints_by_forces(cycle, robot, demand, grasping, results, scratch, tau):
    """Write τ (nv,) of q̈_null and the stack's forces; ``a_joints`` gets those of passive joints."""
    stack, constraints, joint_force = results.stack, demand.constraints, scratch.joint_force
    if grasping.grasps.size > 0:
        plan_loads(cycle, grasping, constraints.size, demand.tasks, robot.points, stack,
                   scratch.wrench)
        share_loads(cycle, robot, constraints.size, grasping, stack, scratch)
    apply_forces(robot, demand, joint_force, stack)
    exert_contacts(robot.contacts, robot.states, robot.responds)
    if cycle.has_passive:
        gather_with_response(
            robot.nodes, robot.states, robot.responds, scratch.passive_torque,
            demand.joint_tasks.size > 0, joint_force, results.a_null, results.a_joints, tau)
        respond_contacts(robot.contacts, robot.states, robot.responds)
    else:
        gather_torques(robot.nodes, scratch.passive_torque, results.a_null, robot.states, tau)
    if demand.joint_tasks.size > 0:
        for k in range(tau.size):
            tau[k] += joint_force[k]
    predict_contacts(robot.contacts, robot, results, scratch)


@inlined
def complete_efforts(cycle, robot, demand, grasping, efforts, results, scratch, tau):
    """Minimise effort by internal forces, and add the posture's feed-forward."""
    if grasping.grasps.size > 0:
        minimise_effort(
            cycle, robot, demand.constraints, grasping, efforts, results, scratch, tau)
    feed_efforts(robot.nodes, demand.dofs, tau)


@kernel
def control_cycle(cycles, robot, demand, grasping, limits, storage, dt, q, v, tau):
    """
    Write the joint forces of a cycle: [CK00] (11)-(13), [JR94] 5, [RKR95] 3.2.

    ``τ = hybrid(q̈_null) + J_Gᵀ f``, ``f = Λ (a* − J q̈_null − J̇ v)``, without A or A⁻¹, in
    O(n + m³); of m, the k points that are seen from another link, groups of joints and centres of
    mass take O(n k²) more. The outward pass has the motion q̈_null alone, with the response of
    passive joints, so it gives ``J q̈_null + J̇ v``; f is added to the links before the inward pass:
    no Jacobian is formed either. With all joints active and no constraint this is
    ``τ = A q̈_null + b + g + Jᵀ f``.
    """
    cycle, results, scratch = cycles[0], storage.results, storage.scratch
    cycle.dt = dt
    advance_targets(demand.tasks, dt)
    place_bodies(robot.nodes, robot.states, cycle, q)
    demand_posture(robot.nodes, demand.dofs, demand.posture, q, v, results.a_null)
    beyond_stack = robot.contacts.points.size > 0 or demand.disturbance.flags.size > 0
    evaluate_points(
        cycle, robot, demand, grasping, results, scratch, beyond_stack, False, q, v)
    resolve_stack(cycle, robot, demand, results, scratch, None)
    move_joints_by_forces(cycle, robot, demand, grasping, results, scratch, tau)
    complete_efforts(cycle, robot, demand, grasping, limits.efforts, results, scratch, tau)
    cycle.limited = limit_efforts(robot.nodes, limits.efforts, tau)
    apply_torque(demand.disturbance, tau)


@kernel
def limited_cycle(cycles, robot, demand, grasping, limits, storage, dt, q, v, tau):
    """
    Write the joint forces of a cycle within limits.

    Bounds ``l ≤ R q̈ ≤ u`` of positions, velocities, efforts, contact forces and distances are
    written by `bound_motion` (``q̈_k`` of joints), `bound_contacts`, `bound_distances` and
    `bound_gravity_torques`. Where the forces of `resolve_stack` pass one, `resolve_within_bounds`
    replaces them by those of

    ``minimise ½ |q̈ − q̈_ref|²_A  subject to  l ≤ R q̈ ≤ u,  then J_1 q̈ = a_1,  then …``

    and the joint forces are ``τ = hybrid(q̈_null) + J_Gᵀ f + Rᵀ f_R``, f_R being the multipliers of
    bounds: doc/explanation/limits.md.
    """
    cycle, (memory, results, scratch), efforts = cycles[0], storage, limits.efforts
    cycle.dt = dt
    advance_targets(demand.tasks, dt)
    limits = reserve_friction(demand.friction, limits, scratch.bounded.effort_limits, v)
    nodes, constraints, joint_limits = robot.nodes, demand.constraints, limits.joints
    bounded, limits_apply = scratch.bounded, cycle.keep > 0.0
    unsupported = cycle.has_passive and count_closed(constraints) == 0
    find_determined_efforts(cycle, robot, constraints, grasping, joint_limits)
    place_bodies(nodes, robot.states, cycle, q)
    find_distances(robot.collision, cycle, nodes, robot.states, joint_limits, v, bounded.distances)
    if limits_apply:
        bound_motion(cycle, joint_limits, demand.disturbance.unexpected, q, v)
    refer_posture(cycle, robot, demand, joint_limits, unsupported, scratch, q, v, results.a_null)
    evaluate_points(cycle, robot, demand, grasping, results, scratch,
                    demand.disturbance.flags.size > 0, True, q, v)
    observe_motion(demand.disturbance, cycle, robot, limits, limits_apply, v, results.a_joints)
    bound_contacts(cycle, robot, constraints, bounded.contacts, scratch.small)
    follow_pairs(robot.collision, memory, limits.numbers, bounded.distances.states)
    if limits_apply and not unsupported:
        bound_gravity_torques(
            cycle, robot, demand, grasping, joint_limits, v, bounded, scratch.small[1])
    any_resting = find_resting(nodes, joint_limits, limits_apply and not unsupported, dt, v)
    cycle.singular_control, cycle.resting_count = limits_apply and not any_resting, 0
    cycle.singular_active = cycle.direction_lost = False
    cycle.singular_part = 0.0
    if limits_apply:
        write_motion_laws(robot.points, demand.tasks, demand.joint_tasks, 6 * constraints.size, v,
                          bounded.directions)
        clear_singular_forces(bounded.directions, results.stack.shape[1])
    data = Data(cycle, robot, demand, grasping, limits, memory, results, scratch, v)
    resolve_stack(cycle, robot, demand, results, scratch, data)
    begin_problem(cycle)
    if limits_apply:
        resolve_within_bounds(data, any_resting, tau)
    else:
        if demand.friction.size > 0:
            respond_to_stack(data)
        results.stack[RESIDUAL, :] = 0.0
    while True:
        move_joints_by_forces(cycle, robot, demand, grasping, results, scratch, tau)
        if cycle.problems > 0:
            exert_bounds(data, tau)
        complete_efforts(cycle, robot, demand, grasping, limits.efforts, results, scratch, tau)
        if not limits_apply or cycle.problems > 0 or not any_effort_violated(data, tau):
            break
        resolve_within_efforts(data, tau)
    cycle.singular_share = approached(
        cycle.singular_share, cycle.singular_part, dt, _TIME) if limits_apply else 0.0
    if cycle.least_effort > 0.0 and cycle.forces_decided:
        exert_least_effort(data, tau)
    cycle.limited = limit_efforts(nodes, limits.efforts, tau)
    apply_torque(demand.disturbance, tau)
    overcome_friction(cycle, robot, demand, efforts, results, v, tau)
