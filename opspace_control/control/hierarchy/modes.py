# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How the joints move a direction of some tasks, by recursion: neither a Jacobian nor A is formed.

A direction is an eigenvector u of a level's scaled Λ⁻¹, ``M = S Λ⁻¹ S``. Its wrench ``S u``, with
what keeps the tasks above where they are, takes joint forces h, and makes the joints move by
``A⁻¹ h = s w``, w of kinetic energy ½; moving by w moves it by s. Where joints are passive h has
none of them, and w what they are induced to do; constraints bear their part.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.hierarchy.elimination import constraint_reactions
from opspace_control.control.hierarchy.structures import (
    L,
    Q,
)
from opspace_control.dynamics.center_of_mass import move_center
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.dynamics.kinematics import (
    move_in_other,
    move_node,
    move_point,
    move_relatively,
)
from opspace_control.dynamics.responses import (
    apply_wrenches,
    forward_response,
    passive_power,
    passive_response,
    project_forces,
)
from opspace_control.dynamics.weights import gravity_torque_second_rate
from opspace_control.model.nodes import PASSIVE

# With so little of s, w is not known at all.
LEAST = 1e-6
# Numbers a row of the stack: what it wants, of `see_wants`; a direction, and its wrench; the sum of
# those that lead directions, and what these take off the tasks. Then numbers a joint: forces, h, w,
# and how passive joints alone give way; and six of scratch; and what keeps joints at their ends
# against what leads; and zeros. A number for each row that keeps joints there: the node whose load
# it is that is at its end, or -1. And six rows of scratch.
(PULL, STIFF, DAMP, LED, DIRECTION, MODE, LEADER, TAKEN, FORCES, EXERTED, MOVED, GIVEN,
 WRENCH, KEEPER, ZEROS, TURNED) = range(16)
LEADS = TURNED + 6


@called
def forget_leads(leads, size):
    """Lead nothing yet in so many rows."""
    for r in range(size):
        leads[LEADER, r] = leads[TAKEN, r] = 0.0


