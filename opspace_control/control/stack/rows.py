# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The rows of the stack: accelerations of constraints and tasks, and their forces.

Six rows of each constraint, then six of each task in order of priority.
"""

import math

from opspace_control.compiled import inlined, rare, shared
from opspace_control.control.constraints.constraint_law import demand_constraint, place_sole
from opspace_control.control.constraints.elimination import eliminate_constraints, predict_reactions
from opspace_control.control.constraints.passive_mobility import sum_constrained
from opspace_control.control.data import (
    ACTIVATION,
    APPLIED,
    COMPLIANT,
    FORCE,
    MOVING,
    OWN_MOBILITY,
    PASSIVE_RESPONSE,
    REACTION,
    REJECTING,
    SCALE,
    SINGLE_JOINT,
    WANTED,
)
from opspace_control.control.stack.rejection import reject_disturbance
from opspace_control.control.stack.resolution import resolve_forces
from opspace_control.control.stack.scaling import (
    IMMOVABLE,
    copy_mobility,
    regularise_rows,
    rescale_rows,
    scale_rows,
)
from opspace_control.dynamics.center_of_mass import move_center, spread_force
from opspace_control.dynamics.data import FLOATING
from opspace_control.dynamics.force_propagation import is_group, is_idle
from opspace_control.dynamics.kinematics import move_in_other, move_point, place_point
from opspace_control.dynamics.responses import base_wrench
from opspace_control.model.nodes import PASSIVE
from opspace_control.spatial.six import put, six
from opspace_control.spatial.vectors import add_wrench
from opspace_control.tasks.impedance_law import impede
from opspace_control.tasks.joint import demand_joints
from opspace_control.tasks.pose_law import demand_pose
from opspace_control.tasks.sensor import measure_wrench
from opspace_control.tasks.specification_law import row_activation


@rare
def stack_constraint(constraint, points, e, cycle, states, responds, stack):
    """Place a constraint's point, and write its rows, accelerations."""
    first = 6 * e
    last = first + 6
    demand, passive_response = stack[FORCE, first:last], stack[PASSIVE_RESPONSE, first:last]
    weight = row_activation(constraint.activation)
    place_sole(constraint, points[e])
    arm, wrench = constraint.arm, constraint.internal_wrench
    for r in range(6):
        stack[ACTIVATION, first + r] = weight * constraint.selected[r]
        stack[SINGLE_JOINT, first + r], stack[OWN_MOBILITY, first + r] = 0.0, math.inf
        i, j = (r + 1) % 3, (r + 2) % 3
        stack[APPLIED, first + r] = weight * (
            wrench[r] if r < 3 else wrench[r] - arm[i] * wrench[j] + arm[j] * wrench[i])
        stack[MOVING, first + r] = stack[COMPLIANT, first + r] = stack[REJECTING, first + r] = 0.0
        demand[r] = passive_response[r] = constraint.error[r] = 0.0
    if weight > 0.0:
        demand_constraint(constraint, points, e, cycle.origin, states, responds, cycle.R, demand,
                          passive_response)


