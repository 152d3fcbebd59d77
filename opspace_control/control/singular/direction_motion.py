# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The joint motion of a direction of some tasks, by recursion: without a Jacobian and without A.

A direction is an eigenvector u of a level's scaled Λ⁻¹, ``M = S Λ⁻¹ S``. Its force ``S u``, with
forces that keep the tasks of higher levels at rest, needs joint forces h and accelerates the joints
by ``A⁻¹ h = s w``, w of kinetic energy ½; the velocity w moves the direction with s. h is zero at
passive joints, and w has their response; constraint reactions are included.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.constraints.elimination import (
    bound_reactions,
    constraint_reactions,
)
from opspace_control.dynamics.center_of_mass import move_center
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.dynamics.kinematics import (
    move_in_other,
    move_node,
    move_point,
    move_relatively,
)
from opspace_control.dynamics.passive_responses import passive_power, passive_response
from opspace_control.dynamics.responses import apply_wrenches, forward_response, project_forces
from opspace_control.dynamics.weights import gravity_torque_second_rate
from opspace_control.model.nodes import PASSIVE
from opspace_control.spatial.six import put
from opspace_control.tasks.specification_law import motion_share

# Below this s the motion w is not defined.
LEAST = 1e-6
# Rows of `BoundedScratch.directions`. A number for each row of the stack: the task acceleration
# without its damping, stiffness and damping of `write_motion_laws`, and the share of motion
# control; a direction u, and its force S u; the sum of the forces of singular directions, and the
# correction of the tasks' accelerations. A number for each joint: scratch, h, w, and the
# passive-joint response; the reaction torque of joints at their limits; zeros; six of scratch.
(UNDAMPED, STIFFNESS, DAMPING, MOTION_SHARE, DIRECTION, UNIT_FORCE, SINGULAR_FORCE, CORRECTION,
 FORCES, EXERTED, MOVED, PASSIVE_MOTION, LIMIT_REACTION, ZEROS, WORK) = range(15)
DIRECTION_ROWS = WORK + 6


@called
def clear_singular_forces(directions, size):
    """Zero the forces of singular directions, and their correction, in the first rows."""
    for r in range(0, size, 6):
        put(directions[SINGULAR_FORCE], r, 0.0)
        put(directions[CORRECTION], r, 0.0)