@called
def see_wants(points, tasks, joint_tasks, constrained, v, leads):
    """
    Write what the rows of all tasks want: ``PULL``, all of a* but its damping, m/s² or rad/s².

    ``DAMP`` is its rate, 1/s; ``STIFF`` the stiffness, 1/s², at least that for which the damping is
    critical; ``LED`` the part of the row that is motion control, and damped. Constraints, the first
    rows, want nothing.
    """
    for e in range(constrained // 6, points.size):
        point = points[e]
        if is_group(point):
            task = joint_tasks[point.record]
            for r in range(6):
                k, kd = 6 * e + r, task.kd[r]
                leads[PULL, k] = task.acceleration[r]
                if task.selected[r] != 0.0:
                    leads[PULL, k] += kd * v[task.dof[r]]
                leads[STIFF, k], leads[DAMP, k] = max(task.kp[r], 0.25 * kd * kd), kd
                leads[LED, k] = 1.0 if kd > 0.0 else 0.0
            continue
        task, axes, motion = tasks[point.record], point.axes, point.v
        for r in range(6):
            k, part, kd = 6 * e + r, r - r % 3, task.kd[r]
            speed = 0.0
            for d in range(3):
                speed += axes[r // 3, d, r - part] * motion[part + d]
            led = 0.0
            if task.motion[r] > 0.0 and kd > 0.0 and not task.unattached:
                led = (1.0 - task.impedance) * task.motion[r] / (
                    task.motion[r] + task.force.axes[r])
            leads[PULL, k] = task.acceleration[r] + led * kd * speed
            leads[STIFF, k], leads[DAMP, k] = max(task.kp[r], 0.25 * kd * kd), kd
            leads[LED, k] = led


@inlined
def reaction_at_limit(rows, w, push):
    """Return the multiplier by which a joint at rest at its limit takes forces of the stack."""
    t = 0.0
    for r in range(push.size):
        t -= rows.response[r, w] * push[r]
    return t


@rare
def keep_at_ends(data, push):
    """Write the joint forces that keep joints at their ends against forces of the stack."""
    memory = data.scratch.limits
    keeper = memory.leads[KEEPER]
    for k in range(data.v.size):
        keeper[k] = 0.0
    for w in range(data.cycle.resting):
        t = reaction_at_limit(memory.resting_rows, w, push)
        for k in range(data.v.size):
            keeper[k] += t * memory.bound_rows.torque[w, k]


@rare
def push_leading(data, push):
    """Put forces of the stack on links and joints, with what keeps joints at their ends."""
    leads, robot = data.scratch.limits.leads, data.robot
    force = leads[FORCES, :data.v.size]
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, push, force,
                   leads[WRENCH])
    keep_at_ends(data, push)
    for k in range(force.size):
        force[k] += leads[KEEPER, k]


@rare
def push_mode(data, level, which, exerted):
    """
    Push along a direction, with what keeps tasks above, and constraints, where they are.

    Constraints bear it by one of the squares, L or Q.
    What keeps joints at their ends is borne by constraints, too; nothing is ``exerted`` for that.
    """
    memory, squares, levels = data.scratch.limits, data.scratch.squares, data.demand.levels
    push, end = memory.leads[MODE, :squares.shape[1]], levels[level + 1]
    for r in range(end, push.size):
        push[r] = 0.0
    for upper in range(level - 1, -1, -1):
        for r in range(levels[upper], levels[upper + 1]):
            push[r] = 0.0
            for j in range(levels[upper + 1], end):
                push[r] -= squares[L, r, j] * push[j]
    constraint_reactions(squares[which], levels[0], push)
    for w in range(0 if exerted else data.cycle.resting):
        t = reaction_at_limit(memory.resting_rows, w, push)
        for c in range(levels[0]):
            push[c] -= t * memory.bound_rows.reaction[w, c]
    push_leading(data, push)


@rare
def move_mode(data, level):
    """
    Find the motion w of the joints that moves a direction, and what it takes.

    ``MODE`` of the level's rows holds its wrench; ``EXERTED`` receives h (nv,), ``MOVED`` w (nv,),
    ``GIVEN`` what of s w passive joints do by giving way alone. Returns s, the velocity along the
    direction; with zero nothing is written.
    """
    cycle, leads, dofs = data.cycle, data.scratch.limits.leads, data.v.size
    nodes, states = data.robot.nodes, data.robot.states
    force, h, w = leads[FORCES, :dofs], leads[EXERTED, :dofs], leads[MOVED, :dofs]
    for k in range(leads.shape[1]):
        leads[EXERTED, k] = leads[GIVEN, k] = leads[ZEROS, k] = 0.0
    if cycle.has_passive:
        push_mode(data, level, Q, True)
        passive_response(nodes, states, data.robot.responds, force, leads[GIVEN, :dofs])
        project_forces(nodes, states, leads[ZEROS, :dofs], h)
    push_mode(data, level, Q if cycle.has_passive else L, cycle.has_passive)
    project_forces(nodes, states, force, h)
    push_mode(data, level, L, False)
    forward_response(nodes, states, force, leads[GIVEN, :dofs], w)
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
def bend_point(data, e):
    """Return the acceleration along a direction of one of the points, which keeps its own."""
    leads, states, points = data.scratch.limits.leads, data.robot.states, data.robot.points
    point, kept, total = points[e], leads[TURNED], 0.0
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
            total += leads[MODE, 6 * e + r] * point.axes[r // 3, d, r - part] * point.a[part + d]
    for r in range(6):
        point.v[r], point.a[r] = kept[r], kept[6 + r]
    return total


@rare
def bend_mode(data, level, v):
    """Return the acceleration along a direction of a steady motion of the joints, (nv,)."""
    cycle, memory, dofs = data.cycle, data.scratch.limits, data.v.size
    nodes, states, points = data.robot.nodes, data.robot.states, data.robot.points
    leads, size = memory.leads, 6 * points.size
    for i in range(nodes.size):
        move_node(nodes, i, v, leads[ZEROS, :dofs], states)
    total = 0.0
    if cycle.has_passive:
        total = passive_power(nodes, states, leads[ZEROS, :3], leads[GIVEN, :dofs])
    for e in range(data.demand.levels[level + 1] // 6):
        if not is_group(points[e]):
            total += bend_point(data, e)
    for w in range(cycle.resting):
        node = memory.resting_rows.gravity_node[w]
        if node >= 0:
            total += reaction_at_limit(
                memory.resting_rows, w, leads[MODE, :size]) * gravity_torque_second_rate(
                nodes, states, node, memory.carried, cycle.gravity, leads[TURNED:])
    return total


@rare
def turn_mode(data, level, c):
    """Return how s changes, 1/s, as joints move by v: half of what v and w bend only together."""
    leads, v = data.scratch.limits.leads, data.v
    moved = leads[FORCES, :v.size]
    for k in range(v.size):
        moved[k] = v[k] + leads[MOVED, k]
    both = bend_mode(data, level, moved)
    for k in range(v.size):
        moved[k] = v[k]
    return 0.5 * (both - bend_mode(data, level, moved) - c)


@rare
def along(leads, which, mode, scale, first):
    """Return the component of some rows along a direction u, ``uᵀ S x``."""
    total = 0.0
    for r in range(mode.size):
        total += mode[r] * scale[r] * leads[which, first + r]
    return total


@rare
def weigh(lead, mode, first):
    """Return the mean of some rows, weighted with the squares of a direction u."""
    total = 0.0
    for r in range(mode.size):
        total += mode[r] * mode[r] * lead[first + r]
    return total