@inlined
def stack_task(task, points, e, cycle, states, sensors, stack):
    """Place a task's point; write its rows, accelerations less those of the reference motion."""
    point, at_limits = points[e], cycle.limited > 0 or cycle.force_share < 1.0
    demand_pose(task, point, cycle.origin, states, sensors, cycle.dt, at_limits, cycle.R)
    axes, a = point.axes, point.a
    if task.turned or task.relative:
        for k in range(2):
            for r in range(3):
                for c in range(3):
                    axes[k, r, c] = task.axes[k, r, c]
    for r in range(6):
        k, part = 6 * e + r, r - r % 3
        stack[ACTIVATION, k] = task.row_activation[r]
        stack[APPLIED, k] = task.applied_wrench[r]
        stack[SINGLE_JOINT, k] = stack[MOVING, k] = stack[COMPLIANT, k] = 0.0
        stack[REJECTING, k] = 0.0
        stack[OWN_MOBILITY, k] = math.inf
        along = axes[r // 3, :, r - part]
        stack[FORCE, k] = task.acceleration[r] - (
            along[0] * a[part] + along[1] * a[part + 1] + along[2] * a[part + 2])


@inlined
def stack_joints(task, e, q, v, a_null, stack):
    """Write the rows of a group of joints, accelerations less the reference acceleration."""
    demand_joints(task, q, v)
    weight = row_activation(task.activation)
    for r in range(6):
        k = 6 * e + r
        stack[ACTIVATION, k] = weight * task.selected[r]
        stack[SINGLE_JOINT, k], stack[OWN_MOBILITY, k] = 1.0, math.inf
        stack[APPLIED, k] = stack[MOVING, k] = stack[COMPLIANT, k] = stack[REJECTING, k] = 0.0
        stack[FORCE, k] = task.acceleration[r] - a_null[task.dof[r]]


@inlined
def is_floating(cycle, robot):
    """Return whether a base floats on which neither drives nor contacts of large inertia act."""
    free = 0
    if cycle.floating_base and robot.contacts is None:
        for i in range(3):
            free += robot.nodes[i].status == PASSIVE
    return free == 3


@inlined
def stack_points(cycle, robot, demand, q, v, a_null, stack):
    """Place all points, and write their rows, accelerations."""
    nodes, states, points = robot.nodes, robot.states, robot.points
    constraints, tasks, sensors = demand.constraints, demand.tasks, demand.sensors
    floats = is_floating(cycle, robot)
    for i in range(sensors.size):
        measure_wrench(sensors, i, states, cycle.dt)
    for e in range(points.size):
        record = points[e].record
        if is_group(points[e]):
            stack_joints(demand.joint_tasks[record], e, q, v, a_null, stack)
        else:
            if points[e].whole:
                points[e].whole = FLOATING if floats and points[e].frame.node < 0 else 1
                move_center(points, e, robot.supports, nodes, states)
            else:
                place_point(points, e, states)
                move_point(points, e, states)
            if e < constraints.size:
                stack_constraint(constraints[record], points, e, cycle, states, robot.responds,
                                 stack)
            elif not tasks[record].unattached:
                if tasks[record].relative:
                    move_in_other(points, e, states)
                stack_task(tasks[record], points, e, cycle, states, sensors, stack)


@inlined
def find_used_rows(robot, demand, stack):
    """Find which points have rows with a motion law or a force in this cycle: linear, angular."""
    points, constraints, tasks = robot.points, demand.constraints.size, demand.tasks
    rejected = demand.disturbance.tasks
    for e in range(points.size):
        point, of_task = robot.carried[e], e >= constraints and not is_group(points[e])
        linear = angular = 0  # sums instead of branches, which cost more than they save
        if of_task and tasks[points[e].record].impedance > 0.0:
            linear = angular = 1
        for r in range(3):
            k = 6 * e + r
            linear += (stack[ACTIVATION, k] != 0.0) + (stack[APPLIED, k] != 0.0)
            angular += (stack[ACTIVATION, k + 3] != 0.0) + (stack[APPLIED, k + 3] != 0.0)
        if of_task and rejected.shape[0] > 0:
            for r in range(3):
                linear += rejected[points[e].record, r] != 0.0
                angular += rejected[points[e].record, r + 3] != 0.0
        point.begin = 0 if linear > 0 else 3 if angular > 0 else 6
        point.end = 6 if angular > 0 else 3 if linear > 0 else 0


@rare
def add_spring_force(task, Lambda_inverse, first, k, small, stack):
    """Add the force of a spring and damper, which needs Λ⁻¹, to the rows of its task."""
    impede(task, Lambda_inverse, first, small)
    for r in range(6):
        stack[APPLIED, k + r] += task.spring_wrench[r]
        stack[MOVING, k + r] = task.spring_wrench[r]
        stack[COMPLIANT, k + r] = task.compliant[r]


@inlined
def add_spring_forces(points, tasks, constrained, Lambda_inverse, small, stack):
    """Add the forces of all springs and dampers."""
    for e in range(constrained // 6, points.size):
        if not is_group(points[e]):
            task = tasks[points[e].record]
            if task.impedance > 0.0:
                add_spring_force(task, Lambda_inverse, 6 * e - constrained, 6 * e, small, stack)


@shared
def apply_force(point, force, first, wrench, responds, states):
    """Write six entries of the stack's forces as a wrench in base axes; add it to the links."""
    base_wrench(point, force, first, wrench)
    if point.whole or is_idle(point):  # forces of idle points are 0
        return
    exert(point.frame.node, point.p, wrench, responds, states)
    if point.other.node >= 0:
        for r in range(6):
            wrench[r] = -wrench[r]
        exert(point.other.node, point.p, wrench, responds, states)
        for r in range(6):
            wrench[r] = -wrench[r]


@inlined
def exert(node, p, wrench, responds, states):
    """Add a wrench to those of a link: ``z`` where passive joints respond to it, else ``f``."""
    if node >= 0:
        if responds[node]:
            add_wrench(p, wrench, states[node].z)
        else:
            add_wrench(p, wrench, states[node].f)


@inlined
def resolve_tasks(cycle, demand, results, scratch, data):
    """Turn accelerations into forces, level by level; predict the constraint reactions."""
    cycle.least_eigenvalue = resolve_forces(
        results.stack, scratch, demand.levels, cycle.singularity_threshold, data)
    cycle.attained = cycle.least_eigenvalue != 0.0
    if demand.disturbance.flags.size > 0:
        for r in range(6 * demand.constraints.size, results.stack.shape[1]):
            results.stack[FORCE, r] += results.stack[REJECTING, r]
    predict_reactions(cycle, results, scratch, 6 * demand.constraints.size)


@inlined
def resolve_stack(cycle, robot, demand, results, scratch, data):
    """
    Turn the accelerations of the stack's rows into forces: constraints first, then levels.

    ``FORCE`` has accelerations ``a* − a_null`` before, forces afterwards. Singular directions may
    overwrite the velocities and accelerations of bodies, ``V`` and ``A``.
    """
    stack, mobility, points = results.stack, scratch.mobility, robot.points
    constrained = 6 * demand.constraints.size
    activation, scale, force = stack[ACTIVATION], stack[SCALE], stack[FORCE]
    for e in range(constrained // 6, points.size):
        if points[e].other.node >= 0:
            for r in range(6):
                stack[OWN_MOBILITY, 6 * e + r] = points[e].own_mobility[r // 3]
    scale_rows(mobility, activation, stack[SINGLE_JOINT], stack[OWN_MOBILITY], cycle.least_mobility,
               cycle.least_turning, 0.0 if robot.contacts is None else IMMOVABLE, scale)
    if cycle.has_passive:
        sum_constrained(scratch.passive, robot.carried)
    regularise_rows(mobility, scratch.passive.constrained, constrained, activation)
    for r in range(force.size):
        scratch.unconstrained[r] = mobility[r, r]
    eliminate_constraints(cycle, robot.carried, results, scratch, constrained)
    for r in range(0, force.size, 6):
        put(stack[WANTED], r, six(force, r))
    if constrained > 0 or robot.contacts is not None:
        rescale_rows(mobility, scratch.unconstrained, constrained, stack[SINGLE_JOINT], scale)
    reject_disturbance(demand.disturbance, cycle, robot, demand, results, scratch)
    copy_mobility(mobility, constrained, results.Lambda_inverse)
    add_spring_forces(
        points, demand.tasks, constrained, results.Lambda_inverse, scratch.small, stack)
    resolve_tasks(cycle, demand, results, scratch, data)


@inlined
def apply_joint_forces(task, first, force, joint_force):
    """Report forces of the stack to a group of joints, and add them to the joints."""
    for r in range(6):
        task.force[r] = 0.0
        if task.selected[r] != 0.0:
            task.force[r] = force[first + r]
            joint_force[task.dof[r]] += force[first + r]


@inlined
def apply_forces(robot, demand, joint_force, stack):
    """
    Report the forces of the stack to constraints and tasks, and add them to the links.

    Those of groups of joints are added to ``joint_force`` (nv,).
    """
    points, states, responds = robot.points, robot.states, robot.responds
    constraints, tasks, joint_tasks = demand.constraints, demand.tasks, demand.joint_tasks
    if joint_tasks.size > 0:
        for k in range(joint_force.size):
            joint_force[k] = 0.0
    for e in range(points.size):
        record = points[e].record
        if is_group(points[e]):
            apply_joint_forces(joint_tasks[record], 6 * e, stack[FORCE], joint_force)
        elif e < constraints.size:
            constraint = constraints[record]
            apply_force(points[e], stack[FORCE], 6 * e, constraint.exerted, responds, states)
            for r in range(6):
                constraint.force[r] = stack[REACTION, 6 * e + r]
        else:
            wrench = tasks[record].wrench
            apply_force(points[e], stack[FORCE], 6 * e, wrench, responds, states)
            if points[e].whole:
                spread_force(points, e, robot.supports, robot.nodes, wrench, responds, states)
