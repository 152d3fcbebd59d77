# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How the joints move a direction of some tasks, by recursion: neither a Jacobian nor A is formed.

A direction is an eigenvector u of a level's scaled Λ⁻¹, ``M = S Λ⁻¹ S``. Its wrench ``S u``, with
what keeps the tasks above where they are, takes joint forces h, and makes the joints move by
``A⁻¹ h = s w``, w of kinetic energy ½; moving by w moves it by s.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.hierarchy.planes import AGAINST, COUPLING, TORQUES
from opspace_control.control.hierarchy.pushes import answer_pushes, bear_pushes, push_links
from opspace_control.dynamics.center_of_mass import move_center
from opspace_control.dynamics.kinematics import move_in_other, move_node, move_point
from opspace_control.dynamics.operational_space_inertia import is_group

# With so little of s, w is not known at all.
LEAST = 1e-6
# Numbers a row of the stack: what it wants, of `see_wants`; a direction, and its wrench; the sum of
# those that lead directions, and what these take off the tasks. Then numbers a joint: forces, h, w,
# and zeros; and six of scratch; and what keeps joints at their ends against what leads.
(PULL, STIFF, DAMP, LED, DIRECTION, MODE, LEADER, TAKEN, FORCES, BORNE, MOVED, ZEROS,
 WRENCH, KEEPER) = range(14)
LEADS = 14


@called
def forget_leads(leads, size):
    """Lead nothing yet in so many rows."""
    for r in range(size):
        leads[LEADER, r] = leads[TAKEN, r] = 0.0


@called
def see_wants(points, tasks, joint_tasks, v, leads):
    """
    Write what the rows of all tasks want: ``PULL``, all of a* but its damping, m/s² or rad/s².

    ``DAMP`` is its rate, 1/s; ``STIFF`` the stiffness, 1/s², at least that for which the damping is
    critical; ``LED`` the part of the row that is motion control, and damped.
    """
    for e in range(points.size):
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
            if task.motion[r] > 0.0 and kd > 0.0:
                led = (1.0 - task.impedance) * task.motion[r] / (
                    task.motion[r] + task.force.axes[r])
            leads[PULL, k] = task.acceleration[r] + led * kd * speed
            leads[STIFF, k], leads[DAMP, k] = max(task.kp[r], 0.25 * kd * kd), kd
            leads[LED, k] = led


@inlined
def hold_against(room, w, push):
    """Return the force that holds one of the joints at their ends against forces of the stack."""
    t = 0.0
    for r in range(push.size):
        t -= room[AGAINST, r, w] * push[r]
    return t


@rare
def keep_at_ends(robot, push):
    """Write the joint forces that keep joints at their ends against forces of the stack."""
    cycle, keeper, room = robot[0], robot[1][KEEPER], robot[12]
    dofs = robot[8].size
    for k in range(dofs):
        keeper[k] = 0.0
    for w in range(cycle.ends):
        t = hold_against(room, w, push)
        for k in range(dofs):
            keeper[k] += t * room[TORQUES, w, k]


@rare
def push_leading(robot, push):
    """Put forces of the stack on links and joints, with what keeps joints at their ends."""
    leads, nodes, states, supports, points = robot[1:6]
    force = leads[FORCES, :robot[8].size]
    push_links(nodes, states, points, supports, push, force, leads[WRENCH])
    keep_at_ends(robot, push)
    for k in range(force.size):
        force[k] += leads[KEEPER, k]


@rare
def push_mode(robot, L, levels, level):
    """Push along a direction, with what keeps tasks above where they are."""
    push = robot[1][MODE, :robot[11].size]
    end = levels[level + 1]
    for r in range(end, push.size):
        push[r] = 0.0
    for upper in range(level - 1, -1, -1):
        for r in range(levels[upper], levels[upper + 1]):
            push[r] = 0.0
            for j in range(levels[upper + 1], end):
                push[r] -= L[r, j] * push[j]
    push_leading(robot, push)


