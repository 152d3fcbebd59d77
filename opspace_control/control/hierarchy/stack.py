# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The stack: what constraints and tasks ask of their points, and the forces that give it to them.

Six rows of each constraint, then six of each task in order of priority.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.constraints.constraint_law import demand_constraint
from opspace_control.control.hierarchy.elimination import eliminate_constraints, predict_reactions
from opspace_control.control.hierarchy.pushes import base_wrench
from opspace_control.control.hierarchy.release import scale_rows, soften_rows
from opspace_control.control.hierarchy.resolution import resolve_forces
from opspace_control.dynamics.center_of_mass import move_center, spread_force
from opspace_control.dynamics.kinematics import move_in_other, move_point, place_point
from opspace_control.dynamics.operational_space_inertia import (
    is_group,
    start_passive_propagation,
    start_propagation,
)
from opspace_control.spatial.vectors import add_wrench
from opspace_control.tasks.impedance_law import impede
from opspace_control.tasks.joint_law import demand_joints
from opspace_control.tasks.pose_law import demand_pose
from opspace_control.tasks.sensor_law import measure_wrench
from opspace_control.tasks.specification_law import insistence

# Of the mobility that tasks have without constraints: with less, they may be in conflict with them.
_LEFT = 1e-2

# What there is of each row.
(ASKED, ALONE, PUSH, MOVING, COMPLIANT, SCALE, YIELDED, HELD, REACTION, GRIPPED, WANTED, MISSED,
 LOST, LOST_AT_ALL, FORCE, SPARE) = range(16)
SPARES, ROWS = 5, SPARE + 5
# What there is of each pair of rows.
SQUARES = 8
L, Q, FACTOR, VECTORS, FACTOR_L, GRAM_L, FACTOR_Q, GRAM_Q = range(SQUARES)


@rare
def stack_constraint(constraint, points, e, cycle, states, yields, rows):
    """Place a constraint's point, and write what its rows ask for."""
    first = 6 * e
    demand, yielded = rows[FORCE, first:first + 6], rows[YIELDED, first:first + 6]
    weight = insistence(constraint.activation)
    for r in range(6):
        rows[ASKED, first + r] = weight * constraint.selected[r]
        rows[ALONE, first + r] = 0.0
        rows[PUSH, first + r] = weight * constraint.push[r]
        rows[MOVING, first + r] = rows[COMPLIANT, first + r] = 0.0
        demand[r] = yielded[r] = constraint.error[r] = 0.0
    if weight > 0.0:
        demand_constraint(constraint, points, e, cycle.origin, states, yields, cycle.R, demand,
                          yielded)


