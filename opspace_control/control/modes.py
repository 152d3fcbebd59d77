# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How the joints move a direction of some tasks, by recursion: neither a Jacobian nor A is formed.

A direction is an eigenvector u of a level's scaled Λ⁻¹, ``M = S Λ⁻¹ S``. Its wrench ``S u`` makes
the joints move by ``A⁻¹ Jᵀ S u = s w``, w of kinetic energy ½, and moving by w moves it by s.
"""

import math

from opspace_control.compiled import called
from opspace_control.dynamics.kinematics import move_node, move_point, move_relatively
from opspace_control.dynamics.operational_space_inertia import is_group
from opspace_control.dynamics.responses import respond, take_wrench
from opspace_control.spatial.vectors import add_wrench

# With so little of s, w is not known at all.
LEAST = 1e-6
# What there is of each row, on top of what every cycle needs.
PULL, REACH, STIFF, DAMP, LED, SPEED, MOVED, ADVISED, BENT, DIRECTION, MODE = range(11)
LEADS = 11


@called
def stack_motion(task, point, first, leads):
    """
    Write what the rows of a task want of where they are and how they move.

    ``PULL`` is all of the acceleration asked for but its damping; divided by ``STIFF``, at least
    the stiffness for which that damping is critical, it is a way to go: ``REACH``, for rows whose
    speed is limited, else zero. ``LED`` is the rows' part of motion control.
    """
    axes, v = point.axes, point.v
    limit = task.max_linear_velocity
    for r in range(6):
        k, part = first + r, r - r % 3
        if r == 3:
            limit = task.max_angular_velocity
        along = axes[r // 3, :, r - part]
        motion = task.motion[r]
        kd = task.kd[r]
        leads[SPEED, k] = along[0] * v[part] + along[1] * v[part + 1] + along[2] * v[part + 2]
        leads[LED, k] = 0.0
        if motion > 0.0:
            leads[LED, k] = (1.0 - task.impedance) * motion / (motion + task.force.axes[r])
        leads[DAMP, k] = kd
        leads[STIFF, k] = max(task.kp[r], 0.25 * kd * kd)
        leads[PULL, k] = task.acceleration[r] + leads[LED, k] * kd * leads[SPEED, k]
        leads[REACH, k] = 0.0
        if limit < math.inf:
            leads[REACH, k] = leads[PULL, k] / leads[STIFF, k]


@called
def stack_joint_motion(task, v, first, leads):
    """Write what the rows of a group of joints want; their speed is limited one by one already."""
    for r in range(6):
        k = first + r
        kd = task.kd[r]
        leads[SPEED, k] = v[task.dof[r]] if task.selected[r] != 0.0 else 0.0
        leads[LED, k] = 1.0
        leads[DAMP, k] = kd
        leads[STIFF, k] = max(task.kp[r], 0.25 * kd * kd)
        leads[PULL, k] = task.acceleration[r] + kd * leads[SPEED, k]
        leads[REACH, k] = 0.0


@called
def see_rows(nodes, points, states, x, accelerations, row):
    """Write how what all rows are of moves, or accelerates, with the bodies; joints do as x."""
    for e in range(points.size):
        if is_group(points[e]):
            for r in range(6):
                i = points[e].joints[r]
                row[6 * e + r] = x[nodes[i].v_index] if i >= 0 else 0.0
            continue
        move_point(points, e, states)
        point = points[e]
        if point.other.node >= 0:
            move_relatively(points, e, states)
        motion = point.a if accelerations else point.v
        for r in range(6):
            part = r - r % 3
            along = point.axes[r // 3, :, r - part]
            row[6 * e + r] = (along[0] * motion[part] + along[1] * motion[part + 1]
                              + along[2] * motion[part + 2])


@called
def move_bodies(nodes, states, felt, v, a):
    """Outward recursion: how bodies at their present places move if joints do so."""
    for i in range(nodes.size):
        if felt[i]:
            move_node(nodes, i, v, a, states)


@called
def strip(L, levels, level, row):
    """Take off what levels above do against motions of these rows, ``L_21 X_1`` times theirs."""
    for upper in range(level):
        for r in range(levels[upper], levels[upper + 1]):
            for j in range(levels[upper + 1], levels[level + 1]):
                row[j] -= L[r, j] * row[r]


@called
def spread_mode(L, levels, level, leads):
    """Write to the rows above what keeps their points where they are under a level's wrench."""
    end = levels[level + 1]
    for r in range(levels[level] - 1, levels[0] - 1, -1):
        leads[MODE, r] = 0.0
    for upper in range(level - 1, -1, -1):
        for r in range(levels[upper], levels[upper + 1]):
            for j in range(levels[upper + 1], end):
                leads[MODE, r] -= L[r, j] * leads[MODE, j]


@called
def pull_links(nodes, states, points, end, force, wrench):
    """Write the forces of the first rows of the stack to links, ``z``, and to joints, ``u``."""
    for i in range(nodes.size):
        states[i].u = 0.0
        for r in range(6):
            states[i].z[r] = 0.0
    for e in range(end // 6):
        point = points[e]
        if is_group(point):
            for r in range(6):
                if point.joints[r] >= 0:
                    states[point.joints[r]].u += force[6 * e + r]
            continue
        axes = point.axes
        for part in range(0, 6, 3):
            x, y, z = force[6 * e + part], force[6 * e + part + 1], force[6 * e + part + 2]
            for r in range(3):
                wrench[part + r] = (axes[part // 3, r, 0] * x + axes[part // 3, r, 1] * y
                                    + axes[part // 3, r, 2] * z)
        if point.frame.node >= 0:
            add_wrench(point.p, wrench, states[point.frame.node].z)
        if point.other.node >= 0:
            for r in range(6):
                wrench[r] = -wrench[r]
            add_wrench(point.p, wrench, states[point.other.node].z)


@called
def move_mode(robot, L, levels, level):
    """
    Find the motion w of the joints that moves a direction, and what it does there.

    ``MODE`` of the level's rows holds its wrench; ``w`` (nv,) receives the joints' velocities, of
    unit kinetic energy ½, ``BENT`` the accelerations that this motion alone gives the rows.
    Returns s, the velocity along the direction; with zero nothing is written.
    """
    _, leads, _, nodes, states, felt, points, _, _, _, a_null, w, wrench = robot
    spread_mode(L, levels, level, leads)
    pull_links(nodes, states, points, levels[level + 1], leads[MODE], wrench)
    square = 0.0
    for i in range(nodes.size - 1, -1, -1):
        if felt[i]:
            square += take_wrench(nodes, i, states)
    s = math.sqrt(square)
    if s < LEAST * LEAST:
        return 0.0
    for k in range(w.size):
        w[k] = 0.0
    for i in range(nodes.size):
        if felt[i]:
            respond(nodes, i, states, w)
    for k in range(w.size):
        w[k] /= s
    move_bodies(nodes, states, felt, w, a_null)
    see_rows(nodes, points, states, a_null, True, leads[BENT])
    for r in range(levels[level + 1]):
        leads[BENT, r] -= leads[ADVISED, r]
    strip(L, levels, level, leads[BENT])
    return s


@called
def along_mode(leads, which, mode, scale, first):
    """Return the component of some rows along a direction u, ``uᵀ S x``."""
    total = 0.0
    for r in range(scale.size):
        total += mode[r] * scale[r] * leads[which, first + r]
    return total


@called
def weigh_mode(leads, which, mode, first):
    """Return the mean of some rows, weighted with the squares of a direction u."""
    total = 0.0
    for r in range(mode.size):
        total += mode[r] * mode[r] * leads[which, first + r]
    return total