@called
def write_motion_laws(points, tasks, joint_tasks, constrained, v, directions):
    """
    Write the motion law of the rows of all tasks.

    ``UNDAMPED`` is a* without its damping term, m/s² or rad/s²; ``DAMPING`` the damping, 1/s;
    ``STIFFNESS`` the stiffness, 1/s², at least that of critical damping; ``MOTION_SHARE`` the part
    of the row, from 0 to 1, that is damped motion control. The rows of constraints have no law.
    """
    for e in range(constrained // 6, points.size):
        point = points[e]
        if is_group(point):
            task = joint_tasks[point.record]
            for r in range(6):
                k, kd = 6 * e + r, task.kd[r]
                directions[UNDAMPED, k] = task.acceleration[r]
                if task.selected[r] != 0.0:
                    directions[UNDAMPED, k] += kd * v[task.dof[r]]
                directions[STIFFNESS, k] = max(task.kp[r], 0.25 * kd * kd)
                directions[DAMPING, k] = kd
                directions[MOTION_SHARE, k] = 1.0 if kd > 0.0 else 0.0
            continue
        task, axes, motion = tasks[point.record], point.axes, point.v
        for r in range(6):
            k, part, kd = 6 * e + r, r - r % 3, task.kd[r]
            speed = 0.0
            for d in range(3):
                speed += axes[r // 3, d, r - part] * motion[part + d]
            controlled = 0.0 if kd == 0.0 or task.unattached else motion_share(task, r)
            directions[UNDAMPED, k] = task.acceleration[r] + controlled * kd * speed
            directions[STIFFNESS, k] = max(task.kp[r], 0.25 * kd * kd)
            directions[DAMPING, k] = kd
            directions[MOTION_SHARE, k] = controlled


@inlined
def reaction_at_limit(rows, w, applied):
    """Return the multiplier of a joint at rest at its limit under forces of the stack."""
    t = 0.0
    for r in range(applied.size):
        t -= rows.response[r, w] * applied[r]
    return t


@rare
def write_limit_reactions(data, applied):
    """Write the reaction torques of joints at rest at their limits under forces of the stack."""
    bounded = data.scratch.bounded
    reaction = bounded.directions[LIMIT_REACTION]
    for k in range(data.v.size):
        reaction[k] = 0.0
    for w in range(data.cycle.resting_count):
        t = reaction_at_limit(bounded.resting_rows, w, applied)
        for k in range(data.v.size):
            reaction[k] += t * bounded.bound_rows.torque[w, k]


@rare
def apply_singular_forces(data, applied):
    """Apply forces of the stack to links and joints, with the reactions of joints at limits."""
    directions, robot = data.scratch.bounded.directions, data.robot
    force = directions[FORCES, :data.v.size]
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, applied, force,
                   data.scratch.wrench)
    write_limit_reactions(data, applied)
    for k in range(force.size):
        force[k] += directions[LIMIT_REACTION, k]


@rare
def apply_unit_force(data, level, factor, exerted):
    """
    Apply the force of a direction, with forces that keep higher levels and constraints at rest.

    The ``factor``, of the constraint rows of L or of Q, determines the constraint reactions. Unless
    the force is to be ``exerted`` by the joints, the reactions include those to joints at rest at
    their limits.
    """
    bounded, mobility, levels = data.scratch.bounded, data.scratch.mobility, data.demand.levels
    applied, end = bounded.directions[UNIT_FORCE, :mobility.shape[1]], levels[level + 1]
    for r in range(end, applied.size):
        applied[r] = 0.0
    for upper in range(level - 1, -1, -1):
        for r in range(levels[upper], levels[upper + 1]):
            applied[r] = 0.0
            for j in range(levels[upper + 1], end):
                applied[r] -= mobility[r, j] * applied[j]
    if levels[0] > 0:
        constraint_reactions(factor, levels[0], applied, data.scratch.coordinates)
    if levels[0] > 0 and data.cycle.resting_count > 0 and not exerted:
        multipliers = bounded.resting_rows.multipliers
        for w in range(data.cycle.resting_count):
            multipliers[w] = reaction_at_limit(bounded.resting_rows, w, applied)
        reaction = data.scratch.bound_reaction[:levels[0]]
        bound_reactions(data, multipliers, data.cycle.resting_count, reaction)
        for c in range(levels[0]):
            applied[c] -= reaction[c]
    apply_singular_forces(data, applied)


@rare
def find_motion(data, level):
    """
    Write the joint motion w of a direction, and its joint forces h.

    ``UNIT_FORCE`` of the level's rows is the direction's force. ``EXERTED`` receives h (nv,),
    ``MOVED`` w (nv,), ``PASSIVE_MOTION`` the part of s w that is the passive-joint response.
    Returns s, the velocity along the direction; if it is 0, w is not written.
    """
    cycle, directions, dofs = data.cycle, data.scratch.bounded.directions, data.v.size
    whole, passive = data.scratch.constraint_factor, data.scratch.passive_factor
    nodes, states = data.robot.nodes, data.robot.states
    force, h, w = directions[FORCES, :dofs], directions[EXERTED, :dofs], directions[MOVED, :dofs]
    for k in range(directions.shape[1]):
        directions[EXERTED, k] = directions[PASSIVE_MOTION, k] = directions[ZEROS, k] = 0.0
    if cycle.has_passive:
        apply_unit_force(data, level, passive, True)
        passive_response(
            nodes, states, data.robot.responds, force, directions[PASSIVE_MOTION, :dofs])
        project_forces(nodes, states, directions[ZEROS, :dofs], h)
    apply_unit_force(
        data, level, passive if cycle.has_passive else whole, cycle.has_passive)
    project_forces(nodes, states, force, h)
    apply_unit_force(data, level, whole, False)
    forward_response(nodes, states, force, directions[PASSIVE_MOTION, :dofs], w)
    square = 0.0
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0:
            if nodes[i].status == PASSIVE:
                h[k] = 0.0
            square += h[k] * w[k]
    if square < LEAST ** 4:
        return 0.0
    s = math.sqrt(square)
    for k in range(dofs):
        w[k] /= s
    return s


@rare
def point_curvature(data, e):
    """Return the acceleration of a point along a direction; the point itself is restored."""
    directions = data.scratch.bounded.directions
    states, points = data.robot.states, data.robot.points
    point, kept, total = points[e], directions[WORK], 0.0
    for r in range(6):
        kept[r], kept[6 + r] = point.v[r], point.a[r]
    if point.whole:
        move_center(points, e, data.robot.supports, data.robot.nodes, states)
    else:
        move_point(points, e, states)
        if e < data.demand.constraints.size:
            move_relatively(points, e, states)
        elif data.demand.tasks[point.record].relative:
            move_in_other(points, e, states)
    for r in range(6):
        part = r - r % 3
        for d in range(3):
            total += (directions[UNIT_FORCE, 6 * e + r] * point.axes[r // 3, d, r - part]
                      * point.a[part + d])
    for r in range(6):
        point.v[r], point.a[r] = kept[r], kept[6 + r]
    return total


@rare
def curvature_along(data, level, v):
    """Return the acceleration along a direction of a steady motion of the joints, (nv,)."""
    cycle, bounded, dofs = data.cycle, data.scratch.bounded, data.v.size
    nodes, states, points = data.robot.nodes, data.robot.states, data.robot.points
    directions, size = bounded.directions, 6 * points.size
    for i in range(nodes.size):
        move_node(nodes, i, v, directions[ZEROS, :dofs], states)
    total = 0.0
    if cycle.has_passive:
        total = passive_power(
            nodes, states, directions[ZEROS, :3], directions[PASSIVE_MOTION, :dofs])
    for e in range(data.demand.levels[level + 1] // 6):
        if not is_group(points[e]):
            total += point_curvature(data, e)
    for w in range(cycle.resting_count):
        node = bounded.resting_rows.gravity_node[w]
        if node >= 0:
            t = reaction_at_limit(bounded.resting_rows, w, directions[UNIT_FORCE, :size])
            total += t * gravity_torque_second_rate(
                nodes, states, node, bounded.subtrees, cycle.gravity, directions[WORK:])
    return total


@rare
def mobility_rate(data, level, c):
    """Return the rate of s, 1/s, under the joint velocity v: the bilinear part of the curvature."""
    directions, v = data.scratch.bounded.directions, data.v
    moved = directions[FORCES, :v.size]
    for k in range(v.size):
        moved[k] = v[k] + directions[MOVED, k]
    both = curvature_along(data, level, moved)
    for k in range(v.size):
        moved[k] = v[k]
    return 0.5 * (both - curvature_along(data, level, moved) - c)


@rare
def along(directions, which, u, scale, first):
    """Return the component of rows along a direction u, ``uᵀ S x``."""
    total = 0.0
    for r in range(u.size):
        total += u[r] * scale[r] * directions[which, first + r]
    return total


@rare
def mean_along(values, u, first):
    """Return the mean of some rows, weighted with the squares of a direction u."""
    total = 0.0
    for r in range(u.size):
        total += u[r] * u[r] * values[first + r]
    return total