@called
def stack_task(task, points, e, cycle, states, sensors, rows):
    """Place a task's point, and write what its rows ask for beyond the motion advised."""
    point = points[e]
    demand_pose(task, point, cycle.origin, states, sensors, cycle.dt, cycle.limited, cycle.R)
    axes, a = point.axes, point.a
    if task.turned or task.relative:
        for k in range(2):
            for r in range(3):
                for c in range(3):
                    axes[k, r, c] = task.axes[k, r, c]
    for r in range(6):
        k, part = 6 * e + r, r - r % 3
        rows[ASKED, k] = task.asked[r]
        rows[PUSH, k] = task.press[r]
        rows[ALONE, k] = rows[MOVING, k] = rows[COMPLIANT, k] = 0.0
        along = axes[r // 3, :, r - part]
        rows[FORCE, k] = task.acceleration[r] - (
            along[0] * a[part] + along[1] * a[part + 1] + along[2] * a[part + 2])


@called
def stack_joints(task, e, q, v, a_null, rows):
    """Write what the rows of a group of joints ask for beyond the motion advised."""
    demand_joints(task, q, v)
    weight = insistence(task.activation)
    for r in range(6):
        k = 6 * e + r
        rows[ASKED, k] = weight * task.selected[r]
        rows[ALONE, k] = 1.0
        rows[PUSH, k] = rows[MOVING, k] = rows[COMPLIANT, k] = 0.0
        rows[FORCE, k] = task.acceleration[r] - a_null[task.dof[r]]


@called
def stack_points(cycle, nodes, states, yields, points, supports, constraints, tasks, sensors,
                 joint_tasks, q, v, a_null, rows):
    """Place all points, and write what their rows ask for and where their unit wrenches start."""
    for i in range(sensors.size):
        measure_wrench(sensors, i, nodes, states, cycle.dt)
    for e in range(points.size):
        record = points[e].record
        if is_group(points[e]):
            stack_joints(joint_tasks[record], e, q, v, a_null, rows)
        else:
            if points[e].whole:
                move_center(points, e, supports, nodes, states)
            else:
                place_point(points, e, nodes, states)
                move_point(points, e, states)
            if e < constraints.size:
                stack_constraint(constraints[record], points, e, cycle, states, yields, rows)
            elif not tasks[record].unattached:
                if tasks[record].relative:
                    move_in_other(points, e, states)
                stack_task(tasks[record], points, e, cycle, states, sensors, rows)
        start_propagation(points, e)
        if cycle.yields:
            start_passive_propagation(points, e)


@rare
def pull_spring(task, Lambda_inverse, first, k, small, rows):
    """Add the force of a spring and damper, which needs Λ⁻¹, to the rows of its task."""
    impede(task, Lambda_inverse, first, small)
    for r in range(6):
        rows[PUSH, k + r] += task.push[r]
        rows[MOVING, k + r] = task.push[r]
        rows[COMPLIANT, k + r] = task.compliant[r]


@inlined
def let_springs_pull(points, tasks, constrained, Lambda_inverse, small, rows):
    """Add the forces of all springs and dampers."""
    for e in range(constrained // 6, points.size):
        if not is_group(points[e]):
            task = tasks[points[e].record]
            if task.impedance > 0.0:
                pull_spring(task, Lambda_inverse, 6 * e - constrained, 6 * e, small, rows)


@inlined
def apply_force(point, force, first, wrench, yields, states):
    """Write six entries of the stack's forces as a wrench in base axes; add it to the links."""
    base_wrench(point, force, first, wrench)
    if point.whole:
        return
    exert(point.frame.node, point.p, wrench, yields, states)
    if point.other.node >= 0:
        for r in range(6):
            wrench[r] = -wrench[r]
        exert(point.other.node, point.p, wrench, yields, states)
        for r in range(6):
            wrench[r] = -wrench[r]


@inlined
def exert(node, p, wrench, yields, states):
    """Add a wrench to a link's forces, and to those that passive joints have to give way to."""
    if node >= 0:
        add_wrench(p, wrench, states[node].f)
        if yields[node]:
            add_wrench(p, wrench, states[node].z)


@inlined
def rescale_rows(L, mobility, constrained, alone, scale):
    """
    Measure the tasks' rows by the mobility that constraints leave them, within reason.

    A light thing in heavy arms: its own link could accelerate it much more than the closed chain
    can, which is no loss of a direction. What is left with less than `_LEFT` of its ``mobility``,
    the diagonal of L, may be in conflict with the constraints: there are but rounding errors.
    """
    for first in range(constrained, scale.size, 3):
        size = 1 if alone[first] > 0.0 else 3
        for part in range(first, first + 3, size):
            left, all_of_it = 0.0, 0.0
            for r in range(part, part + size):
                left += L[r, r]
                all_of_it += mobility[r]
            for r in range(part, part + size):
                if left < all_of_it:
                    scale[r] /= math.sqrt(max(left / all_of_it, _LEFT))


@inlined
def eliminate_held(cycle, constrained, rows, squares, orders):
    """Take what constraints and passive joints leave of the tasks' mobility."""
    if constrained > 0 or cycle.yields:
        eliminate_constraints(
            squares[L], squares[Q], constrained, cycle.yields, rows[YIELDED], rows[SCALE],
            squares[FACTOR_L], squares[GRAM_L], squares[FACTOR_Q], squares[GRAM_Q], orders,
            cycle.ranks, rows[HELD], rows[SPARE:SPARE + 2], rows[FORCE])


@inlined
def resolve_tasks(cycle, constrained, levels, rows, squares, orders, robot):
    """Turn accelerations into forces, level by level, and see what constraints make of them."""
    cycle.least_eigenvalue = resolve_forces(
        squares[L], levels, rows[ASKED], rows[PUSH], rows[MOVING], rows[COMPLIANT],
        cycle.singularity_threshold, rows[SCALE], squares[FACTOR], squares[VECTORS],
        rows[SPARE:SPARE + SPARES], rows[FORCE], robot)
    if constrained > 0 or cycle.yields:
        predict_reactions(
            squares[L], squares[Q], constrained, cycle.yields, squares[FACTOR_L], squares[GRAM_L],
            orders, cycle.ranks, rows[HELD], rows[SCALE], rows[PUSH], rows[MOVING],
            rows[SPARE:SPARE + 2], rows[FORCE], rows[REACTION])


@called
def resolve_stack(
        cycle, constrained, points, tasks, levels, rows, squares, orders, small, Lambda_inverse,
        robot):
    """Turn the accelerations of the stack's rows into forces: constraints first, then levels."""
    asked, scale, force = rows[ASKED], rows[SCALE], rows[FORCE]
    for e in range(constrained // 6, points.size):
        if points[e].other.node >= 0:
            for r in range(6):
                rows[ALONE, 6 * e + r] = -points[e].alone[r // 3]
    scale_rows(squares[L], asked, rows[ALONE], cycle.least_mobility, cycle.least_turning, scale)
    soften_rows(squares[L], squares[Q], constrained, asked)
    for r in range(force.size):
        rows[SPARE + 2, r] = squares[L, r, r]
    eliminate_held(cycle, constrained, rows, squares, orders)
    for r in range(force.size):
        rows[WANTED, r] = force[r]
    if constrained > 0:
        rescale_rows(squares[L], rows[SPARE + 2], constrained, rows[ALONE], scale)
    for r in range(constrained, force.size):
        for c in range(constrained, r + 1):
            Lambda_inverse[r - constrained, c - constrained] = squares[L, r, c]
    let_springs_pull(points, tasks, constrained, Lambda_inverse, small, rows)
    resolve_tasks(cycle, constrained, levels, rows, squares, orders, robot)


@inlined
def apply_joint_forces(task, first, force, joint_force):
    """Report forces of the stack to a group of joints, and add them to the joints."""
    for r in range(6):
        task.force[r] = 0.0
        if task.selected[r] != 0.0:
            task.force[r] = force[first + r]
            joint_force[task.dof[r]] += force[first + r]


@called
def apply_forces(nodes, states, yields, points, supports, constraints, tasks, joint_tasks,
                 joint_force, rows):
    """
    Report the forces of the stack to constraints and tasks, and add them to the links.

    Those of groups of joints are added to the joints, (nv,), which they are the only ones to use.
    """
    if joint_tasks.size > 0:
        for k in range(joint_force.size):
            joint_force[k] = 0.0
    for e in range(points.size):
        record = points[e].record
        if is_group(points[e]):
            apply_joint_forces(joint_tasks[record], 6 * e, rows[FORCE], joint_force)
        elif e < constraints.size:
            constraint = constraints[record]
            apply_force(points[e], rows[FORCE], 6 * e, constraint.exerted, yields, states)
            for r in range(6):
                constraint.force[r] = rows[REACTION, 6 * e + r]
        else:
            wrench = tasks[record].wrench
            apply_force(points[e], rows[FORCE], 6 * e, wrench, yields, states)
            if points[e].whole:
                spread_force(points, e, supports, nodes, wrench, yields, states)