@rare
def move_mode(robot, L, levels, level):
    """
    Find the motion w of the joints that moves a direction, and what it takes.

    ``MODE`` of the level's rows holds its wrench; ``BORNE`` receives h (nv,), ``MOVED`` w (nv,).
    Returns s, the velocity along the direction; with zero nothing is written.
    """
    leads, nodes, states = robot[1:4]
    dofs = robot[8].size
    force, h, w = leads[FORCES, :dofs], leads[BORNE, :dofs], leads[MOVED, :dofs]
    for k in range(dofs):
        h[k] = leads[ZEROS, k] = 0.0
    push_mode(robot, L, levels, level)
    bear_pushes(nodes, states, force, h)
    push_mode(robot, L, levels, level)
    answer_pushes(nodes, states, force, leads[ZEROS, :dofs], w)
    square = 0.0
    for k in range(dofs):
        square += h[k] * w[k]
    if square < LEAST ** 4:
        return 0.0
    s = math.sqrt(square)
    for k in range(dofs):
        w[k] /= s
    return s


@rare
def bend_mode(robot, end, v):
    """Return the acceleration along a direction of a steady motion of the joints, (nv,)."""
    leads, nodes, states, supports, points, tasks = robot[1:7]
    dofs = robot[8].size
    for i in range(nodes.size):
        move_node(nodes, i, v, leads[ZEROS, :dofs], states)
    total = 0.0
    for e in range(end // 6):
        point = points[e]
        if is_group(point):
            continue
        if point.whole:
            move_center(points, e, supports, nodes, states)
        else:
            move_point(points, e, states)
            if tasks[point.record].relative:
                move_in_other(points, e, states)
        for r in range(6):
            part = r - r % 3
            for d in range(3):
                total += leads[MODE, 6 * e + r] * point.axes[r // 3, d, r - part] * point.a[
                    part + d]
    return total


@rare
def turn_mode(robot, end, c, v):
    """Return how s changes, 1/s, as joints move by v: half of what v and w bend only together."""
    leads = robot[1]
    both = leads[FORCES, :v.size]
    for k in range(v.size):
        both[k] = v[k] + leads[MOVED, k]
    return 0.5 * (bend_mode(robot, end, both) - bend_mode(robot, end, v) - c)


@rare
def along(leads, which, mode, scale, first):
    """Return the component of some rows along a direction u, ``uᵀ S x``."""
    total = 0.0
    for r in range(mode.size):
        total += mode[r] * scale[r] * leads[which, first + r]
    return total


@rare
def weigh(leads, which, mode, first):
    """Return the mean of some rows, weighted with the squares of a direction u."""
    total = 0.0
    for r in range(mode.size):
        total += mode[r] * mode[r] * leads[which, first + r]
    return total


@rare
def bear_leads(robot, tau):
    """Add the joint forces of what leads directions to tau (nv,)."""
    leads, nodes, states = robot[1:4]
    if robot[0].led:
        push_leading(robot, leads[LEADER, :robot[11].size])
        bear_pushes(nodes, states, leads[FORCES, :tau.size], tau)


@rare
def hand_over(robot, mobility, wanted, missing, forces, a_led):
    """
    Make what leads directions a part of the motion advised, ``a_led`` (nv,), instead of the tasks'.

    What is ``wanted`` (k,) of the stack's rows, what of it is ``missing`` in any case, and its
    ``forces`` (k,), become what is beyond that; ``mobility`` is Λ⁻¹ as given, lower triangle.
    """
    cycle, leads, nodes, states = robot[:4]
    a_null, room = robot[10], robot[12]
    cycle.leads = False
    if not cycle.led:
        for k in range(a_led.size):
            a_led[k], leads[KEEPER, k] = a_null[k], 0.0
        return
    leader = leads[LEADER, :wanted.size]
    for r in range(wanted.size):
        forces[r] -= leader[r]
        missing[r] -= leads[TAKEN, r]
        wanted[r] -= leads[TAKEN, r]
        for c in range(wanted.size):
            wanted[r] -= mobility[max(r, c), min(r, c)] * leader[c]
    for w in range(cycle.ends):
        t = hold_against(room, w, leader)
        for r in range(wanted.size):
            wanted[r] -= t * room[COUPLING, w, r]
    push_leading(robot, leader)
    answer_pushes(nodes, states, leads[FORCES, :a_led.size], a_null, a_led)


@rare
def take_back(robot, forces):
    """Add what leads directions to the forces (k,) of the stack."""
    if robot[0].led:
        for r in range(forces.size):
            forces[r] += robot[1][LEADER, r]


@inlined
def add_keepers(leads, tau):
    """Add what keeps joints at their ends against what leads directions to tau (nv,)."""
    for k in range(tau.size):
        tau[k] += leads[KEEPER, k]
